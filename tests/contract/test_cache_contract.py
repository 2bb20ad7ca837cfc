"""The contract of the cache, on the embedded and on the real server.

``cr-N`` in a docstring is item N of the tests of controller-runtime that docs/parity.md lists.
"""

from __future__ import annotations

import asyncio

import pytest

from kinform import (
    GVK,
    GVR,
    Cache,
    KindOptions,
    LabelSelector,
    PartialObjectMetadata,
    TypedObject,
    Unstructured,
)
from kinform.cache import CachedKindOptions
from kinform.errors import (
    AlreadyStartedError,
    AlreadyStoppedError,
    CacheError,
    CacheNotStartedError,
    CacheSyncError,
    ConfigError,
    InvalidNameError,
    NoMatchError,
    NotFoundError,
    OutOfScopeError,
    ReadOnlyError,
    ResourceNotCachedError,
    SelectorError,
    UnknownIndexError,
)
from kinform.models.core.v1 import ConfigMap, Namespace, Pod
from kinform.objects import Handle
from tests.contract.cache_server import CacheServer
from tests.support.waiting import wait_until

MISSING = GVR("example.com", "v1", "missings")
FORMS: tuple[type[Handle], ...] = (ConfigMap, Unstructured, PartialObjectMetadata)


# -- reads, and the informers behind them --------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
async def test_first_read_of_a_kind_creates_its_informer(
    server: CacheServer, form: type[Handle]
) -> None:
    """cr-5, cr-14: lists and gets of a kind that nobody declared, with its kind in each object."""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        found = await cache.list(ConfigMap, labels={"test": server.marker}, form=form)
        one = await cache.get(ConfigMap, f"{namespace}/a", form=form)
        assert [each.key for each in found] == [f"{namespace}/a"] == [one.key]
        assert isinstance(one, form)
        if form is not PartialObjectMetadata:
            assert one.gvk == found[0].gvk == GVK("", "v1", "ConfigMap")
        assert found.resource_version
        assert list(cache.informers) == [
            "metadata of v1/configmaps" if form is PartialObjectMetadata else "v1/configmaps"
        ]


@pytest.mark.parametrize(
    "kind", [ConfigMap, GVR("", "v1", "configmaps"), "v1/configmaps", GVK("", "v1", "ConfigMap")]
)
async def test_kind_by_class_resource_text_and_gvk(
    server: CacheServer, kind: type[TypedObject] | GVR | str | GVK
) -> None:
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        assert (await cache.get(kind, f"{namespace}/a")).name == "a"
        assert cache.peek(kind).get("a", namespace=namespace).name == "a"


async def test_typed_and_unstructured_share_one_watch_and_one_store(
    server: CacheServer,
) -> None:
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        typed = await cache.get(ConfigMap, f"{namespace}/a")
        dynamic = await cache.get("v1/configmaps", f"{namespace}/a")
        partial = await cache.get(ConfigMap, f"{namespace}/a", form=PartialObjectMetadata)
        assert typed.record is dynamic.record is partial.record
        assert len(cache.informers) == 1


async def test_concurrent_first_readers_share_one_informer(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        found = await asyncio.gather(*(cache.get(ConfigMap, f"{namespace}/a") for _ in range(20)))
        assert len({id(each.record) for each in found}) == 1
        assert len(cache.informers) == 1


async def test_read_waits_for_the_first_list_and_says_why_it_is_late(
    server: CacheServer,
) -> None:
    """cr-1, cr-6: a bounded wait; the error has the reason, and a later read works."""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace, kinds=[ConfigMap]) as cache:
        with pytest.raises(CacheSyncError, match="v1/configmaps"):
            await cache.get(ConfigMap, f"{namespace}/a", timeout=0.0)
        with pytest.raises(CacheSyncError, match="v1/configmaps"):
            await cache.list(ConfigMap, timeout=0.0)
        assert (await cache.get(ConfigMap, f"{namespace}/a")).name == "a"


