"""The gauges of work queues, read from the queues at each scrape."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from kinform.metrics._base import WorkQueueGauges

Gauges = Callable[[], WorkQueueGauges]

# Each value of a label is a time series, which Prometheus keeps for long.
_MAX_PRIORITIES = 25
_OTHER = "other"


class QueueGaugesCollector(Collector):
    """Collects depth, unfinished work and the longest running key of all queues.

    A queue has a label for each of the first 25 priorities that were seen; all others are
    ``priority="other"``. Queues with the same name are added up.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[str, list[Gauges]] = {}
        self._labels: dict[str, dict[int, str]] = {}

    def add(self, queue: str, gauges: Gauges) -> None:
        """Collect the gauges of a queue from now on."""
        with self._lock:
            self._queues.setdefault(queue, []).append(gauges)

    def remove(self, queue: str, gauges: Gauges) -> None:
        """Collect the gauges of a queue no longer."""
        with self._lock:
            known = self._queues.get(queue, [])
            if gauges in known:
                known.remove(gauges)
            if not known:
                self._queues.pop(queue, None)
                self._labels.pop(queue, None)

    def describe(self) -> Iterable[Metric]:
        return _families()

    def collect(self) -> Iterable[Metric]:
        depth, unfinished, longest = families = _families()
        with self._lock:
            queues = {name: list(gauges) for name, gauges in self._queues.items()}
        for name, gauges in queues.items():
            states = [each() for each in gauges]
            for priority, count in self._depths(name, states).items():
                depth.add_metric([name, priority], count)
            unfinished.add_metric([name], sum(state.unfinished for state in states))
            longest.add_metric([name], max(state.longest_running for state in states))
        return families

    def _depths(self, name: str, states: Sequence[WorkQueueGauges]) -> dict[str, int]:
        """Return the number of keys by label, with those of empty priorities."""
        with self._lock:
            labels = self._labels.setdefault(name, {0: "0"})
            for state in states:
                for priority in state.depths:
                    if priority not in labels and len(labels) < _MAX_PRIORITIES:
                        labels[priority] = str(priority)
            depths = dict.fromkeys(labels.values(), 0)
        for state in states:
            for priority, count in state.depths.items():
                label = labels.get(priority, _OTHER)
                depths[label] = depths.get(label, 0) + count
        return depths


def _families() -> tuple[GaugeMetricFamily, GaugeMetricFamily, GaugeMetricFamily]:
    return (
        GaugeMetricFamily(
            "workqueue_depth", "Keys that wait for a worker", labels=("name", "priority")
        ),
        GaugeMetricFamily(
            "workqueue_unfinished_work_seconds",
            "Time that the keys being processed have taken so far, added up",
            labels=("name",),
        ),
        GaugeMetricFamily(
            "workqueue_longest_running_processor_seconds",
            "Time that the key being processed for longest has taken so far",
            labels=("name",),
        ),
    )
