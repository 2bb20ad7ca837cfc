"""What client-go promises of its informer queue (C-33 to C-42), of the one queue there is here."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict

import pytest

from kinform.errors import KeyFuncError, QueueClosedError
from kinform.informers import DeletedObject, Delta, DeltaFIFO, Deltas, DeltasKind, Store
from kinform.objects import Unstructured
from tests.support.answers import pod


def obj(name: str, rv: int = 1) -> Unstructured:
    return Unstructured(pod(name, rv=str(rv)))


class Consumer:
    """Pops from a queue and keeps a store of what comes, as an informer does."""

    def __init__(self, *known: Unstructured) -> None:
        self.store = Store()
        for each in known:
            self.store.add(each)
        self.queue: DeltaFIFO[Unstructured] = DeltaFIFO(known_objects=self.store)

    async def pop(self, limit: int = 1) -> list[str]:
        return lines(await self.queue.pop(self.apply, limit=limit))

    async def drain(self) -> list[list[str]]:
        return [await self.pop() for _ in range(len(self.queue))]

    def apply(self, deltas: Deltas[Unstructured]) -> Deltas[Unstructured]:
        for delta in deltas:
            if isinstance(delta.object, DeletedObject):
                self.store.delete(delta.object)
            else:
                self.store.add(delta.object)
        return deltas


def lines(deltas: Deltas[Unstructured]) -> list[str]:
    """``ADDED a@1`` for each; a deletion that nobody saw ends in ``?``."""
    return [_line(delta) for delta in deltas]


def _line(delta: Delta[Unstructured]) -> str:
    state, unseen = delta.object, ""
    if isinstance(state, DeletedObject):
        unseen = "?" if state.final_state_unknown else ""
        assert state.object is not None
        state = state.object
    assert state.key == delta.key
    return f"{delta.type} {state.name}@{state.resource_version}{unseen}"


# -- order -----------------------------------------------------------------------------------


async def test_everything_comes_out_in_the_order_it_went_in_whatever_its_key() -> None:
    """C-33: no event jumps the line, none is merged with another of its key."""
    consumer = Consumer()
    consumer.queue.add(obj("a", 1))
    consumer.queue.add(obj("b", 2))
    consumer.queue.update(obj("a", 3))
    consumer.queue.update(obj("a", 4))
    consumer.queue.delete(obj("a", 5))
    consumer.queue.add(obj("a", 6))
    consumer.queue.update(obj("b", 7))

    assert await consumer.drain() == [
        ["ADDED a@1"],
        ["ADDED b@2"],
        ["UPDATED a@3"],
        ["UPDATED a@4"],
        ["DELETED a@5"],
        ["ADDED a@6"],
        ["UPDATED b@7"],
    ]


async def test_each_of_many_producers_keeps_its_order_while_the_consumer_takes() -> None:
    """C-33: producers on other threads, all keys shared, nothing lost and none overtaken."""
    each, producers = 400, 4
    consumer = Consumer()

    def produce(number: int) -> None:
        for step in range(each):
            consumer.queue.update(obj(f"k{step % 7}", number * 1000 + step))

    threads = [threading.Thread(target=produce, args=(number,)) for number in range(producers)]
    for thread in threads:
        thread.start()
    came = defaultdict(list)
    for _ in range(each * producers):
        (line,) = await consumer.pop()
        number, step = divmod(int(line.partition("@")[2]), 1000)
        came[number].append(step)
    for thread in threads:
        thread.join()

    assert came == {number: list(range(each)) for number in range(producers)}


async def test_what_was_put_in_first_comes_out_first_also_across_producers() -> None:
    """C-33: whoever has put something in is before everybody who begins after that."""
    consumer = Consumer()
    order: list[str] = []
    turn = threading.Lock()

    def produce(name: str) -> None:
        for rv in range(1, 101):
            with turn:
                consumer.queue.update(obj(name, rv))
                order.append(f"UPDATED {name}@{rv}")

    threads = [threading.Thread(target=produce, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    came = [line for _ in range(300) for line in await consumer.pop()]
    for thread in threads:
        thread.join()

    assert came == order


# -- replace ---------------------------------------------------------------------------------


async def test_a_deletion_and_a_list_that_has_the_object_again_are_both_told() -> None:
    """C-34: the list does not swallow the deletion that was queued before it."""
    consumer = Consumer(obj("a", 1))
    consumer.queue.delete(obj("a", 2))
    consumer.queue.replace([obj("a", 3)], "3")

    assert await consumer.drain() == [["DELETED a@2"], ["REPLACED a@3"]]


async def test_a_list_deletes_what_it_does_not_have_before_it_tells_what_it_has() -> None:
    """C-35: deletions come first, with the last known state, marked as not seen."""
    consumer = Consumer(obj("a", 1), obj("b", 2), obj("c", 3))
    consumer.queue.replace([obj("d", 9), obj("b", 8)], "9")

    (told,) = await consumer.drain()

    assert sorted(told[:2]) == ["DELETED a@1?", "DELETED c@3?"]
    assert told[2:] == ["REPLACED d@9", "REPLACED b@8"]


async def test_the_tombstone_has_the_newest_state_that_was_queued() -> None:
    """C-35: not the older one that the store had when the list came."""
    consumer = Consumer(obj("a", 1))
    consumer.queue.update(obj("a", 2))
    consumer.queue.replace([], "3")

    assert await consumer.drain() == [["UPDATED a@2"], ["DELETED a@2?"]]


async def test_an_object_that_was_only_in_the_queue_is_deleted_by_a_list_without_it() -> None:
    """C-35: no store knew it when the list came, and its addition is told before."""
    consumer = Consumer()
    consumer.queue.add(obj("a", 1))
    consumer.queue.replace([obj("b", 2)], "2")

    assert await consumer.drain() == [["ADDED a@1"], ["DELETED a@1?", "REPLACED b@2"]]


async def test_what_was_deleted_before_a_list_is_not_deleted_once_more() -> None:
    """C-35: also if the store still had it when the list came."""
    consumer = Consumer(obj("a", 1), obj("b", 1))
    consumer.queue.delete(obj("a", 2))
    consumer.queue.replace([obj("b", 1)], "3")
    consumer.queue.replace([obj("b", 1)], "4")

    assert await consumer.drain() == [["DELETED a@2"], ["REPLACED b@1"], ["REPLACED b@1"]]


async def test_a_queue_without_a_store_remembers_what_it_handed_out() -> None:
    """C-35: who keeps no objects gets tombstones all the same."""
    queue: DeltaFIFO[Unstructured] = DeltaFIFO()
    queue.add(obj("a", 1))
    queue.update(obj("a", 2))
    queue.replace([obj("b", 3)], "3")

    assert [await queue.pop(lines) for _ in range(3)] == [
        ["ADDED a@1"],
        ["UPDATED a@2"],
        ["DELETED a@2?", "REPLACED b@3"],
    ]


# -- resync ----------------------------------------------------------------------------------


async def test_a_resync_never_tells_an_older_state_than_what_was_queued_before_it() -> None:
    """C-37: the update wins the race, whatever the store had when the resync was asked for."""
    consumer = Consumer(obj("a", 1))
    consumer.queue.update(obj("a", 2))
    consumer.queue.resync()
    consumer.queue.update(obj("a", 3))

    assert await consumer.drain() == [["UPDATED a@2"], ["SYNC a@2"], ["UPDATED a@3"]]


async def test_a_resync_leaves_out_what_is_gone_and_has_what_is_new_by_then() -> None:
    """C-37: an object whose deletion is queued is not brought back."""
    consumer = Consumer(obj("a", 1), obj("b", 1))
    consumer.queue.delete(obj("a", 2))
    consumer.queue.add(obj("c", 3))
    consumer.queue.resync()

    assert await consumer.drain() == [["DELETED a@2"], ["ADDED c@3"], ["SYNC b@1", "SYNC c@3"]]


async def test_a_resync_of_nothing_tells_nothing() -> None:
    """C-37: the entry is there and is empty."""
    consumer = Consumer()
    consumer.queue.resync()

    assert await consumer.drain() == [[]]


# -- has_synced ------------------------------------------------------------------------------


async def test_a_queue_that_nothing_was_put_into_has_not_synced() -> None:
    """C-38: neither a resync nor a bookmark is a beginning."""
    consumer = Consumer()
    assert not consumer.queue.has_synced

    consumer.queue.resync()
    consumer.queue.bookmark("1")
    await consumer.drain()

    assert not consumer.queue.has_synced


async def test_a_queue_that_begins_with_an_event_has_synced_at_once() -> None:
    """C-38: there is no list to wait for."""
    for begin in ("add", "update", "delete"):
        queue: DeltaFIFO[Unstructured] = DeltaFIFO()
        getattr(queue, begin)(obj("a"))
        assert queue.has_synced, begin


@pytest.mark.parametrize("names", [["a", "b"], []], ids=["two objects", "an empty list"])
async def test_a_queue_that_begins_with_a_list_has_synced_when_that_was_processed(
    names: list[str],
) -> None:
    """C-38: after the consumer is done with it, also if the list is empty."""
    consumer = Consumer()
    consumer.queue.replace([obj(name) for name in names], "1")
    consumer.queue.add(obj("later", 2))
    assert not consumer.queue.has_synced

    during = await consumer.queue.pop(lambda _: bool(consumer.queue.has_synced))

    assert not during
    assert consumer.queue.has_synced


async def test_the_deletions_that_a_first_list_makes_are_part_of_having_synced() -> None:
    """C-38: the store had objects from before; those are gone when it has synced."""
    consumer = Consumer(obj("old", 1))
    consumer.queue.replace([obj("a", 2)], "2")
    assert not consumer.queue.has_synced

    assert await consumer.pop() == ["DELETED old@1?", "REPLACED a@2"]

    assert consumer.queue.has_synced
    assert consumer.store.list_keys() == ["default/a"]


# -- closing ---------------------------------------------------------------------------------


async def test_closing_wakes_everybody_who_waits_for_an_entry() -> None:
    """C-39: all of them, and from another thread too."""
    queue: DeltaFIFO[Unstructured] = DeltaFIFO()
    pops = [asyncio.create_task(queue.pop(lines)) for _ in range(10)]
    await asyncio.sleep(0)

    await asyncio.to_thread(queue.close)
    async with asyncio.timeout(10):
        ends = await asyncio.gather(*pops, return_exceptions=True)

    assert [type(end) for end in ends] == [QueueClosedError] * 10


async def test_what_was_queued_before_the_closing_is_still_handed_out() -> None:
    """C-39: and then there is nothing more; nothing can be put in after it either."""
    consumer = Consumer()
    consumer.queue.add(obj("a", 1))
    consumer.queue.close()

    assert await consumer.pop() == ["ADDED a@1"]
    with pytest.raises(QueueClosedError):
        await consumer.pop()
    with pytest.raises(QueueClosedError):
        consumer.queue.add(obj("b", 2))


# -- batches ---------------------------------------------------------------------------------


async def test_a_batch_ends_where_a_key_comes_again() -> None:
    """C-40: so that no state of an object is skipped."""
    consumer = Consumer()
    for name, rv in (("a", 1), ("b", 2), ("a", 3), ("c", 4)):
        consumer.queue.update(obj(name, rv))

    assert await consumer.pop(limit=1000) == ["UPDATED a@1", "UPDATED b@2"]
    assert await consumer.pop(limit=1000) == ["UPDATED a@3", "UPDATED c@4"]


async def test_a_batch_ends_before_what_is_no_single_event_and_at_its_limit() -> None:
    """C-40: a list, a resync and a bookmark come alone."""
    consumer = Consumer()
    consumer.queue.replace([obj("a", 1)], "1")
    for rv, name in enumerate("bcde", start=2):
        consumer.queue.add(obj(name, rv))
    consumer.queue.bookmark("6")
    consumer.queue.add(obj("f", 7))
    consumer.queue.resync()
    consumer.queue.add(obj("g", 8))

    came = [await consumer.pop(limit=3) for _ in range(7)]

    assert came[:5] == [
        ["REPLACED a@1"],
        ["ADDED b@2", "ADDED c@3", "ADDED d@4"],
        ["ADDED e@5"],
        [],
        ["ADDED f@7"],
    ]
    assert sorted(came[5]) == [f"SYNC {name}@{rv}" for rv, name in enumerate("abcde", 1)] + [
        "SYNC f@7"
    ]
    assert came[6] == ["ADDED g@8"]


async def test_only_the_first_list_is_the_initial_one() -> None:
    """C-40: the flag belongs to the batch, and no event or later list has it."""
    queue: DeltaFIFO[Unstructured] = DeltaFIFO()
    queue.replace([obj("a", 1)], "1")
    queue.add(obj("b", 2))
    queue.replace([obj("a", 1)], "3")

    assert [await queue.pop(lambda deltas: deltas.is_in_initial_list) for _ in range(3)] == [
        True,
        False,
        False,
    ]


async def test_an_object_without_a_key_is_refused_at_the_door_and_breaks_no_batch() -> None:
    """C-40: who puts it in hears of it; its neighbours are handed out as if it had not been."""
    consumer = Consumer()
    consumer.queue.add(obj("a", 1))
    with pytest.raises(KeyFuncError):
        consumer.queue.add(Unstructured(pod("", rv="2")))
    consumer.queue.add(obj("b", 3))

    assert await consumer.pop(limit=1000) == ["ADDED a@1", "ADDED b@3"]


async def test_a_batch_that_the_consumer_fails_on_is_gone_and_the_next_one_comes() -> None:
    """C-40: nothing is put back, as nothing is in client-go."""
    consumer = Consumer()
    consumer.queue.add(obj("a", 1))
    consumer.queue.add(obj("a", 2))

    def fail(deltas: Deltas[Unstructured]) -> None:
        raise ValueError(lines(deltas))

    with pytest.raises(ValueError, match="a@1"):
        await consumer.queue.pop(fail)
    assert await consumer.pop() == ["ADDED a@2"]


# -- atomic entries --------------------------------------------------------------------------


async def test_a_list_a_resync_and_a_bookmark_are_one_entry_each_in_their_order() -> None:
    """C-41: with the version that the list and the bookmark are as of."""
    consumer = Consumer()
    consumer.queue.replace([obj("a", 1), obj("b", 2)], "5")
    consumer.queue.add(obj("c", 6))
    consumer.queue.bookmark("7")
    consumer.queue.resync()
    consumer.queue.replace([], "8")
    assert len(consumer.queue) == 5

    came = []
    for _ in range(5):
        deltas = await consumer.queue.pop(consumer.apply)
        came.append((deltas.kind, len(deltas), deltas.resource_version))

    assert came == [
        (DeltasKind.REPLACE, 2, "5"),
        (DeltasKind.CHANGES, 1, ""),
        (DeltasKind.BOOKMARK, 0, "7"),
        (DeltasKind.RESYNC, 3, ""),
        (DeltasKind.REPLACE, 3, "8"),
    ]


async def test_a_deletion_of_what_nobody_knows_is_handed_out() -> None:
    """C-42: client-go's older queue dropped it; its newer one and this one tell it."""
    consumer = Consumer(obj("a", 1))
    consumer.queue.delete(obj("stranger", 2))
    consumer.queue.delete(DeletedObject("default/a", obj("a", 1), final_state_unknown=True))

    assert await consumer.drain() == [["DELETED stranger@2"], ["DELETED a@1?"]]
