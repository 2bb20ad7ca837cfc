"""A limit on waiting, set again and again; one timer for all of them.

``asyncio.timeout`` makes and cancels a timer each time, which at an event each is a good part of
what the event costs (benchmarks/run.py --only steady).
"""

from __future__ import annotations

import asyncio
from types import TracebackType


class Alarm:
    """``with alarm.set(seconds):`` raises TimeoutError in this task if that takes longer."""

    __slots__ = ("_deadline", "_is_late", "_loop", "_requests", "_task", "_timer")

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._deadline = 0.0
        self._requests = 0
        self._is_late = False

    def set(self, seconds: float) -> Alarm:
        loop = self._loop
        if loop is None:
            loop = self._loop = asyncio.get_running_loop()
        self._deadline = loop.time() + seconds
        # A timer that comes too early looks again; one that would come too late is replaced.
        if self._timer is not None and self._timer.when() > self._deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_at(self._deadline, self._look)
        return self

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        assert self._task is not None  # only a task can wait
        self._requests = self._task.cancelling()
        self._is_late = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._task = self._task, None
        assert task is not None
        if not self._is_late:
            return
        # The cancellation was ours, unless somebody else wants an end as well.
        if task.uncancel() <= self._requests and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _look(self) -> None:
        assert self._loop is not None
        self._timer = None
        if self._task is None:
            return  # nobody waits; the next to wait sets it again
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._look)
            return
        self._is_late = True
        self._task.cancel()
