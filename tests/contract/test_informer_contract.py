"""What client-go promises of what its informers do with lists, events and errors (C-36 … C-60)."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from kinform import Client
from kinform.errors import AlreadyStartedError, CacheError, TransportError
from kinform.informers import (
    DeletedObject,
    DynamicSharedInformerFactory,
    Informer,
    Phase,
    SharedIndexInformer,
    SyncMode,
    WatchFailure,
    label_index,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.informer_sources import (
    QUICK,
    AsyncRecorder,
    LoggedSource,
    Notes,
    Recorder,
    at,
    informer_of,
)


class WithStoreVersion(Notes):
    """An unshared informer's handler: what it is told, and the version of the store by then."""

    def __init__(self) -> None:
        super().__init__()
        self.informer: Informer[Unstructured] | None = None

    def note(self, line: str) -> None:
        assert self.informer is not None
        self.write(f"{line} store@{self.informer.store.resource_version}")

    def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
        self.note(f"add {at(obj)}{' initial' if is_in_initial_list else ''}")

    def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
        self.note(f"update {at(old)} {at(new)}")

    def on_delete(self, deleted: DeletedObject[Unstructured], /) -> None:
        assert deleted.object is not None
        self.note(f"delete {at(deleted.object)}{'?' if deleted.final_state_unknown else ''}")


# -- lists and events ------------------------------------------------------------------------


async def test_the_store_is_at_the_version_of_what_is_told() -> None:
    """C-43: of the event, or of the list that replaced everything at once."""
    source = LoggedSource("a", "b", "c")
    handler = WithStoreVersion()
    handler.informer = informer = Informer(source.list_watch(), handler, options=QUICK)
    running = asyncio.create_task(informer.run())
    await informer.has_synced

    source.update("a")
    await handler.until("update a@1 a@4 store@4")
    source.delete("b")
    await handler.until("delete b@5 store@5")
    source.add("d", missed=True)
    source.delete("c", missed=True)
    source.update("a", missed=True)
    source.forget_history()
    told = await handler.until("add d@6 store@9")
    running.cancel()

    assert told == [
        "add a@1 initial store@3",
        "add b@2 initial store@3",
        "add c@3 initial store@3",
        "update a@1 a@4 store@4",
        "delete b@5 store@5",
        "delete c@3? store@9",
        "update a@4 a@8 store@9",
        "add d@6 store@9",
    ]


async def test_after_lost_history_a_handler_is_told_what_it_missed() -> None:
    """C-44: a missed change is an update, a missed addition is no initial one."""
    source = LoggedSource("a", "b", "c")
    recorder = Recorder()
    informer = informer_of(source)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        source.update("a", missed=True)
        source.add("d", missed=True)
        source.delete("b", missed=True)
        source.forget_history()
        await recorder.until("add d@5")
        source.add("end")
        told = await recorder.until("add end@8")

    assert told[:3] == ["add a@1 initial", "add b@2 initial", "add c@3 initial"]
    assert told[3:] == ["delete b@2?", "update a@1 a@4", "add d@5", "add end@8"]


@pytest.mark.parametrize("missed", [False, True], ids=["by a watch", "by a list"])
async def test_another_object_of_the_same_name_is_a_deletion_and_an_addition(missed: bool) -> None:
    """C-44: where client-go tells an update from one object to another, this tells the truth."""
    source = LoggedSource("a")
    recorder = Recorder()
    informer = informer_of(source)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        source.update("a", uid="another", missed=missed)
        if missed:
            source.forget_history()
        told = await recorder.until("add a@2")

    assert told == ["add a@1 initial", "delete a@1?", "add a@2"]


async def test_the_store_knows_how_far_it_has_come() -> None:
    """C-45: its version follows the list, additions, updates, deletions and bookmarks."""
    source = LoggedSource("a", "b")
    informer = informer_of(source)
    assert informer.indexer.resource_version == informer.last_sync_resource_version == ""
    async with informer:
        await informer.has_synced
        seen = [informer.indexer.resource_version]
        happenings: list[Callable[[], None]] = [
            lambda: source.add("c"),
            lambda: source.update("a"),
            lambda: source.delete("b"),
            source.bookmark,
            source.forget_history,
        ]
        for happen in happenings:
            happen()
            await informer.wait_for_rv(source.version)
            seen.append(informer.indexer.resource_version)
            assert informer.last_sync_resource_version == seen[-1]

    assert seen == ["2", "3", "4", "5", "6", "7"]
    assert sorted(informer.indexer.list_keys()) == ["default/a", "default/c"]


