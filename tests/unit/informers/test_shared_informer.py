"""One store and many handlers: nobody waits for another, and nobody misses or repeats anything."""

from __future__ import annotations

import asyncio
import threading
from itertools import pairwise
from typing import Any

import pytest

from kinform import Client
from kinform.errors import CacheError, ConfigError
from kinform.informers import (
    ChangeType,
    DeletedObject,
    Latch,
    ListWatch,
    SharedIndexInformer,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import (
    AsyncRecorder,
    LoggedSource,
    Notes,
    Recorder,
    informer_of,
)
from tests.support.waiting import wait_until

# -- isolation -------------------------------------------------------------------------------


async def test_neither_a_stuck_nor_a_failing_handler_keeps_anything_from_the_others(
    kinform_api: ApiServer, maps: SharedIndexInformer[Unstructured]
) -> None:
    let_go = threading.Event()

    def stuck(obj: Unstructured) -> None:
        let_go.wait(30)

    async def stuck_for_ever(obj: Unstructured) -> None:
        await asyncio.Event().wait()

    def failing(obj: Unstructured) -> None:
        raise ValueError(obj.name)

    plain, in_a_task = Recorder(), AsyncRecorder()
    behind = [
        maps.add_event_handler(on_add=stuck, run_on="thread"),
        maps.add_event_handler(on_add=stuck_for_ever),
    ]
    broken = maps.add_event_handler(on_add=failing)
    for recorder in (plain, in_a_task):
        maps.add_event_handler(recorder)
    try:
        kinform_api.create(config_map("first"))
        async with maps:
            await broken.has_synced
            for number in range(200):
                kinform_api.create(config_map(f"more-{number}"))
            for recorder in (plain, in_a_task):
                assert len(await recorder.count(201)) == 201
            await wait_until(lambda: broken.stats.failed == 201)
            assert len(maps.indexer) == 201
            assert [each.stats.processed for each in behind] == [0, 0]
            assert [each.stats.depth for each in behind] == [200, 200]
            assert all(each.stats.bytes > 0 and each.stats.age > 0 for each in behind)
            assert not any(each.has_synced for each in behind)
            let_go.set()
    finally:
        let_go.set()
    assert isinstance(broken.stats.last_error, ValueError)


async def test_what_one_handler_does_to_an_object_no_other_sees() -> None:
    source = LoggedSource("a")
    informer = informer_of(source)
    labels: list[object] = []
    spoiled = Latch("spoiled")

    def spoil(obj: Unstructured) -> None:
        mine = obj.copy()
        mine["metadata"]["labels"] = {"spoiled": "yes"}
        spoiled.set()

    async def look(obj: Unstructured) -> None:
        await spoiled
        labels.append(obj.labels)

    informer.add_event_handler(on_add=spoil)
    looking = informer.add_event_handler(on_add=look)
    async with informer:
        await looking.has_synced
        assert [obj.labels for obj in informer.indexer.list()] == [{}]

    assert labels == [{}]


# -- coming late -----------------------------------------------------------------------------


class Story(Notes):
    """Writes down versions by object, and whatever does not follow from what was told before."""

    def __init__(self) -> None:
        super().__init__()
        self.now: dict[str, str] = {}
        self.oddities: list[str] = []

    def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
        if obj.name in self.now:
            self.oddities.append(f"{obj.name} was added twice")
        self.now[obj.name] = obj.resource_version
        self.write(obj.name)

    def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
        if self.now.get(old.name) != old.resource_version:
            self.oddities.append(f"{old.name} was never at {old.resource_version}")
        self.now[new.name] = new.resource_version

    def on_delete(self, deleted: DeletedObject[Unstructured], /) -> None:
        if self.now.pop(deleted.name, None) is None:
            self.oddities.append(f"{deleted.name} was not there")


def test_who_comes_late_misses_nothing_and_hears_nothing_twice_while_a_thread_writes() -> None:
    stop_writing = threading.Event()

    async def body(api: Any) -> None:
        async with Client(api.config) as client:
            source = ListWatch.for_resource(client, MAPS, namespace="default")
            async with SharedIndexInformer(source) as informer:
                await informer.has_synced
                stories, streamed = [Story() for _ in range(30)], dict[str, str]()
                for story in stories:
                    informer.add_event_handler(story)
                    await asyncio.sleep(0)
                async with informer.events() as events:
                    stop_writing.set()
                    await asyncio.to_thread(writer.join)
                    await asyncio.to_thread(api.create, config_map("end"))
                    async for event in events:
                        fold(streamed, event)
                        if event.key == "default/end":
                            break
                for story in stories:
                    await story.until("end")
                stored = {obj.name: obj.resource_version for obj in informer.indexer.list()}
                assert [story.oddities for story in stories] == [[]] * len(stories)
                assert [story.now for story in stories] == [stored] * len(stories)
                assert streamed == stored

    def write(api: Any) -> None:
        number = 0
        while not stop_writing.is_set() or number < 300:
            api.create(config_map(f"map-{number}"))
            api.patch(MAPS, f"map-{number // 2}", {"data": {"n": str(number)}}, "default")
            if number % 3 == 2:
                api.delete(MAPS, f"map-{number}", "default")
                api.create(config_map(f"map-{number}"))
            number += 1

    with ApiServer.blocking() as api:
        writer = threading.Thread(target=write, args=(api,))
        writer.start()
        try:
            asyncio.run(body(api))
        finally:
            stop_writing.set()
            writer.join(30)


def fold(state: dict[str, str], event: Any) -> None:
    if event.type is ChangeType.DELETED:
        del state[event.object.name]
        return
    assert (event.object.name in state) is (event.type is ChangeType.UPDATED)
    if event.old is not None:
        assert state[event.object.name] == event.old.resource_version
    state[event.object.name] = event.object.resource_version


async def test_a_late_handler_is_told_that_what_was_there_is_the_initial_list() -> None:
    source = LoggedSource("a")
    recorder = Recorder()
    async with informer_of(source) as informer:
        await informer.has_synced
        registration = informer.add_event_handler(recorder)
        await registration.has_synced
        source.add("b")
        told = await recorder.until("add b@2")

    assert told == ["add a@1 initial", "add b@2"]


async def test_a_failing_handler_has_synced_when_it_failed_on_everything() -> None:
    def fail(obj: Unstructured) -> None:
        raise RuntimeError

    async def fail_in_a_task(obj: Unstructured) -> None:
        raise RuntimeError

    informer = informer_of(LoggedSource("a", "b"))
    registrations = [informer.add_event_handler(on_add=each) for each in (fail, fail_in_a_task)]
    async with informer, asyncio.timeout(20):
        for registration in registrations:
            await registration.has_synced

    assert [each.stats.failed for each in registrations] == [2, 2]


# -- removal ---------------------------------------------------------------------------------


async def test_after_a_waited_removal_nothing_is_told_and_nobody_is_listed() -> None:
    source = LoggedSource("a")
    gone, stays = Recorder(), Recorder()
    informer = informer_of(source)
    registration = informer.add_event_handler(gone, name="gone")
    informer.add_event_handler(stays, name="stays")
    async with informer:
        await registration.has_synced
        registration.remove()
        await registration.stopped
        source.add("b")
        await stays.until("add b@2")
        assert [each.name for each in informer.registrations] == ["pods/stays"]
        assert list(informer.status().handlers) == ["pods/stays"]

    assert registration.is_removed
    assert gone.lines == ["add a@1 initial"]


@pytest.mark.parametrize("is_async", [False, True], ids=["def", "async def"])
async def test_a_handler_may_register_another_and_remove_itself(is_async: bool) -> None:
    source = LoggedSource("a")
    informer = informer_of(source)
    follower = Recorder()

    def hand_over(obj: Unstructured) -> None:
        informer.add_event_handler(follower)
        registration.remove()

    async def hand_over_in_a_task(obj: Unstructured) -> None:
        hand_over(obj)

    registration = informer.add_event_handler(on_add=hand_over_in_a_task if is_async else hand_over)
    async with informer:
        await registration.stopped
        source.add("b")
        told = await follower.until("add b@2")

    assert told == ["add a@1 initial", "add b@2"]


# -- events ----------------------------------------------------------------------------------


async def test_events_are_what_is_there_and_then_what_changes_until_the_stop(
    kinform_api: ApiServer, maps: SharedIndexInformer[Unstructured]
) -> None:
    kinform_api.create(config_map("a"))
    told: list[tuple[str, str, bool]] = []
    async with maps:
        await maps.has_synced
        stream = maps.events()
        kinform_api.create(config_map("b"))
        kinform_api.patch(MAPS, "a", {"data": {"x": "y"}}, "default")
        kinform_api.delete(MAPS, "b", "default")
        async for event in stream:
            told.append((event.type.value, event.key, event.is_in_initial_list))
            if len(told) == 4:
                maps.stop()
    assert [(kind.lower(), key, initial) for kind, key, initial in told] == [
        ("added", "default/a", True),
        ("added", "default/b", False),
        ("updated", "default/a", False),
        ("deleted", "default/b", False),
    ]
    assert stream.is_closed


async def test_two_streams_are_each_told_everything() -> None:
    source = LoggedSource("a", "b")
    async with informer_of(source) as informer:
        await informer.has_synced
        streams = [informer.events(), informer.events(filter=lambda obj: obj.name != "a")]
        source.add("end")
        keys: list[list[str]] = []
        for stream in streams:
            keys.append([])
            async for event in stream:
                keys[-1].append(event.key)
                if event.key == "default/end":
                    break

    assert keys == [["default/a", "default/b", "default/end"], ["default/b", "default/end"]]


# -- same name, another object ---------------------------------------------------------------


async def test_an_object_recreated_under_its_name_is_a_deletion_and_an_addition(
    kinform_api: ApiServer, maps: SharedIndexInformer[Unstructured]
) -> None:
    uids = Notes()
    maps.add_event_handler(
        on_add=lambda obj: uids.write(f"add {obj.uid}"),
        on_update=lambda old, new: uids.write(f"update {new.uid}"),
        on_delete=lambda gone: uids.write(f"delete {gone.object.uid if gone.object else None}"),
    )
    first = kinform_api.create(config_map("a"))["metadata"]["uid"]
    async with maps:
        await maps.has_synced
        second = kinform_api.recreate(MAPS, "a", "default")["metadata"]["uid"]
        told = await uids.until(f"add {second}")
        assert [obj.uid for obj in maps.indexer.list()] == [second]
    # Recreated while nobody watched: only a list can tell.
    third = kinform_api.recreate(MAPS, "a", "default")["metadata"]["uid"]
    async with maps:
        told = await uids.until(f"add {third}")

    assert told == [
        f"add {first}",
        f"delete {first}",
        f"add {second}",
        f"delete {second}",
        f"add {third}",
    ]


# -- what cannot be meant --------------------------------------------------------------------


def test_sources_that_do_not_fit_together_are_refused() -> None:
    def source(namespace: str | None) -> ListWatch[Unstructured]:
        made = LoggedSource().list_watch()
        made.namespace = namespace
        return made

    with pytest.raises(ConfigError, match="requires a source"):
        SharedIndexInformer[Unstructured]([])
    with pytest.raises(ConfigError, match="different namespace"):
        SharedIndexInformer([source("a"), source("a")])
    with pytest.raises(ConfigError, match="different namespace"):
        SharedIndexInformer([source("a"), source(None)])
    with pytest.raises(ConfigError, match="resync_period"):
        SharedIndexInformer(source(None), resync_period=-1)


async def test_indices_can_be_had_from_the_start_and_added_while_it_runs() -> None:
    source = LoggedSource("a", "b")
    informer = informer_of(source, indexers={"first": lambda obj: [obj.name[0]]})
    async with informer:
        await informer.has_synced
        informer.add_indexers({"name": lambda obj: [obj.name]})
        source.add("ab")
        await informer.wait_for_rv(source.version)
        assert sorted(obj.name for obj in informer.indexer.by_index("first", "a")) == ["a", "ab"]
        assert [obj.name for obj in informer.store.by_index("name", "b")] == ["b"]
        with pytest.raises(CacheError, match="name"):
            informer.add_indexers({"name": lambda obj: []})


async def test_a_handler_never_sees_an_object_that_the_store_does_not_have_yet() -> None:
    source = LoggedSource()
    informer = informer_of(source)
    seen: list[int] = []
    done = Latch("done")

    def on_add(obj: Unstructured) -> None:
        found = informer.indexer.get_by_key(obj.key)
        seen.append(0 if found is None else int(found.resource_version))
        if len(seen) == 500:
            done.set()

    informer.add_event_handler(on_add=on_add)
    async with informer:
        await informer.has_synced
        for number in range(500):
            source.add(f"n{number}")
            if number % 7 == 0:
                await asyncio.sleep(0)
        await done

    assert seen == list(range(1, 501))
    assert all(later > earlier for earlier, later in pairwise(seen))
