"""Resumes a coroutine in a task after its first step ran outside of that task."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any


class StartedCoroutine:
    """The remainder of a started coroutine, to be awaited once, by the task that owns it.

    Args:
        coroutine: A coroutine that has been started and has not ended.
        awaited: The object it yielded, which it waits for.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, None], awaited: Any) -> None:
        self._coroutine = coroutine
        self._awaited = awaited
        self._error: BaseException | None = None

    @classmethod
    def failed(cls, error: BaseException) -> StartedCoroutine:
        """Wrap an exception of the first step, so that it is raised in the task."""

        async def nothing() -> None:
            pass

        started = cls(nothing(), None)
        started._error = error
        return started

    def cancel(self) -> None:
        """Cancel as a task does: cancel the awaited future, or throw CancelledError."""
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
                    except BaseException as thrown:  # thrown by the task; the coroutine handles it
                        error = thrown
                if error is None:
                    self._awaited = self._coroutine.send(sent)
                else:
                    thrown_in, error = error, None
                    self._awaited = self._coroutine.throw(thrown_in)
        except StopIteration:
            return
