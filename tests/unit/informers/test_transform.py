"""The transform: each version of an object once, before anybody sees it, whatever way it came."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client
from kinform.errors import ServiceUnavailableError, TransformError
from kinform.informers import (
    Backoff,
    DeletedObject,
    DynamicSharedInformerFactory,
    ListWatch,
    MetadataSharedInformerFactory,
    ReflectorOptions,
    SharedIndexInformer,
    SyncMode,
)
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer, faults, virtual_time
from tests.support.answers import pod, pod_list
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import AsyncRecorder, LoggedSource, Notes, at, informer_of
from tests.support.scripted_source import ScriptedSource
from tests.support.waiting import wait_until


class Stripping:
    """Takes ``data`` away and leaves a mark; counts its calls by object and version."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __call__(self, obj: Unstructured) -> None:
        self.calls[at(obj)] += 1
        assert "marked" not in obj, "transformed before"
        obj["marked"] = True

    @property
    def repeated(self) -> list[str]:
        return [version for version, calls in self.calls.items() if calls > 1]


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    for number in range(10):
        kinform_api.create(config_map(f"m{number}"))
    async with Client(kinform_api.config) as client:
        yield client


def maps_of(
    client: Client, transform: Any, *, streaming: bool
) -> SharedIndexInformer[Unstructured]:
    return SharedIndexInformer(
        ListWatch.for_resource(client, MAPS, namespace="default"),
        transform=transform,
        options=ReflectorOptions(
            streaming=streaming, page_size=3, backoff=lambda: Backoff(0.01, cap=0.05)
        ),
    )


both_ways = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "list"])


@both_ways
async def test_a_life_from_list_to_delete_transforms_each_version_once(
    kinform_api: ApiServer, client: Client, streaming: bool
) -> None:
    transform = Stripping()
    lasts = Notes()

    def on_delete(deleted: DeletedObject[Unstructured]) -> None:
        assert deleted.object is not None
        lasts.write(f"{deleted.name} {deleted.object.get('marked')}")

    informer = maps_of(client, transform, streaming=streaming)
    informer.add_event_handler(on_delete=on_delete)
    async with informer:
        await informer.has_synced
        kinform_api.patch(MAPS, "m1", {"data": {"x": "y"}}, "default")
        kinform_api.delete(MAPS, "m2", "default")
        await lasts.until("m2 True")
        assert all(obj["marked"] for obj in informer.indexer.list())
        mode = informer.status().mode

    assert mode is (SyncMode.STREAMING if streaming else SyncMode.LIST)
    assert transform.repeated == []
    assert len(transform.calls) == 12


@both_ways
async def test_a_relist_transforms_only_what_has_changed(
    kinform_api: ApiServer, client: Client, streaming: bool
) -> None:
    transform = Stripping()
    # The first watch breaks after the first change, and the next one finds that history is lost.
    lost = faults.cut_after_events(11 if streaming else 1)
    kinform_api.faults.inject(lost, verb="watch", resource="configmaps")
    kinform_api.faults.inject(faults.expired_event(), verb="watch", resource="configmaps", after=1)
    informer = maps_of(client, transform, streaming=streaming)
    async with informer:
        await informer.has_synced
        kinform_api.patch(MAPS, "m1", {"data": {"x": "y"}}, "default")
        await wait_until(lambda: sum(informer.status().relists.values()) == 1)
        assert all(obj["marked"] for obj in informer.indexer.list())

    assert transform.repeated == []
    assert len(transform.calls) == 11


@pytest.mark.parametrize(
    "fault",
    [faults.cut_after_events(5), faults.end_inside_event(after=5)],
    ids=["cut", "ended"],
)
async def test_a_stream_that_broke_off_leaves_its_work_to_the_next(
    kinform_api: ApiServer, client: Client, fault: faults.Fault
) -> None:
    transform = Stripping()
    injected = kinform_api.faults.inject(fault, verb="watch", resource="configmaps")
    informer = maps_of(client, transform, streaming=True)
    async with informer:
        await informer.has_synced
        assert len(informer.indexer) == 10

    assert injected.hits == 1
    assert transform.repeated == []
    assert len(transform.calls) == 10


@virtual_time
async def test_a_list_begun_anew_after_some_pages_transforms_nothing_twice() -> None:
    transform = Stripping()
    first = pod_list(pod("a", rv="1"), pod("b", rv="2"), rv="10", continue_token="more")
    second = pod_list(pod("c", rv="3"), rv="10")
    script = ScriptedSource().lists(
        first, ServiceUnavailableError("later", code=503), first, second
    )
    async with SharedIndexInformer(script.listwatch, transform=transform) as informer:
        await informer.has_synced
        assert len(informer.indexer) == 3

    assert script.trace[:4] == ["list 0", "page newest", "list 0", "page newest"]
    assert transform.calls == {"a@1": 1, "b@2": 1, "c@3": 1}


