"""Leases: every caller has its own claim to a shared informer."""

from __future__ import annotations

import asyncio

import pytest

from kinform import Client, DynamicSharedInformerFactory, SharedInformerFactory
from kinform.api import GVR
from kinform.errors import AlreadyStoppedError, ConfigError, StateError
from kinform.informers import InformerKey, InformerMap, MetadataSharedInformerFactory
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK


async def test_async_with_starts_the_informer_and_releases_the_lease(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    factory = DynamicSharedInformerFactory(client, options=QUICK)
    async with asyncio.timeout(20):
        async with factory.for_resource(MAPS) as maps:
            await maps.informer.has_synced
            assert maps.lister.get("default/a").name == "a"
            async with factory.for_resource(MAPS) as second:
                assert second.informer is maps.informer
            assert second.is_released
            assert maps.informer.is_running
        assert maps.informer.is_stopped
    assert factory.informers == {}
    with pytest.raises(AlreadyStoppedError, match="released; request another one"):
        async with maps:
            raise AssertionError("entered")
    await factory.shutdown()


async def test_a_removed_informer_stops_whatever_leases_there_are(
    kinform_api: ApiServer, client: Client
) -> None:
    factory = SharedInformerFactory(client, options=QUICK)
    first, second = factory.core.v1.config_maps, factory.core.v1.config_maps
    async with factory, asyncio.timeout(20):
        await first.informer.has_synced
        await factory.remove(InformerKey(MAPS))
        assert first.informer.is_stopped
        assert first.is_released
        assert second.is_released
        second.release()
        fresh = factory.core.v1.config_maps
        assert fresh.informer is not first.informer
        first.release()
        assert not fresh.is_released
        with pytest.raises(StateError, match="has no informer for v1/secrets"):
            factory.remove(InformerKey(GVR("", "v1", "secrets")))
    unstarted = SharedInformerFactory(client)
    assert not unstarted.core.v1.pods.informer.is_running
    (key,) = unstarted.informers
    assert unstarted.remove(key)


async def test_factories_with_one_map_share_informers_across_their_forms(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    typed = SharedInformerFactory(client, options=QUICK)
    dynamic = DynamicSharedInformerFactory(client, informer_map=typed.informer_map)
    metadata = MetadataSharedInformerFactory(client, informer_map=typed.informer_map)
    maps, trees = typed.core.v1.config_maps, dynamic.for_resource(MAPS)
    heads = metadata.for_resource(MAPS)
    async with asyncio.timeout(20):
        dynamic.start()
        await dynamic.wait_for_cache_sync()
        assert [each.key for each in maps.lister.list()] == ["default/a"]
        assert len(kinform_api.requests.watches(MAPS)) == 1
        assert not heads.informer.is_running

        await dynamic.shutdown()
        assert maps.informer.is_running
        assert trees.informer.is_running
        metadata.start()
        await heads.informer.has_synced
        await metadata.shutdown()
        assert heads.informer.is_stopped
        await typed.shutdown()
        assert maps.informer.is_stopped


async def test_informers_start_from_any_thread(kinform_api: ApiServer, client: Client) -> None:
    kinform_api.create(config_map("a"))
    factory = SharedInformerFactory(client, options=QUICK)

    def on_a_thread() -> bool:
        maps = factory.core.v1.config_maps
        factory.start()
        return maps.informer.has_synced.wait(20)

    assert await asyncio.to_thread(on_a_thread)
    assert factory.core.v1.config_maps.informer.is_running
    await factory.shutdown()


async def test_a_handler_on_a_thread_requests_and_starts_another_informer(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    factory = SharedInformerFactory(client, options=QUICK)
    synced: list[bool] = []

    def on_add(obj: object) -> None:
        secrets = factory.core.v1.secrets
        factory.start()
        synced.append(secrets.informer.has_synced.wait(20))

    registration = factory.core.v1.config_maps.informer.add_event_handler(
        on_add=on_add, run_on="thread"
    )
    async with factory, asyncio.timeout(20):
        await registration.has_synced
    assert synced == [True]


async def test_the_scope_of_a_shared_informer_belongs_to_all_its_leases(client: Client) -> None:
    factory = SharedInformerFactory(client)
    own, other = (factory.for_resource(MAPS, namespace="default") for _ in range(2))
    with pytest.raises(StateError, match="has 2 leases, so its scope cannot change"):
        own.informer.add_namespace("kube-system")
    other.release()
    own.informer.add_namespace("kube-system")
    # The informer is found under its new scope, and the old one is free.
    both = factory.for_resource(MAPS, namespace=["kube-system", "default"])
    assert both.informer is own.informer
    both.release()
    alone = factory.for_resource(MAPS, namespace="default")
    assert alone.informer is not own.informer
    with pytest.raises(ConfigError, match="already has an informer for v1/configmaps in default"):
        own.informer.remove_namespace("kube-system")
    assert own.informer.namespaces == ("default", "kube-system")


async def test_views_share_one_lifecycle(client: Client) -> None:
    factory = SharedInformerFactory(client, options=QUICK)
    typed = factory.core.v1.config_maps.informer
    trees = typed.view(Unstructured)
    async with typed:
        assert trees.is_running
    assert trees.is_stopped


async def test_shutdown_of_the_factory_with_the_map_leaves_informers_of_others(
    kinform_api: ApiServer, client: Client
) -> None:
    one = DynamicSharedInformerFactory(client, options=QUICK)
    two = DynamicSharedInformerFactory(client, options=QUICK, informer_map=one.informer_map)
    one.for_resource(MAPS)
    kept = two.for_resource(MAPS)
    two.start()
    await one.shutdown()
    assert kept.informer.is_running
    two.for_resource("v1/secrets")
    two.start()
    assert await two.wait_for_cache_sync(timeout=20)
    await two.shutdown()
    assert kept.informer.is_stopped


async def test_leases_of_a_factory_end_with_its_shutdown(client: Client) -> None:
    shared = InformerMap()
    one = DynamicSharedInformerFactory(client, options=QUICK, informer_map=shared)
    two = DynamicSharedInformerFactory(client, options=QUICK, informer_map=shared)
    alone = DynamicSharedInformerFactory(client, options=QUICK)
    ended, kept, own = (each.for_resource(MAPS) for each in (one, two, alone))
    await one.shutdown()
    await alone.shutdown()
    assert not kept.is_released
    assert ended.is_released
    assert own.is_released
    with pytest.raises(AlreadyStoppedError):
        one.for_resource(MAPS)
    ended.release()
    assert len(shared) == 1


async def test_a_map_starts_and_waits_for_single_keys(
    kinform_api: ApiServer, client: Client
) -> None:
    factory = SharedInformerFactory(client, options=QUICK)
    maps, secrets = factory.core.v1.config_maps, factory.core.v1.secrets
    informers = factory.informer_map
    key = InformerKey(MAPS)
    informers.start([key])
    result = await informers.wait_for_sync(20, keys=[key])
    assert list(result) == ["v1/configmaps"]
    assert result
    assert maps.informer.is_running
    assert not secrets.informer.was_started
    assert informers.get(key) is maps.informer
    with pytest.raises(StateError, match="has no informer for v1/pods"):
        informers.start([InformerKey(GVR("", "v1", "pods"))])
    await factory.shutdown()
