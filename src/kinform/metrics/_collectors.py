"""The Prometheus collectors of a registry, shared by all ``PrometheusMetrics`` on it.

Names are those of client-go where it has them, so that its dashboards and alerts can be used; other
names start with ``kinform_``. The label ``name`` is the name of the informer, work queue or
election, or the kind of a cache; that of controllers is ``controller``, as in controller-runtime.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar
from weakref import WeakKeyDictionary

from kinform.errors import ConfigError

try:
    from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram, Summary
    from prometheus_client.metrics import MetricWrapperBase
except ImportError as error:
    raise ConfigError(
        "PrometheusMetrics needs prometheus-client; install it with: "
        "pip install 'kinform[prometheus]'"
    ) from error

from kinform.metrics._queue_gauges import QueueGaugesCollector

C = TypeVar("C", bound=MetricWrapperBase)

# A batch takes tens of microseconds; the first list of a large cluster takes seconds.
_LATENCIES = (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
# A key waits and is processed for microseconds to minutes.
# As in controller-runtime, but fewer.
_RECONCILE_TIMES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_QUEUE_TIMES = (1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


class Collectors:
    """All metrics, registered once.

    Raises:
        ConfigError: The registry has a foreign metric of one of these names.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._made: list[MetricWrapperBase | QueueGaugesCollector] = []
        try:
            self._make_reflector()
            self._make_informer()
            self._make_handler()
            self._make_cache()
            self._make_queue()
            self._make_election()
            self._make_controller()
        except ValueError as error:
            for made in self._made:
                registry.unregister(made)
            raise ConfigError(
                f"the registry already has a metric of this name from elsewhere: {error}; "
                "pass another registry= to PrometheusMetrics"
            ) from error
        # The registry refers to the collectors; a reference back would keep both alive forever.
        del self._registry, self._made

    def _make_reflector(self) -> None:
        self.lists = self._new(Counter, "reflector_lists_total", "Completed lists")
        self.list_duration = self._new(
            Summary, "reflector_list_duration_seconds", "Duration of a list, including decoding"
        )
        self.items_per_list = self._new(
            Summary, "reflector_items_per_list", "Number of objects in a list"
        )
        self.watches = self._new(Counter, "reflector_watches_total", "Opened watches")
        self.short_watches = self._new(
            Counter, "reflector_short_watches_total", "Watches that ended at once without events"
        )
        self.watch_duration = self._new(
            Summary, "reflector_watch_duration_seconds", "Duration of a watch"
        )
        self.items_per_watch = self._new(
            Summary, "reflector_items_per_watch", "Number of events in a watch"
        )
        self.last_resource_version = self._new(
            Gauge, "reflector_last_resource_version", "Last 15 digits of the last version seen"
        )
        self.relists = self._new(
            Counter, "kinform_relists_total", "Lists after the first one", "reason"
        )
        self.errors = self._new(
            Counter, "kinform_errors_total", "Failed requests and streams", "phase", "kind"
        )

    def _make_informer(self) -> None:
        self.queued = self._new(Gauge, "informer_queued_items", "Deltas waiting for the store")
        self.latency = self._new(
            Histogram, "informer_processing_latency_seconds", "Time to apply a batch to the store"
        )
        self.store_version = self._new(
            Gauge, "informer_store_resource_version", "Last 15 digits of the version of the store"
        )
        self.objects = self._new(Gauge, "kinform_informer_objects", "Objects in the store")
        self.bytes = self._new(Gauge, "kinform_informer_bytes", "Bytes of the objects in the store")
        self.staleness = self._new(
            Gauge,
            "kinform_informer_staleness_seconds",
            "Seconds since the store was last known to be current",
        )

    def _make_handler(self) -> None:
        self.pending = self._new(
            Gauge, "kinform_handler_pending", "Events waiting for the handler", "handler"
        )
        self.events = self._new(
            Counter,
            "kinform_handler_events_total",
            "Events delivered to the handler, by result",
            "handler",
            "result",
        )
        self.handler_duration = self._new(
            Summary, "kinform_handler_duration_seconds", "Duration of handler calls", "handler"
        )

    def _make_cache(self) -> None:
        self.cache_waits = self._new(
            Counter, "kinform_cache_waits_total", "Reads that waited until the kind was complete"
        )
        self.cache_wait_time = self._new(
            Counter,
            "kinform_cache_wait_seconds_total",
            "Seconds that reads waited until the kind was complete",
        )
        self.own_write_waits = self._new(
            Counter, "kinform_cache_own_write_waits_total", "Reads that waited for own writes"
        )
        self.own_write_wait_time = self._new(
            Counter,
            "kinform_cache_own_write_wait_seconds_total",
            "Seconds that reads waited for own writes",
        )
        self.implicit_informers = self._new(
            Counter,
            "kinform_cache_implicit_informers_total",
            "Informers created by reads of kinds that were not declared",
        )
        self.recorded_events = self._new(
            Counter, "kinform_recorder_events_written_total", "Events that were written"
        )
        self.dropped_events = self._new(
            Counter,
            "kinform_recorder_events_dropped_total",
            "Events that were dropped, by reason",
            "reason",
        )

    def _make_queue(self) -> None:
        self.queue_adds = self._new(Counter, "workqueue_adds_total", "Keys that were queued")
        self.queue_retries = self._new(
            Counter, "workqueue_retries_total", "Keys that were added with a delay"
        )
        self.queue_duration = self._new(
            Histogram,
            "workqueue_queue_duration_seconds",
            "Time that a key waited for a worker",
            buckets=_QUEUE_TIMES,
        )
        self.work_duration = self._new(
            Histogram,
            "workqueue_work_duration_seconds",
            "Time that a worker took to process a key",
            buckets=_QUEUE_TIMES,
        )
        self.queue_gauges = QueueGaugesCollector()
        self._registry.register(self.queue_gauges)
        self._made.append(self.queue_gauges)

    def _make_election(self) -> None:
        self.leader_status = self._new(
            Gauge, "leader_election_master_status", "1 if this process is the leader, otherwise 0"
        )
        self.leader_slow_path = self._new(
            Counter, "leader_election_slowpath_total", "Renewals that had to read the Lease first"
        )

    def _make_controller(self) -> None:
        self.reconciles = self._new(
            Counter,
            "controller_runtime_reconcile_total",
            "Reconciles, by result",
            "result",
            subject="controller",
        )
        self.reconcile_errors = self._new(
            Counter,
            "controller_runtime_reconcile_errors_total",
            "Reconciles that failed",
            subject="controller",
        )
        self.terminal_errors = self._new(
            Counter,
            "controller_runtime_terminal_reconcile_errors_total",
            "Reconciles that failed and are not tried again",
            subject="controller",
        )
        self.reconcile_timeouts = self._new(
            Counter,
            "controller_runtime_reconcile_timeouts_total",
            "Reconciles that took too long",
            subject="controller",
        )
        self.reconcile_time = self._new(
            Histogram,
            "controller_runtime_reconcile_time_seconds",
            "Duration of reconciles",
            subject="controller",
            buckets=_RECONCILE_TIMES,
        )
        self.workers = self._new(
            Gauge,
            "controller_runtime_max_concurrent_reconciles",
            "Workers of the controller",
            subject="controller",
        )
        self.active_workers = self._new(
            Gauge,
            "controller_runtime_active_workers",
            "Workers that reconcile at the moment",
            subject="controller",
        )

    def _new(
        self,
        kind: Callable[..., C],
        name: str,
        text: str,
        *labels: str,
        subject: str = "name",
        buckets: tuple[float, ...] = _LATENCIES,
    ) -> C:
        more = {"buckets": buckets} if kind is Histogram else {}
        made = kind(name, text, (subject, *labels), registry=self._registry, **more)
        self._made.append(made)
        return made


_lock = threading.Lock()
_known: WeakKeyDictionary[CollectorRegistry, Collectors] = WeakKeyDictionary()


def collectors_of(registry: CollectorRegistry | None) -> Collectors:
    """Return the collectors of a registry, creating them on first use; ``None`` is the default.

    Raises:
        ConfigError: The registry has a foreign metric of one of these names.
    """
    registry = REGISTRY if registry is None else registry
    with _lock:
        if registry not in _known:
            _known[registry] = Collectors(registry)
        return _known[registry]
