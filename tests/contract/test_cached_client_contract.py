"""Reads of own writes through a cached client, on the embedded and on the real server.

``cr-N`` in a docstring is item N of the tests of controller-runtime that docs/parity.md lists.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from kinform import (
    GVR,
    Cache,
    ConflictError,
    KindOptions,
    ListOptions,
    NotFoundError,
    PartialObjectMetadata,
    SharedInformerFactory,
)
from kinform.cache import CachedClient, OwnWritesMode
from kinform.client import ClusterClient
from kinform.errors import (
    AlreadyStoppedError,
    ConfigError,
    ResourceNotCachedError,
    StaleReadError,
)
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.models.meta.v1 import ObjectMeta
from tests.contract.cache_server import CacheServer

MODES: tuple[OwnWritesMode, ...] = ("wait", "overlay")


def config_map(name: str, namespace: str, **labels: str) -> ConfigMap:
    return ConfigMap(
        metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), data={"n": "0"}
    )


@pytest.mark.parametrize("mode", MODES)
async def test_reads_see_every_own_write(server: CacheServer, mode: OwnWritesMode) -> None:
    """cr-27: create, update, patch, status, delete, delete_collection."""
    namespace = await server.new_namespace()
    mark = {"test": server.marker}
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client(own_writes=mode)

        async def names() -> list[str]:
            return [each.name for each in await client.list(ConfigMap, labels=mark)]

        for number in range(5):
            created = await client.create(config_map(f"m{number}", namespace, **mark))
            found = await client.get(ConfigMap, created.key)
            assert found.resource_version == created.resource_version
            edited = found.copy()
            edited.data = {"n": "1"}
            updated = await client.update(edited)
            assert (await client.get(ConfigMap, created.key)).data == {"n": "1"}
            with pytest.raises(ConflictError):
                await client.update(edited)
            await client.patch(ConfigMap, updated.name, {"data": {"n": "2"}}, namespace=namespace)
            (listed,) = await client.list(ConfigMap, labels=mark, namespace=namespace)
            assert listed.data == {"n": "2"}
            await client.delete(ConfigMap, created.name, namespace=namespace)
            with pytest.raises(NotFoundError):
                await client.get(ConfigMap, created.key)
            assert await names() == []
        for number in range(3):
            await client.create(config_map(f"c{number}", namespace, **mark))
        assert await names() == ["c0", "c1", "c2"]
        await client.delete_collection(ConfigMap, namespace=namespace, labels=mark)
        assert await names() == []
        pod = await server.create_pod("pod", namespace)
        await client.patch(
            Pod, "pod", {"status": {"phase": "Running"}}, namespace=namespace, subresource="status"
        )
        assert (await client.get(Pod, pod.key)).status.phase == "Running"


@pytest.mark.cluster
@pytest.mark.parametrize("server", ["real"], indirect=True)
@pytest.mark.parametrize("mode", MODES)
async def test_reads_see_own_applies(server: CacheServer, mode: OwnWritesMode) -> None:
    """cr-27, on the server that has server-side apply."""
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client(own_writes=mode)
        for number in range(5):
            applied = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "a", "namespace": namespace},
                "data": {"n": str(number)},
            }
            await client.apply(applied, field_manager="test", force=True)
            assert (await client.get(ConfigMap, f"{namespace}/a")).data == {"n": str(number)}


@pytest.mark.parametrize("mode", MODES)
async def test_object_with_a_finalizer_stays_until_it_is_removed(
    server: CacheServer, mode: OwnWritesMode
) -> None:
    """cr-27: the read after the deletion sees the mark, and the one after the removal nothing."""
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client(own_writes=mode)
        guarded = config_map("a", namespace)
        guarded.metadata.finalizers = ["example.com/hold"]
        created = await client.create(guarded)
        await client.delete(ConfigMap, "a", namespace=namespace)
        marked = await client.get(ConfigMap, created.key)
        assert marked.metadata.deletion_timestamp is not None
        edited = marked.copy()
        edited.metadata.finalizers = []
        await client.update(edited)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:  # the server removes it, which is not an own write
            try:
                await client.get(ConfigMap, created.key)
            except NotFoundError:
                break
            await asyncio.sleep(0.01)
        else:
            raise AssertionError("it stays in the cache")


@pytest.mark.parametrize("mode", MODES)
async def test_object_created_again_under_the_same_name(
    server: CacheServer, mode: OwnWritesMode
) -> None:
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client(own_writes=mode)
        uids = set()
        for _ in range(5):
            created = await client.create(config_map("a", namespace))
            assert (await client.get(ConfigMap, created.key)).uid == created.uid
            uids.add(created.uid)
            await client.delete(ConfigMap, "a", namespace=namespace)
            assert "a" not in [each.name for each in await client.list(ConfigMap)]
        assert len(uids) == 5


async def test_write_before_the_first_read_is_in_the_first_list(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client()
        await client.create(config_map("a", namespace))
        assert (await client.get(ConfigMap, f"{namespace}/a")).name == "a"


async def test_metadata_reads_see_own_writes(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client()
        await client.list(ConfigMap, form=PartialObjectMetadata)
        created = await client.create(config_map("a", namespace, color="red"))
        found = await client.get(ConfigMap, created.key, form=PartialObjectMetadata)
        assert found.labels == {"color": "red"}


async def test_write_outside_of_the_selectors_does_not_wait(server: CacheServer) -> None:
    """Nothing will arrive for it, so waiting would only end with the timeout."""
    namespace, other = [await server.new_namespace() for _ in range(2)]
    async with Cache(
        server.client,
        namespace=namespace,
        by_kind={ConfigMap: KindOptions(labels={"color": "red"})},
    ) as cache:
        client = cache.client(timeout=5)
        await client.list(ConfigMap)
        await client.create(config_map("blue", namespace, color="blue"))
        await client.create(config_map("away", other, color="red"))
        assert [each.name for each in await client.list(ConfigMap)] == []
        # An object that leaves the selection is an event, and is waited for.
        red = await client.create(config_map("red", namespace, color="red"))
        await client.patch(
            ConfigMap, "red", {"metadata": {"labels": {"color": "blue"}}}, namespace=namespace
        )
        with pytest.raises(NotFoundError):
            await client.get(ConfigMap, red.key)


async def test_dry_runs_and_failed_writes_are_not_waited_for(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client(timeout=5)
        await client.list(ConfigMap)
        await client.create(config_map("dry", namespace), dry_run=True)
        with pytest.raises(NotFoundError):
            await client.delete(ConfigMap, "missing", namespace=namespace)
        with pytest.raises(NotFoundError):
            await client.get(ConfigMap, f"{namespace}/dry")


async def test_live_reads(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client(live=[ConfigMap])
        assert (await client.get(ConfigMap, f"{namespace}/a")).name == "a"
        assert (await client.live.get(ConfigMap, "a", namespace=namespace)).name == "a"
        assert cache.informers == {}


async def test_cache_catches_up_with_a_version(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        await cache.list(ConfigMap)
        created = await server.create_map("a", namespace)
        await cache.caught_up(created.resource_version, ConfigMap)
        assert cache.peek(ConfigMap).get(created.key).uid == created.uid
        with pytest.raises(StaleReadError, match=r"v1/configmaps has not reached.*bookmark"):
            await cache.caught_up(f"{created.resource_version}0", timeout=0.05)
    with pytest.raises(AlreadyStoppedError):
        await cache.caught_up(created.resource_version)


async def test_only_kinds_that_the_cache_holds_catch_up(server: CacheServer) -> None:
    """19: a removed kind does not count, a kind that is about to be opened does."""
    namespace = await server.new_namespace()
    gone = GVR("example.com", "v1", "missings")
    cache = Cache(server.client, namespace=namespace, kinds=[ConfigMap, gone])
    async with cache:
        created = await server.create_map("a", namespace)
        await cache.caught_up(created.resource_version, ConfigMap)
        assert cache.peek(ConfigMap).get(created.key).uid == created.uid
        await cache.list(Pod)
        await cache.remove_informer(ConfigMap)
        pod = await server.create_pod("p", namespace)
        await cache.caught_up(pod.resource_version)
        for kind in (ConfigMap, "v1/secrets"):
            with pytest.raises(ResourceNotCachedError, match="read it first"):
                await cache.caught_up(pod.resource_version, kind)
        with pytest.raises(StaleReadError, match="missings has not reached"):
            await cache.caught_up(pod.resource_version, gone, timeout=0.05)


async def test_cached_client_watches_and_pages_on_the_server(server: CacheServer) -> None:
    """19: it has all verbs; these bypass the cache. Informers accept it like any client."""
    namespace = await server.new_namespace()
    created = await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client()
        page = await client.page(ConfigMap, ListOptions(limit=500), namespace=namespace)
        assert created.name in [each.name for each in page]
        async with client.watch(
            ConfigMap, namespace=namespace, resource_version=created.resource_version
        ) as watch:
            later = await client.create(config_map("b", namespace))
            async for event in watch:
                assert (event.type, event.object.uid) == ("ADDED", later.uid)
                break
        async with SharedInformerFactory(client, namespace=namespace) as factory:
            informer = factory.core.v1.config_maps.informer
            factory.start()
            await informer.has_synced
            assert {"a", "b"} <= {each.name for each in informer.store.list()}


async def test_cached_client_is_a_client(server: CacheServer) -> None:
    cache = Cache(server.client)
    client = cache.client()
    whole: ClusterClient = client
    assert isinstance(whole, CachedClient)
    assert client.namespace == server.client.namespace
    with pytest.raises(ConfigError, match="own_writes must be one of"):
        cache.client(own_writes="maybe")  # type: ignore[arg-type]
