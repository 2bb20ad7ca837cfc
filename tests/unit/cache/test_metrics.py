"""19: the numbers of a cache by kind."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from kinform import Cache, Client
from kinform.errors import CacheSyncError, StaleReadError
from kinform.metrics import Metrics, NoMetrics, PrometheusMetrics
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.objects import PartialObjectMetadata
from kinform.testing import ApiServer, faults
from tests.support.config_maps import config_map
from tests.support.informer_sources import QUICK


class Recorded(NoMetrics):
    """Remembers what caches report."""

    def __init__(self) -> None:
        self.waits: list[tuple[str, float]] = []
        self.own_write_waits: list[tuple[str, float]] = []
        self.created: list[str] = []

    def cache_waited(self, kind: str, seconds: float) -> None:
        self.waits.append((kind, seconds))

    def cache_waited_for_own_writes(self, kind: str, seconds: float) -> None:
        self.own_write_waits.append((kind, seconds))

    def cache_created_informer(self, kind: str) -> None:
        self.created.append(kind)


async def test_only_reads_that_wait_are_counted(kinform_api: ApiServer) -> None:
    """19: the first read waits for the list; later ones report nothing."""
    metrics = Recorded()
    async with Client(kinform_api.config) as client, Cache(client, metrics=metrics) as cache:
        for _ in range(3):
            await cache.list(ConfigMap)
        await cache.list(ConfigMap, form=PartialObjectMetadata)

    assert [kind for kind, _ in metrics.waits] == ["v1/configmaps"]
    assert metrics.waits[0][1] > 0
    assert metrics.own_write_waits == []


async def test_reads_that_give_up_are_counted(kinform_api: ApiServer) -> None:
    """19: with the time that they waited."""
    kinform_api.faults.inject(faults.hang(), resource="configmaps", times=None)
    metrics = Recorded()
    async with Client(kinform_api.config) as client, Cache(client, metrics=metrics) as cache:
        with pytest.raises(CacheSyncError):
            await cache.list(ConfigMap, timeout=0.05)

    ((kind, seconds),) = metrics.waits
    assert kind == "v1/configmaps"
    assert seconds >= 0.04


async def test_implicit_informers_are_counted(kinform_api: ApiServer) -> None:
    """19: those of declared kinds are not; metadata has a name of its own."""
    metrics = Recorded()
    async with Client(kinform_api.config) as client:
        cache = Cache(client, kinds=[Secret], metrics=metrics)
        async with cache:
            await cache.list(Secret)
            await cache.list(ConfigMap, form=PartialObjectMetadata)
            await cache.list(ConfigMap)
            await cache.list(ConfigMap)

    assert metrics.created == ["v1/configmaps:metadata", "v1/configmaps"]


async def test_waits_for_own_writes_are_counted(kinform_api: ApiServer) -> None:
    """19: only those that had to wait, also if they gave up."""
    metrics = Recorded()
    async with (
        Client(kinform_api.config) as client,
        Cache(client, metrics=metrics, options=QUICK) as cache,
    ):
        mine = cache.client(timeout=0.05)
        await mine.list(ConfigMap)
        kinform_api.faults.inject(faults.hang(), verb="watch", resource="configmaps", times=None)
        kinform_api.end_watches("configmaps")
        await mine.create(config_map("a"))
        with pytest.raises(StaleReadError):
            await mine.get(ConfigMap, "default/a")
        assert [each.name for each in await mine.list(ConfigMap, namespace="other")] == []

    ((kind, seconds),) = metrics.own_write_waits
    assert kind == "v1/configmaps"
    assert seconds >= 0.04


async def test_metrics_that_raise_do_not_end_a_read(kinform_api: ApiServer) -> None:
    """19: they are user code."""

    class Broken(NoMetrics):
        def cache_waited(self, kind: str, seconds: float) -> None:
            raise ZeroDivisionError

        def cache_created_informer(self, kind: str) -> None:
            raise ZeroDivisionError

    async with Client(kinform_api.config) as client, Cache(client, metrics=Broken()) as cache:
        assert list(await cache.list(ConfigMap)) == []


async def test_metrics_without_these_methods_are_accepted(kinform_api: ApiServer) -> None:
    """19: as for all other methods."""
    some: Any = type("Some", (), {})()
    metrics: Metrics = some
    async with Client(kinform_api.config) as client, Cache(client, metrics=metrics) as cache:
        assert list(await cache.list(ConfigMap)) == []


async def test_prometheus_has_the_numbers_of_a_kind(kinform_api: ApiServer) -> None:
    """19: objects, bytes, version and staleness come from the informer of the same name."""
    kinform_api.create(config_map("a"))
    registry = CollectorRegistry()
    metrics = PrometheusMetrics(registry)
    async with Client(kinform_api.config) as client, Cache(client, metrics=metrics) as cache:
        await cache.list(ConfigMap)

        def value(metric: str) -> float | None:
            return registry.get_sample_value(metric, {"name": "v1/configmaps"})

        assert value("kinform_cache_waits_total") == 1
        assert value("kinform_cache_implicit_informers_total") == 1
        assert value("kinform_informer_objects") == 1
        for metric in (
            "kinform_cache_wait_seconds_total",
            "kinform_informer_bytes",
            "informer_store_resource_version",
        ):
            assert (value(metric) or 0) > 0
        assert value("kinform_informer_staleness_seconds") is not None
