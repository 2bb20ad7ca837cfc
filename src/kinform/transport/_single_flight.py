"""Many callers in, one run out: its result or its error goes to all who waited for it."""

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
    """Runs ``work`` once for all concurrent callers of one event loop.

    A cancelled caller leaves the others undisturbed; when the last one is gone, so is the run.
    """

    def __init__(self, work: Callable[[], Awaitable[T]]) -> None:
        self._work = work
        # Credentials may be shared by clients on different loops, and a task belongs to one.
        self._flights: WeakKeyDictionary[asyncio.AbstractEventLoop, _Flight[T]] = (
            WeakKeyDictionary()
        )

    async def run(self) -> T:
        """Join the run under way, or start one."""
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
                    flight.task.exception()  # nobody is left to be told

    async def _run(self) -> T:
        return await self._work()
