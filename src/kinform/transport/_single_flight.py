"""Sharing of one run between concurrent callers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import msgspec

T = TypeVar("T")


class _Flight(msgspec.Struct, Generic[T], eq=False):
    task: asyncio.Task[T]
    waiters: int = 0


class SingleFlight(Generic[T]):
    """Runs ``work`` once for all concurrent callers of an event loop.

    A cancelled caller does not affect the others; when the last one is cancelled, so is the run.
    """

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self._work = work
        # Clients on different loops may share credentials, and a task belongs to one loop.
        self._flights: WeakKeyDictionary[asyncio.AbstractEventLoop, _Flight[T]] = (
            WeakKeyDictionary()
        )

    async def run(self) -> T:
        """Join the current run, or start one."""
        loop = asyncio.get_running_loop()
        flight = self._flights.get(loop)
        if flight is None or flight.task.done():
            flight = _Flight(loop.create_task(self._run(), name="kinform-credentials"))
            self._flights[loop] = flight
        flight.waiters += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiters -= 1
            if not flight.waiters and not flight.task.done():
                self._flights.pop(loop, None)
                flight.task.cancel()
                await asyncio.wait([flight.task])
                if not flight.task.cancelled():
                    flight.task.exception()  # retrieve it, because no caller is left

    async def _run(self) -> T:
        return await self._work()