async def test_of_a_batch_only_what_could_be_taken_in_is_told() -> None:
    """C-46: what fails is kept apart, the store keeps its last good state, the others go on."""

    def refuse_bad_ones(obj: Unstructured) -> None:
        if obj.get("bad"):
            raise ValueError("cannot make sense of it")

    source = LoggedSource("a", "b")
    recorder = Recorder()
    informer = informer_of(source, transform=refuse_bad_ones)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        # All four before the watch can look: they come as one batch.
        source.update("a")
        source.update("b", bad=True)
        source.add("c", bad=True)
        source.add("d")
        told = await recorder.until("add d@6")

        assert told[2:] == ["update a@1 a@3", "add d@6"]
        assert sorted(informer.quarantine) == ["default/b", "default/c"]
        assert sorted(map(at, informer.indexer.list())) == ["a@3", "b@2", "d@6"]

        source.update("b")
        await recorder.until("update b@2 b@7")
        assert sorted(informer.quarantine) == ["default/c"]


# -- transforms ------------------------------------------------------------------------------


class Stripping:
    """A transform that leaves a mark, and counts its calls by object and version."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __call__(self, obj: Unstructured) -> None:
        self.calls[at(obj)] += 1
        obj["spec"] = {"stripped": True}


async def test_each_version_is_transformed_once_and_a_tombstone_never_again() -> None:
    """C-36: lists that repeat a version, and deletions found by them, transform nothing."""
    transform = Stripping()
    source = LoggedSource("a", "b", "c")
    specs: list[object] = []

    class LastSpecs(Recorder):
        def on_delete(self, deleted: DeletedObject[Unstructured], /) -> None:
            assert deleted.object is not None
            specs.append(deleted.object["spec"])
            super().on_delete(deleted)

    recorder = LastSpecs()
    informer = informer_of(source, transform=transform)
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        source.update("a")
        await recorder.until("update a@1 a@4")
        source.delete("b", missed=True)
        source.forget_history()
        await recorder.until("delete b@2?")
        source.delete("c")
        await recorder.until("delete c@7")

    assert transform.calls == dict.fromkeys(["a@1", "b@2", "c@3", "a@4", "c@7"], 1)
    assert specs == [{"stripped": True}] * 2


async def test_a_streamed_list_is_transformed_once_too() -> None:
    """C-36: where client-go transforms every streamed object twice."""
    transform = Stripping()
    async with ApiServer() as api, Client(api.config) as client:
        for name in ("a", "b", "c"):
            api.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}},
            )
        factory = DynamicSharedInformerFactory(client, transform=transform, namespace="default")
        maps = factory.for_resource("v1/configmaps")
        async with factory:
            assert await factory.wait_for_cache_sync(timeout=20)
            mode = maps.informer.status().mode
            stripped = [obj["spec"] for obj in maps.lister.list()]

    assert mode is SyncMode.STREAMING
    assert list(transform.calls.values()) == [1, 1, 1]
    assert stripped == [{"stripped": True}] * 3


async def test_both_states_of_an_update_are_transformed() -> None:
    """C-47: also those of the deletion that comes last."""
    source = LoggedSource("a")
    specs: list[object] = []
    notes = Notes()

    def on_update(old: Unstructured, new: Unstructured) -> None:
        specs.extend([old["spec"], new["spec"]])

    def on_delete(deleted: DeletedObject[Unstructured]) -> None:
        assert deleted.object is not None
        specs.append(deleted.object["spec"])
        notes.write("deleted")

    informer = informer_of(source, transform=Stripping())
    informer.add_event_handler(on_update=on_update, on_delete=on_delete)
    async with informer:
        await informer.has_synced
        source.update("a", spec={"secret": 1})
        source.delete("a")
        await notes.until("deleted")

    assert specs == [{"stripped": True}] * 3


async def test_no_reader_ever_sees_an_object_before_its_transform() -> None:
    """C-47: readers on other threads, handlers of both kinds, while objects change and relist."""
    source = LoggedSource("a", "b", "c")
    raw: list[str] = []
    finished = threading.Event()
    ready = threading.Barrier(4)
    informer = informer_of(source, transform=Stripping())

    def look(*objects: Unstructured) -> None:
        raw.extend(at(obj) for obj in objects if obj.get("spec") != {"stripped": True})

    def read() -> None:
        ready.wait(10)
        while not finished.is_set():
            look(*informer.indexer.list())

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    await asyncio.to_thread(ready.wait, 10)
    recorder = Recorder()
    informer.add_event_handler(on_add=look, on_update=look)
    informer.add_event_handler(recorder)
    try:
        async with informer:
            await informer.has_synced
            for step in range(100):
                source.update("abc"[step % 3], spec={"secret": step}, missed=step % 10 == 0)
                if step % 25 == 0:
                    source.forget_history()
                await asyncio.sleep(0)
            source.add("end", spec={"secret": "end"})
            await recorder.until(f"add end@{source.version}")
    finally:
        finished.set()
        for reader in readers:
            reader.join(10)

    assert raw == []


# -- errors ----------------------------------------------------------------------------------


async def test_what_the_handler_of_an_unshared_informer_raises_ends_its_run() -> None:
    """C-48: the handler runs in step with the store, so its failure is the run's."""

    def fail(obj: Unstructured) -> None:
        raise ZeroDivisionError(obj.name)

    source = LoggedSource("a")
    informer = Informer(source.list_watch(), on_add=fail, options=QUICK)
    before = asyncio.all_tasks()

    with pytest.raises(ZeroDivisionError, match="a"):
        async with asyncio.timeout(10):
            await informer.run()

    assert asyncio.all_tasks() == before


