"""Exports metrics to Prometheus, under the names of client-go."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

# Imported first: it raises the error that names the missing package.
from kinform.metrics._collectors import Collectors, collectors_of

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Gauge

    from kinform.metrics._base import WorkQueueGauges


class PrometheusMetrics:
    """Exports metrics to Prometheus. Several instances may share a registry and its metrics.

        factory = DynamicSharedInformerFactory(client, metrics=PrometheusMetrics())

    When an informer or work queue stops, its gauges are removed. Its counters stay, because they
    are totals over the lifetime of the process.

    Args:
        registry: The registry; ``None`` uses the default one of ``prometheus_client``.

    Raises:
        ConfigError: The registry has a foreign metric of one of these names.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._registry = registry
        self._collectors = collectors_of(registry)
        self._informers: dict[str, _Informer] = {}
        self._handlers: dict[tuple[str, str], _Handler] = {}
        self._queues: dict[str, _Queue] = {}

    @property
    def registry(self) -> CollectorRegistry | None:
        """The registry; ``None`` is the default one of ``prometheus_client``."""
        return self._registry

    def informer_started(self, informer: str, staleness: Callable[[], float | None]) -> None:
        def seconds() -> float:
            known = staleness()
            return math.nan if known is None else known

        self._collectors.staleness.labels(informer).set_function(seconds)

    def list_finished(self, informer: str, duration: float, items: int) -> None:
        collectors = self._collectors
        collectors.lists.labels(informer).inc()
        collectors.list_duration.labels(informer).observe(duration)
        collectors.items_per_list.labels(informer).observe(items)

    def watch_opened(self, informer: str) -> None:
        self._collectors.watches.labels(informer).inc()

    def watch_closed(self, informer: str, duration: float, events: int, short: bool) -> None:
        collectors = self._collectors
        collectors.watch_duration.labels(informer).observe(duration)
        collectors.items_per_watch.labels(informer).observe(events)
        if short:
            collectors.short_watches.labels(informer).inc()

    def advanced(self, informer: str, resource_version: str) -> None:
        _set_version(self._informer(informer).last_version, resource_version)

    def relisted(self, informer: str, reason: str) -> None:
        self._collectors.relists.labels(informer, reason).inc()

    def failed(self, informer: str, phase: str, kind: str) -> None:
        self._collectors.errors.labels(informer, phase, kind).inc()

    def queue_depth(self, informer: str, depth: int) -> None:
        self._informer(informer).queued.set(depth)

    def processed(self, informer: str, seconds: float) -> None:
        self._informer(informer).latency.observe(seconds)

    def store_changed(self, informer: str, objects: int, bytes: int, resource_version: str) -> None:
        metrics = self._informer(informer)
        metrics.objects.set(objects)
        metrics.bytes.set(bytes)
        _set_version(metrics.store_version, resource_version)

    def handler_depth(self, informer: str, handler: str, depth: int) -> None:
        self._handler(informer, handler).pending.set(depth)

    def handler_done(self, informer: str, handler: str, ok: bool, seconds: float) -> None:
        metrics = self._handler(informer, handler)
        (metrics.ok if ok else metrics.failed).inc()
        metrics.duration.observe(seconds)

    def handler_removed(self, informer: str, handler: str) -> None:
        self._handlers.pop((informer, handler), None)
        _drop(self._collectors.pending, informer, handler)

    def informer_stopped(self, informer: str) -> None:
        self._informers.pop(informer, None)
        collectors = self._collectors
        for gauge in (
            collectors.last_resource_version,
            collectors.queued,
            collectors.store_version,
            collectors.objects,
            collectors.bytes,
            collectors.staleness,
        ):
            _drop(gauge, informer)
        for owner, handler in list(self._handlers):
            if owner == informer:
                self.handler_removed(informer, handler)

    def cache_waited(self, kind: str, seconds: float) -> None:
        self._collectors.cache_waits.labels(kind).inc()
        self._collectors.cache_wait_time.labels(kind).inc(seconds)

    def cache_waited_for_own_writes(self, kind: str, seconds: float) -> None:
        self._collectors.own_write_waits.labels(kind).inc()
        self._collectors.own_write_wait_time.labels(kind).inc(seconds)

    def cache_created_informer(self, kind: str) -> None:
        self._collectors.implicit_informers.labels(kind).inc()

    def workqueue_started(self, queue: str, gauges: Callable[[], WorkQueueGauges]) -> None:
        self._collectors.queue_gauges.add(queue, gauges)

    def workqueue_added(self, queue: str) -> None:
        self._queue(queue).adds.inc()

    def workqueue_retried(self, queue: str) -> None:
        self._queue(queue).retries.inc()

    def workqueue_taken(self, queue: str, seconds: float) -> None:
        self._queue(queue).queue_duration.observe(seconds)

    def workqueue_done(self, queue: str, seconds: float) -> None:
        self._queue(queue).work_duration.observe(seconds)

    def workqueue_stopped(self, queue: str, gauges: Callable[[], WorkQueueGauges]) -> None:
        self._collectors.queue_gauges.remove(queue, gauges)

    def leader_status(self, election: str, is_leader: bool) -> None:
        self._collectors.leader_status.labels(election).set(is_leader)

    def leader_slow_path(self, election: str) -> None:
        self._collectors.leader_slow_path.labels(election).inc()

    def workers_started(self, controller: str, workers: int, active: Callable[[], int]) -> None:
        self._collectors.workers.labels(controller).set(workers)
        self._collectors.active_workers.labels(controller).set_function(active)

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        collectors = self._collectors
        is_terminal = result == "terminal"
        # controller-runtime counts terminal failures as errors, too.
        collectors.reconciles.labels(controller, "error" if is_terminal else result).inc()
        collectors.reconcile_time.labels(controller).observe(seconds)
        if is_terminal:
            collectors.terminal_errors.labels(controller).inc()
        if is_terminal or result == "error":
            collectors.reconcile_errors.labels(controller).inc()

    def reconcile_timed_out(self, controller: str) -> None:
        self._collectors.reconcile_timeouts.labels(controller).inc()

    def workers_stopped(self, controller: str) -> None:
        _drop(self._collectors.workers, controller)
        _drop(self._collectors.active_workers, controller)

    def events_written(self, recorder: str, events: int) -> None:
        self._collectors.recorded_events.labels(recorder).inc(events)

    def events_dropped(self, recorder: str, reason: str, events: int) -> None:
        self._collectors.dropped_events.labels(recorder, reason).inc(events)

    def _informer(self, name: str) -> _Informer:
        found = self._informers.get(name)
        if found is None:
            found = self._informers[name] = _Informer(self._collectors, name)
        return found

    def _handler(self, informer: str, name: str) -> _Handler:
        found = self._handlers.get((informer, name))
        if found is None:
            found = self._handlers[informer, name] = _Handler(self._collectors, informer, name)
        return found

    def _queue(self, name: str) -> _Queue:
        found = self._queues.get(name)
        if found is None:
            found = self._queues[name] = _Queue(self._collectors, name)
        return found


