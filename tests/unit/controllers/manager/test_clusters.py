"""Several clusters: started first, stopped last, added and removed at any time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Cache, Client
from kinform.controllers.manager import Manager
from kinform.errors import CacheSyncError, ConfigError
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, faults
from tests.support.config_maps import config_map
from tests.support.informer_sources import QUICK
from tests.support.managed_fakes import FakeController, new_manager
from tests.support.waiting import wait_until


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(kinform_api.config) as client:
        yield client


def _tasks() -> set[asyncio.Task[Any]]:
    """All tasks, without those of the embedded server for open connections."""
    return {
        task
        for task in asyncio.all_tasks()
        if getattr(task.get_coro(), "__qualname__", "") != "RequestHandler.start"
    }


async def test_caches_have_synced_before_controllers_warm_up(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    seen: list[int] = []

    class Looking(FakeController):
        async def warm_up(self, cluster: object, *, recorder: object = None) -> None:
            for each in (manager.cache, other.cache):
                seen.append(len(each.peek(ConfigMap).list(namespace="default")))

    manager = Manager(client, cache=Cache(client, kinds=[ConfigMap]))
    other = manager.add_cluster("other", client, cache=Cache(client, kinds=[ConfigMap]))
    manager.add(Looking("web", []))
    async with manager:
        await manager.ready

    assert len(seen) == 2
    assert all(seen)
    assert manager.cache.is_stopped
    assert other.cache.is_stopped


async def test_a_start_without_permission_fails_with_the_reason(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
    cache = Cache(client, kinds=[ConfigMap], options=QUICK)
    manager = Manager(client, cache=cache, sync_timeout=0.3)
    journal: list[str] = []
    manager.add(FakeController("web", journal))
    with pytest.raises(CacheSyncError, match=r"(?s)configmaps.*orbidden"):
        await manager.run()

    assert journal == []
    assert cache.is_stopped
    assert _tasks() == {asyncio.current_task()}


async def test_a_stop_while_caches_sync_is_quick_and_leaves_nothing(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
    cache = Cache(client, kinds=[ConfigMap], options=QUICK)
    manager = Manager(client, cache=cache, address=":0")
    manager.start()
    await wait_until(lambda: "forbidden" in str(cache.health()).lower())
    manager.stop()
    async with asyncio.timeout(10):
        await manager.stopped

    assert manager.failure is None
    assert cache.is_stopped
    assert _tasks() == {asyncio.current_task()}


async def test_clusters_can_be_added_and_removed_while_running(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    journal: list[str] = []
    manager = Manager(client)
    async with manager:
        await manager.ready
        west = manager.add_cluster("west", client, cache=Cache(client, kinds=[ConfigMap]))
        web = FakeController("web", journal)
        manager.add(web, cluster="west")
        await wait_until(lambda: "web works" in journal)
        assert web.cluster is west
        await west.cache.get(ConfigMap, "default/a")
        assert manager.status().clusters == ("", "west")

        await manager.remove_cluster("west")
        assert journal[-2:] == ["web finished", "web is closed"]
        assert west.cache.is_stopped
        assert manager.status().clusters == ("",)
        assert manager.status().components == ()
        manager.add_cluster("west", client)  # the name is free again


async def test_a_cluster_that_is_not_essential_is_only_a_warning(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
    manager = Manager(client)
    cache = Cache(client, kinds=[ConfigMap], options=QUICK)
    manager.add_cluster("west", client, cache=cache, essential=False)
    async with manager:
        await manager.ready
        await wait_until(lambda: "forbidden" in str(manager.health()).lower())
        health = manager.health()
        assert (health.live, health.ready) == (True, True)
        assert health.problems["caches"].startswith("cluster west: v1/configmaps: not synced")


async def test_a_cache_that_runs_already_is_left_alone(client: Client) -> None:
    async with Cache(client, kinds=[ConfigMap]) as cache:
        async with Manager(client, cache=cache) as manager:
            await manager.ready
        assert cache.is_running


def test_clusters_need_unique_names() -> None:
    manager = new_manager()
    manager.add_cluster("west", manager.cluster.live)
    with pytest.raises(ConfigError, match="there is a cluster 'west' already"):
        manager.add_cluster("west", manager.cluster.live)
    with pytest.raises(ConfigError, match="a cluster needs a name"):
        manager.add_cluster("", manager.cluster.live)


async def test_the_own_cluster_cannot_be_removed() -> None:
    with pytest.raises(ConfigError, match="own cluster cannot be removed"):
        await new_manager().remove_cluster("")
    with pytest.raises(ConfigError, match="no cluster 'west'"):
        await new_manager().remove_cluster("west")
