"""Informers against a real kube-apiserver on a good day: all ways to ask, and what comes of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from kinform.api import GVR, ListOptions
from kinform.client import Client
from kinform.informers import (
    DynamicSharedInformerFactory,
    MetadataSharedInformerFactory,
    SyncMode,
)
from kinform.objects import PartialObjectMetadata
from tests.cluster.informer_flows import (
    CONFIG_MAPS,
    EVENTS,
    PATIENCE,
    Line,
    Listener,
    client_in_new_namespace,
    config_map,
    config_of,
    create_namespace,
    event,
    quick,
)
from tests.support.cluster import RealCluster
from tests.support.waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    async with client_in_new_namespace(real_cluster) as client:
        yield client


@pytest.mark.parametrize("resource", [CONFIG_MAPS, EVENTS], ids=["cached", "not cached"])
@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "listed"])
async def test_the_first_list_and_all_changes_arrive(
    client: Client, resource: GVR, streaming: bool
) -> None:
    def make(name: str) -> dict[str, object]:
        return config_map(name) if resource == CONFIG_MAPS else event(client, name)

    for name in "abc":
        await client.create(make(name))
    factory = DynamicSharedInformerFactory(
        client, namespace=client.namespace, options=quick(streaming=streaming, page_size=2)
    )
    informer = factory.for_resource(resource).informer
    listener = Listener()
    registration = informer.add_event_handler(listener)
    async with factory:
        await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        await registration.has_synced
        assert sorted(listener.initial) == ["a", "b", "c"]
        await client.create(make("d"))
        await client.patch(resource, "d", {"metadata": {"annotations": {"x": "1"}}})
        await client.delete(resource, "a")
        await wait_until(lambda: len(listener.calls) == 6)
        status = informer.status()
    assert listener.calls[3:] == ["add d", "update d", "delete a"]
    assert status.mode is (SyncMode.STREAMING if streaming else SyncMode.LIST)
    assert not status.relists
    assert not status.errors
    assert status.watch_opens == 1


async def test_an_object_that_leaves_the_selector_is_deleted(client: Client) -> None:
    factory = DynamicSharedInformerFactory(client, namespace=client.namespace, options=quick())
    selected = factory.for_resource(CONFIG_MAPS, labels={"app": "web"})
    listener = Listener()
    selected.informer.add_event_handler(listener)
    await client.create(config_map("a", app="web"))
    await client.create(config_map("b", app="db"))
    async with factory:
        await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        assert [obj.name for obj in selected.lister.list()] == ["a"]
        for name, app in (("b", "web"), ("a", "db"), ("a", "web")):
            await client.patch(CONFIG_MAPS, name, {"metadata": {"labels": {"app": app}}})
        await wait_until(lambda: len(listener.calls) == 4)
        assert [obj.name for obj in selected.lister.list()] == ["a", "b"]
    assert listener.calls == ["add a", "add b", "delete a", "add a"]


async def test_several_namespaces_share_one_informer_and_others_stay_out(client: Client) -> None:
    names = [f"{client.namespace}-{number}" for number in range(3)]
    for name in names:
        await create_namespace(client, name)
        await client.create(config_map("a", namespace=name))
    factory = DynamicSharedInformerFactory(client, namespace=names[:2], options=quick())
    found = factory.for_resource(CONFIG_MAPS)
    async with factory:
        await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        await client.create(config_map("outside", namespace=names[2]))
        for name in names[:2]:
            created = await client.create(config_map("later", namespace=name))
            await found.informer.wait_for_rv(created.resource_version, namespace=name)
        keys = [obj.key for obj in found.lister.list()]
    assert keys == [f"{name}/{each}" for name in names[:2] for each in ("a", "later")]


async def test_metadata_alone_is_asked_for_and_kept(client: Client) -> None:
    await client.create(config_map("a", app="web"))
    factory = MetadataSharedInformerFactory(client, namespace=client.namespace, options=quick())
    found = factory.for_resource(CONFIG_MAPS)
    async with factory:
        await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        await client.patch(
            CONFIG_MAPS, "a", {"data": {"k": "w"}, "metadata": {"labels": {"b": "2"}}}
        )
        created = await client.create(config_map("b"))
        await found.informer.wait_for_rv(created.resource_version)
        kept = found.lister.namespace(client.namespace).get("a")
    assert isinstance(kept, PartialObjectMetadata)
    assert kept.labels == {"app": "web", "b": "2"}
    assert b'"data"' not in kept.to_bytes()


async def test_a_write_can_be_read_as_soon_as_its_version_is_there(client: Client) -> None:
    factory = DynamicSharedInformerFactory(client, namespace=client.namespace, options=quick())
    found = factory.for_resource(CONFIG_MAPS)
    async with factory, asyncio.timeout(PATIENCE):
        await factory.wait_for_cache_sync(strict=True)
        for number in range(20):
            created = await client.create(config_map(f"c{number}"))
            await found.informer.wait_for_rv(created.resource_version)
            assert found.lister.namespace(client.namespace).get(created.name) == created


async def test_a_bookmark_moves_the_version_though_nothing_happened(client: Client) -> None:
    def for_a_moment(options: ListOptions) -> ListOptions:
        # A watch that is about to end gets a bookmark before; by itself one comes in a minute.
        is_watch = options.timeout_seconds is not None
        return options.replace(timeout_seconds=4) if is_watch else options

    factory = DynamicSharedInformerFactory(
        client, namespace=client.namespace, options=quick(), tweak_list_options=for_a_moment
    )
    informer = factory.for_resource(CONFIG_MAPS).informer
    async with factory, asyncio.timeout(PATIENCE):
        await factory.wait_for_cache_sync(strict=True)
        elsewhere = await client.create(config_map("a", namespace="default"))
        try:
            await informer.wait_for_rv(elsewhere.resource_version)
        finally:
            await client.delete(CONFIG_MAPS, "a", namespace="default")
        status = informer.status()
    assert int(status.resource_version) >= int(elsewhere.resource_version)
    assert status.bookmark_age is not None
    assert not status.objects
    assert not status.relists


async def test_a_stop_leaves_nothing_behind(client: Client) -> None:
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    factory = DynamicSharedInformerFactory(client, namespace=client.namespace, options=quick())
    informer = factory.for_resource(CONFIG_MAPS).informer
    told: list[str] = []
    informer.add_event_handler(on_add=lambda obj: told.append(obj.name))
    informer.add_event_handler(Listener())
    stream = informer.events()
    async with factory:
        await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        await client.create(config_map("a"))
        await wait_until(lambda: bool(told))
        assert (await anext(stream)).key == f"{client.namespace}/a"
    assert informer.is_stopped
    assert [event async for event in stream] == []
    assert asyncio.all_tasks() == tasks
    left = set(threading.enumerate()) - threads
    # The loop's own pool, where names are resolved, lives as long as the loop.
    assert not [thread for thread in left if not thread.name.startswith("asyncio_")]


async def test_after_churn_and_lost_connections_the_store_equals_a_list(
    client: Client, real_cluster: RealCluster
) -> None:
    listener = Listener()
    async with (
        Line(real_cluster) as line,
        Client(line.through(config_of(real_cluster))) as far,
        DynamicSharedInformerFactory(far, namespace=client.namespace, options=quick()) as factory,
    ):
        found = factory.for_resource(CONFIG_MAPS, labels="app=web")
        found.informer.add_event_handler(listener)
        factory.start()
        for number in range(120):
            name = f"c{number % 7}"
            if number % 7 == number % 5:
                await client.delete_collection(
                    CONFIG_MAPS, namespace=client.namespace, fields=f"metadata.name={name}"
                )
            app = "web" if number % 3 else "db"
            body = {**config_map(name, app=app), "data": {"k": str(number)}}
            await client.apply(body, field_manager="churn")
            if number % 20 == 19:
                line.drop()
        wanted = await client.list(CONFIG_MAPS, namespace=client.namespace, labels="app=web")
        expected = {obj.key: obj.resource_version for obj in wanted}
        await wait_until(lambda: listener.believed == expected)
        assert {obj.key: obj for obj in found.lister.list()} == {obj.key: obj for obj in wanted}
        assert not found.informer.status().relists
    assert not listener.broken_promises
