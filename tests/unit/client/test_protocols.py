"""Protocols: any object with the methods of a client can stand in for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, assert_type

import pytest

from kinform import Reader, Watcher, Writer, blocking
from kinform._checks import expect_client
from kinform.api import GVR, ListOptions
from kinform.client import Client, ObjectList, ViewReader, ViewWatcher, Watch, watcher_view
from kinform.errors import ConfigError, NotFoundError, UnsupportedMediaTypeError
from kinform.informers import ListWatch, SharedIndexInformer
from kinform.models.core.v1 import ConfigMap, Pod
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer
from kinform.transport import ClusterConfig
from tests.support.recording_client import RecordingClient

MAPS = GVR("", "v1", "configmaps")
CONFIG = ClusterConfig(server="https://cluster.test")


@pytest.fixture
async def cluster(kinform_api: ApiServer) -> AsyncIterator[Client]:
    """A client of the embedded server."""
    async with Client(kinform_api.config) as client:
        yield client


async def ensure(reader: Reader, writer: Writer, name: str) -> ConfigMap:
    """Create an object unless it exists: a program that takes Protocols."""
    try:
        return assert_type(await reader.get(ConfigMap, name, namespace="default"), ConfigMap)
    except NotFoundError:
        made = ConfigMap(metadata=ObjectMeta(name=name, namespace="default"))
        return assert_type(await writer.create(made), ConfigMap)


async def first_name(watcher: Watcher) -> str:
    assert_type(await watcher.page(ConfigMap, ListOptions()), ObjectList[ConfigMap])
    watch = assert_type(watcher.watch(ConfigMap), Watch[ConfigMap])
    async with watch:
        return (await anext(watch)).object.name


async def test_client_and_its_views_satisfy_the_protocols(cluster: Client) -> None:
    reader: Reader = cluster
    writer: Writer = cluster
    watcher: Watcher = cluster
    await ensure(reader, writer, "a")
    assert await first_name(watcher) == "a"
    raw = assert_type(await reader.get(MAPS, "a", namespace="default"), Unstructured)
    listed = assert_type(await reader.list(ConfigMap, labels={}), ObjectList[ConfigMap])

    metadata: ViewReader[PartialObjectMetadata] = cluster.metadata
    typed: ViewReader[ConfigMap] = cluster.view(ConfigMap)
    sources: tuple[ViewWatcher[PartialObjectMetadata], ViewWatcher[ConfigMap]] = (
        cluster.metadata,
        cluster.view(ConfigMap),
    )
    names = [
        raw.name,
        *(each.name for each in listed),
        (await metadata.get(MAPS, "a", namespace="default")).name,
        *(each.name for each in await typed.list(MAPS)),
    ]
    assert names == ["a"] * 4
    assert [source.form for source in sources] == [PartialObjectMetadata, ConfigMap]


async def test_recording_client_serves_reads_and_writes(cluster: Client) -> None:
    recorder = RecordingClient(cluster)
    made = await ensure(recorder, recorder, "a")
    assert (await ensure(recorder, recorder, "a")).uid == made.uid
    mine = made.copy()
    mine.data = {"k": "v"}
    writer: Writer = recorder
    assert (await writer.update(mine)).data == {"k": "v"}
    assert (await writer.patch(ConfigMap, "a", {"data": {"k": "w"}})).data == {"k": "w"}
    with pytest.raises(UnsupportedMediaTypeError):  # the embedded server has no apply
        await writer.apply(ConfigMap(metadata=ObjectMeta(name="b")), field_manager="me")
    assert await first_name(recorder) == "a"
    await writer.delete(ConfigMap, "a")
    await writer.delete_collection(ConfigMap, namespace="default")
    assert len(await recorder.list(MAPS)) == 0
    assert recorder.calls == [
        *("get a", "create", "get a", "update", "patch a", "apply", "page", "watch"),
        *("delete a", "delete_collection", "list"),
    ]


async def test_informer_reads_through_a_recording_client(cluster: Client) -> None:
    await ensure(cluster, cluster, "a")
    recorder = RecordingClient(cluster)
    expect_client(recorder, Watcher, receiver="SharedInformerFactory")
    view = watcher_view(recorder, ConfigMap, receiver="ListWatch.for_resource")

    async def page(options: ListOptions) -> ObjectList[Any]:
        return await view.page(MAPS, options, retry=False)

    async def watch(options: ListOptions) -> Watch[Any]:
        return view.watch(MAPS, options, retry=False)

    async with SharedIndexInformer(ListWatch(page, watch, form=view.form)) as informer:
        await asyncio.wait_for(informer.has_synced, 20)
        assert list(informer.indexer.list_keys()) == ["default/a"]
    assert recorder.calls == ["view ConfigMap"]


async def test_views_keep_their_form(client: Client) -> None:
    def form(of: Any, resource: object) -> type[Any]:
        found: type[Any] = watcher_view(of, resource, receiver="test").form
        return found

    assert form(client, Pod) is Pod
    assert form(client, MAPS) is Unstructured
    assert form(client.metadata, Pod) is PartialObjectMetadata
    assert form(client.view(ConfigMap), Pod) is ConfigMap


async def test_view_of_metadata_requests_metadata(cluster: Client) -> None:
    made = ConfigMap(metadata=ObjectMeta(name="a"), data={"k": "v" * 5000})
    await cluster.create(made)
    page = await cluster.view(PartialObjectMetadata).page(MAPS, ListOptions())
    assert page[0].memory < 2000


@pytest.mark.parametrize(
    "wrong", [None, "https://cluster.test", CONFIG, Client, object()], ids=lambda each: repr(each)
)
@pytest.mark.parametrize("protocol", [Reader, Writer, Watcher])
def test_objects_that_are_not_clients_are_refused(wrong: object, protocol: type[Any]) -> None:
    complaint = r"Cache takes a kinform\.Client, not .*; create one with kinform\.Client\.from_env"
    with pytest.raises(ConfigError, match=complaint):
        expect_client(wrong, protocol, receiver="Cache")


@pytest.mark.parametrize(
    ("protocol", "member"),
    [
        *((Reader, each) for each in ("get", "list")),
        *((Writer, each) for each in ("create", "update", "apply", "patch", "delete")),
        (Writer, "delete_collection"),
        *((Watcher, each) for each in ("reachability", "view", "page", "watch")),
        *((ViewWatcher, each) for each in ("form", "reachability", "page", "watch")),
    ],
)
def test_the_missing_member_is_named(protocol: Any, member: str) -> None:
    others = [name for name in vars(protocol) if not name.startswith("_") and name != member]
    almost = type("Almost", (), dict.fromkeys(others))()
    complaint = (
        rf"Cache takes a kinform\.Client, not .*Almost; it has no '{member}', "
        rf"which kinform\.client\.{protocol.__name__} requires"
    )
    with pytest.raises(ConfigError, match=complaint):
        expect_client(almost, protocol, receiver="Cache")


def test_informers_refuse_the_blocking_client() -> None:
    wrong: Any = blocking.Client(CONFIG)
    with pytest.raises(ConfigError, match=r"not kinform\.blocking\.Client; it has no 'reachabil"):
        watcher_view(wrong, Pod, receiver="ListWatch.for_resource")
