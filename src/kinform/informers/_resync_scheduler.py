"""Schedules the resyncs of handlers."""

from __future__ import annotations

import asyncio
import contextlib
import random
from contextlib import AbstractContextManager
from typing import Any

from kinform.errors import ConfigError
from kinform.informers._delta_applier import resync_changes
from kinform.informers.dispatch import Dispatcher
from kinform.informers.store import Table


class ResyncScheduler:
    """Waits until a handler is due and resyncs it. Runs on the event loop.

    Args:
        dispatcher: Knows which handlers are due, and delivers to them.
        table: The objects to deliver.
        lock: Held while the store is read and the mailboxes are filled.
    """

    def __init__(
        self, dispatcher: Dispatcher[Any], table: Table, lock: AbstractContextManager[object]
    ) -> None:
        self._dispatcher = dispatcher
        self._table = table
        self._lock = lock
        self._rescheduled: asyncio.Event | None = None

    async def run(self) -> None:
        """Run until cancelled."""
        rescheduled = self._rescheduled = asyncio.Event()
        while True:
            due = self._dispatcher.next_resync()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await rescheduled.wait()
            rescheduled.clear()
            with self._lock:
                self._dispatcher.resync(lambda: resync_changes(self._table))
            await self._dispatcher.wait_for_capacity()

    def reschedule(self) -> None:
        """Recompute the next resync after a handler was added."""
        if self._rescheduled is not None:
            self._rescheduled.set()


def check_resync_period(seconds: object) -> None:
    """Check a resync period.

    Raises:
        ConfigError: The value is negative or not a number.
    """
    if not isinstance(seconds, int | float) or not seconds >= 0:
        raise ConfigError(f"resync_period must be 0 (never) or more, not {seconds!r}")


def check_resync_jitter(fraction: object) -> float:
    """Return the jitter of resync periods if it is valid.

    Raises:
        ConfigError: The value is not a fraction.
    """
    if isinstance(fraction, int | float) and 0 <= fraction < 1:
        return fraction
    raise ConfigError(
        f"resync_jitter must be a fraction such as 0.1, less than 1, not {fraction!r}"
    )


def jittered(period: float, jitter: float) -> float:
    """Draw a period from ``period`` ± ``jitter``, so that informers do not resync together."""
    return period * random.uniform(1 - jitter, 1 + jitter) if jitter else period
