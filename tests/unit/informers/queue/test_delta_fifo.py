"""The queue: entries, their order and deltas, and waiting producers and consumers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection
from typing import Any

import pytest

from kinform.errors import ConfigError, KeyFuncError, QueueClosedError
from kinform.informers._changes import DeletedObject
from kinform.informers.queue._delta_fifo import DeltaFIFO
from kinform.informers.queue._deltas import Delta, Deltas, DeltasKind, DeltaType
from kinform.objects import Unstructured
from tests.support.answers import pod


def obj(name: str, rv: int = 1) -> Unstructured:
    return Unstructured(pod(name, rv=str(rv)))


class Known:
    """A store that the test fills itself."""

    def __init__(self, *objects: Unstructured) -> None:
        self.objects = {each.key: each for each in objects}

    def list_keys(self) -> Collection[str]:
        return list(self.objects)

    def get_by_key(self, key: str) -> Unstructured | None:
        return self.objects.get(key)

    def apply(self, deltas: Deltas[Unstructured]) -> None:
        for delta in deltas:
            if isinstance(delta.object, DeletedObject):
                self.objects.pop(delta.key, None)
            else:
                self.objects[delta.key] = delta.object


def keep(deltas: Deltas[Unstructured]) -> Deltas[Unstructured]:
    return deltas


def told(deltas: Deltas[Unstructured]) -> list[str]:
    """``ADDED a 1`` for each delta; a deletion that nobody saw ends in ``?``."""
    return [_told(delta) for delta in deltas]


def _told(delta: Delta[Unstructured]) -> str:
    state, unseen = delta.object, ""
    if isinstance(state, DeletedObject):
        assert state.key == delta.key
        assert state.object is not None
        unseen = "?" if state.final_state_unknown else ""
        state = state.object
    assert state.key == delta.key
    return f"{delta.type} {state.name} {state.resource_version}{unseen}"


async def pop_all(fifo: DeltaFIFO[Unstructured], limit: int = 1) -> list[list[str]]:
    fifo.close()
    found = []
    while True:
        try:
            found.append(told(await fifo.pop(keep, limit=limit)))
        except QueueClosedError:
            return found


# -- order and shape ---------------------------------------------------------------------------


async def test_every_event_comes_out_by_itself_and_in_the_order_it_came() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.add(obj("a", 1))
    fifo.add(obj("b", 2))
    fifo.update(obj("a", 3))
    fifo.update(obj("a", 4))
    fifo.delete(obj("b", 5))
    fifo.delete(obj("b", 5))
    assert await pop_all(fifo) == [
        ["ADDED a 1"],
        ["ADDED b 2"],
        ["UPDATED a 3"],
        ["UPDATED a 4"],
        ["DELETED b 5"],
        ["DELETED b 5"],
    ]


async def test_a_deletion_is_always_a_deleted_object() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    last = obj("a", 7)
    tombstone: DeletedObject[Unstructured] = DeletedObject(
        "default/gone", None, final_state_unknown=True
    )
    fifo.delete(last)
    fifo.delete(tombstone)
    (seen,) = await fifo.pop(keep)
    (unseen,) = await fifo.pop(keep)
    assert seen.object == DeletedObject("default/a", last, final_state_unknown=False)
    assert unseen.object is tombstone
    assert [seen.key, unseen.key] == ["default/a", "default/gone"]
    assert seen.type == unseen.type == DeltaType.DELETED


async def test_deltas_say_what_they_are() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.replace([obj("a")], "5")
    fifo.add(obj("b"))
    fifo.bookmark("9")
    fifo.resync()
    fifo.replace([], "11")
    found = [await fifo.pop(keep) for _ in range(5)]
    assert [(each.kind, each.resource_version, each.is_in_initial_list) for each in found] == [
        (DeltasKind.REPLACE, "5", True),
        (DeltasKind.CHANGES, "", False),
        (DeltasKind.BOOKMARK, "9", False),
        (DeltasKind.RESYNC, "", False),
        (DeltasKind.REPLACE, "11", False),
    ]
    assert repr(found[0]) == "<Deltas REPLACE of 1 rv=5 initial>"
    assert found[0][0].key == "default/a"
    assert found[0][:1] == list(found[0])


# -- batches -----------------------------------------------------------------------------------


async def test_events_come_together_up_to_the_limit() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    for name in "abcde":
        fifo.add(obj(name))
    assert await pop_all(fifo, limit=2) == [
        ["ADDED a 1", "ADDED b 1"],
        ["ADDED c 1", "ADDED d 1"],
        ["ADDED e 1"],
    ]


async def test_a_batch_ends_before_a_key_that_it_has() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    for name, rv in [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("c", 5)]:
        fifo.update(obj(name, rv))
    assert await pop_all(fifo, limit=100) == [
        ["UPDATED a 1", "UPDATED b 2"],
        ["UPDATED a 3", "UPDATED c 4"],
        ["UPDATED c 5"],
    ]


no_event = pytest.mark.parametrize(
    "put",
    [
        lambda fifo: fifo.replace([obj("x")]),
        lambda fifo: fifo.resync(),
        lambda fifo: fifo.bookmark("5"),
    ],
    ids=["replace", "resync", "bookmark"],
)


@no_event
async def test_entries_other_than_events_are_popped_alone(
    put: Callable[[DeltaFIFO[Unstructured]], None],
) -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(known_objects=Known())
    fifo.add(obj("a"))
    put(fifo)
    put(fifo)
    fifo.add(obj("b"))
    kinds = [(await fifo.pop(keep, limit=100)).kind for _ in range(4)]
    assert kinds[0] == kinds[3] == DeltasKind.CHANGES
    assert kinds[1] == kinds[2] != DeltasKind.CHANGES


# -- without waiting ---------------------------------------------------------------------------


async def test_changes_can_be_popped_at_once_up_to_the_limit_and_no_two_of_one_key() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    for name, rv in [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("d", 5)]:
        fifo.update(obj(name, rv))
    found = [fifo.pop_changes(3) for _ in range(4)]
    assert [told(each) if each is not None else None for each in found] == [
        ["UPDATED a 1", "UPDATED b 2", "UPDATED c 3"],
        ["UPDATED d 4"],
        ["UPDATED d 5"],
        None,
    ]
    assert found[0] is not None
    assert found[0].kind is DeltasKind.CHANGES


@no_event
async def test_pop_changes_neither_returns_nor_overtakes_other_entries(
    put: Callable[[DeltaFIFO[Unstructured]], None],
) -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(known_objects=Known())
    fifo.add(obj("a"))
    put(fifo)
    fifo.add(obj("b"))
    first = fifo.pop_changes(100)
    assert first is not None
    assert told(first) == ["ADDED a 1"]
    assert fifo.pop_changes(100) is None
    assert len(fifo) == 2
    await fifo.pop(keep)
    last = fifo.pop_changes(100)
    assert last is not None
    assert told(last) == ["ADDED b 1"]


@pytest.mark.parametrize("first", ["event", "list"])
async def test_nothing_is_popped_at_once_while_another_is_being_processed(first: str) -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.replace([obj("a")]) if first == "list" else fifo.add(obj("a"))
    fifo.add(obj("b"))
    go_on = asyncio.Event()

    async def process(deltas: Deltas[Unstructured]) -> None:
        await go_on.wait()

    popping = asyncio.ensure_future(fifo.pop(process))
    await asyncio.sleep(0)
    assert fifo.pop_changes(100) is None
    go_on.set()
    await popping
    found = fifo.pop_changes(100)
    assert found is not None
    assert told(found) == ["ADDED b 1"]


async def test_a_pop_that_was_cancelled_or_failed_is_not_under_way_any_more() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    for name in "abc":
        fifo.add(obj(name))

    async def hang(deltas: Deltas[Unstructured]) -> None:
        await asyncio.Event().wait()

    def fail(deltas: Deltas[Unstructured]) -> None:
        assert fifo.pop_changes(1) is None
        raise ValueError("no")

    popping = asyncio.ensure_future(fifo.pop(hang))
    await asyncio.sleep(0)
    popping.cancel()
    await asyncio.wait([popping])
    with pytest.raises(ValueError, match="no"):
        await fifo.pop(fail)
    found = fifo.pop_changes(100)
    assert found is not None
    assert told(found) == ["ADDED c 1"]


async def test_a_pop_that_waits_goes_on_waiting_when_its_entry_is_popped_at_once() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    popping = asyncio.ensure_future(fifo.pop(keep))
    await asyncio.sleep(0)
    fifo.add(obj("a"))
    fifo.pop_changes(1)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not popping.done()
    fifo.add(obj("b"))
    assert told(await asyncio.wait_for(popping, 5)) == ["ADDED b 1"]


async def test_pop_changes_wakes_producers_that_wait_for_capacity() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(capacity=1)
    fifo.add(obj("a"))
    waiting = [
        asyncio.ensure_future(each) for each in (fifo.wait_for_capacity(), fifo.wait_until_empty())
    ]
    await asyncio.sleep(0)
    fifo.pop_changes(1)
    await asyncio.wait_for(asyncio.gather(*waiting), 5)


async def test_what_was_popped_at_once_is_remembered_too() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.add(obj("a", 1))
    fifo.pop_changes(1)
    fifo.resync()
    assert await pop_all(fifo) == [["SYNC a 1"]]


async def test_a_closed_queue_hands_out_at_once_what_it_has() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.add(obj("a"))
    fifo.close()
    found = fifo.pop_changes(1)
    assert found is not None
    assert told(found) == ["ADDED a 1"]
    assert fifo.pop_changes(1) is None


# -- lists and resyncs -------------------------------------------------------------------------


async def test_a_list_is_one_entry_with_what_is_gone_before_what_is_there() -> None:
    fifo = DeltaFIFO(known_objects=Known(obj("a", 1), obj("b", 2), obj("c", 3)))
    fifo.replace([obj("d", 4), obj("b", 5)], "6")
    assert len(fifo) == 1
    assert await pop_all(fifo) == [["DELETED a 1?", "DELETED c 3?", "REPLACED d 4", "REPLACED b 5"]]


async def test_a_list_is_compared_with_what_is_known_when_its_turn_comes() -> None:
    known = Known()
    fifo = DeltaFIFO(known_objects=known)
    fifo.add(obj("a", 1))
    fifo.update(obj("a", 2))
    fifo.add(obj("b", 3))
    fifo.delete(obj("b", 4))
    fifo.replace([], "5")

    def apply(deltas: Deltas[Unstructured]) -> list[str]:
        known.apply(deltas)
        return told(deltas)

    found = [await fifo.pop(apply) for _ in range(5)]
    # The state of the last event before it, and no second deletion of what one has deleted.
    assert found[-1] == ["DELETED a 2?"]


async def test_a_deletion_before_a_list_with_the_object_is_delivered_too() -> None:
    fifo = DeltaFIFO(known_objects=Known(obj("a", 1)))
    fifo.delete(obj("a", 2))
    fifo.replace([obj("a", 3)], "3")
    assert await pop_all(fifo) == [["DELETED a 2"], ["REPLACED a 3"]]


async def test_of_objects_with_one_key_in_a_list_the_last_counts() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.replace([obj("a", 1), obj("b", 2), obj("a", 3)])
    (found,) = await pop_all(fifo)
    assert sorted(found) == ["REPLACED a 3", "REPLACED b 2"]


async def test_a_list_can_be_any_iterable_and_is_read_at_once() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    listed = [obj("a")]
    fifo.replace(each for each in listed)
    listed.clear()
    assert await pop_all(fifo) == [["REPLACED a 1"]]


async def test_a_resync_delivers_all_objects_known_when_it_is_taken() -> None:
    known = Known(obj("a", 1), obj("b", 1))
    fifo = DeltaFIFO(known_objects=known)
    fifo.resync()
    known.objects["default/c"] = obj("c", 3)
    del known.objects["default/a"]
    assert await pop_all(fifo) == [["SYNC b 1", "SYNC c 3"]]


async def test_a_key_that_goes_while_it_is_looked_up_is_not_synced() -> None:
    class Fleeting(Known):
        def get_by_key(self, key: str) -> Unstructured | None:
            return None if key == "default/a" else super().get_by_key(key)

    fifo = DeltaFIFO(known_objects=Fleeting(obj("a"), obj("b")))
    fifo.resync()
    assert await pop_all(fifo) == [["SYNC b 1"]]


async def test_a_queue_of_its_own_remembers_what_it_handed_out() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.replace([obj("a", 1), obj("b", 1)], "1")
    fifo.update(obj("a", 2))
    fifo.delete(obj("b", 3))
    fifo.resync()
    fifo.replace([obj("c", 4)], "4")
    fifo.resync()
    assert await pop_all(fifo) == [
        ["REPLACED a 1", "REPLACED b 1"],
        ["UPDATED a 2"],
        ["DELETED b 3"],
        ["SYNC a 2"],
        ["DELETED a 2?", "REPLACED c 4"],
        ["SYNC c 4"],
    ]


async def test_an_empty_store_of_known_objects_is_still_the_one_to_ask() -> None:
    class Sized(Known):
        def __len__(self) -> int:
            return len(self.objects)

    fifo = DeltaFIFO(known_objects=Sized())
    fifo.add(obj("a"))
    await fifo.pop(keep)
    fifo.resync()
    assert await pop_all(fifo) == [[]]


# -- keys --------------------------------------------------------------------------------------


async def test_keys_come_from_the_key_function() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(key_func=lambda each: each.uid)
    fifo.add(obj("a"))
    fifo.delete(obj("b"))
    assert [delta.key for delta in await fifo.pop(keep, limit=2)] == ["uid-a", "uid-b"]


@pytest.mark.parametrize(
    "nameless",
    [Unstructured({"metadata": {"namespace": "default"}}), Unstructured({}), "no object"],
    ids=["no name", "nothing", "no object"],
)
@pytest.mark.parametrize("verb", ["add", "update", "delete", "replace"])
async def test_an_object_without_a_key_is_refused_and_nothing_is_queued(
    verb: str, nameless: Any
) -> None:
    fifo: DeltaFIFO[Any] = DeltaFIFO()
    with pytest.raises(KeyFuncError, match=type(nameless).__name__):
        getattr(fifo, verb)([obj("a"), nameless] if verb == "replace" else nameless)
    assert len(fifo) == 0
    assert not fifo.has_synced


async def test_a_key_function_that_fails_or_gives_nothing_is_named() -> None:
    failing: DeltaFIFO[Unstructured] = DeltaFIFO(key_func=lambda each: each["x"]["y"], name="pods")
    with pytest.raises(KeyFuncError, match=r"'pods'.*KeyError") as caught:
        failing.add(obj("a"))
    assert isinstance(caught.value.__cause__, KeyError)
    silent: DeltaFIFO[Unstructured] = DeltaFIFO(key_func=lambda each: "", name="pods")
    with pytest.raises(KeyFuncError, match=r"'pods'.*no key"):
        silent.add(obj("a"))


# -- has synced --------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["add", "update", "delete"])
async def test_a_queue_that_begins_with_an_event_has_synced_at_once(verb: str) -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    assert not fifo.has_synced
    getattr(fifo, verb)(obj("a"))
    assert fifo.has_synced
    fifo.replace([obj("b")])
    await fifo.pop(keep)
    assert not (await fifo.pop(keep)).is_in_initial_list


@pytest.mark.parametrize("listed", [[], [obj("a"), obj("b")]], ids=["empty", "two objects"])
async def test_a_queue_that_begins_with_a_list_has_synced_when_that_is_processed(
    listed: list[Unstructured],
) -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(name="pods")
    fifo.replace(listed)
    fifo.add(obj("c"))
    assert not fifo.has_synced
    seen = []

    async def process(deltas: Deltas[Unstructured]) -> None:
        await asyncio.sleep(0)
        seen.append(bool(fifo.has_synced))

    await fifo.pop(process)
    assert seen == [False]
    assert fifo.has_synced
    assert "pods" in fifo.has_synced.name


async def test_a_bookmark_or_a_resync_does_not_decide_what_a_queue_begins_with() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.bookmark("1")
    fifo.resync()
    fifo.replace([])
    await fifo.pop(keep)
    await fifo.pop(keep)
    assert not fifo.has_synced
    assert (await fifo.pop(keep)).is_in_initial_list
    assert fifo.has_synced


async def test_a_failure_on_the_first_list_still_syncs() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.replace([obj("a")])

    def process(deltas: Deltas[Unstructured]) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await fifo.pop(process)
    assert fifo.has_synced


# -- processing --------------------------------------------------------------------------------


async def test_pop_returns_what_process_returns_of_either_colour() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.add(obj("a"))
    fifo.add(obj("b"))

    async def later(deltas: Deltas[Unstructured]) -> str:
        await asyncio.sleep(0)
        return deltas[0].key

    assert await fifo.pop(lambda deltas: deltas[0].key) == "default/a"
    assert await fifo.pop(later) == "default/b"


async def test_what_process_raises_is_raised_and_the_entry_is_gone() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.add(obj("a"))
    fifo.add(obj("b"))

    def process(deltas: Deltas[Unstructured]) -> None:
        raise ValueError(deltas[0].key)

    with pytest.raises(ValueError, match="default/a"):
        await fifo.pop(process)
    assert told(await fifo.pop(keep)) == ["ADDED b 1"]


async def test_one_is_processed_after_the_other_however_many_pop() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    steps: list[str] = []

    async def process(deltas: Deltas[Unstructured]) -> None:
        steps.append(f"begin {deltas[0].key}")
        await asyncio.sleep(0)
        steps.append(f"end {deltas[0].key}")

    popping = [asyncio.ensure_future(fifo.pop(process)) for _ in range(2)]
    fifo.add(obj("a"))
    fifo.add(obj("b"))
    await asyncio.gather(*popping)
    assert steps == ["begin default/a", "end default/a", "begin default/b", "end default/b"]


async def test_a_cancelled_pop_takes_nothing_with_it() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    popping = asyncio.ensure_future(fifo.pop(keep))
    await asyncio.sleep(0)
    popping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await popping
    fifo.add(obj("a"))
    assert told(await fifo.pop(keep)) == ["ADDED a 1"]


async def test_limits_that_make_no_sense_are_refused() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    with pytest.raises(ConfigError, match="0"):
        await fifo.pop(keep, limit=0)
    with pytest.raises(ConfigError, match="capacity must be at least 1, not 0"):
        DeltaFIFO(capacity=0)


# -- closing -----------------------------------------------------------------------------------


async def test_a_closed_queue_hands_out_what_it_has_and_then_says_that_it_is_closed() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(name="pods")
    fifo.replace([obj("a")])
    fifo.add(obj("b"))
    fifo.close()
    fifo.close()
    assert fifo.is_closed
    assert told(await fifo.pop(keep)) == ["REPLACED a 1"]
    assert told(await fifo.pop(keep)) == ["ADDED b 1"]
    with pytest.raises(QueueClosedError, match="pods"):
        await fifo.pop(keep)


async def test_closing_wakes_every_pop() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    popping = [asyncio.ensure_future(fifo.pop(keep)) for _ in range(3)]
    await asyncio.sleep(0)
    fifo.close()
    found = await asyncio.wait_for(asyncio.gather(*popping, return_exceptions=True), 5)
    assert [type(each) for each in found] == [QueueClosedError] * 3


@pytest.mark.parametrize(
    "put",
    [
        lambda fifo: fifo.add(obj("a")),
        lambda fifo: fifo.update(obj("a")),
        lambda fifo: fifo.delete(obj("a")),
        lambda fifo: fifo.replace([obj("a")]),
        lambda fifo: fifo.resync(),
        lambda fifo: fifo.bookmark("1"),
    ],
    ids=["add", "update", "delete", "replace", "resync", "bookmark"],
)
async def test_nothing_goes_into_a_closed_queue(
    put: Callable[[DeltaFIFO[Unstructured]], None],
) -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    fifo.close()
    with pytest.raises(QueueClosedError):
        put(fifo)
    assert len(fifo) == 0
    assert not fifo.has_synced


# -- room --------------------------------------------------------------------------------------


async def test_there_is_room_until_the_capacity_is_reached() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(capacity=2)
    fifo.replace([obj("a"), obj("b"), obj("c")])  # one entry, whatever its length
    await asyncio.wait_for(fifo.wait_for_capacity(), 5)
    fifo.add(obj("d"))
    assert len(fifo) == 2
    waiting = asyncio.ensure_future(fifo.wait_for_capacity())
    await asyncio.sleep(0)
    assert not waiting.done()
    await fifo.pop(keep)
    await asyncio.wait_for(waiting, 5)


async def test_a_full_queue_still_takes_in_what_comes() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(capacity=1)
    for name in "abc":
        fifo.add(obj(name))
    assert len(fifo) == 3
    assert fifo, "a queue is there even if it is empty"


async def test_a_queue_is_drained_when_nothing_waits() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    await asyncio.wait_for(fifo.wait_until_empty(), 5)
    fifo.add(obj("a"))
    fifo.add(obj("b"))
    draining = asyncio.ensure_future(fifo.wait_until_empty())
    await fifo.pop(keep)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not draining.done()
    await fifo.pop(keep)
    await asyncio.wait_for(draining, 5)


async def test_closing_wakes_producers_that_wait_for_capacity() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(capacity=1)
    fifo.add(obj("a"))
    waiting = asyncio.ensure_future(fifo.wait_for_capacity())
    await asyncio.sleep(0)
    fifo.close()
    with pytest.raises(QueueClosedError):
        await asyncio.wait_for(waiting, 5)
    with pytest.raises(QueueClosedError):
        await fifo.wait_for_capacity()


async def test_a_cancelled_wait_for_capacity_is_forgotten() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO(capacity=1)
    fifo.add(obj("a"))
    impatient, patient = (asyncio.ensure_future(fifo.wait_for_capacity()) for _ in range(2))
    await asyncio.sleep(0)
    impatient.cancel()
    await fifo.pop(keep)
    await asyncio.wait_for(patient, 5)
    assert impatient.cancelled()


# -- threads -----------------------------------------------------------------------------------


async def test_events_of_many_threads_wake_the_consumer_and_keep_their_order() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    each, threads = 300, "abcd"

    def produce(name: str) -> None:
        for rv in range(each):
            fifo.update(obj(name, rv))

    producing = [threading.Thread(target=produce, args=(name,)) for name in threads]
    versions: dict[str, list[int]] = {name: [] for name in threads}

    def note(deltas: Deltas[Unstructured]) -> None:
        for delta in deltas:
            assert isinstance(delta.object, Unstructured)
            versions[delta.object.name].append(int(delta.object.resource_version))

    waiting = asyncio.ensure_future(fifo.pop(note, limit=50))
    await asyncio.sleep(0)  # so that the first event finds somebody asleep
    for thread in producing:
        thread.start()
    await asyncio.wait_for(waiting, 10)
    while sum(map(len, versions.values())) < each * len(threads):
        await asyncio.wait_for(fifo.pop(note, limit=50), 10)
    for thread in producing:
        thread.join()
    assert versions == {name: list(range(each)) for name in threads}


async def test_a_queue_can_be_closed_from_a_thread() -> None:
    fifo: DeltaFIFO[Unstructured] = DeltaFIFO()
    popping = asyncio.ensure_future(fifo.pop(keep))
    await asyncio.sleep(0)
    await asyncio.to_thread(fifo.close)
    with pytest.raises(QueueClosedError):
        await asyncio.wait_for(popping, 5)


def test_a_producer_on_another_loop_can_wait_for_room() -> None:
    fifo: DeltaFIFO[int] = DeltaFIFO(key_func=lambda number: f"n{number}", capacity=5)
    got: list[Any] = []

    async def produce() -> None:
        for number in range(200):
            await asyncio.wait_for(fifo.wait_for_capacity(), 10)
            fifo.add(number)
        fifo.close()

    async def consume() -> None:
        while True:
            try:
                await fifo.pop(lambda deltas: got.extend(delta.object for delta in deltas), limit=3)
            except QueueClosedError:
                return

    producer = threading.Thread(target=lambda: asyncio.run(produce()))
    producer.start()
    asyncio.run(consume())
    producer.join()
    assert got == list(range(200))


# -- a store that was filled elsewhere -----------------------------------------------------------


async def test_a_resume_is_an_entry_without_deltas_and_syncs_once_processed() -> None:
    fifo = DeltaFIFO[Unstructured]()
    fifo.resume("7")
    assert not fifo.has_synced
    deltas = await fifo.pop(keep)
    assert (deltas.kind, deltas.resource_version, len(deltas)) == (DeltasKind.RESUME, "7", 0)
    assert fifo.has_synced


async def test_a_list_after_a_resume_is_not_the_initial_one() -> None:
    fifo = DeltaFIFO[Unstructured]()
    fifo.resume("7")
    fifo.replace([], "9")
    await fifo.pop(keep)
    assert not (await fifo.pop(keep)).is_in_initial_list


async def test_a_resume_that_fails_is_consumed_and_syncs() -> None:
    fifo = DeltaFIFO[Unstructured]()
    fifo.resume("7")

    def fail(deltas: Deltas[Unstructured]) -> None:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        await fifo.pop(fail)
    assert fifo.has_synced
    assert len(fifo) == 0
