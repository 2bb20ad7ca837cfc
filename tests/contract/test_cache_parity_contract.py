"""Further guarantees of controller-runtime's cache, on the embedded and on the real server.

``cr-N`` in a docstring is item N of the tests of controller-runtime that docs/parity.md lists.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import pytest

from kinform import GVR, Cache, KindOptions, NotFoundError, PartialObjectMetadata, Unstructured
from kinform.cache import CachedClient
from kinform.errors import NoMatchError, StaleReadError
from kinform.informers import NamespaceOptions, strip_managed_fields
from kinform.models.core.v1 import ConfigMap, Namespace, Pod
from kinform.models.meta.v1 import ObjectMeta
from kinform.models.policy.v1 import Eviction
from kinform.objects import JSON, Handle, Record
from tests.contract.cache_server import CacheServer
from tests.support.waiting import wait_until

# A version that no write of a test reaches is as far ahead of the store.
FAR = 10**15

R = TypeVar("R")

FORMS: tuple[type[Handle], ...] = (ConfigMap, Unstructured, PartialObjectMetadata)


# -- options -------------------------------------------------------------------------------------

Names = list[str]
EVERYTHING = "a/blue a/red b/blue b/red c/red"


def of_kind(**options: Any) -> Callable[[Names], dict[str, Any]]:
    return lambda names: {"by_kind": {ConfigMap: KindOptions(**options)}}


# The options for three namespaces, and what is cached. Namespaces are called a, b and c.
SELECTIONS: dict[str, tuple[Callable[[Names], dict[str, Any]], str]] = {
    "nothing is selected": (lambda names: {}, EVERYTHING),
    "a field": (of_kind(fields="metadata.name=blue"), "a/blue b/blue"),
    "the field of the namespace": (
        lambda names: {
            "by_kind": {ConfigMap: KindOptions(fields=f"metadata.namespace={names[1]}")}
        },
        "b/blue b/red",
    ),
    "a field that nothing has": (of_kind(fields="metadata.name=green"), ""),
    "a label": (of_kind(labels="color=red"), "a/red b/red c/red"),
    "a label that nothing has": (of_kind(labels="color=green"), ""),
    "a label and a field": (of_kind(labels="color=red", fields="metadata.name=blue"), ""),
    "default namespaces": (lambda names: {"namespace": names[:1]}, "a/blue a/red"),
    "namespaces of the kind override default ones": (
        lambda names: {
            "namespace": names[:1],
            "by_kind": {ConfigMap: KindOptions(namespace=names[1:2])},
        },
        "b/blue b/red",
    ),
    "all namespaces of the kind override default ones": (
        lambda names: {"namespace": names[:1], "by_kind": {ConfigMap: KindOptions(namespace="")}},
        EVERYTHING,
    ),
    "a selector of the kind in default namespaces": (
        lambda names: {
            "namespace": names[:2],
            "by_kind": {ConfigMap: KindOptions(labels="color=red")},
        },
        "a/red b/red",
    ),
    "a selector of each default namespace": (
        lambda names: {
            "namespace": {
                names[0]: NamespaceOptions(labels="color=red"),
                names[1]: NamespaceOptions(),
            }
        },
        "a/red b/blue b/red",
    ),
    "a selector of all default namespaces": (
        lambda names: {"namespace": {"": NamespaceOptions(labels="color=blue")}},
        "a/blue b/blue",
    ),
    "a namespace of the kind overrides the kind": (
        lambda names: {
            "by_kind": {
                ConfigMap: KindOptions(
                    labels="color=red",
                    namespace={
                        names[0]: NamespaceOptions(labels="color=blue"),
                        names[1]: NamespaceOptions(),
                    },
                )
            }
        },
        "a/blue b/red",
    ),
    "the kind overrides a default namespace": (
        lambda names: {
            "namespace": {names[0]: NamespaceOptions(labels="color=blue")},
            "by_kind": {ConfigMap: KindOptions(labels="color=red")},
        },
        "a/red",
    ),
    "a namespace of the kind inherits from the default one": (
        lambda names: {
            "namespace": {names[0]: NamespaceOptions(labels="color=blue")},
            "by_kind": {ConfigMap: KindOptions(namespace=names[:2])},
        },
        "a/blue b/blue b/red",
    ),
    "labels and fields are inherited separately": (
        lambda names: {
            "namespace": {names[0]: NamespaceOptions(labels="color=blue")},
            "by_kind": {ConfigMap: KindOptions(fields="metadata.name=red")},
        },
        "",
    ),
    "everything differs from an omitted selector": (
        lambda names: {
            "namespace": {names[0]: NamespaceOptions(labels="color=blue")},
            "by_kind": {ConfigMap: KindOptions(labels="")},
        },
        "a/blue a/red",
    ),
    "all namespaces that are not listed": (
        lambda names: {
            "namespace": {
                "": NamespaceOptions(),
                names[0]: NamespaceOptions(fields="metadata.name=red"),
            }
        },
        "a/red b/blue b/red c/red",
    ),
    "all that are not listed, with a selector": (
        lambda names: {
            "namespace": {
                "": NamespaceOptions(fields="metadata.name=red"),
                names[0]: NamespaceOptions(),
                names[1]: NamespaceOptions(labels="color=blue"),
            }
        },
        "a/blue a/red b/blue c/red",
    ),
}


@pytest.mark.parametrize("row", SELECTIONS)
async def test_what_is_cached_by_namespaces_and_selectors(server: CacheServer, row: str) -> None:
    """cr-20, cr-23: the same in every form; the most specific option applies."""
    names = sorted([await server.new_namespace() for _ in range(3)])
    for letter, namespace in zip("abc", names, strict=True):
        for color in ("red", "blue"):
            if (letter, color) != ("c", "blue"):
                await server.create_map(color, namespace, color=color)
    options, expected = SELECTIONS[row]
    letters = dict(zip(names, "abc", strict=True))
    for form in FORMS:
        async with Cache(server.client, **options(names)) as cache:
            found = await cache.list(ConfigMap, labels={"test": server.marker}, form=form)
            assert [f"{letters[each.namespace]}/{each.name}" for each in found] == expected.split()


async def test_namespaces_of_a_cluster_scoped_kind_are_refused(server: CacheServer) -> None:
    """cr-23: by the constructor, without asking the server."""
    with pytest.raises(NoMatchError, match="v1/namespaces is cluster-scoped"):
        Cache(server.client, by_kind={Namespace: KindOptions(namespace="default")})


async def test_namespaces_of_a_cluster_scoped_custom_kind_are_reported(
    server: CacheServer,
) -> None:
    """cr-23: when the server has told its scope; other kinds are not concerned."""
    group = f"{server.marker}.example.com"
    definition: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    await server.client.create(definition)
    widgets = GVR(group, "v1", "widgets")
    async with Cache(
        server.client, by_kind={widgets: KindOptions(namespace="default")}, kinds=[widgets]
    ) as cache:

        def is_known() -> bool:
            (kind,) = cache._registry.kinds
            return isinstance(kind.problem, NoMatchError) and "cluster-scoped" in str(kind.problem)

        await wait_until(is_known)
        with pytest.raises(NoMatchError, match="cluster-scoped; omit the namespace"):
            await cache.list(widgets)
        assert (await cache.get(Namespace, "default")).name == "default"


async def test_caches_share_options_and_do_not_change_them(server: CacheServer) -> None:
    """cr-23: also while another cache changes its scope."""
    first, second = sorted([await server.new_namespace() for _ in range(2)])
    for namespace in (first, second):
        await server.create_map("a", namespace)
    namespaces, by_kind = [first], {ConfigMap: KindOptions[Any](labels={"test": server.marker})}
    one = Cache(server.client, namespace=namespaces, by_kind=by_kind, name="one")
    other = Cache(server.client, namespace=namespaces, by_kind=by_kind, name="other")
    async with one, other:
        for cache in (one, other):
            await cache.list(ConfigMap)
        await one.add_namespace(second)
        await one.set_selectors(ConfigMap, labels="no=thing")
        assert len(await one.list(ConfigMap)) == 0
        assert [each.key for each in await other.list(ConfigMap)] == [f"{first}/a"]
    assert namespaces == [first]
    assert by_kind == {ConfigMap: KindOptions(labels={"test": server.marker})}


def test_every_option_of_a_namespace_can_be_given_for_its_kind() -> None:
    """cr-23: so each of them has a default."""
    assert set(NamespaceOptions.__struct_fields__) <= set(KindOptions.__struct_fields__)


@pytest.mark.parametrize("form", FORMS)
async def test_managed_fields_are_stripped_from_every_form(
    server: CacheServer, form: type[Handle]
) -> None:
    """cr-22: with or without them, from the list and from the watch."""
    namespace = await server.new_namespace()
    entry = {
        "manager": "test",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:color": {}}},
    }

    async def create(name: str, **metadata: Any) -> Unstructured:
        return await server.client.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "namespace": namespace, **metadata},
                "data": {"color": "red"},
            }
        )

    listed = await create("listed", managedFields=[entry], annotations={"kept": "yes"})
    assert listed.get_path("metadata.managedFields")
    await create("none")
    async with Cache(server.client, namespace=namespace, transform=strip_managed_fields) as cache:
        await cache.list(ConfigMap, form=form)
        watched = await create("watched", managedFields=[entry], annotations={"kept": "yes"})
        await cache.caught_up(watched.resource_version, ConfigMap)
        for name in ("listed", "none", "watched"):
            found = await cache.get(ConfigMap, f"{namespace}/{name}", form=form)
            assert not found.get_path("metadata.managedFields")
            kept = found.get_path("metadata.annotations.kept")
            assert kept == (None if name == "none" else "yes")


async def test_metadata_objects_of_list_and_watch_have_the_same_kind(server: CacheServer) -> None:
    """cr-25: that of metadata; controller-runtime overwrites it with the kind of the object."""
    namespace = await server.new_namespace()
    await server.create_map("listed", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        await cache.list(ConfigMap, form=PartialObjectMetadata)
        watched = await server.create_map("watched", namespace)
        await cache.caught_up(watched.resource_version, ConfigMap)
        for name in ("listed", "watched"):
            found = await cache.get(ConfigMap, f"{namespace}/{name}", form=PartialObjectMetadata)
            assert (found.api_version, found.kind) == ("meta.k8s.io/v1", "PartialObjectMetadata")


# -- own writes ----------------------------------------------------------------------------------


class OwnWritesOfTheFuture:
    """A cache with the object ``a``, and own writes to it that the store does not have yet.

    A version that follows that of the store is reached with any later write in the namespace.
    """

    def __init__(self, server: CacheServer, cache: Cache, a: Unstructured) -> None:
        self.server = server
        self.cache = cache
        self.a = a
        self.own_writes = cache.peek(ConfigMap).own_writes
        self.client: CachedClient = cache.client(timeout=20)
        self.impatient: CachedClient = cache.client(timeout=0.05)

    def write(self, name: str, ahead: int = 1) -> None:
        """Record a write, whose version is ahead of the store."""
        version = int(self.cache.informers["v1/configmaps"].last_sync_resource_version)
        metadata = {
            "name": name,
            "namespace": self.a.namespace,
            "uid": self.a.uid,
            "resourceVersion": str(version + ahead),
        }
        tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        self.own_writes.add_object(Unstructured.over(Record.read(JSON.encode(tree), JSON)))

    def delete(self, name: str, uid: str) -> None:
        """Record a deletion that has not happened."""
        namespace = self.a.namespace
        self.own_writes.add_deletion(f"{namespace}/{name}", namespace, uid, may_linger=False)

    async def happen(self) -> None:
        """Let the store reach a later version."""
        await self.server.create_map("later", self.a.namespace)


@pytest.fixture
async def future(server: CacheServer) -> AsyncIterator[OwnWritesOfTheFuture]:
    namespace = await server.new_namespace()
    a, _ = [await server.create_map(name, namespace) for name in "ab"]
    async with Cache(server.client, namespace=[namespace]) as cache:
        await cache.list(ConfigMap)
        yield OwnWritesOfTheFuture(server, cache, a)


async def begin(read: Awaitable[R]) -> asyncio.Future[R]:
    """Start a read, and check that it waits."""
    task = asyncio.ensure_future(read)
    done, _ = await asyncio.wait([task], timeout=0.1)
    assert not done
    return task


async def test_get_waits_for_the_version_of_the_own_write(future: OwnWritesOfTheFuture) -> None:
    """cr-26: until the store has reached it."""
    future.write("a")
    read = await begin(future.client.get(ConfigMap, future.a.key))
    await future.happen()
    assert (await read).name == "a"


async def test_get_waits_for_the_own_deletion_of_the_object(future: OwnWritesOfTheFuture) -> None:
    """cr-26: until the object with this uid is gone."""
    future.delete("a", future.a.uid)
    read = await begin(future.client.get(ConfigMap, future.a.key))
    await future.server.client.delete(ConfigMap, "a", namespace=future.a.namespace)
    with pytest.raises(NotFoundError):
        await read


async def test_get_does_not_wait_for_other_objects(future: OwnWritesOfTheFuture) -> None:
    """cr-26: neither for their versions nor for their deletions."""
    future.delete("a", future.a.uid)
    future.write("c", FAR)
    assert (await future.impatient.get(ConfigMap, f"{future.a.namespace}/b")).name == "b"


async def test_get_does_not_wait_without_own_writes(future: OwnWritesOfTheFuture) -> None:
    """cr-26"""
    assert (await future.impatient.get(ConfigMap, future.a.key)).name == "a"
    assert len(await future.impatient.list(ConfigMap, labels="test")) == 2


async def test_deletion_of_another_object_of_the_name_is_done(future: OwnWritesOfTheFuture) -> None:
    """cr-26: the object was created again."""
    future.delete("a", "another-uid")
    assert (await future.impatient.get(ConfigMap, future.a.key)).uid == future.a.uid


async def test_get_does_not_wait_for_writes_after_its_begin(future: OwnWritesOfTheFuture) -> None:
    """cr-26: a program that writes all the time does not starve its reads."""
    future.write("a")
    read = await begin(future.client.get(ConfigMap, future.a.key))
    future.write("a", FAR)
    await future.happen()
    assert (await read).name == "a"
    with pytest.raises(StaleReadError, match=f"own write of {future.a.key}"):
        await future.impatient.get(ConfigMap, future.a.key)


async def test_list_waits_for_all_own_writes_of_the_namespace(
    future: OwnWritesOfTheFuture,
) -> None:
    """cr-26: versions and deletions, and those of no other namespace."""
    future.write("a")
    future.delete("b", future.cache.peek(ConfigMap).get(f"{future.a.namespace}/b").uid)
    read = await begin(future.client.list(ConfigMap, namespace=future.a.namespace))
    await future.happen()
    assert not (await asyncio.wait([read], timeout=0.1))[0]
    await future.server.client.delete(ConfigMap, "b", namespace=future.a.namespace)
    assert "b" not in [each.name for each in await read]

    other = await future.server.new_namespace()
    await future.cache.add_namespace(other)
    future.write("a", FAR)
    assert [each.name for each in await future.impatient.list(ConfigMap, namespace=other)] in (
        [],
        ["kube-root-ca.crt"],
    )
    with pytest.raises(StaleReadError):
        await future.impatient.list(ConfigMap)


async def test_list_does_not_wait_for_writes_after_its_begin(future: OwnWritesOfTheFuture) -> None:
    """cr-26"""
    future.write("a")
    read = await begin(future.client.list(ConfigMap))
    future.write("c", FAR)
    await future.happen()
    assert "a" in [each.name for each in await read]
    with pytest.raises(StaleReadError):
        await future.impatient.list(ConfigMap)


async def test_waiting_read_can_be_cancelled(future: OwnWritesOfTheFuture) -> None:
    """cr-26: the own write is still waited for by others."""
    future.write("a")
    read = await begin(future.client.get(ConfigMap, future.a.key))
    read.cancel()
    with pytest.raises(asyncio.CancelledError):
        await read
    with pytest.raises(StaleReadError):
        await future.impatient.get(ConfigMap, future.a.key)


async def test_removal_of_the_informer_ends_waiting_reads(future: OwnWritesOfTheFuture) -> None:
    """cr-26: with an error, because the store will not get there."""
    future.write("a", FAR)
    get = await begin(future.client.get(ConfigMap, future.a.key))
    listing = await begin(future.client.list(ConfigMap))
    await future.cache.remove_informer(ConfigMap)
    with pytest.raises(StaleReadError):
        await get
    with pytest.raises(StaleReadError):
        await listing


async def test_versions_that_cannot_be_compared_are_not_waited_for(
    future: OwnWritesOfTheFuture,
) -> None:
    """cr-26: there is no way to know that the store has them."""
    tree = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "a",
            "namespace": future.a.namespace,
            "uid": future.a.uid,
            "resourceVersion": "opaque",
        },
    }
    future.own_writes.add_object(Unstructured.over(Record.read(JSON.encode(tree), JSON)))
    assert (await future.impatient.get(ConfigMap, future.a.key)).name == "a"


async def test_eviction_is_not_waited_for(server: CacheServer) -> None:
    """cr-27: its response is not the pod, so reads return the pod or its absence at once."""
    namespace = await server.new_namespace()
    await server.create_pod("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        client = cache.client(timeout=0.05)
        before = await cache.get(Pod, f"{namespace}/a")
        eviction = Eviction(metadata=ObjectMeta(name="a", namespace=namespace))
        await client.create(
            eviction, resource=Pod, name="a", namespace=namespace, subresource="eviction"
        )
        found = await client.list(Pod, namespace=namespace)
        assert {each.uid for each in found} <= {before.uid}
