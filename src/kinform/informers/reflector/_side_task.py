"""A task that runs beside the body of an ``async with`` block, and ends it by failing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType


class SideTask:
    """Runs ``work`` until the block is left. If ``work`` raises, so does the block.

    Args:
        work: A function without arguments that returns an awaitable; ``None`` for no task.
    """

    def __init__(self, work: Callable[[], Awaitable[None]] | None) -> None:
        self._work = work
        self._task: asyncio.Task[None] | None = None
        self._requests = 0
        self._error: Exception | None = None

    async def __aenter__(self) -> None:
        if self._work is not None:
            owner = asyncio.current_task()
            assert owner is not None  # a coroutine that runs on a loop always has a task
            self._requests = owner.cancelling()
            self._task = asyncio.create_task(self._run(self._work, owner))

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
        if self._error is None:
            return
        owner = asyncio.current_task()
        assert owner is not None
        # The cancellation came from this task, unless another one was requested too.
        if owner.uncancel() <= self._requests:
            raise self._error

    async def _run(self, work: Callable[[], Awaitable[None]], owner: asyncio.Task[object]) -> None:
        try:
            await work()
        except Exception as error:
            self._error = error
            owner.cancel()
