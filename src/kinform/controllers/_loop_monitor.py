"""Notices when an event loop is blocked, and reports where."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
import traceback
import weakref
from typing import ClassVar

_log = logging.getLogger("kinform.controllers")

# Seconds between two looks, without an answer until a loop counts as blocked, and during which
# a block is remembered as a problem.
_INTERVAL = 0.5
_LIMIT = 1.0
_RECENT = 60.0
_FRAMES = 4


class LoopMonitor:
    """Asks an event loop from a thread whether it is alive, while somebody uses the monitor.

    Created by ``of``: all controllers of a loop share one.
    """

    _monitors: ClassVar[weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, LoopMonitor]] = (
        weakref.WeakKeyDictionary()
    )

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = weakref.ref(loop)
        self._thread_id = threading.get_ident()
        self._users = 0
        self._stop = threading.Event()
        self._answered = threading.Event()
        self._blocked_since: float | None = None
        self._last_end = 0.0
        self._last_length = 0.0

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> LoopMonitor:
        """Return the monitor of the loop that runs on this thread."""
        found = cls._monitors.get(loop)
        if found is None:
            found = cls._monitors[loop] = cls(loop)
        return found

    def acquire(self) -> None:
        """Start the thread with the first user."""
        self._users += 1
        if self._users == 1:
            self._stop = stop = threading.Event()
            threading.Thread(
                target=self._watch, args=(stop,), name="kinform-loop-monitor", daemon=True
            ).start()

    def release(self) -> None:
        """End the thread with the last user."""
        self._users -= 1
        if self._users == 0:
            self._stop.set()
            self._answered.set()

    def problem(self) -> str:
        """Return that the loop was blocked a short time ago; empty if it was not. Thread-safe."""
        now = time.monotonic()
        since = self._blocked_since
        if since is not None:
            return f"the event loop is blocked for {now - since:.1f} s"
        if self._last_length and now - self._last_end < _RECENT:
            return (
                f"the event loop was blocked for {self._last_length:.1f} s, "
                f"{now - self._last_end:.0f} s ago"
            )
        return ""

    def _watch(self, stop: threading.Event) -> None:
        while not stop.wait(_INTERVAL):
            loop = self._loop()
            if loop is None:
                return
            asked = time.monotonic()
            self._answered.clear()
            try:
                loop.call_soon_threadsafe(self._answered.set)
            except RuntimeError:  # the loop is closed
                return
            del loop
            if self._answered.wait(_LIMIT) or stop.is_set():
                continue
            self._blocked_since = asked
            _log.warning(
                "the event loop is blocked for more than %g s, so no other work proceeds; it is in "
                "%s; use await, or a def reconciler, which runs on a thread",
                _LIMIT,
                self._location(),
            )
            self._answered.wait()
            self._last_end = time.monotonic()
            self._last_length = self._last_end - asked
            self._blocked_since = None

    def _location(self) -> str:
        frame = sys._current_frames().get(self._thread_id)
        if frame is None:
            return "an unknown place"
        stack = traceback.extract_stack(frame)[-_FRAMES:]
        return " <- ".join(f"{each.name} ({each.filename}:{each.lineno})" for each in stack[::-1])