async def test_the_error_handler_hears_of_a_list_that_fails() -> None:
    """C-53: with the phase; the informer tries again by itself, whatever the handler does."""
    source = LoggedSource("a")
    source.list_error = ConnectionRefusedError("nobody there")
    heard: list[WatchFailure] = []

    def hear(failure: WatchFailure) -> None:
        heard.append(failure)
        if len(heard) == 2:
            source.list_error = None
        raise ValueError("a handler that fails is not the informer's end")

    informer = informer_of(source)
    informer.set_watch_error_handler(hear)
    async with informer, asyncio.timeout(20):
        await informer.has_synced

    assert [(each.name, each.phase, each.attempts) for each in heard] == [
        ("pods", Phase.LISTING, 1),
        ("pods", Phase.LISTING, 2),
    ]
    assert all(isinstance(each.error, TransportError) for each in heard)
    assert isinstance(heard[0].error.__cause__, ConnectionRefusedError)


def set_often(
    informer: SharedIndexInformer[Unstructured], ready: threading.Barrier, outcomes: list[str]
) -> None:
    ready.wait(10)
    try:
        for _ in range(1000):
            informer.set_transform(Stripping())
            informer.set_watch_error_handler(lambda failure: None)
        outcomes.append("set")
    except AlreadyStartedError:
        outcomes.append("refused")


async def test_setters_may_race_with_the_start() -> None:
    """C-53: each takes effect or is refused; nothing breaks in between."""
    for _ in range(20):
        informer = informer_of(LoggedSource("a"))
        ready = threading.Barrier(3)
        outcomes: list[str] = []
        setters = [
            threading.Thread(target=set_often, args=(informer, ready, outcomes)) for _ in range(2)
        ]
        for setter in setters:
            setter.start()
        await asyncio.to_thread(ready.wait, 10)
        async with informer:
            await informer.has_synced
            assert informer.indexer.list_keys() == ["default/a"]
        for setter in setters:
            setter.join(10)
        assert len(outcomes) == 2

    with pytest.raises(AlreadyStartedError):
        informer.set_transform(None)
    with pytest.raises(AlreadyStartedError):
        informer.set_watch_error_handler(None)


# -- indices ---------------------------------------------------------------------------------


def by_tier(obj: Unstructured) -> list[str]:
    return [obj["spec"]["tier"]]


async def test_an_index_may_be_added_before_the_start_and_after() -> None:
    """C-60: what is there already is found by it at once, what comes later as it comes."""
    source = LoggedSource()
    source.add("a", spec={"tier": "back"})
    source.add("b", spec={"tier": "front"})
    informer = informer_of(source, indexers={"app": label_index("app")})
    informer.add_indexers({"early": by_tier})
    recorder = AsyncRecorder()
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        informer.add_indexers({"late": by_tier})
        assert informer.indexer.index_keys("late", "front") == ["default/b"]

        source.add("c", spec={"tier": "front"})
        source.update("a", spec={"tier": "front"})
        await recorder.until("update a@1 a@4")
        for name in ("early", "late"):
            assert informer.indexer.index_keys(name, "front") == [
                "default/a",
                "default/b",
                "default/c",
            ]
            assert informer.indexer.index_values(name) == ["front"]

        with pytest.raises(CacheError, match="late"):
            informer.add_indexers({"later": by_tier, "late": by_tier})
        assert "later" not in informer.indexer.indexers
    informer.add_indexers({"after": by_tier})
    assert informer.indexer.index_values("after") == ["front"]


async def test_an_index_function_that_fails_is_recorded_and_stops_nothing() -> None:
    """C-60: client-go ends the process for it."""
    source = LoggedSource("a")
    source.add("b", spec={"tier": "front"})
    informer = informer_of(source, indexers={"tier": by_tier})
    async with informer:
        await informer.has_synced

        assert informer.indexer.index_keys("tier", "front") == ["default/b"]
        assert [*informer.indexer.index_errors] == [("tier", "default/a")]
        assert len(informer.indexer) == 2
