"""A limit on waiting that moves while one waits; one timer for all of it.

``asyncio.timeout`` makes and cancels a timer each time, which at an event each is a good part of
what the event costs (benchmarks/run.py --only steady). Here whoever hears something notes when,
and the timer asks when it comes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType


class IdleTimeout:
    """``with alarm.set():`` raises TimeoutError in this task if it goes on past the deadline.

    Args:
        deadline: When that is, in the loop's time. It is asked when the timer comes, so it may
            have moved on meanwhile; when it has moved nearer, set the alarm again.

    Attributes:
        is_late: Whether it went off while somebody waited, the last time.
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
        # A timer that comes too early looks again; one that would come too late is replaced.
        if self._timer is not None and self._timer.when() > deadline:
            self.stop()
        if self._timer is None:
            self._timer = self._loop.call_at(deadline, self._look)
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
        # The cancellation was ours, unless somebody else wants an end as well.
        if task.uncancel() <= self._requests and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _look(self) -> None:
        self._timer = None
        if self._task is None:
            return  # nobody waits; the next to wait sets it again
        deadline = self._deadline()
        if self._loop.time() < deadline:
            self._timer = self._loop.call_at(deadline, self._look)
            return
        self.is_late = True
        self._task.cancel()
