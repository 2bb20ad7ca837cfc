"""A thread that waits for a key."""

from __future__ import annotations

import threading

from kinform.workqueue._waiter import Waiter


class ThreadWaiter(Waiter):
    """A pending ``get`` of a thread."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        super().__init__()
        self._event = threading.Event()

    def wait(self, timeout: float | None) -> None:
        """Block until it is notified, or ``timeout`` seconds have passed."""
        self._event.wait(timeout)

    def _wake(self) -> None:
        self._event.set()

    def _reset(self) -> None:
        self._event.clear()