class _Informer:
    """Cached metrics of one informer: looking one up costs more than setting it."""

    def __init__(self, collectors: Collectors, name: str) -> None:
        self.last_version = collectors.last_resource_version.labels(name)
        self.queued = collectors.queued.labels(name)
        self.latency = collectors.latency.labels(name)
        self.store_version = collectors.store_version.labels(name)
        self.objects = collectors.objects.labels(name)
        self.bytes = collectors.bytes.labels(name)


class _Handler:
    """Cached metrics of one handler."""

    def __init__(self, collectors: Collectors, informer: str, name: str) -> None:
        self.pending = collectors.pending.labels(informer, name)
        self.ok: Counter = collectors.events.labels(informer, name, "ok")
        self.failed: Counter = collectors.events.labels(informer, name, "failed")
        self.duration = collectors.handler_duration.labels(informer, name)


class _Queue:
    """Cached metrics of one work queue."""

    def __init__(self, collectors: Collectors, name: str) -> None:
        self.adds = collectors.queue_adds.labels(name)
        self.retries = collectors.queue_retries.labels(name)
        self.queue_duration = collectors.queue_duration.labels(name)
        self.work_duration = collectors.work_duration.labels(name)


def _set_version(gauge: Gauge, resource_version: str) -> None:
    """Set a gauge to the last 15 digits, which a float represents exactly."""
    digits = resource_version[-15:]
    if digits.isdecimal():
        gauge.set(int(digits))


def _drop(gauge: Gauge, *labels: str) -> None:
    with suppress(KeyError):  # it was never set
        gauge.remove(*labels)
