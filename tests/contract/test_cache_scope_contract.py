"""The scope of a cache, as it is configured and as it changes, on both servers."""

from __future__ import annotations

import asyncio

import pytest

from kinform import Cache, KindOptions, NotFoundError, Selectors
from kinform.cache import CachedKindOptions, NamespaceSelector
from kinform.errors import ConfigError, OutOfScopeError
from kinform.informers import DeletedObject, NamespaceOptions
from kinform.models.core.v1 import ConfigMap, Namespace, Pod
from tests.contract.cache_server import CacheServer
from tests.support.waiting import wait_until


async def names(cache: Cache, server: CacheServer) -> list[str]:
    found = await cache.list(ConfigMap, labels={"test": server.marker})
    return [each.key for each in found]


async def come_to(cache: Cache, server: CacheServer, *expected: str) -> None:
    async with asyncio.timeout(30):
        while await names(cache, server) != sorted(expected):  # noqa: ASYNC110  # nothing to await
            await asyncio.sleep(0.02)


async def test_namespaces_come_and_go(server: CacheServer) -> None:
    """Handlers and indexes stay; kinds with namespaces of their own are not concerned."""
    first, second = [await server.new_namespace() for _ in range(2)]
    for namespace in (first, second):
        await server.create_map("a", namespace, color="red")
        await server.create_pod("p", namespace)
    seen: list[str] = []

    async def on_add(obj: ConfigMap) -> None:
        seen.append(f"+{obj.key}")

    async def on_delete(gone: DeletedObject[ConfigMap]) -> None:
        assert gone.out_of_scope
        seen.append(f"-{gone.key}")

    async with Cache(
        server.client, namespace=[first], by_kind={Pod: KindOptions(namespace=second)}
    ) as cache:
        cache.index_field(ConfigMap, "metadata.labels.color")
        informer = await cache.get_informer(ConfigMap)
        informer.add_event_handler(
            on_add=on_add, on_delete=on_delete, filter=lambda obj: obj.name == "a"
        )
        assert [each.key for each in await cache.list(Pod)] == [f"{second}/p"]
        assert await names(cache, server) == [f"{first}/a"]
        await cache.add_namespace(second)
        await cache.add_namespace(second)
        assert await names(cache, server) == sorted([f"{first}/a", f"{second}/a"])
        red = await cache.list(ConfigMap, fields={"metadata.labels.color": "red"})
        assert len(red) == 2
        await cache.remove_namespace(first)
        assert await names(cache, server) == [f"{second}/a"]
        with pytest.raises(OutOfScopeError):
            await cache.get(ConfigMap, f"{first}/a")
        await cache.remove_namespace(second)
        assert await names(cache, server) == []
        await cache.add_namespace(first)
        assert await names(cache, server) == [f"{first}/a"]
        assert [each.key for each in await cache.list(Pod)] == [f"{second}/p"]
        with pytest.raises(ConfigError, match="does not cover"):
            await cache.remove_namespace(second)
        expected = [f"+{first}/a", f"+{second}/a", f"-{first}/a", f"-{second}/a", f"+{first}/a"]
        await wait_until(lambda: seen == expected, timeout=20)


async def test_single_namespaces_of_a_cache_of_all(server: CacheServer) -> None:
    cache = Cache(server.client)
    with pytest.raises(ConfigError, match="all namespaces"):
        await cache.add_namespace("a")
    cache = Cache(server.client, namespace=NamespaceSelector("a=b"))
    with pytest.raises(ConfigError, match="NamespaceSelector"):
        await cache.remove_namespace("a")


async def test_namespaces_by_label(server: CacheServer) -> None:
    ours = await server.new_namespace(team=server.marker)
    other = await server.new_namespace()
    for namespace in (ours, other):
        await server.create_map("a", namespace)
    async with Cache(server.client, namespace=NamespaceSelector({"team": server.marker})) as cache:
        assert await names(cache, server) == [f"{ours}/a"]
        assert (await cache.get(Namespace, other)).name == other

        label = {"metadata": {"labels": {"team": server.marker}}}
        await server.client.patch(Namespace, other, label)
        await come_to(cache, server, f"{ours}/a", f"{other}/a")
        no_label = {"metadata": {"labels": {"team": None}}}
        await server.client.patch(Namespace, ours, no_label)
        await come_to(cache, server, f"{other}/a")
        third = await server.new_namespace(team=server.marker)
        await server.create_map("b", third)
        await come_to(cache, server, f"{other}/a", f"{third}/b")


