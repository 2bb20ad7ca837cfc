"""When handlers want to be reminded in; the reminders, of what the store has then, out."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AbstractContextManager
from typing import Any

from kinform.errors import ConfigError
from kinform.informers._delta_applier import resync_changes
from kinform.informers.dispatch._dispatch import Dispatcher
from kinform.informers.store._table import Table


class Resyncing:
    """Sleeps until a handler is due. On the loop, all of it.

    Args:
        dispatcher: Knows who is due, and tells them.
        table: What they are told.
        lock: Held while the store is read and the mailboxes are filled.
    """

    def __init__(
        self, dispatcher: Dispatcher[Any], table: Table, lock: AbstractContextManager[object]
    ) -> None:
        self._dispatcher = dispatcher
        self._table = table
        self._lock = lock
        self._others_are_due: asyncio.Event | None = None

    async def run(self) -> None:
        """Until cancelled."""
        others = self._others_are_due = asyncio.Event()
        while True:
            due = self._dispatcher.next_resync()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await others.wait()
            others.clear()
            with self._lock:
                self._dispatcher.resync(lambda: resync_changes(self._table))
            await self._dispatcher.wait_for_capacity()

    def look_again(self) -> None:
        """Somebody has come, who may be due before the others."""
        if self._others_are_due is not None:
            self._others_are_due.set()


def check_resync_period(seconds: object) -> None:
    """Refuse what is no time to wait.

    Raises:
        ConfigError: It is less than nothing, or no number.
    """
    if not isinstance(seconds, int | float) or not seconds >= 0:
        raise ConfigError(f"resync_period must be 0 (never) or more, not {seconds!r}")
