"""Measures how long the event loop is blocked."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Self

_INTERVAL = 0.01


class Heartbeat:
    """Runs in the background of an ``async with`` block.

    Attributes:
        longest: The longest time in seconds for which the loop ran no other task; CPU time of
            this thread, which does not depend on the load of the machine.
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._beat())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._task is not None
        await asyncio.sleep(0)
        self._task.cancel()

    async def _beat(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(_INTERVAL)
            self.longest = max(self.longest, time.thread_time() - before)
