"""19: the health of a cache, and what it serves while access is revoked."""

from __future__ import annotations

import asyncio

import pytest

from kinform import GVR, Cache, Client
from kinform.cache import NamespaceSelector, _registry
from kinform.errors import NotFoundError
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.objects import PartialObjectMetadata
from kinform.testing import ApiServer, faults
from tests.support.config_maps import config_map
from tests.support.informer_sources import QUICK
from tests.support.waiting import wait_until

WIDGETS = GVR("example.com", "v1", "widgets")


async def test_complete_kinds_are_live_and_ready(kinform_api: ApiServer) -> None:
    """19: the common case, with its staleness."""
    async with Client(kinform_api.config) as client, Cache(client) as cache:
        await cache.list(ConfigMap)
        health = cache.health(max_staleness=60)

    assert (health.live, health.ready, str(health)) == (True, True, "ok")
    assert health.staleness is not None


async def test_revoked_access_keeps_serving_and_is_a_problem(kinform_api: ApiServer) -> None:
    """19: reads go on with what was known, and health names the kind and the error."""
    kinform_api.create(config_map("a"))
    async with Client(kinform_api.config) as client, Cache(client, options=QUICK) as cache:
        assert (await cache.get(ConfigMap, "default/a")).name == "a"
        await cache.list(Secret)
        for verb in ("list", "watch"):
            kinform_api.faults.inject(
                faults.forbidden(), verb=verb, resource="configmaps", times=None
            )
        kinform_api.end_watches("configmaps")
        await wait_until(lambda: "forbidden" in str(cache.health()).lower())
        health, strict = cache.health(), cache.health(max_staleness=0.0)

        assert list(health.problems) == ["v1/configmaps"]
        assert "not updated" in health.problems["v1/configmaps"]
        assert (health.live, health.ready, strict.ready) == (True, True, False)
        assert (await cache.get(ConfigMap, "default/a")).name == "a"
        assert [each.name for each in await cache.list(ConfigMap)] == ["a"]
        assert cache.peek(ConfigMap).get("default/a").name == "a"
        with pytest.raises(NotFoundError):
            await cache.get(ConfigMap, "default/b")


async def test_access_that_is_granted_again_is_no_problem(kinform_api: ApiServer) -> None:
    """19: the cache recovers by itself."""
    async with Client(kinform_api.config) as client, Cache(client, options=QUICK) as cache:
        await cache.list(ConfigMap)
        refusal = kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
        kinform_api.end_watches("configmaps")
        await wait_until(lambda: bool(cache.health().problems))
        refusal.remove()
        await wait_until(lambda: not cache.health().problems)
        kinform_api.create(config_map("late"))
        await wait_until(lambda: len(cache.peek(ConfigMap)) == 1)


async def test_kind_without_an_informer_is_a_problem(kinform_api: ApiServer) -> None:
    """19: the text says why there is none; the program is alive."""
    async with Client(kinform_api.config) as client:
        cache = Cache(client, kinds=[WIDGETS, ConfigMap])
        before = cache.health()
        async with cache:
            await wait_until(lambda: "has no resource" in str(cache.health()))
            await wait_until(lambda: list(cache.health().problems) == [str(WIDGETS)])
            health = cache.health()

    assert (before.live, before.ready, before.staleness) == (True, False, None)
    assert before.problems["cache"] == "not started"
    assert before.problems["v1/configmaps"].startswith("no informer yet")
    assert (health.live, health.ready, health.staleness) == (True, False, None)
    assert health.problems[str(WIDGETS)].startswith("no informer yet: ")


async def test_stopped_cache_is_live_and_not_ready(kinform_api: ApiServer) -> None:
    """19: a graceful stop is not a failure."""
    async with Client(kinform_api.config) as client, Cache(client) as cache:
        await cache.list(ConfigMap)
    health = cache.health()

    assert (health.live, health.ready) == (True, False)
    assert health.problems == {"cache": "stopped", "v1/configmaps": "stopped"}


async def test_removed_kinds_do_not_count(kinform_api: ApiServer) -> None:
    """19: an informer that was released on purpose is not a problem."""
    async with Client(kinform_api.config) as client, Cache(client) as cache:
        await cache.list(ConfigMap)
        await cache.remove_informer(ConfigMap)
        assert str(cache.health()) == "ok"


async def test_cache_whose_task_has_failed_is_not_live(
    kinform_api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """19: nothing would open kinds any more, so a restart helps."""

    async def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(_registry, "_HOUSEKEEPING", 0.01)
    monkeypatch.setattr(_registry.KindRegistry, "release_idle", fail)
    async with Client(kinform_api.config) as client:
        cache = Cache(client)
        cache.start()
        await cache.stopped
        health = cache.health()

    assert (health.live, health.ready) == (False, False)
    assert health.problems["cache"].startswith("failed")


async def test_namespaces_that_cannot_be_followed_are_a_problem(kinform_api: ApiServer) -> None:
    """19: a cache that waits for the names of its namespaces says so."""
    kinform_api.faults.inject(faults.forbidden(), resource="namespaces", times=None)
    async with Client(kinform_api.config) as client:
        cache = Cache(
            client, namespace=NamespaceSelector("team=web"), kinds=[ConfigMap], options=QUICK
        )
        async with cache:
            await wait_until(lambda: "forbidden" in str(cache.health()).lower())
            health = cache.health()

    assert not health.ready
    assert sum("namespaces" in name for name in health.problems) == 1
    assert health.problems["v1/configmaps"].startswith("no informer yet")


async def test_metadata_of_a_kind_has_its_own_health(kinform_api: ApiServer) -> None:
    """19: whole objects and metadata are different informers."""
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
    async with Client(kinform_api.config) as client, Cache(client, options=QUICK) as cache:
        cache.declare(ConfigMap, form=PartialObjectMetadata)
        await cache.list(Secret)
        await wait_until(lambda: "forbidden" in str(cache.health()).lower())
        assert len(cache.health().problems) == 1


async def test_kinds_are_declared_by_threads(kinform_api: ApiServer) -> None:
    """19: the first kind of a running cache may be declared where no event loop runs."""
    async with Client(kinform_api.config) as client, Cache(client) as cache:
        await asyncio.to_thread(cache.declare, ConfigMap)
        assert await cache.wait_for_cache_sync(timeout=30)
        assert list(cache.informers) == ["v1/configmaps"]
