"""A timeout whose deadline moves while a task waits, with a single timer.

``asyncio.timeout`` creates and cancels a timer each time; once per event, that is a considerable
part of the cost of an event (benchmarks/run.py --only steady). Here, each read only records its
time, and the timer checks the deadline when it fires.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType


class IdleTimeout:
    """``with timeout.set():`` raises TimeoutError in the current task after the deadline.

    Args:
        deadline: Returns the deadline in loop time. It is called when the timer fires, so the
            deadline may have moved to later; after moving it to earlier, call ``set`` again.

    Attributes:
        is_late: Whether the last wait exceeded the deadline.
    """

    __slots__ = ("_deadline", "_loop", "_requests", "_task", "_timer", "is_late")

    def __init__(self, deadline: Callable[[], float]) -> None:
        self._loop = asyncio.get_running_loop()
        self._deadline = deadline
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._requests = 0
        self.is_late = False

    def set(self) -> IdleTimeout:
        deadline = self._deadline()
        # A timer that fires early checks again; one that would fire late is replaced.
        if self._timer is not None and self._timer.when() > deadline:
            self.stop()
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._check)
        return self

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        assert self._task is not None  # only a task can wait
        self._requests = self._task.cancelling()
        self.is_late = False

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        task, self._task = self._task, None
        assert task is not None
        if not self.is_late:
            return
        # The cancellation came from this timeout, unless another one was requested too.
        if task.uncancel() <= self._requests and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _check(self) -> None:
        self._timer = None
        if self._task is None:
            return  # nothing is waiting; the next set() starts a timer
        deadline = self._deadline()
        if self._loop.time() < deadline:
            self._timer = self._loop.call_at(deadline, self._check)
            return
        self.is_late = True
        self._task.cancel()
