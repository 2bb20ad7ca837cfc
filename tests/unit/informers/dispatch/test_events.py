"""The cache as a stream: the snapshot, the tail, and every way out of it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.api import LabelSelector
from kinform.errors import StateError
from kinform.informers._changes import Change, ChangeSource, ChangeType, DeletedObject
from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.informers.dispatch._events import EventStream
from kinform.informers.dispatch._handler_options import SubscriptionOptions
from kinform.informers.dispatch._informer_event import InformerEvent
from kinform.objects import Unstructured
from tests.support.changes import added, deleted, deliver, record, updated, version, wake

A1, A2, A3 = (record("a", rv) for rv in "123")
B1 = record("b")


@pytest.fixture
async def pods() -> AsyncIterator[Dispatcher[Unstructured]]:
    dispatcher: Dispatcher[Unstructured] = Dispatcher(name="pods", from_entry=wake, version=version)
    dispatcher.start()
    yield dispatcher
    await dispatcher.stop()


def open_stream(
    pods: Dispatcher[Unstructured], *replay: Change, **given: Any
) -> EventStream[Unstructured]:
    return pods.open_stream(SubscriptionOptions(**given), replay=replay, synced=True)


async def take(stream: EventStream[Unstructured], count: int) -> list[InformerEvent[Unstructured]]:
    return [await anext(stream) for _ in range(count)]


async def keys(stream: EventStream[Unstructured]) -> list[str]:
    return [event.key async for event in stream]


def versions(events: list[InformerEvent[Unstructured]]) -> list[tuple[str, str | None, str | None]]:
    return [
        (
            event.type.value,
            None if event.old is None else event.old.resource_version,
            None if event.object is None else event.object.resource_version,
        )
        for event in events
    ]


async def test_a_stream_gives_the_snapshot_and_then_the_tail(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = open_stream(pods, added(A1, ChangeSource.REPLAY))
    deliver(pods, [updated(A1, A2), deleted(A2, A3)])
    deliver(pods, [added(B1), deleted(B1, source=ChangeSource.RELIST)])
    events = await take(stream, 5)
    assert versions(events) == [
        ("ADDED", None, "1"),
        ("UPDATED", "1", "2"),
        ("DELETED", None, "3"),
        ("ADDED", None, "1"),
        ("DELETED", None, "1"),
    ]
    assert [event.is_in_initial_list for event in events] == [True] + [False] * 4
    assert [event.final_state_unknown for event in events] == [False] * 4 + [True]
    assert [event.source.value for event in events] == [
        "replay",
        "watch",
        "watch",
        "watch",
        "relist",
    ]
    assert [event.key for event in events] == ["default/a"] * 3 + ["default/b"] * 2


async def test_a_deletion_can_be_had_as_handlers_get_it(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods)
    deliver(pods, [added(A1), deleted(A1)])
    came, went = await take(stream, 2)
    assert came.deleted is None
    assert went.deleted == DeletedObject("default/a", went.object, final_state_unknown=True)


async def test_a_waiting_consumer_is_woken_by_a_change(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods)
    waiting = asyncio.ensure_future(take(stream, 1))
    await asyncio.sleep(0)
    deliver(pods, [added(A1)])
    assert len(await waiting) == 1


async def test_a_stream_has_synced_when_its_last_event_of_the_snapshot_was_taken(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = open_stream(pods, added(A1), added(B1))
    deliver(pods, [updated(A1, A2)])
    await take(stream, 1)
    assert not stream.has_synced
    await take(stream, 1)
    assert stream.has_synced


async def test_a_stream_over_nothing_has_synced_as_soon_as_that_is_known(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = pods.open_stream(SubscriptionOptions())
    assert not stream.has_synced
    pods.mark_synced()
    assert stream.has_synced


async def test_a_stream_that_waits_for_the_first_list_syncs_with_it(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = pods.open_stream(SubscriptionOptions())
    waiting = asyncio.ensure_future(take(stream, 1))
    await asyncio.sleep(0)
    deliver(pods, [added(A1, ChangeSource.INITIAL)])
    pods.mark_synced()
    [event] = await waiting
    assert event.is_in_initial_list
    await stream.has_synced


async def test_a_stream_filters_as_handlers_do(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods, filter=LabelSelector.parse("app=web"))
    web = record("a", "2", app="web")
    deliver(pods, [added(A1), updated(A1, web), updated(web, A3)])
    assert versions(await take(stream, 2)) == [("ADDED", None, "2"), ("DELETED", None, "2")]
    assert stream.stats.processed == 3


async def test_a_raising_filter_costs_a_stream_that_event_alone(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = open_stream(pods, filter=lambda pod: 1 // (pod.name != "a"))
    deliver(pods, [added(A1), added(B1)])
    [event] = await take(stream, 1)
    assert event.key == "default/b"
    assert (stream.stats.processed, stream.stats.failed) == (2, 1)
    assert isinstance(stream.stats.last_error, ZeroDivisionError)


async def test_a_stream_may_coalesce(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods, policy="coalesce")
    deliver(pods, [added(A1), updated(A1, A2), updated(A2, A3)])
    assert stream.stats.depth == 1
    assert versions(await take(stream, 1)) == [("ADDED", None, "3")]


async def test_a_slow_stream_may_make_the_informer_wait(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods, policy="block", capacity=2)
    deliver(pods, [added(A1), added(B1)])
    room = asyncio.ensure_future(pods.wait_for_capacity())
    await asyncio.sleep(0)
    assert not room.done()
    await take(stream, 1)
    await room


async def test_a_closed_stream_ends_for_one_who_waits_and_for_all_after(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = open_stream(pods)
    waiting = asyncio.ensure_future(keys(stream))
    await asyncio.sleep(0)
    await asyncio.to_thread(stream.close)
    assert await waiting == []
    assert await keys(stream) == []
    assert stream.is_closed
    assert pods.registrations == ()


async def test_a_stream_ends_when_the_informer_stops_and_stays_so_when_it_starts_again(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = open_stream(pods, added(A1))
    consumer = asyncio.ensure_future(keys(stream))
    await stream.has_synced
    await pods.stop()
    assert await consumer == ["default/a"]
    pods.start()
    deliver(pods, [added(B1)])
    assert await keys(stream) == []
    assert pods.registrations == ()


async def test_leaving_the_context_closes_the_stream(pods: Dispatcher[Unstructured]) -> None:
    async with open_stream(pods, added(A1), added(B1)) as stream:
        async for _ in stream:
            break
    assert stream.is_closed
    assert stream.stats.depth == 0


async def test_a_stream_that_is_left_early_and_forgotten_leaves_nothing_behind(
    pods: Dispatcher[Unstructured],
) -> None:
    async for _ in open_stream(pods, added(A1), added(B1)):
        assert len(pods.registrations) == 1
        break
    gc.collect()
    assert pods.registrations == ()


async def test_a_forgotten_stream_leaves_the_dispatcher_on_the_next_change(
    pods: Dispatcher[Unstructured],
) -> None:
    stream = open_stream(pods, added(A1))
    [held] = pods.registrations
    del stream
    gc.collect()
    assert held.stats.depth == 0
    deliver(pods, [added(B1)])
    assert held.stats.depth == 0
    assert held.stopped


async def test_a_second_consumer_of_one_stream_is_refused(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods)
    first = asyncio.ensure_future(take(stream, 1))
    await asyncio.sleep(0)
    with pytest.raises(StateError, match="one consumer"):
        await anext(stream)
    deliver(pods, [added(A1)])
    await first


async def test_a_cancelled_consumer_may_come_back(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await anext(stream)
    deliver(pods, [added(A1)])
    assert [event.type for event in await take(stream, 1)] == [ChangeType.ADDED]


async def test_a_stream_is_reminded_as_often_as_it_asked(pods: Dispatcher[Unstructured]) -> None:
    stream = open_stream(pods, resync_period=1.0)
    due = pods.next_resync()
    assert due is not None
    loop = asyncio.get_running_loop()
    await asyncio.sleep(due - loop.time())
    pods.resync(lambda: [updated(A1, A1, ChangeSource.RESYNC)])
    [event] = await take(stream, 1)
    assert event.source is ChangeSource.RESYNC
