"""What the work queues for tasks and for threads have in common."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from kinform._checks import check_plain
from kinform._runtime import Latch
from kinform.errors import ConfigError, ShutdownTimeoutError
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.workqueue._clock import default_clock
from kinform.workqueue._core import QueueCore
from kinform.workqueue._notes import Notes, report
from kinform.workqueue._phase import Phase
from kinform.workqueue._rate_limiters import (
    RateLimiter,
    check_rate_limiter,
    default_rate_limiter,
)
from kinform.workqueue._status import QueueStatus
from kinform.workqueue._thread_waiter import ThreadWaiter

K = TypeVar("K")

# A float represents every priority exactly, plus the time that a key has waited.
_MAX_PRIORITY = 2**31 - 1


class BaseWorkQueue(Generic[K]):
    """Base class of ``kinform.workqueue.WorkQueue`` and ``kinform.blocking.WorkQueue``.

    Args:
        name: The name in logs, errors and metrics. A queue without a name has no metrics.
        rate_limiter: Computes the delays of ``add_rate_limited``; defaults to
            ``default_rate_limiter()``.
        aging: The seconds of waiting that raise a key by one step of priority: with 0.1, a key of
            priority -100 precedes new keys of priority 0 after 10 s. ``None``: keys do not age,
            and those of a low priority may wait forever.
        metrics: Receives the metrics of the queue.
        clock: Returns the time in seconds. Defaults to ``time.monotonic``, or to the clock of
            the running event loop if it has its own, such as ``VirtualTimeLoop``.

    Raises:
        ConfigError: An argument is invalid.
    """

    def __init__(
        self,
        name: str = "",
        *,
        rate_limiter: RateLimiter[K] | None = None,
        aging: float | None = 0.1,
        metrics: Metrics = NO_METRICS,
        clock: Callable[[], float] | None = None,
    ) -> None:
        if aging is not None and not 0 < aging < math.inf:
            raise ConfigError(f"aging must be a number of seconds above 0, or None, not {aging!r}")
        if rate_limiter is not None:
            check_rate_limiter("rate_limiter", rate_limiter)
        check_plain("clock", clock)
        self._name = name
        self._rate_limiter = rate_limiter or default_rate_limiter()
        self._metrics = guarded(metrics, name) if name else NO_METRICS
        self._notes: Notes | None = None if self._metrics is NO_METRICS else deque()
        self._core: QueueCore[K] = QueueCore(
            name or "the queue", aging=aging, clock=clock or default_clock(), notes=self._notes
        )
        self._gauges = self._core.gauges
        self._has_reported_stop = False
        self._metrics.workqueue_started(name, self._gauges)

    @property
    def name(self) -> str:
        return self._name

    # -- keys in: any thread, never blocks ----------------------------------------------------

    def add(
        self, key: K, *, priority: int = 0, after: float = 0.0, rate_limited: bool = False
    ) -> None:
        """Queue a key. Thread-safe.

        A queued key is not queued twice: it keeps the higher priority and the earlier time. With
        a higher priority it moves to the end of the keys with that priority. A key that is being
        processed is queued again when that is done. After ``shutdown`` or ``drain``, keys are
        ignored and counted.

        Args:
            key: The key, which must be hashable.
            priority: Keys with a higher priority are handed out first, those with the same one in
                the order in which they were added.
            after: The delay in seconds; the key is ready when it has passed.
            rate_limited: Count a failure of the key, and delay it as the rate limiter demands.
                With ``after``, the shorter delay counts.

        Raises:
            ConfigError: The key is not hashable, or another argument is invalid.
        """
        if priority:
            _check_priority(priority)
        if after:
            _check_delay("after", after)
        if rate_limited and self._core.phase is Phase.OPEN:
            limit = self._rate_limiter.next_delay(key)
            _check_delay("the delay of the rate limiter", limit)
            after = min(after, limit) if after > 0 else limit
        self._core.add(key, priority, after)
        if self._notes is not None:
            self._report()

    def add_after(self, key: K, delay: float, *, priority: int = 0) -> None:
        """Queue a key after a delay in seconds. Short for ``add(key, after=delay)``."""
        self.add(key, priority=priority, after=delay)

    def add_rate_limited(self, key: K, *, priority: int = 0) -> None:
        """Queue a key that failed, after a delay. Short for ``add(key, rate_limited=True)``."""
        self.add(key, priority=priority, rate_limited=True)

    def forget(self, key: K) -> None:
        """Reset the rate limiter for a key: it succeeded, or will not be tried again."""
        self._rate_limiter.forget(key)

    def num_requeues(self, key: K) -> int:
        """Return the number of failures of a key since it was last forgotten."""
        return self._rate_limiter.num_requeues(key)

    # -- keys out -----------------------------------------------------------------------------

    def done(self, key: K) -> None:
        """End the processing of a key that ``get`` returned. Thread-safe.

        If the key was added in the meantime, it is ready again.

        Raises:
            StateError: The key is not being processed.
        """
        for latch in self._core.done(key):
            latch.set()
            if latch is self._core.drained:
                self._report_stop()
        if self._notes is not None:
            self._report()

    def priority_of(self, key: K) -> int:
        """Return the priority with which a key was handed out; of a queued key, its priority.

        Pass it to ``add`` to retry a key with the same priority. 0 for other keys.
        """
        return self._core.priority_of(key)

    def when_processed(self) -> Latch:
        """Return a latch that is set when all keys that are queued now have been processed.

        Every key that is ready or being processed at the time of the call must be done once more;
        its result does not matter. Keys that are delayed or added later do not count. After an
        informer's handler has received its initial list, the latch tells when the workers have
        processed it::

            await registration.has_synced
            await queue.when_processed()

        If the queue is shut down before, waiting raises AlreadyStoppedError.
        """
        latch = Latch(f"{self._core.name} has processed its keys")
        if not self._core.mark(latch):
            latch.set()
        return latch

    # -- the end ------------------------------------------------------------------------------

    def shutdown(self) -> None:
        """Drop all queued keys and wake all workers. Idempotent and thread-safe.

        From now on ``get`` raises QueueClosedError, and added keys are ignored. Keys that are
        being processed are not affected.
        """
        finish = self._core.shut_down()
        finish()
        self._report_stop()

    @property
    def is_shut_down(self) -> bool:
        """Whether ``get`` raises QueueClosedError: after ``shutdown``, or when it is drained."""
        return self._core.phase is Phase.SHUT

    @property
    def is_draining(self) -> bool:
        """Whether ``drain`` was called, and keys are left."""
        return self._core.phase is Phase.DRAINING

    # -- questions ----------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of keys that wait for a worker; delayed keys do not count."""
        return self._core.ready_count()

    def __bool__(self) -> bool:
        # An empty queue is not "no queue".
        return True

    def status(self) -> QueueStatus:
        """Return a snapshot of the queue."""
        return self._core.status()

    def __repr__(self) -> str:
        status = self.status()
        return (
            f"<{type(self).__name__} {self._name!r} ready={status.ready} delayed={status.delayed} "
            f"processing={status.processing}{' shut down' if status.is_shut_down else ''}>"
        )

    # -- for the subclasses -------------------------------------------------------------------

    def _wait_on_thread(self, timeout: float | None) -> K:
        """Block the thread until a key is ready."""
        core, waiter = self._core, ThreadWaiter()
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            while True:
                entry, delay = core.poll(waiter)
                if entry is not None:
                    return entry.key
                if deadline is not None:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        raise TimeoutError(f"{core.name} had no key within {timeout:g} s")
                    delay = left if delay is None else min(left, delay)
                waiter.wait(delay)
        finally:
            core.leave(waiter)

    def _start_draining(self, timeout: float | None, *, delayed: bool) -> Latch:
        """Accept no more keys; return the latch that is set when none is left."""
        if timeout is not None:
            _check_delay("timeout", timeout)
        for latch in self._core.start_draining(delayed=delayed):
            latch.set()
            self._report_stop()
        return self._core.drained

    def _not_drained(self, timeout: float) -> ShutdownTimeoutError:
        """Return the error of a drain that took too long."""
        status = self.status()
        longest = ""
        if status.longest_running is not None:
            longest = f" ({status.longest_running_key!r} for {status.longest_running:.1f} s)"
        return ShutdownTimeoutError(
            f"{self._core.name} was not drained within {timeout:g} s: {status.ready + status.held} "
            f"keys were queued, {status.processing} being processed{longest}; it is shut down now, "
            "without the queued keys"
        )

    def _report(self) -> None:
        """Pass the notes of the core to the metrics, without its lock."""
        if self._notes is not None:
            report(self._notes, self._metrics, self._name)

    def _report_stop(self) -> None:
        """Remove the gauges, once."""
        if not self._has_reported_stop:
            self._has_reported_stop = True
            self._metrics.workqueue_stopped(self._name, self._gauges)


def _check_priority(priority: object) -> None:
    if not isinstance(priority, int) or abs(priority) > _MAX_PRIORITY:
        raise ConfigError(
            f"priority must be an int between -{_MAX_PRIORITY} and {_MAX_PRIORITY}, "
            f"not {priority!r}"
        )


def _check_delay(option: str, seconds: object) -> None:
    if not isinstance(seconds, int | float) or not math.isfinite(seconds):
        raise ConfigError(f"{option} must be a finite number of seconds, not {seconds!r}")