async def test_no_namespace_matches_yet(server: CacheServer) -> None:
    async with Cache(server.client, namespace=NamespaceSelector({"team": server.marker})) as cache:
        assert await names(cache, server) == []
        ours = await server.new_namespace(team=server.marker)
        created = await server.create_map("a", ours)
        await come_to(cache, server, created.key)


async def test_selectors_change_live(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    for color in ("red", "blue", "green"):
        await server.create_map(color, namespace, color=color)
    async with Cache(
        server.client,
        namespace=namespace,
        by_kind={ConfigMap: KindOptions(labels={"color": "red"})},
    ) as cache:
        assert await names(cache, server) == [f"{namespace}/red"]
        await cache.set_selectors(ConfigMap, labels={"color": "blue"})
        assert await names(cache, server) == [f"{namespace}/blue"]
        either = [Selectors(labels="color=red"), Selectors(fields="metadata.name=green")]
        await cache.set_selectors(ConfigMap, any_of=either)
        assert await names(cache, server) == [f"{namespace}/green", f"{namespace}/red"]


async def test_several_selectors_and_all_but_some_namespaces(server: CacheServer) -> None:
    first, second = sorted([await server.new_namespace() for _ in range(2)])
    for namespace in (first, second):
        for color in ("red", "blue", "green"):
            await server.create_map(color, namespace, test2=server.marker, color=color)
    either = [
        Selectors(labels={"test": server.marker, "color": "red"}),
        Selectors(labels={"test": server.marker, "color": ["red", "blue"]}),
    ]
    async with Cache(
        server.client,
        by_kind={ConfigMap: KindOptions(any_of=either, except_namespaces=[first])},
    ) as cache:
        assert await names(cache, server) == [f"{second}/blue", f"{second}/red"]
        with pytest.raises(OutOfScopeError, match="all namespaces except"):
            await cache.get(ConfigMap, f"{first}/red")
        with pytest.raises(NotFoundError):
            await cache.get(ConfigMap, f"{second}/green")


async def test_options_of_single_namespaces(server: CacheServer) -> None:
    first, second, third = sorted([await server.new_namespace() for _ in range(3)])
    for namespace in (first, second, third):
        for color in ("red", "blue"):
            await server.create_map(color, namespace, color=color)
    async with Cache(
        server.client,
        namespace={first: NamespaceOptions(), second: NamespaceOptions(labels={"color": "red"})},
        by_kind={
            Pod: KindOptions(
                namespace={
                    "": NamespaceOptions(),
                    first: NamespaceOptions(fields="metadata.name=x"),
                }
            )
        },
    ) as cache:
        assert await names(cache, server) == [f"{first}/blue", f"{first}/red", f"{second}/red"]
        await server.create_pod("x", first)
        await server.create_pod("y", first)
        await server.create_pod("y", third)
        found = await cache.list(Pod, labels={"test": server.marker})
        assert [each.key for each in found] == [f"{first}/x", f"{third}/y"]


async def test_field_selector_of_a_namespace_is_its_scope(server: CacheServer) -> None:
    """19: as if the namespace had been given, also where it changes live."""
    first, second = [await server.new_namespace() for _ in range(2)]
    for namespace in (first, second):
        await server.create_map("a", namespace)
    async with Cache(
        server.client,
        by_kind={ConfigMap: KindOptions(fields={"metadata.namespace": first})},
    ) as cache:
        assert await names(cache, server) == [f"{first}/a"]
        with pytest.raises(OutOfScopeError):
            await cache.get(ConfigMap, f"{second}/a")
        await cache.set_selectors(ConfigMap, fields={"metadata.namespace": second})
        assert await names(cache, server) == [f"{second}/a"]


async def test_preflight_of_an_administrator(server: CacheServer) -> None:
    cache = Cache(server.client, kinds=[ConfigMap, Namespace], namespace=["a", "b"])
    result = await cache.preflight()
    assert result
    assert str(result) == "nothing is missing"
    result.raise_for_missing()


async def test_fallback_is_not_used_while_everything_is_allowed(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    other = await server.new_namespace()
    created = await server.create_map("a", other)
    options = CachedKindOptions[ConfigMap](fallback_namespaces=[namespace])
    async with Cache(server.client, by_kind={ConfigMap: options}) as cache:
        assert (await cache.get(ConfigMap, created.key)).uid == created.uid
