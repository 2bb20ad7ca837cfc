"""What a cache logs about its kinds, what it releases, and its use from threads."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator

import pytest

from kinform import ALL_NAMESPACES, Cache, NamespaceOptions
from kinform.cache import CachedKindOptions, NamespaceSelector, _registry
from kinform.client import Client
from kinform.errors import CacheSyncError, OutOfScopeError
from kinform.models.core.v1 import ConfigMap
from kinform.objects import Handle, PartialObjectMetadata
from kinform.testing import ApiServer, faults
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK
from tests.support.waiting import wait_until


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as api:
        yield api


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[Client]:
    async with Client(api.config) as client:
        yield client


async def test_memory_warning_comes_once_and_again_when_doubled(
    api: ApiServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    def warnings() -> list[str]:
        cache._registry.check_memory()
        return [each.getMessage() for each in caplog.records if "more than" in each.getMessage()]

    def fill(first: int, last: int) -> None:
        for number in range(first, last):
            api.create(config_map(f"m{number}", data={"x": "y" * 1000}))

    async with Cache(client, kinds=[ConfigMap], soft_memory_limit=20_000) as cache:
        await cache.list(ConfigMap)
        assert warnings() == []
        fill(0, 20)
        await cache.caught_up(api.resource_version, ConfigMap)
        (first,) = warnings()
        assert "20 objects of v1/configmaps take" in first
        assert "the limit of 20000" in first
        assert warnings() == [first]
        fill(20, 35)
        await cache.caught_up(api.resource_version, ConfigMap)
        assert warnings() == [first]
        fill(35, 60)
        await cache.caught_up(api.resource_version, ConfigMap)
        assert len(warnings()) == 2
        assert len(warnings()) == 2


async def test_kind_that_a_read_created_is_logged_with_scope_and_size(
    api: ApiServer, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kinform.cache")
    api.create(config_map("a"))
    async with Cache(client, namespace="default", kinds=["v1/secrets"]) as cache:
        await cache.list(ConfigMap)
        await cache.list("v1/secrets")
        await wait_until(lambda: any("created by a read" in each for each in caplog.messages))
        size = cache.informers["v1/configmaps"].indexer.memory
    (line,) = [each for each in caplog.messages if "created by a read" in each]
    assert "v1/configmaps in default" in line
    assert f"1 objects with {size} bytes" in line


async def test_kind_that_was_never_read_is_released(api: ApiServer, client: Client) -> None:
    """19: it has no reader whose last use could be compared."""
    async with Cache(client, kinds=[ConfigMap], idle_timeout=0.01) as cache:
        await cache.wait_for_cache_sync(30)
        await asyncio.sleep(0.05)
        await cache.release_idle_informers()
        assert not cache.informers["v1/configmaps"].is_running
        assert not await cache.list(ConfigMap)


async def test_informer_removed_before_it_has_synced_leaves_no_task(
    api: ApiServer, client: Client
) -> None:
    api.faults.inject(faults.hang(), resource="configmaps", times=None)
    async with Cache(client) as cache:
        before = asyncio.all_tasks()
        for _ in range(3):
            with pytest.raises(CacheSyncError):
                await cache.list(ConfigMap, timeout=0.05)
            await cache.remove_informer(ConfigMap)
        reports = [each for each in asyncio.all_tasks() - before if "report" in each.get_name()]
        await wait_until(lambda: all(each.done() for each in reports), timeout=20)


async def test_threads_read_and_add_indexes_while_the_store_changes(
    api: ApiServer, client: Client
) -> None:
    """Each list of a thread is sorted, matches the query, and is at least as new as the last."""
    errors: list[BaseException] = []
    ended = threading.Event()
    rounds = 0

    async with Cache(client, kinds=[ConfigMap]) as cache:
        await cache.list(ConfigMap)

        def read(number: int) -> None:
            nonlocal rounds
            version = 0
            while not ended.is_set():
                field = f"metadata.labels.f{number}-{rounds % 20}"
                cache.index_field(ConfigMap, field)
                reader = cache.peek(ConfigMap)
                found = reader.list(namespace="default", fields={field: ""})
                keys = [each.key for each in found]
                assert keys == sorted(keys)
                assert int(found.resource_version) >= version
                version = int(found.resource_version)
                red = reader.list(labels={"color": "red"})
                assert all(each.labels["color"] == "red" for each in red)
                rounds += 1

        def run(number: int) -> None:
            try:
                read(number)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for number in range(150):
            name, color = f"m{number % 20}", "red" if number % 3 else "blue"
            if number >= 20 and number % 2:
                api.delete(MAPS, name, "default")
                api.create(config_map(name, color=color))
            elif number >= 20:
                api.patch(MAPS, name, {"metadata": {"labels": {"color": color}}}, "default")
            else:
                api.create(config_map(name, color=color))
            await asyncio.sleep(0.001)
        ended.set()
        for thread in threads:
            await asyncio.to_thread(thread.join)
    assert errors == []
    assert rounds > 3


async def test_namespaces_that_cannot_be_read_are_the_reason_of_a_late_kind(
    api: ApiServer, client: Client
) -> None:
    api.faults.inject(faults.forbidden(), resource="namespaces", times=None)
    async with Cache(client, namespace=NamespaceSelector("team=web"), options=QUICK) as cache:
        with pytest.raises(CacheSyncError, match=r"its namespaces are not known yet.*forbidden"):
            await cache.list(ConfigMap, timeout=0.5)


async def test_new_namespace_that_cannot_be_read_ends_with_an_error(
    api: ApiServer, client: Client
) -> None:
    """It is still tried, and is there when it can be read."""
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    api.create(config_map("a", "other"))
    cache = Cache(client, namespace=["default"], kinds=[ConfigMap], options=QUICK, sync_timeout=0.5)
    async with cache:
        await cache.list(ConfigMap, timeout=20)
        forbidden = faults.forbidden()
        with (
            api.faults.inject(forbidden, resource="configmaps", namespace="other", times=None),
            pytest.raises(CacheSyncError, match=r"not yet after 0\.5 s: .*other"),
        ):
            await cache.add_namespace("other")
        assert len(await cache.list(ConfigMap, namespace="other", timeout=20)) == 1


@pytest.mark.parametrize("excluded", [[], ["kube-system"]], ids=["all", "all but one"])
@pytest.mark.parametrize("form", [ConfigMap, PartialObjectMetadata])
async def test_kind_that_is_forbidden_as_a_whole_falls_back_to_namespaces(
    api: ApiServer,
    client: Client,
    caplog: pytest.LogCaptureFixture,
    form: type[Handle],
    excluded: list[str],
) -> None:
    """19: in each form, also after a removal, with a warning."""
    api.create(config_map("a"))
    api.faults.inject(faults.forbidden(), resource="configmaps", namespace="", times=None)
    options = CachedKindOptions[ConfigMap](
        fallback_namespaces=["default", "kube-system"], except_namespaces=excluded
    )
    async with Cache(client, by_kind={ConfigMap: options}, options=QUICK) as cache:
        for _ in range(2):
            found = await cache.list(ConfigMap, form=form)
            assert [each.key for each in found] == ["default/a"]
            with pytest.raises(OutOfScopeError, match="it covers default"):
                await cache.get(ConfigMap, "other/a", form=form)
            await cache.remove_informer(ConfigMap, form=form)
    (warning,) = [each for each in caplog.messages if "in all namespaces, so only" in each]
    assert "forbidden" in warning
    assert ("kube-system" in warning) == (not excluded)


async def test_refusal_in_a_listed_namespace_does_not_fall_back(
    api: ApiServer, client: Client
) -> None:
    """19: the fallback replaces requests for all namespaces, nothing else."""
    api.create(config_map("a"))
    api.faults.inject(faults.forbidden(), resource="configmaps", namespace="other", times=None)
    options = CachedKindOptions[ConfigMap](
        namespace={ALL_NAMESPACES: NamespaceOptions(), "other": NamespaceOptions()},
        fallback_namespaces=["third"],
    )
    async with Cache(client, by_kind={ConfigMap: options}, options=QUICK) as cache:
        with pytest.raises(CacheSyncError, match="forbidden"):
            await cache.list(ConfigMap, timeout=0.3)
        assert cache.informers["v1/configmaps"].scope.coverage == "all namespaces"


async def test_memory_is_checked_regularly(
    api: ApiServer,
    client: Client,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """19: nobody has to ask for the warning."""
    monkeypatch.setattr(_registry, "_HOUSEKEEPING", 0.01)
    api.create(config_map("a", data={"x": "y" * 1000}))
    options = CachedKindOptions[ConfigMap](soft_memory_limit=500)
    async with Cache(client, by_kind={ConfigMap: options}) as cache:
        await cache.list(ConfigMap)
        await wait_until(lambda: any("more than the limit of 500" in m for m in caplog.messages))


async def test_metadata_that_was_declared_first_keeps_its_indexes(
    api: ApiServer, client: Client
) -> None:
    """19: although the whole objects are cached as well; also after a removal."""
    api.create(config_map("a", color="red"))
    cache = Cache(client)
    cache.index_field(ConfigMap, "metadata.labels.color", form=PartialObjectMetadata)
    cache.index_field(ConfigMap, "metadata.labels.size")
    async with cache:
        for _ in range(2):
            found = await cache.list(
                ConfigMap, fields={"metadata.labels.color": "red"}, form=PartialObjectMetadata
            )
            assert [each.name for each in found] == ["a"]
            await cache.remove_informer(ConfigMap, form=PartialObjectMetadata)
        assert [each.name for each in await cache.list(ConfigMap)] == ["a"]