@virtual_time
async def test_a_resync_transforms_nothing() -> None:
    transform = Stripping()
    recorder = AsyncRecorder()
    informer = informer_of(LoggedSource("a", "b"), transform=transform, resync_period=2)
    informer.add_event_handler(recorder)
    async with informer:
        await recorder.count(2 + 5 * 2)

    assert transform.calls == {"a@1": 1, "b@2": 1}


# -- what it returns -------------------------------------------------------------------------


async def test_it_may_return_another_object() -> None:
    def only_the_name(obj: Unstructured) -> Unstructured:
        return Unstructured(
            {
                "apiVersion": obj.api_version,
                "kind": obj.kind,
                "metadata": {
                    "name": obj.name,
                    "namespace": obj.namespace,
                    "uid": obj.uid,
                    "resourceVersion": obj.resource_version,
                },
            }
        )

    source = LoggedSource()
    source.add("a", spec={"large": "x" * 1000})
    async with informer_of(source, transform=only_the_name) as informer:
        await informer.has_synced
        (found,) = informer.indexer.list()

    assert found.name == "a"
    assert "spec" not in found


@pytest.mark.parametrize(
    ("transform", "complaint"),
    [
        (lambda obj: 1 / 0, "failed on 'default/bad'"),
        (lambda obj: "nothing", "returned a str"),
        (lambda obj: obj["metadata"].update(name="other"), "changed the identity of 'default/bad'"),
        (
            lambda obj: obj["metadata"].update(resourceVersion="0"),
            "namespace, uid and resourceVersion",
        ),
    ],
    ids=["raises", "returns text", "renames", "changes the version"],
)
async def test_what_cannot_be_transformed_goes_to_quarantine(
    transform: Any, complaint: str
) -> None:
    source = LoggedSource("good", "bad")
    informer = informer_of(
        source, transform=lambda obj: transform(obj) if obj.name == "bad" else None
    )
    async with informer:
        await informer.has_synced
        assert informer.indexer.list_keys() == ["default/good"]
        (bad,) = informer.quarantine.values()
        status = informer.status()

    assert (bad.key, bad.resource_version) == ("default/bad", "2")
    assert isinstance(bad.error, TransformError)
    assert complaint in str(bad.error)
    assert status.quarantined == 1


async def test_the_last_good_state_stands_until_there_is_a_better_one() -> None:
    source = LoggedSource("a")
    recorder = AsyncRecorder()
    broken = False

    def transform(obj: Unstructured) -> None:
        if broken:
            raise ValueError("broken")

    informer = informer_of(source, transform=transform)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        broken = True
        source.update("a")
        await informer.wait_for_rv("2")
        assert [at(obj) for obj in informer.indexer.list()] == ["a@1"]
        assert list(informer.quarantine) == ["default/a"]
        # Nor does a list take it away.
        source.forget_history()
        await informer.wait_for_rv("3")
        assert [at(obj) for obj in informer.indexer.list()] == ["a@1"]
        broken = False
        source.update("a")
        await recorder.until("update a@1 a@4")
        assert not informer.quarantine
        broken = True
        source.delete("a")
        await recorder.until("delete a@4?")
        assert not informer.quarantine

    assert recorder.lines == ["add a@1 initial", "update a@1 a@4", "delete a@4?"]


# -- by way of factories ---------------------------------------------------------------------


async def test_a_factory_transforms_for_all_its_informers(client: Client) -> None:
    kinds: set[str] = set()

    def note(obj: Unstructured) -> None:
        kinds.add(obj.kind)
        obj["metadata"]["managedFields"] = []

    factory = DynamicSharedInformerFactory(client, transform=note)
    for resource in ("v1/configmaps", "v1/namespaces"):
        factory.for_resource(resource)
    async with factory:
        assert await factory.wait_for_cache_sync(timeout=20)

    assert kinds == {"ConfigMap", "Namespace"}


async def test_metadata_can_be_transformed_too(client: Client) -> None:
    def label(obj: PartialObjectMetadata) -> None:
        obj["metadata"]["labels"] = {"seen": "yes"}

    factory = MetadataSharedInformerFactory(client, transform=label, namespace="default")
    maps = factory.for_resource(MAPS)
    async with factory:
        assert await factory.wait_for_cache_sync(timeout=20)
        assert len(maps.lister.list("seen=yes")) == 10
