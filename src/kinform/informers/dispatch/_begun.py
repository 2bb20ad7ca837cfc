"""A coroutine that took its first step outside of its task in; an awaitable for the rest out."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class Begun:
    """What is left of a coroutine, to be awaited by the task that it belongs to. Once.

    Args:
        coroutine: Has been resumed, and has not ended.
        awaited: What it gave out then: what it waits for.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._coroutine = coroutine
        self._awaited = awaited
        self._error: BaseException | None = None

    @classmethod
    def failed(cls, error: BaseException) -> Begun:
        """For one whose first step raised: its task is to hear of it."""

        async def nothing() -> None:
            pass

        begun = cls(nothing(), None)
        begun._error = error
        return begun

    def cancel(self) -> None:
        """As a task is cancelled: by way of what it waits for, if that can be."""
        if self._error is not None or (asyncio.isfuture(self._awaited) and self._awaited.cancel()):
            return
        self._error = asyncio.CancelledError()

    def __await__(self) -> Generator[Any, Any, None]:
        error, sent = self._error, None
        try:
            while True:
                if error is None:
                    try:
                        sent = yield self._awaited
                    except BaseException as thrown:  # the task's, for the coroutine to handle
                        error = thrown
                if error is None:
                    self._awaited = self._coroutine.send(sent)
                else:
                    thrown_in, error = error, None
                    self._awaited = self._coroutine.throw(thrown_in)
        except StopIteration:
            return
