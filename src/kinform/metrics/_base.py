"""The metrics interface and its no-op implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec


class WorkQueueGauges(msgspec.Struct, frozen=True):
    """What a work queue holds at one moment.

    Attributes:
        depths: The number of keys that wait for a worker, by priority.
        unfinished: The seconds that the keys being processed have taken so far, added up.
        longest_running: The longest of these, in seconds; 0 if no key is being processed.
    """

    depths: Mapping[int, int]
    unfinished: float
    longest_running: float


class Metrics(Protocol):
    """Receives metrics. ``informer`` and ``handler`` are names; durations are in seconds.

    Caches report by ``kind``, which is a resource such as ``v1/pods``. ``queue`` and ``controller``
    are the names of work queues and controllers, ``election`` is the name of a Lease, ``recorder``
    that of an event recorder.

    Methods are called on the event loop and on the threads of handlers, some of them once per
    batch of events: they must be fast, must not block and must not raise. Inherit from
    ``NoMetrics`` to implement only some of them.
    """

    def informer_started(self, informer: str, staleness: Callable[[], float | None]) -> None:
        """An informer was started.

        ``staleness()`` returns the seconds since its store was last known to be current, ``None``
        before the first sync. It may be called at any time, from any thread.
        """

    def list_finished(self, informer: str, duration: float, items: int) -> None:
        """A complete list was received, in pages or as the start of a stream."""

    def watch_opened(self, informer: str) -> None:
        """A watch was opened."""

    def watch_closed(self, informer: str, duration: float, events: int, short: bool) -> None:
        """A watch ended; ``short`` if it ended immediately and without events."""

    def advanced(self, informer: str, resource_version: str) -> None:
        """The reflector reached this version."""

    def relisted(self, informer: str, reason: str) -> None:
        """A complete list was fetched again."""

    def failed(self, informer: str, phase: str, kind: str) -> None:
        """A request or a stream failed."""

    def queue_depth(self, informer: str, depth: int) -> None:
        """The number of deltas waiting to be applied to the store."""

    def processed(self, informer: str, seconds: float) -> None:
        """A batch was applied to the store and put into the mailboxes."""

    def store_changed(self, informer: str, objects: int, bytes: int, resource_version: str) -> None:
        """The size and version of the store after a change."""

    def handler_depth(self, informer: str, handler: str, depth: int) -> None:
        """The number of events waiting for a handler."""

    def handler_done(self, informer: str, handler: str, ok: bool, seconds: float) -> None:
        """A handler processed an event, or raised."""

    def handler_removed(self, informer: str, handler: str) -> None:
        """A handler was removed."""

    def informer_stopped(self, informer: str) -> None:
        """An informer stopped, and its handlers with it."""

    def cache_waited(self, kind: str, seconds: float) -> None:
        """A read of a cache waited until the kind was complete, or gave up."""

    def cache_waited_for_own_writes(self, kind: str, seconds: float) -> None:
        """A read waited until the cache had the caller's own writes, or gave up."""

    def cache_created_informer(self, kind: str) -> None:
        """A read of a kind that was not declared created an informer."""

    def workqueue_started(self, queue: str, gauges: Callable[[], WorkQueueGauges]) -> None:
        """A work queue was created.

        ``gauges()`` returns its current state. It may be called at any time, from any thread.
        """

    def workqueue_added(self, queue: str) -> None:
        """A key was queued, or its delay has passed. Adding a queued key again does not count."""

    def workqueue_retried(self, queue: str) -> None:
        """A key was added with a delay."""

    def workqueue_taken(self, queue: str, seconds: float) -> None:
        """A worker received a key that had waited for ``seconds``."""

    def workqueue_done(self, queue: str, seconds: float) -> None:
        """A worker finished a key after ``seconds``."""

    def workqueue_stopped(self, queue: str, gauges: Callable[[], WorkQueueGauges]) -> None:
        """A work queue was shut down or drained; ``gauges`` is that of ``workqueue_started``."""

    def leader_status(self, election: str, is_leader: bool) -> None:
        """This process became the leader, or is not the leader any more."""

    def leader_slow_path(self, election: str) -> None:
        """A leader had to read its Lease before renewing it, because somebody else changed it."""

    def workers_started(self, controller: str, workers: int, active: Callable[[], int]) -> None:
        """A controller started to work.

        ``active()`` returns the number of running reconciles. It may be called at any time, from
        any thread.
        """

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        """A reconcile ended in success, error, requeue, requeue_after or terminal."""

    def reconcile_timed_out(self, controller: str) -> None:
        """A reconcile took longer than its controller allows."""

    def workers_stopped(self, controller: str) -> None:
        """A controller stopped working."""

    def events_written(self, recorder: str, events: int) -> None:
        """An event recorder has written this many events; repeated ones are counted each."""

    def events_dropped(self, recorder: str, reason: str, events: int) -> None:
        """An event recorder has dropped this many events."""


class NoMetrics:
    """Ignores all metrics. Inherit from it to implement some of the methods."""

    def informer_started(self, informer: str, staleness: Callable[[], float | None]) -> None: ...
    def list_finished(self, informer: str, duration: float, items: int) -> None: ...
    def watch_opened(self, informer: str) -> None: ...
    def watch_closed(self, informer: str, duration: float, events: int, short: bool) -> None: ...
    def advanced(self, informer: str, resource_version: str) -> None: ...
    def relisted(self, informer: str, reason: str) -> None: ...
    def failed(self, informer: str, phase: str, kind: str) -> None: ...
    def queue_depth(self, informer: str, depth: int) -> None: ...
    def processed(self, informer: str, seconds: float) -> None: ...
    def store_changed(
        self, informer: str, objects: int, bytes: int, resource_version: str
    ) -> None: ...
    def handler_depth(self, informer: str, handler: str, depth: int) -> None: ...
    def handler_done(self, informer: str, handler: str, ok: bool, seconds: float) -> None: ...
    def handler_removed(self, informer: str, handler: str) -> None: ...
    def informer_stopped(self, informer: str) -> None: ...
    def cache_waited(self, kind: str, seconds: float) -> None: ...
    def cache_waited_for_own_writes(self, kind: str, seconds: float) -> None: ...
    def cache_created_informer(self, kind: str) -> None: ...
    def workqueue_started(self, queue: str, gauges: Callable[[], WorkQueueGauges]) -> None: ...
    def workqueue_added(self, queue: str) -> None: ...
    def workqueue_retried(self, queue: str) -> None: ...
    def workqueue_taken(self, queue: str, seconds: float) -> None: ...
    def workqueue_done(self, queue: str, seconds: float) -> None: ...
    def workqueue_stopped(self, queue: str, gauges: Callable[[], WorkQueueGauges]) -> None: ...
    def leader_status(self, election: str, is_leader: bool) -> None: ...
    def leader_slow_path(self, election: str) -> None: ...
    def workers_started(self, controller: str, workers: int, active: Callable[[], int]) -> None: ...
    def reconciled(self, controller: str, result: str, seconds: float) -> None: ...
    def reconcile_timed_out(self, controller: str) -> None: ...
    def workers_stopped(self, controller: str) -> None: ...
    def events_written(self, recorder: str, events: int) -> None: ...
    def events_dropped(self, recorder: str, reason: str, events: int) -> None: ...


NO_METRICS: Metrics = NoMetrics()
"""Discards all metrics; the default."""
