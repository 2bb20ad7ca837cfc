"""A reflector that resumes a store filled by another informer, against the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest

from kinform.client import Client
from kinform.informers import (
    DeltaFIFO,
    Deltas,
    Indexer,
    ListWatch,
    Reflector,
    ReflectorOptions,
    SharedIndexInformer,
    Snapshot,
    Store,
    SyncMode,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from kinform.testing.faults import Fault
from tests.support.config_maps import MAPS, config_map
from tests.support.running import running
from tests.support.waiting import wait_until


@pytest.fixture
async def client(api: ApiServer) -> AsyncIterator[Client]:
    async with Client(api.config) as client:
        yield client


def source(client: Client) -> ListWatch[Unstructured]:
    return ListWatch.for_resource(client, MAPS, namespace="default")


async def save(api: ApiServer, client: Client) -> Snapshot[Unstructured]:
    """Three objects and their version, as an informer knew them before it stopped."""
    for name in "abc":
        api.create(config_map(name))
    async with SharedIndexInformer(source(client)) as informer:
        await informer.has_synced
        saved = informer.indexer.snapshot()
    api.requests.clear()
    return saved


def change(api: ApiServer) -> None:
    """What the stopped informer misses: a change, a deletion and an addition."""
    api.patch(MAPS, "a", {"data": {"x": "1"}}, "default")
    api.delete(MAPS, "b", "default")
    api.create(config_map("d"))


def restored(saved: Snapshot[Unstructured]) -> Store[Unstructured]:
    store = Store()
    store.replace(saved.list(), saved.resource_version)
    return store


def versions(api: ApiServer) -> dict[str, str]:
    listed = api.list(MAPS, "default")
    return {each["metadata"]["name"]: each["metadata"]["resourceVersion"] for each in listed}


def is_current(api: ApiServer, store: Store[Unstructured]) -> Callable[[], bool]:
    return lambda: {obj.name: obj.resource_version for obj in store.list()} == versions(api)


def lists(api: ApiServer) -> int:
    """Lists of any kind: in pages, or as the initial events of a watch."""
    streamed = [each for each in api.requests.watches() if "sendInitialEvents" in each.query]
    return len(api.requests.lists()) + len(streamed)


async def test_missed_changes_arrive_without_a_list(api: ApiServer, client: Client) -> None:
    saved = await save(api, client)
    change(api)
    store = restored(saved)
    reflector = Reflector(source(client), store, resume_from=saved.resource_version)

    async with running(reflector):
        await wait_until(is_current(api, store))
        await wait_until(lambda: reflector.status().synced)
        api.create(config_map("e"))
        await wait_until(is_current(api, store))

    assert reflector.status().mode is SyncMode.RESUMED
    assert lists(api) == 0
    assert [each.query["resourceVersion"] for each in api.requests.watches()] == [
        saved.resource_version
    ]


async def test_nothing_missed_is_synced_without_a_list(api: ApiServer, client: Client) -> None:
    saved = await save(api, client)
    store = restored(saved)
    reflector = Reflector(source(client), store, resume_from=saved.resource_version)

    async with running(reflector):
        await wait_until(lambda: reflector.status().synced)
        assert is_current(api, store)()

    assert lists(api) == 0


@pytest.mark.parametrize("streaming", [True, False], ids=["streamed", "paged"])
async def test_a_compacted_version_leads_to_one_list(
    api: ApiServer, client: Client, streaming: bool
) -> None:
    saved = await save(api, client)
    change(api)
    api.compact()
    store = restored(saved)
    reflector = Reflector(
        source(client),
        store,
        resume_from=saved.resource_version,
        options=ReflectorOptions(streaming=streaming),
    )

    async with running(reflector):
        await wait_until(is_current(api, store))
        await wait_until(lambda: reflector.status().synced)

    assert reflector.status().errors == {"Expired": 1}
    assert lists(api) == 1


@pytest.mark.parametrize("fault", [faults.expired, faults.expired_event], ids=["HTTP", "event"])
async def test_a_refused_version_leads_to_one_list_and_the_deltas_of_what_was_missed(
    api: ApiServer, client: Client, fault: Callable[[], Fault]
) -> None:
    saved = await save(api, client)
    change(api)
    api.faults.inject(fault(), verb="watch", times=1)
    indexer = Indexer(Unstructured)
    indexer.replace(saved.list(), saved.resource_version)
    queue = DeltaFIFO[Unstructured](known_objects=indexer)

    async with running(Reflector(source(client), queue, resume_from=saved.resource_version)):
        deltas = await queue.pop(_unchanged)

    assert sorted((delta.type.value, delta.key) for delta in deltas) == [
        ("DELETED", "default/b"),
        ("REPLACED", "default/a"),
        ("REPLACED", "default/c"),
        ("REPLACED", "default/d"),
    ]
    assert deltas.is_in_initial_list
    assert lists(api) == 1


def _unchanged(deltas: Deltas[Unstructured]) -> Deltas[Unstructured]:
    return deltas


async def test_a_restarted_server_is_resumed_without_a_list(api: ApiServer, client: Client) -> None:
    saved = await save(api, client)
    change(api)
    await api.stop()
    store = restored(saved)
    reflector = Reflector(source(client), store, resume_from=saved.resource_version)

    async with running(reflector):
        await wait_until(lambda: bool(reflector.status().errors))
        assert not reflector.status().synced
        await api.start()
        await wait_until(is_current(api, store))
        await wait_until(lambda: reflector.status().synced)

    assert lists(api) == 0
