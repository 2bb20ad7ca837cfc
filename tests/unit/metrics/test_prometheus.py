"""What a scrape shows after the engine has told something."""

from __future__ import annotations

import gc
import math
import threading
import weakref

import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest

from kinform.errors import ConfigError
from kinform.metrics import PrometheusMetrics, WorkQueueGauges


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def metrics(registry: CollectorRegistry) -> PrometheusMetrics:
    return PrometheusMetrics(registry)


def _value(registry: CollectorRegistry, metric: str, **labels: str) -> float | None:
    return registry.get_sample_value(metric, {"name": "pods", **labels})


def test_a_list_is_counted_with_its_time_and_size(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    metrics.list_finished("pods", 0.5, 100)
    metrics.list_finished("pods", 1.5, 300)

    assert _value(registry, "reflector_lists_total") == 2
    assert _value(registry, "reflector_list_duration_seconds_sum") == 2.0
    assert _value(registry, "reflector_items_per_list_sum") == 400
    assert _value(registry, "reflector_items_per_list_count") == 2


def test_watches_are_counted_and_the_short_ones_apart(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    for _ in range(2):
        metrics.watch_opened("pods")
    metrics.watch_closed("pods", 300.0, 7, False)
    assert not _value(registry, "reflector_short_watches_total")
    metrics.watch_closed("pods", 0.25, 0, True)

    assert _value(registry, "reflector_watches_total") == 2
    assert _value(registry, "reflector_short_watches_total") == 1
    assert _value(registry, "reflector_watch_duration_seconds_sum") == 300.25
    assert _value(registry, "reflector_items_per_watch_sum") == 7


@pytest.mark.parametrize(
    ("version", "shown"),
    [("42", 42), ("1234567890123456789", 567890123456789), ("", None), ("not-a-number", None)],
)
def test_a_version_is_shown_by_its_last_digits_if_it_has_any(
    metrics: PrometheusMetrics, registry: CollectorRegistry, version: str, shown: float | None
) -> None:
    metrics.advanced("pods", version)
    metrics.store_changed("pods", 1, 1, version)

    expected = shown if shown is not None else 0
    assert _value(registry, "reflector_last_resource_version") == expected
    assert _value(registry, "informer_store_resource_version") == expected


def test_the_store_and_its_queue_are_shown(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    metrics.queue_depth("pods", 12)
    metrics.processed("pods", 0.002)
    metrics.store_changed("pods", 20, 260_000, "9")

    assert _value(registry, "informer_queued_items") == 12
    assert _value(registry, "informer_processing_latency_seconds_count") == 1
    assert _value(registry, "informer_processing_latency_seconds_bucket", le="0.001") == 0
    assert _value(registry, "informer_processing_latency_seconds_bucket", le="0.005") == 1
    assert _value(registry, "kinform_informer_objects") == 20
    assert _value(registry, "kinform_informer_bytes") == 260_000


def test_relists_and_errors_are_counted_by_their_kind(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    metrics.relisted("pods", "expired")
    metrics.failed("pods", "watch", "ForbiddenError")

    assert _value(registry, "kinform_relists_total", reason="expired") == 1
    assert _value(registry, "kinform_errors_total", phase="watch", kind="ForbiddenError") == 1


def test_a_handler_is_shown_with_its_failures_apart(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    metrics.handler_depth("pods", "mine", 3)
    metrics.handler_done("pods", "mine", True, 0.25)
    metrics.handler_done("pods", "mine", False, 0.5)

    assert _value(registry, "kinform_handler_pending", handler="mine") == 3
    for result in ("ok", "failed"):
        assert _value(registry, "kinform_handler_events_total", handler="mine", result=result) == 1
    assert _value(registry, "kinform_handler_duration_seconds_sum", handler="mine") == 0.75


def test_staleness_is_asked_for_at_each_scrape_and_gone_when_the_informer_stops(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    staleness: float | None = None
    metrics.informer_started("pods", lambda: staleness)
    before = _value(registry, "kinform_informer_staleness_seconds")
    assert before is not None
    assert math.isnan(before)

    for staleness in (0.0, 12.5):
        assert _value(registry, "kinform_informer_staleness_seconds") == staleness

    metrics.informer_stopped("pods")
    assert _value(registry, "kinform_informer_staleness_seconds") is None


def test_what_stopped_has_nothing_any_more_but_its_counts_stay(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    metrics.list_finished("pods", 1.0, 5)
    metrics.store_changed("pods", 5, 5, "5")
    metrics.handler_depth("pods", "mine", 3)
    metrics.handler_depth("nodes", "mine", 4)

    metrics.informer_stopped("pods")
    metrics.informer_stopped("never seen")
    metrics.handler_removed("pods", "never seen")

    assert _value(registry, "kinform_informer_objects") is None
    assert _value(registry, "informer_store_resource_version") is None
    assert _value(registry, "kinform_handler_pending", handler="mine") is None
    assert _value(registry, "kinform_handler_pending", name="nodes", handler="mine") == 4
    assert _value(registry, "reflector_lists_total") == 1

    metrics.store_changed("pods", 6, 6, "6")
    assert _value(registry, "kinform_informer_objects") == 6


def test_two_on_one_registry_share_what_they_count(registry: CollectorRegistry) -> None:
    PrometheusMetrics(registry).watch_opened("pods")
    PrometheusMetrics(registry).watch_opened("pods")

    assert _value(registry, "reflector_watches_total") == 2


def test_another_registry_has_its_own(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    other = CollectorRegistry()
    PrometheusMetrics(other).watch_opened("pods")

    assert _value(registry, "reflector_watches_total") is None
    assert _value(other, "reflector_watches_total") == 1


def test_a_name_that_someone_else_has_taken_is_said_and_nothing_is_left_behind(
    registry: CollectorRegistry,
) -> None:
    theirs = Counter("informer_queued_items", "theirs", registry=registry)
    with pytest.raises(ConfigError, match="informer_queued_items"):
        PrometheusMetrics(registry)
    assert b"reflector" not in generate_latest(registry)

    registry.unregister(theirs)
    PrometheusMetrics(registry).watch_opened("pods")
    assert _value(registry, "reflector_watches_total") == 1


def test_a_registry_that_nobody_uses_is_forgotten() -> None:
    registry = CollectorRegistry()
    PrometheusMetrics(registry).watch_opened("pods")
    gone = weakref.ref(registry)

    del registry
    gc.collect()

    assert gone() is None


def test_many_threads_lose_no_count(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    here = threading.Barrier(4)

    def tell() -> None:
        here.wait()
        for _ in range(500):
            metrics.handler_done("pods", "mine", True, 0.0)

    threads = [threading.Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    found = _value(registry, "kinform_handler_events_total", handler="mine", result="ok")
    assert found == 2000


def test_waits_of_a_cache_are_counted_with_their_time(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    """19: by kind, apart from waits for own writes."""
    metrics.cache_waited("pods", 0.5)
    metrics.cache_waited("pods", 1.5)
    metrics.cache_waited_for_own_writes("pods", 0.25)
    metrics.cache_created_informer("pods")

    assert _value(registry, "kinform_cache_waits_total") == 2
    assert _value(registry, "kinform_cache_wait_seconds_total") == 2.0
    assert _value(registry, "kinform_cache_own_write_waits_total") == 1
    assert _value(registry, "kinform_cache_own_write_wait_seconds_total") == 0.25
    assert _value(registry, "kinform_cache_implicit_informers_total") == 1


def test_a_work_queue_is_shown_until_it_stops(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    state = WorkQueueGauges(depths={0: 3, -100: 7}, unfinished=4.0, longest_running=2.5)

    def gauges() -> WorkQueueGauges:
        return state

    metrics.workqueue_started("pods", gauges)
    metrics.workqueue_added("pods")
    metrics.workqueue_retried("pods")
    metrics.workqueue_taken("pods", 0.5)
    metrics.workqueue_done("pods", 1.5)

    assert _value(registry, "workqueue_depth", priority="0") == 3
    assert _value(registry, "workqueue_depth", priority="-100") == 7
    assert _value(registry, "workqueue_unfinished_work_seconds") == 4.0
    assert _value(registry, "workqueue_longest_running_processor_seconds") == 2.5
    assert _value(registry, "workqueue_queue_duration_seconds_bucket", le="1.0") == 1
    assert _value(registry, "workqueue_work_duration_seconds_bucket", le="1.0") == 0

    state = WorkQueueGauges(depths={}, unfinished=0.0, longest_running=0.0)
    assert _value(registry, "workqueue_depth", priority="-100") == 0
    metrics.workqueue_stopped("pods", gauges)
    metrics.workqueue_stopped("pods", gauges)
    assert _value(registry, "workqueue_depth", priority="0") is None
    assert _value(registry, "workqueue_adds_total") == 1
    assert _value(registry, "workqueue_retries_total") == 1


def test_work_queues_with_one_name_are_added_up(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    def first() -> WorkQueueGauges:
        return WorkQueueGauges(depths={0: 1}, unfinished=1.0, longest_running=1.0)

    def second() -> WorkQueueGauges:
        return WorkQueueGauges(depths={0: 2}, unfinished=5.0, longest_running=5.0)

    metrics.workqueue_started("pods", first)
    metrics.workqueue_started("pods", second)
    assert _value(registry, "workqueue_depth", priority="0") == 3
    assert _value(registry, "workqueue_unfinished_work_seconds") == 6.0
    assert _value(registry, "workqueue_longest_running_processor_seconds") == 5.0

    metrics.workqueue_stopped("pods", second)
    assert _value(registry, "workqueue_depth", priority="0") == 1


def test_election_is_shown_by_the_name_of_its_lease(
    metrics: PrometheusMetrics, registry: CollectorRegistry
) -> None:
    metrics.leader_status("web", True)
    metrics.leader_slow_path("web")
    labels = {"name": "web"}

    assert registry.get_sample_value("leader_election_master_status", labels) == 1
    assert registry.get_sample_value("leader_election_slowpath_total", labels) == 1
    metrics.leader_status("web", False)
    assert registry.get_sample_value("leader_election_master_status", labels) == 0
