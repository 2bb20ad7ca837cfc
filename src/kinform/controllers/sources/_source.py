"""The interface of sources, and what a source has while it is open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Hashable
from typing import Any, Generic, TypeVar

import msgspec

from kinform._runtime import Latch
from kinform.cache import Cache
from kinform.controllers._cluster import Cluster
from kinform.informers import Registration
from kinform.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger("kinform.controllers")

LOW_PRIORITY = -100
"""The priority of objects of the initial list and of resyncs, as in controller-runtime."""

# A failure is a problem of the source for this many seconds.
_RECENT = 600.0


class SourceStatus(msgspec.Struct, frozen=True):
    """The state of a source.

    Attributes:
        name: The name of the source.
        has_synced: Whether the controller has received everything that existed at the start.
        is_required: Whether the workers wait for it.
        problem: Why it has not synced, or what failed recently; empty if nothing did.
        failures: The number of failed predicates and map functions.
    """

    name: str
    has_synced: bool
    is_required: bool
    problem: str
    failures: int


class OpenSource:
    """A source that feeds a queue, until it is closed.

    Args:
        name: The name of the source.
        is_required: Whether the workers of the controller wait for it.

    Attributes:
        has_synced: Set when the queue has received everything that existed at the start.
        problem: Why it has not synced yet, as far as known.
    """

    def __init__(self, name: str, *, is_required: bool = True) -> None:
        self.name = name
        self.is_required = is_required
        self.has_synced = Latch(f"{name} has synced")
        self.problem = ""
        self.failures = 0
        self._failure = ""
        self._failed_at = 0.0
        self._registration: Registration[Any] | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the background task of the source, which ends when the source is closed."""
        self._task = asyncio.create_task(work, name=self.name)
        self._task.add_done_callback(self._log_end)

    def attach(self, registration: Registration[Any]) -> None:
        """Remember the registration to remove when the source is closed."""
        self._registration = registration

    def fail(self, what: str, error: BaseException) -> None:
        """Count and log a failure of user code; it stays visible for ten minutes."""
        self.failures += 1
        self._failure = f"{what} raised {type(error).__name__}: {error}"
        self._failed_at = time.monotonic()
        # The first one with its traceback, the others in growing steps.
        if self.failures & (self.failures - 1) == 0:
            _log.error(
                "%s: %s (%d times so far)",
                self.name,
                what,
                self.failures,
                exc_info=error if self.failures == 1 else None,
            )

    def status(self) -> SourceStatus:
        """Return the state of the source."""
        problem = "" if self.has_synced else self.problem or "waiting for the initial list"
        if not problem and self._failure and time.monotonic() - self._failed_at < _RECENT:
            problem = self._failure
        return SourceStatus(
            self.name, bool(self.has_synced), self.is_required, problem, self.failures
        )

    async def close(self) -> None:
        """Stop feeding the queue, and return when nothing of the source runs any more."""
        self._is_closed = True
        self.has_synced.give_up(f"{self.name} is closed")
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
        registration, self._registration = self._registration, None
        if registration is not None:
            registration.remove()
            await registration.stopped

    def _log_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.problem = f"it failed: {error}"
            self.fail("its task", error)


class Source(ABC, Generic[K]):
    """Feeds the queue of a controller with keys. Each source belongs to one controller.

    Attributes:
        name: The name used in logs, errors and debug pages.
    """

    name: str

    def declare(self, cache: Cache) -> None:  # most sources read from no cache
        """Declare what the source reads from the cache of its controller, before the start."""

    @abstractmethod
    def open(self, queue: WorkQueue[K], cluster: Cluster) -> OpenSource:
        """Start to feed a queue, on the running event loop.

        Args:
            queue: The queue.
            cluster: The cluster of the controller.
        """
