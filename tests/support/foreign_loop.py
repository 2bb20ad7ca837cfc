"""An event loop that is not one of asyncio's selector loops: no selector and no sockets."""

from __future__ import annotations

import asyncio
import threading
from asyncio import base_events


class ForeignLoop(base_events.BaseEventLoop):
    """Runs callbacks, timers and tasks, as the loop of another library would."""

    def __init__(self) -> None:
        super().__init__()
        # The base class calls ``select`` to wait.
        self._selector = _Waiter()

    def _process_events(self, event_list: object) -> None:
        pass

    def _write_to_self(self) -> None:
        self._selector.woken.set()


class _Waiter:
    def __init__(self) -> None:
        self.woken = threading.Event()

    def select(self, timeout: float | None) -> list[object]:
        if self.woken.wait(timeout):
            self.woken.clear()
        return []


def run_on_foreign_loop(main: object) -> None:
    """Run a coroutine on a foreign loop."""
    assert asyncio.iscoroutine(main)
    loop = ForeignLoop()
    try:
        loop.run_until_complete(asyncio.wait_for(main, 20))
    finally:
        loop.close()
