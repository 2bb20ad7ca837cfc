"""Informers without a factory and without ``await``: one life for all, on their source's thread."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from kinform import blocking, informers
from kinform.api import GVR
from kinform.blocking import DeltaControllerConfig, ListWatch, LoopThread, SharedIndexInformer
from kinform.errors import AlreadyStartedError, StateError
from kinform.informers import Deltas, DeltasKind, Latch, Registration, Store, label_index
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import BlockingApiServer

MAPS = GVR("", "v1", "configmaps")
STAND_ALONE = ("SharedIndexInformer", "Informer", "DeltaController", "Reflector", "ListWatch")


def config_map(name: str, namespace: str = "default", **labels: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"x": "y"}}


@pytest.fixture
def client(kinform_server: BlockingApiServer) -> Iterator[blocking.Client]:
    kinform_server.create(config_map("a", app="web"))
    with blocking.Client(kinform_server.config) as client:
        yield client


@pytest.fixture
def source(client: blocking.Client) -> ListWatch[Unstructured]:
    return ListWatch.for_resource(client, MAPS, namespace="default")


def _public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


# -- the same names --------------------------------------------------------------------------


@pytest.mark.parametrize("name", STAND_ALONE)
def test_no_name_of_the_async_one_is_missing(name: str, source: ListWatch[Unstructured]) -> None:
    ours: Any = getattr(blocking, name)
    made: dict[str, Any] = {
        "SharedIndexInformer": lambda: ours(source),
        "Informer": lambda: ours(source, on_add=print),
        "DeltaController": lambda: ours(DeltaControllerConfig(source=source, process=print)),
        "Reflector": lambda: ours(source, Store()),
        "ListWatch": lambda: source,
    }

    # Reflectors call open_watch on the loop; blocking code has watch().
    assert _public(getattr(informers, name)) - {"open_watch"} <= _public(made[name]())


@pytest.mark.parametrize(
    ("name", "keywords", "more"),
    [
        ("SharedIndexInformer", blocking.SharedIndexInformerOptions, {"source"}),
        ("Informer", blocking.InformerKeywords, {"source", "handler"}),
        ("Reflector", blocking.ReflectorKeywords, {"source", "store"}),
        ("ListWatch", blocking.ListWatchOptions, {"list", "watch", "form"}),
    ],
)
def test_the_options_are_those_of_the_async_one(name: str, keywords: Any, more: set[str]) -> None:
    taken = set(inspect.signature(getattr(informers, name).__init__).parameters) - {"self"}

    assert set(keywords.__annotations__) - {"loop"} == taken - more


def test_a_controller_is_made_of_the_same() -> None:
    ours, theirs = (
        {each.name: each.default for each in msgspec.structs.fields(config)}
        for config in (DeltaControllerConfig, informers.DeltaControllerConfig)
    )

    assert ours == theirs


# -- a shared informer -----------------------------------------------------------------------


def test_it_syncs_and_its_handlers_hear(
    kinform_server: BlockingApiServer, source: ListWatch[Unstructured]
) -> None:
    added = Latch("b was added")
    seen: list[str] = []

    def on_add(obj: Unstructured) -> None:
        seen.append(obj.name)
        if obj.name == "b":
            added.set()

    informer = SharedIndexInformer(source, indexers={"app": label_index("app")})
    informer.add_event_handler(on_add=on_add)
    with informer:
        assert informer.has_synced.wait(20)
        assert [obj.name for obj in informer.indexer.by_index("app", "web")] == ["a"]
        made = kinform_server.create(config_map("b"))
        assert informer.wait_for_rv(made["metadata"]["resourceVersion"]).wait(20)
        assert added.wait(20)

    assert seen == ["a", "b"]
    assert informer.is_stopped
    assert len(informer.store) == 2


def test_a_late_handler_hears_of_all_there_is(source: ListWatch[Unstructured]) -> None:
    seen: list[tuple[str, bool]] = []

    class Handler:
        def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
            seen.append((obj.name, is_in_initial_list))

    with SharedIndexInformer(source) as informer:
        assert informer.has_synced.wait(20)
        registration = informer.add_event_handler(Handler())
        assert registration.has_synced.wait(20)
        assert [each.name for each in informer.registrations] == [registration.name]

    assert seen == [("a", True)]


def test_plain_handlers_have_threads_unless_the_loop_is_requested(
    source: ListWatch[Unstructured],
) -> None:
    """18.24: the caller of the blocking API does not know its loop."""
    seen: dict[str, tuple[str, bool]] = {}

    def note(name: str) -> None:
        with suppress(RuntimeError):
            seen[name] = (threading.current_thread().name, True)
            asyncio.get_running_loop()
            return
        seen[name] = (threading.current_thread().name, False)

    async def on_add(obj: Unstructured) -> None:
        note("async def")

    with SharedIndexInformer(source) as informer:
        view = informer.view(PartialObjectMetadata)
        registrations: list[Registration[Any]] = [
            informer.add_event_handler(on_add=lambda _: note("def"), name="mine"),
            view.add_event_handler(on_add=lambda _: note("view")),
            informer.add_event_handler(on_add=lambda _: note("loop"), run_on="loop"),
            informer.add_event_handler(on_add=on_add),
        ]
        for registration in registrations:
            assert registration.has_synced.wait(20)
    assert {name for name, (_, on_loop) in seen.items() if on_loop} == {"loop", "async def"}
    assert seen["def"][0].endswith("/mine")
    assert seen["loop"] == seen["async def"]
    assert seen["view"][0] not in (seen["def"][0], seen["loop"][0])


def test_a_handler_may_stop_it_and_run_returns(source: ListWatch[Unstructured]) -> None:
    informer = SharedIndexInformer(source)
    informer.add_event_handler(on_add=lambda obj: informer.stop())

    informer.run()

    assert informer.is_stopped


def test_after_a_stop_it_can_be_started_again(
    kinform_server: BlockingApiServer, source: ListWatch[Unstructured]
) -> None:
    informer = SharedIndexInformer(source)
    with informer:
        assert informer.has_synced.wait(20)
        with pytest.raises(AlreadyStartedError):
            informer.start()
    made = kinform_server.create(config_map("b"))
    with informer:
        assert informer.wait_for_rv(made["metadata"]["resourceVersion"]).wait(20)
        assert informer.is_fresh(60)

    assert informer.status().objects == 2


def test_metadata_is_a_source_too(client: blocking.Client) -> None:
    with SharedIndexInformer(ListWatch.for_resource(client.metadata, MAPS)) as informer:
        assert informer.has_synced.wait(20)
        (found, *_) = informer.store.list()

    assert informer.form is type(found) is PartialObjectMetadata


def test_several_namespaces_share_one_store(
    kinform_server: BlockingApiServer, client: blocking.Client
) -> None:
    kinform_server.create(config_map("b", namespace="kube-system"))
    sources = [
        ListWatch.for_resource(client, MAPS, namespace=each) for each in ("default", "kube-system")
    ]
    with SharedIndexInformer(sources) as informer:
        assert informer.has_synced.wait(20)

    assert {"default/a", "kube-system/b"} <= set(informer.store.list_keys())
    assert informer.namespaces == ("default", "kube-system")


# -- the small ones --------------------------------------------------------------------------


def test_an_unshared_informer_tells_its_one_handler(source: ListWatch[Unstructured]) -> None:
    seen: list[str] = []
    informer = blocking.Informer(source, on_add=lambda obj: seen.append(obj.name))
    with informer:
        assert informer.has_synced.wait(20)
        assert informer.controller.is_running

    assert seen == ["a"]
    assert informer.store.list_keys() == ["default/a"]
    assert informer.controller.config.source is source
    with pytest.raises(AlreadyStartedError, match="create another one"):
        informer.start()


def _fail(*_: object) -> None:
    raise LookupError("mine")


def _fail_otherwise(_: object) -> None:
    raise ValueError("of the block")


def test_what_an_unshared_handler_raises_comes_out_of_run(
    source: ListWatch[Unstructured],
) -> None:
    with pytest.raises(LookupError, match="mine"):
        blocking.Informer(source, on_add=_fail).run()


def test_what_an_unshared_handler_raises_comes_out_of_the_with_block(
    source: ListWatch[Unstructured],
) -> None:
    informer = blocking.Informer(source, on_add=_fail)
    with pytest.raises(LookupError, match="mine"), informer:
        assert informer.stopped.wait(20)


def test_the_error_of_the_block_itself_comes_first(source: ListWatch[Unstructured]) -> None:
    informer = blocking.Informer(source, on_add=_fail)
    with pytest.raises(ValueError, match="of the block"), informer:
        _fail_otherwise(informer.stopped.wait(20))


def test_a_controller_hands_deltas_to_its_function(source: ListWatch[Unstructured]) -> None:
    kinds: list[DeltasKind] = []

    def process(deltas: Deltas[Unstructured]) -> None:
        kinds.append(deltas.kind)
        if deltas.kind is DeltasKind.REPLACE:
            controller.stop()

    controller = blocking.DeltaController(DeltaControllerConfig(source=source, process=process))
    controller.run()

    assert kinds[0] is DeltasKind.REPLACE
    assert controller.has_synced
    assert controller.last_sync_resource_version == controller.reflector.last_sync_resource_version
    assert controller.last_sync_resource_version


def test_a_reflector_fills_any_store(
    kinform_server: BlockingApiServer, source: ListWatch[Unstructured]
) -> None:
    filled = Latch("b has come")

    class Watched(Store[Unstructured]):
        def add(self, obj: Unstructured) -> None:
            super().add(obj)
            filled.set()

    store = Watched()
    with blocking.Reflector(source, store) as reflector:
        kinform_server.requests.wait_for(lambda request: request.verb == "watch")
        kinform_server.create(config_map("b"))
        assert filled.wait(20)
        assert reflector.status().synced

    assert reflector.quarantine == {}
    assert set(store.list_keys()) == {"default/a", "default/b"}


# -- threads and loops -----------------------------------------------------------------------


def test_informers_of_one_client_share_its_one_thread(client: blocking.Client) -> None:
    client.server_version()
    before = threading.active_count()
    first, second = (SharedIndexInformer(ListWatch.for_resource(client, MAPS)) for _ in range(2))
    with first, second:
        assert first.has_synced.wait(20)
        assert second.has_synced.wait(20)
        assert threading.active_count() == before


def test_any_thread_may_start_read_and_stop_it(source: ListWatch[Unstructured]) -> None:
    informer = SharedIndexInformer(source)
    here = threading.Barrier(6)
    starts: list[str] = []
    found: list[list[str]] = []

    def use() -> None:
        here.wait()
        try:
            informer.start()
            starts.append("started")
        except AlreadyStartedError:
            starts.append("runs already")
        informer.has_synced.wait(20)
        found.append(informer.store.list_keys())
        informer.stop()
        informer.stopped.wait(20)

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert "started" in starts
    assert found == [["default/a"]] * 6
    assert informer.is_stopped


async def test_the_executor_of_a_running_loop_may_use_it(
    kinform_server: BlockingApiServer,
) -> None:
    def use() -> list[str]:
        with blocking.Client(kinform_server.config) as client:
            source = ListWatch.for_resource(client, GVR("", "v1", "namespaces"))
            with SharedIndexInformer(source) as informer:
                assert informer.has_synced.wait(20)
                return informer.store.list_keys()

    assert "default" in await asyncio.to_thread(use)


async def test_a_running_loop_itself_is_sent_to_the_other_side(
    kinform_server: BlockingApiServer,
) -> None:
    client = blocking.Client(kinform_server.config)
    informer = SharedIndexInformer(ListWatch.for_resource(client, MAPS))
    for call in (informer.start, informer.run, informer.__enter__):
        with pytest.raises(
            StateError, match=r"use kinform\.informers\.SharedIndexInformer in asyncio code"
        ):
            call()
    assert not informer.was_started
    await asyncio.to_thread(informer.start)
    # Registering, waiting for a latch, reading and stopping have no colour.
    registration = informer.add_event_handler(on_add=lambda obj: None)
    async with asyncio.timeout(20):
        await registration.has_synced
        informer.stop()
        await informer.stopped
    assert informer.store.list() == []
    await asyncio.to_thread(client.close)


# -- ends ------------------------------------------------------------------------------------


def test_closing_the_client_stops_it(kinform_server: BlockingApiServer) -> None:
    with blocking.Client(kinform_server.config) as client:
        informer = SharedIndexInformer(ListWatch.for_resource(client, MAPS))
        informer.start()
        assert informer.has_synced.wait(20)

    assert informer.is_stopped
    with pytest.raises(StateError, match="not running"):
        informer.start()


def test_a_block_may_close_the_client_before_it_is_left(
    kinform_server: BlockingApiServer,
) -> None:
    client = blocking.Client(kinform_server.config)
    with SharedIndexInformer(ListWatch.for_resource(client, MAPS)) as informer:
        client.close()

    assert informer.is_stopped


def test_dropped_it_stops_and_its_client_lives_on(client: blocking.Client) -> None:
    informer = SharedIndexInformer(ListWatch.for_resource(client, MAPS))
    informer.start()
    assert informer.has_synced.wait(20)
    stopped = informer.stopped

    del informer
    gc.collect()

    assert stopped.wait(20)
    assert client.get(MAPS, "a").name == "a"


def test_it_keeps_its_dropped_client_alive_also_on_a_shared_loop(
    kinform_server: BlockingApiServer,
) -> None:
    loop = LoopThread(name="shared")

    def make() -> SharedIndexInformer[Unstructured]:
        client = blocking.Client(kinform_server.config, loop=loop)
        client.server_version()
        return SharedIndexInformer(ListWatch.for_resource(client, MAPS))

    informer = make()
    gc.collect()
    with informer:
        assert informer.has_synced.wait(20)
    loop.stop()