async def test_cancelled_read_leaves_the_informer_to_others(server: CacheServer) -> None:
    """cr-6"""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        reads = [asyncio.ensure_future(cache.get(ConfigMap, f"{namespace}/a")) for _ in range(2)]
        await asyncio.sleep(0)
        reads[0].cancel()
        assert (await reads[1]).name == "a"
        assert reads[0].cancelled()


async def test_kind_that_the_server_lacks_is_reported_and_waited_for(
    server: CacheServer,
) -> None:
    async with Cache(server.client) as cache:
        with pytest.raises(CacheSyncError, match=r"no resource example\.com/v1/missings"):
            await cache.list(MISSING, timeout=0.3)


async def test_index_of_a_kind_that_never_syncs_returns(server: CacheServer) -> None:
    """cr-2"""
    async with Cache(server.client) as cache:
        cache.index_field(MISSING, "spec.color")
        cache.index_field(MISSING, "spec.color")


async def test_informer_without_waiting(server: CacheServer) -> None:
    """cr-3"""
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        informer = await cache.get_informer(ConfigMap, wait=False)
        assert await cache.get_informer(ConfigMap) is informer
        assert informer.has_synced


async def test_informer_before_the_start_does_not_wait(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    cache = Cache(server.client, namespace=namespace)
    informer = await cache.get_informer(ConfigMap)
    assert not informer.was_started
    async with cache:
        await cache.wait_for_cache_sync(timeout=20, strict=True)
        assert informer.has_synced


async def test_undeclared_kind_is_refused_on_request(server: CacheServer) -> None:
    """cr-4: neither get nor list creates an informer; declared kinds are served."""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    cache = Cache(server.client, namespace=namespace, undeclared_reads="error", kinds=[ConfigMap])
    cache.index_field(Pod, "spec.nodeName")
    async with cache:
        for read in (cache.get("v1/secrets", f"{namespace}/a"), cache.list("v1/secrets")):
            with pytest.raises(ResourceNotCachedError, match=r"does not hold v1/secrets.*kinds="):
                await read
        assert (await cache.get(ConfigMap, f"{namespace}/a")).name == "a"
        assert len(await cache.list(Pod)) == 0
        assert sorted(cache.informers) == ["v1/configmaps", "v1/pods"]


async def test_options_of_a_kind_declare_it(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    async with Cache(
        server.client,
        namespace=namespace,
        undeclared_reads="error",
        by_kind={Pod: KindOptions()},
    ) as cache:
        assert cache.informers == {}
        assert len(await cache.list(Pod)) == 0
        with pytest.raises(ResourceNotCachedError):
            await cache.list(ConfigMap)


async def test_undeclared_kind_is_read_from_the_server_on_request(
    server: CacheServer,
) -> None:
    namespace = await server.new_namespace()
    await server.create_map("a", namespace, color="red")
    async with Cache(
        server.client,
        namespace=namespace,
        by_kind={ConfigMap: CachedKindOptions(undeclared_reads="live")},
    ) as cache:
        assert (await cache.get(ConfigMap, f"{namespace}/a")).data == {"color": "red"}
        found = await cache.list(
            "v1/configmaps", namespace=namespace, fields={"metadata.name": "a"}
        )
        assert [each.name for each in found] == ["a"]
        assert cache.informers == {}
        with pytest.raises(ConfigError, match="several values"):
            await cache.list("v1/configmaps", fields={"metadata.name": ["a", "b"]})


async def test_unstarted_cache_refuses_reads_and_remembers_the_kind(
    server: CacheServer,
) -> None:
    namespace = await server.new_namespace()
    cache = Cache(server.client, namespace=namespace)
    for read in (cache.get(ConfigMap, "a"), cache.list(ConfigMap)):
        with pytest.raises(CacheNotStartedError, match="was not started"):
            await read
    with pytest.raises(CacheNotStartedError):
        await cache.wait_for_cache_sync()
    async with cache:
        await cache.wait_for_cache_sync(timeout=20, strict=True)
        assert list(cache.informers) == ["v1/configmaps"]


async def test_cache_starts_once(server: CacheServer) -> None:
    """cr-8"""
    cache = Cache(server.client)
    async with cache:
        with pytest.raises(AlreadyStartedError):
            cache.start()
    with pytest.raises(AlreadyStartedError, match="create another cache"):
        cache.start()


async def test_stop_ends_all_tasks(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    before = asyncio.all_tasks()
    async with Cache(server.client, namespace=namespace, kinds=[ConfigMap, Pod, MISSING]) as cache:
        await cache.list(ConfigMap)
    assert cache.is_stopped
    for read in (cache.get(ConfigMap, "a"), cache.list(ConfigMap), cache.list(Pod)):
        with pytest.raises(AlreadyStoppedError, match="create another cache"):
            await read
    with pytest.raises(AlreadyStoppedError):
        cache.peek(ConfigMap)
    await asyncio.sleep(0)
    assert {each.get_name() for each in asyncio.all_tasks() - before} == set()


# -- removal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [ConfigMap, PartialObjectMetadata])
async def test_removed_informer_is_created_again(server: CacheServer, form: type[Handle]) -> None:
    """cr-7: with its indexes, and with what changed in between."""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        cache.index_field(ConfigMap, "metadata.labels.color", form=form)
        informer = await cache.get_informer(ConfigMap, form=form)
        await cache.remove_informer(ConfigMap, form=form)
        assert informer.is_stopped
        assert len(informer.indexer) == 0
        await server.create_map("b", namespace, color="red")
        with pytest.raises(ResourceNotCachedError, match="peek"):
            cache.peek(ConfigMap, form=form)
        found = await cache.list(ConfigMap, fields={"metadata.labels.color": "red"}, form=form)
        assert [each.name for each in found] == ["b"]
        await cache.remove_informer(MISSING)


async def test_handlers_receive_the_differences_after_a_removal(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    for name in "ab":
        await server.create_map(name, namespace)
    seen: list[str] = []

    async def on_add(obj: ConfigMap) -> None:
        seen.append(f"+{obj.name}")

    async def on_delete(gone: object) -> None:
        seen.append("-")

    async with Cache(server.client, namespace=namespace) as cache:
        informer = await cache.get_informer(ConfigMap)
        registration = informer.add_event_handler(
            on_add=on_add,
            on_delete=on_delete,
            filter=LabelSelector.from_labels({"test": server.marker}),
        )
        await registration.has_synced
        await cache.remove_informer(ConfigMap)
        await server.client.delete(ConfigMap, "a", namespace=namespace)
        await server.create_map("c", namespace)
        assert [
            each.name for each in await cache.list(ConfigMap, labels={"test": server.marker})
        ] == [
            "b",
            "c",
        ]
        await wait_until(lambda: sorted(seen) == ["+a", "+b", "+c", "-"], timeout=20)


async def test_idle_informer_is_released(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    async with Cache(
        server.client,
        namespace=namespace,
        by_kind={ConfigMap: CachedKindOptions(idle_timeout=0.05)},
    ) as cache:
        await cache.list(ConfigMap)
        await cache.list(Pod)
        informer = cache.informers["v1/configmaps"]
        await asyncio.sleep(0.1)
        await cache.release_idle_informers()
        assert informer.is_stopped
        assert cache.informers["v1/pods"].is_running
        assert len(await cache.list(ConfigMap)) >= 0
        assert informer.is_running
        informer.add_event_handler(on_add=lambda obj: None)
        await asyncio.sleep(0.1)
        await cache.release_idle_informers()
        assert informer.is_running


# -- questions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
async def test_list_by_indexed_field(server: CacheServer, form: type[Handle]) -> None:
    """cr-9, cr-10, cr-15: equality by index, several fields, labels, limits, order by key."""
    namespace = await server.new_namespace()
    for name, color, size in (("c", "red", "s"), ("a", "red", "m"), ("b", "blue", "s")):
        await server.create_map(name, namespace, color=color, size=size)
    async with Cache(server.client, namespace=namespace) as cache:
        cache.index_field(ConfigMap, "metadata.labels.color", form=form)
        cache.index_field(ConfigMap, "size", lambda obj: [obj.labels.get("size", "")], form=form)

        async def names(**question: object) -> list[str]:
            found = await cache.list(ConfigMap, form=form, **question)  # type: ignore[call-overload]
            return [each.name for each in found if each.labels.get("test") == server.marker]

        red = {"metadata.labels.color": "red"}
        assert await names(fields=red) == ["a", "c"]
        assert await names(fields={**red, "size": "s"}) == ["c"]
        assert await names(fields="metadata.labels.color=red,size!=s") == ["a"]
        assert await names(fields={"size": ["s", "m"], "metadata.labels.color": ["blue"]}) == ["b"]
        assert await names(fields="size!=s") == ["a"]
        assert await names(fields=red, labels="size in (s)") == ["c"]
        assert await names(fields=red, labels="size=s", limit=1) == ["c"]
        assert await names(fields=red, limit=1) == ["a"]
        assert await names(fields={"metadata.name": "b"}) == ["b"]
        assert await names(fields={"metadata.namespace": namespace}, limit=2) != []
        assert await names(fields=red, namespace=namespace) == ["a", "c"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("spec.node_name", "Pod.spec has no 'node_name'; did you mean 'nodeName'"),
        ("spec.nodename", "did you mean 'nodeName'"),
        ("sepc.nodeName", "Pod has no 'sepc'; did you mean 'spec'"),
    ],
)
async def test_path_that_the_model_lacks_is_refused(
    server: CacheServer, path: str, hint: str
) -> None:
    """It would find nothing for ever."""
    cache = Cache(server.client)
    with pytest.raises(InvalidNameError, match=hint):
        cache.index_field(Pod, path)
    for right in ("spec.nodeName", "metadata.labels.app", "spec.containers.0.image"):
        cache.index_field(Pod, right)


async def test_misspelt_kind_is_forgotten_after_its_read(server: CacheServer) -> None:
    async with Cache(server.client) as cache:
        with pytest.raises(CacheSyncError, match="no resource v1/pod"):
            await cache.list("v1/pod", timeout=0.3)
        assert cache.health().problems == {}
        with pytest.raises(CacheSyncError, match="no resource v1/pod"):
            await cache.list("v1/pod", timeout=0.3)


async def test_absent_field_has_the_empty_value(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    await server.create_pod("placed", namespace, node="node-1")
    await server.create_pod("waiting", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        cache.index_field(Pod, "spec.nodeName")
        for fields in ("spec.nodeName=", "spec.nodeName!=node-1"):
            assert [each.name for each in await cache.list(Pod, fields=fields)] == ["waiting"]


async def test_objects_by_owner(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    owner = await server.create_map("owner", namespace)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
    await server.client.create(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "namespace": namespace, "ownerReferences": [reference]},
        }
    )
    async with Cache(server.client, namespace=namespace) as cache:
        found = await cache.list(ConfigMap, fields={"metadata.ownerReferences.uid": owner.uid})
        assert [each.name for each in found] == ["a"]


async def test_label_index_gives_the_same_answers(server: CacheServer) -> None:
    namespace = await server.new_namespace()
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        await server.create_map(name, namespace, color=color)
    async with Cache(server.client, namespace=namespace) as cache:
        questions = ["color=red", "color in (red,blue),test", "color!=red,test", "color=red,!x"]
        before = [[each.name for each in await cache.list(ConfigMap, labels=q)] for q in questions]
        cache.index_label(ConfigMap, "color")
        cache.index_label(ConfigMap, "color")
        after = [[each.name for each in await cache.list(ConfigMap, labels=q)] for q in questions]
        assert before == after == [["a", "c"], ["a", "b", "c"], ["b"], ["a", "c"]]


async def test_values_of_an_index_function_are_not_changed(server: CacheServer) -> None:
    """cr-11"""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    values = ["one", "two"]
    async with Cache(server.client, namespace=namespace) as cache:
        cache.index_field(ConfigMap, "shared", lambda obj: values)
        for value in ("one", "two"):
            found = await cache.list(ConfigMap, fields={"shared": value})
            assert "a" in [each.name for each in found]
    assert values == ["one", "two"]


async def test_field_without_an_index_is_named_with_the_line_to_add(
    server: CacheServer,
) -> None:
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        with pytest.raises(UnknownIndexError, match=r'cache.index_field\(Pod, "status.phase"\)'):
            await cache.list(Pod, fields={"status.phase": "Running"})
        cache.index_field(Pod, "status.phase")
        assert len(await cache.list(Pod, fields={"status.phase": "Running"})) == 0
        with pytest.raises(CacheError, match="with another function"):
            cache.index_field(Pod, "status.phase", lambda pod: ["x"])


async def test_invalid_questions(server: CacheServer) -> None:
    """cr-16: there is no continuation; other invalid questions are refused."""
    namespace = await server.new_namespace()
    async with Cache(server.client, namespace=namespace) as cache:
        found = await cache.list(ConfigMap)
        assert found.continue_token == ""
        with pytest.raises(SelectorError):
            await cache.list(ConfigMap, labels="a=b=c")
        assert len(await cache.list(ConfigMap, fields={"metadata.name": []})) == 0
        for value in (None, 1, [1]):
            with pytest.raises(SelectorError, match=r"field 'metadata\.name'"):
                await cache.list(ConfigMap, fields={"metadata.name": value})  # type: ignore[dict-item]
        with pytest.raises(OutOfScopeError):
            await cache.list(ConfigMap, fields={"metadata.namespace": "elsewhere"})
        with pytest.raises(ConfigError, match="namespace must be a string"):
            await cache.list(ConfigMap, namespace=["a"])  # type: ignore[call-overload]
        for limit in (0, -1):
            with pytest.raises(ConfigError, match="limit"):
                await cache.list(ConfigMap, limit=limit)
        with pytest.raises(InvalidNameError):
            await cache.get(ConfigMap, "")
        with pytest.raises(InvalidNameError, match="pass one"):
            await cache.get(ConfigMap, f"{namespace}/a", namespace="other")
        with pytest.raises(InvalidNameError, match="must be a string, not None"):
            await cache.get(ConfigMap, None)  # type: ignore[call-overload]
        kinds: list[object] = [5, {}, ["v1/pods"]]
        for kind in kinds:
            with pytest.raises(InvalidNameError, match="is not a resource"):
                await cache.get(kind, "a")  # type: ignore[call-overload]
            with pytest.raises(InvalidNameError, match="is not a resource"):
                cache.peek(kind)  # type: ignore[call-overload]
        for form in (str, Pod):
            with pytest.raises(ConfigError):
                await cache.list(ConfigMap, form=form)  # type: ignore[type-var]
        for option in ({"kinds": Pod}, {"kinds": "v1/pods"}):
            with pytest.raises(ConfigError, match="kinds must be a list of kinds"):
                Cache(server.client, **option)


async def test_missing_object_and_uncovered_namespace_differ(server: CacheServer) -> None:
    """cr-19"""
    namespace = await server.new_namespace()
    other = await server.new_namespace()
    await server.create_map("a", other)
    async with Cache(server.client, namespace=namespace) as cache:
        with pytest.raises(NotFoundError, match=f'configmaps "{namespace}/a" not found') as missing:
            await cache.get(ConfigMap, f"{namespace}/a")
        assert missing.value.details == {"name": "a", "group": "", "kind": "configmaps"}
        for read in (cache.get(ConfigMap, f"{other}/a"), cache.list(ConfigMap, namespace=other)):
            with pytest.raises(
                OutOfScopeError, match=f"does not cover namespace '{other}'.*{namespace}"
            ):
                await read


async def test_cluster_scoped_kinds_ignore_default_namespaces(server: CacheServer) -> None:
    """cr-17, cr-18: they are cached once, whatever the namespaces; a namespace is an error."""
    names = [await server.new_namespace() for _ in range(2)]
    async with Cache(server.client, namespace=names) as cache:
        found = await cache.list(Namespace, labels={"test": server.marker})
        assert [each.name for each in found] == sorted(names)
        assert (await cache.get("v1/namespaces", names[0])).name == names[0]
        with pytest.raises(NoMatchError, match="cluster-scoped"):
            await cache.get(Namespace, names[0], namespace="default")
        with pytest.raises(NoMatchError, match="cluster-scoped"):
            await cache.list(Namespace, namespace="default")


async def test_several_namespaces_in_one_list(server: CacheServer) -> None:
    names = sorted([await server.new_namespace() for _ in range(3)])
    for name in names:
        for each in "ba":
            await server.create_map(each, name)
    async with Cache(server.client, namespace=names[:2]) as cache:
        found = await cache.list(ConfigMap, labels={"test": server.marker})
        assert [each.key for each in found] == [f"{n}/{each}" for n in names[:2] for each in "ab"]
        found = await cache.list(ConfigMap, labels={"test": server.marker}, limit=3)
        assert len(found) == 3


# -- options -------------------------------------------------------------------------------------


async def test_selectors_and_transforms_by_kind(server: CacheServer) -> None:
    """cr-20, cr-21: what is not selected is not there; transforms apply before storing."""
    namespace = await server.new_namespace()
    await server.create_map("red", namespace, color="red")
    await server.create_map("blue", namespace, color="blue")
    await server.create_pod("pod", namespace)

    def mark(obj: Handle) -> Handle:
        edited = obj.copy()
        edited.labels["marked"] = "yes"
        return edited

    async with Cache(
        server.client,
        namespace=namespace,
        by_kind={
            ConfigMap: KindOptions(labels={"color": "red"}, transform=None),
            Pod: KindOptions(fields={"metadata.name": "pod"}),
        },
        transform=mark,
    ) as cache:
        for form in FORMS:
            found = await cache.list(ConfigMap, form=form)
            assert [(each.name, each.labels.get("marked")) for each in found] == [("red", None)]
        with pytest.raises(NotFoundError):
            await cache.get(ConfigMap, f"{namespace}/blue")
        assert (await cache.get(Pod, f"{namespace}/pod")).labels["marked"] == "yes"


async def test_two_options_for_one_kind_are_refused(server: CacheServer) -> None:
    with pytest.raises(ConfigError, match="two entries for v1/pods"):
        Cache(server.client, by_kind={Pod: KindOptions(), "v1/pods": KindOptions()})


async def test_results_cannot_change_the_cache(server: CacheServer) -> None:
    """cr-12, cr-13: no copies are necessary, because results are read-only."""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        found = await cache.get(ConfigMap, f"{namespace}/a")
        with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
            found.data = {"x": "y"}
        edited = found.copy()
        edited.data = {"x": "y"}
        assert (await cache.get(ConfigMap, f"{namespace}/a")).data == {"color": "none"}


async def test_list_is_of_one_version(server: CacheServer) -> None:
    """While pairs of objects change together, a list never has an older and a newer one mixed."""
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    async with Cache(server.client, namespace=namespace) as cache:
        for number in range(20):
            await server.create_map(f"n{number}", namespace)
            found = await cache.list(ConfigMap, labels={"test": server.marker})
            newest = max(int(each.resource_version) for each in found)
            assert int(found.resource_version) >= newest
