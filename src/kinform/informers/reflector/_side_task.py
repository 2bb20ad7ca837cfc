"""A task that runs beside the body of an ``async with`` block, and ends it by failing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType


class SideTask:
    """Runs a coroutine until the block is left. If the coroutine raises, the block raises that.

    Args:
        work: The coroutine; ``None`` for nothing.
    """

    def __init__(self, work: Coroutine[object, object, None] | None) -> None:
        self._work = work
        self._task: asyncio.Task[None] | None = None
        self._owner: asyncio.Task[object] | None = None
        self._requests = 0
        self._error: Exception | None = None

    async def __aenter__(self) -> None:
        if self._work is not None:
            self._owner = asyncio.current_task()
            assert self._owner is not None  # a coroutine that runs on a loop always has a task
            self._requests = self._owner.cancelling()
            self._task = asyncio.create_task(self._run(self._work))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is None or self._owner is None:
            return
        self._task.cancel()
        if self._error is None:
            return
        # The cancellation came from this task, unless another one was requested too.
        if self._owner.uncancel() <= self._requests:
            raise self._error

    async def _run(self, work: Coroutine[object, object, None]) -> None:
        assert self._owner is not None
        try:
            await work
        except Exception as error:
            self._error = error
            self._owner.cancel()
