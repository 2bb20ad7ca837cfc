"""The controller: a reflector into a queue, and the queue into one function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Coroutine
from typing import Any

import pytest

from kinform._runtime import Demand
from kinform.client import EventType, Frame
from kinform.errors import AlreadyStartedError, DecodeError
from kinform.informers import (
    DeltaController,
    DeltaControllerConfig,
    DeltaFIFO,
    Deltas,
    DeltasKind,
    DeltaType,
    Store,
    WatchFailure,
)
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.answers import pod
from tests.support.held_source import HeldSource, added, deleted, modified
from tests.support.informer_sources import QUICK, LoggedSource
from tests.support.objects import record_of
from tests.support.running import running
from tests.support.waiting import wait_until


class WatchEventApplier:
    """Writes down the deltas that it is given."""

    def __init__(self) -> None:
        self.kinds: list[DeltasKind] = []
        self.lines: list[str] = []

    def __call__(self, deltas: Deltas[Unstructured]) -> None:
        self.kinds.append(deltas.kind)
        self.lines += [f"{delta.type.value} {delta.key}" for delta in deltas]


def config(
    source: LoggedSource | HeldSource, process: Any, **more: Any
) -> DeltaControllerConfig[Unstructured]:
    return DeltaControllerConfig(
        source=source.list_watch() if isinstance(source, LoggedSource) else source,
        process=process,
        **{"options": QUICK, **more},
    )


async def test_deltas_are_handed_out_in_their_order() -> None:
    source, taking = LoggedSource("a"), WatchEventApplier()
    controller = DeltaController(config(source, taking))
    async with running(controller):
        await controller.has_synced
        source.add("b")
        source.update("a")
        source.delete("b")
        await wait_until(lambda: len(taking.lines) == 4)
        assert controller.last_sync_resource_version == source.version

    assert taking.kinds[0] is DeltasKind.REPLACE
    assert taking.lines == [
        f"{DeltaType.REPLACED.value} default/a",
        f"{DeltaType.ADDED.value} default/b",
        f"{DeltaType.UPDATED.value} default/a",
        f"{DeltaType.DELETED.value} default/b",
    ]


async def test_it_has_synced_when_the_first_list_was_processed_and_not_before() -> None:
    go_on, began = asyncio.Event(), asyncio.Event()

    async def process(deltas: Deltas[Unstructured]) -> None:
        began.set()
        await go_on.wait()

    controller = DeltaController(config(LoggedSource("a"), process))
    async with running(controller):
        await began.wait()
        assert not controller.has_synced
        go_on.set()
        await controller.has_synced


async def test_an_empty_list_is_processed_too() -> None:
    controller = DeltaController(config(LoggedSource(), WatchEventApplier()))
    async with running(controller), asyncio.timeout(20):
        await controller.has_synced


async def test_what_the_function_raises_ends_it_and_closes_its_watch() -> None:
    source = LoggedSource("a")

    def process(deltas: Deltas[Unstructured]) -> None:
        if deltas.kind is DeltasKind.CHANGES:
            raise LookupError("b")

    controller = DeltaController(config(source, process))
    tasks = asyncio.all_tasks()
    async with running(controller) as task:
        await controller.has_synced
        source.add("b")
        with pytest.raises(LookupError, match="b"):
            await task
        assert asyncio.all_tasks() - tasks == set()


async def test_it_runs_once() -> None:
    controller = DeltaController(config(LoggedSource("a"), WatchEventApplier()))
    async with running(controller):
        await controller.has_synced
        with pytest.raises(AlreadyStartedError, match="controller pods has already run"):
            await controller.run()
    with pytest.raises(AlreadyStartedError):
        await controller.run()


@virtual_time
async def test_a_resync_says_everything_again_if_it_is_wanted() -> None:
    taking, answers = WatchEventApplier(), [True, False, True]
    store: Store[Unstructured] = Store(Unstructured)
    queue: DeltaFIFO[Unstructured] = DeltaFIFO(known_objects=store)

    def process(deltas: Deltas[Unstructured]) -> None:
        taking(deltas)
        for delta in deltas:
            if isinstance(delta.object, Unstructured):
                store.update(delta.object)

    controller = DeltaController(
        config(
            LoggedSource("a"),
            process,
            queue=queue,
            full_resync_period=10.0,
            should_resync=lambda: answers.pop(0),
        )
    )
    async with running(controller):
        await asyncio.sleep(35)

    assert controller.queue is queue
    assert answers == []
    assert taking.lines[1:] == [f"{DeltaType.SYNC.value} default/a"] * 2


async def test_it_tells_of_failures_under_its_own_name() -> None:
    source = LoggedSource("a")
    source.list_error = RuntimeError("not yet")
    failures: list[WatchFailure] = []

    def hear(failure: WatchFailure) -> None:
        failures.append(failure)
        source.list_error = None

    controller = DeltaController(
        config(source, WatchEventApplier(), name="mine", on_watch_error=hear)
    )
    async with running(controller):
        await controller.has_synced

    assert [failure.name for failure in failures] == ["mine"]


# -- where a batch arrives ---------------------------------------------------------------------


class Slow:
    """Takes deltas, and is done with events only when the test lets it be."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.gate = asyncio.Event()
        self.owed: list[Coroutine[Any, Any, None]] = []

    def __call__(self, deltas: Deltas[Unstructured]) -> Awaitable[None] | None:
        if deltas.kind is not DeltasKind.CHANGES:
            return None
        names = " ".join(f"{delta.key}@{_version(delta.object)}" for delta in deltas)
        self.steps.append(f"begin {names}")
        self.owed.append(self._finish(names))
        return self.owed[-1]

    async def _finish(self, names: str) -> None:
        await self.gate.wait()
        self.steps.append(f"end {names}")


def _version(obj: Any) -> str:
    assert isinstance(obj, Unstructured)
    return obj.resource_version


async def test_what_does_not_wait_is_done_where_the_batch_arrives() -> None:
    source, taking = HeldSource("a"), WatchEventApplier()
    controller = DeltaController(config(source, taking))
    async with running(controller):
        stream = await source.awaited()
        for rv, name in enumerate("bcd", start=11):
            assert stream.give(added(name, str(rv))) is Demand.MORE
            assert taking.lines[-1] == f"ADDED default/{name}"
            assert len(controller.queue) == 0
            assert controller.last_sync_resource_version == str(rv)
    assert taking.lines == ["REPLACED default/a", *(f"ADDED default/{name}" for name in "bcd")]


async def test_several_states_of_one_object_in_a_batch_are_told_one_after_the_other() -> None:
    source, taking = HeldSource("a"), WatchEventApplier()
    async with running(DeltaController(config(source, taking))):
        stream = await source.awaited()
        assert (
            stream.give(modified("a", "11"), modified("a", "12"), added("b", "13")) is Demand.MORE
        )
    assert taking.kinds[1:] == [DeltasKind.CHANGES] * 2
    assert taking.lines[1:] == ["UPDATED default/a", "UPDATED default/a", "ADDED default/b"]


async def test_a_queue_that_has_keys_of_its_own_has_them_for_lists_and_events_alike() -> None:
    source, taking = HeldSource("a"), WatchEventApplier()
    queue: DeltaFIFO[Unstructured] = DeltaFIFO(key_func=lambda obj: f"pod:{obj.name}")
    unreadable = DecodeError("no object", key="default/c", resource_version="14")
    async with running(DeltaController(config(source, taking, queue=queue))):
        stream = await source.awaited()
        stream.give(added("b", "11"), modified("a", "12"), deleted("a", "13"))
        stream.give(Frame(EventType.DELETED, error=unreadable))
    assert taking.lines == [
        "REPLACED pod:a",
        "ADDED pod:b",
        "UPDATED pod:a",
        "DELETED pod:a",
        "DELETED default/c",
    ]


async def test_a_bookmark_is_processed_before_the_next_batch_is_read() -> None:
    source, taking = HeldSource("a"), WatchEventApplier()
    bookmark = Frame(EventType.BOOKMARK, record_of(pod("", rv="12")))
    controller = DeltaController(config(source, taking))
    async with running(controller):
        stream = await source.awaited()
        assert stream.give(added("b", "11"), bookmark) is Demand.STOP
        await source.awaited()
        assert len(controller.queue) == 0
    assert taking.kinds == [DeltasKind.REPLACE, DeltasKind.CHANGES, DeltasKind.BOOKMARK]


async def test_what_has_to_be_waited_for_is_before_anything_else_is_processed_or_read() -> None:
    source, slow = HeldSource("a"), Slow()
    controller = DeltaController(config(source, slow))
    async with running(controller):
        stream = await source.awaited()
        assert (
            stream.give(modified("a", "11"), modified("a", "12"), added("b", "13")) is Demand.STOP
        )
        for _ in range(10):
            await asyncio.sleep(0)
        assert slow.steps == ["begin default/a@11"]
        assert not stream.is_awaited
        slow.gate.set()
        await source.awaited()
    assert slow.steps == [
        "begin default/a@11",
        "end default/a@11",
        "begin default/a@12 default/b@13",
        "end default/a@12 default/b@13",
    ]


@virtual_time
async def test_a_resync_does_not_overtake_what_is_waited_for() -> None:
    source, slow = HeldSource("a"), Slow()
    synced: list[int] = []

    def process(deltas: Deltas[Unstructured]) -> Awaitable[None] | None:
        if deltas.kind is DeltasKind.RESYNC:
            synced.append(len(slow.steps))
        return slow(deltas)

    controller = DeltaController(config(source, process, full_resync_period=10.0))
    async with running(controller):
        stream = await source.awaited()
        assert stream.give(added("b", "11")) is Demand.STOP
        await asyncio.sleep(35)
        assert (slow.steps, synced) == (["begin default/b@11"], [])
        slow.gate.set()
        await source.awaited()
    assert slow.steps == ["begin default/b@11", "end default/b@11"]
    assert synced == [2] * len(synced)
    assert synced


@virtual_time
async def test_a_batch_that_arrives_in_a_resync_waits_for_its_end() -> None:
    source = HeldSource("a")
    gate = asyncio.Event()
    steps: list[str] = []

    async def process(deltas: Deltas[Unstructured]) -> None:
        steps.append(f"begin {deltas.kind}")
        if deltas.kind is DeltasKind.RESYNC:
            await gate.wait()
        steps.append(f"end {deltas.kind}")

    async with running(DeltaController(config(source, process, full_resync_period=10.0))):
        stream = await source.awaited()
        await asyncio.sleep(11)
        assert stream.give(added("b", "11")) is Demand.STOP
        await asyncio.sleep(1)
        assert steps[2:] == ["begin RESYNC"]
        gate.set()
        await source.awaited()
    assert steps[2:] == ["begin RESYNC", "end RESYNC", "begin CHANGES", "end CHANGES"]


async def test_what_nobody_waits_for_any_more_is_closed_at_the_end() -> None:
    source, slow = HeldSource("a"), Slow()
    async with running(DeltaController(config(source, slow))) as task:
        stream = await source.awaited()
        assert stream.give(added("b", "11")) is Demand.STOP
        task.cancel()  # before anybody could begin to wait
    assert task.cancelled()
    (owed,) = slow.owed
    assert inspect.getcoroutinestate(owed) == inspect.CORO_CLOSED


async def test_what_is_being_waited_for_at_the_end_is_cancelled() -> None:
    source, slow = HeldSource("a"), Slow()
    async with running(DeltaController(config(source, slow))) as task:
        stream = await source.awaited()
        stream.give(added("b", "11"))
        await asyncio.sleep(0.01)
        task.cancel()
    assert task.cancelled()
    assert slow.steps == ["begin default/b@11"]
    (owed,) = slow.owed
    assert inspect.getcoroutinestate(owed) == inspect.CORO_CLOSED


@pytest.mark.parametrize("error", [LookupError("b"), OSError("b"), TimeoutError("b")])
@pytest.mark.parametrize("colour", ["sync", "async"])
async def test_what_the_function_raises_where_a_batch_arrives_ends_the_controller(
    colour: str, error: Exception
) -> None:
    source = HeldSource("a")

    async def fail() -> None:
        await asyncio.sleep(0)
        raise error

    def process(deltas: Deltas[Unstructured]) -> Awaitable[None] | None:
        if deltas.kind is not DeltasKind.CHANGES:
            return None
        if colour == "async":
            return fail()
        raise error

    controller = DeltaController(config(source, process))
    async with running(controller) as task:
        stream = await source.awaited()
        assert stream.give(added("b", "11")) is Demand.STOP
        with pytest.raises(type(error)) as caught:
            await asyncio.wait_for(asyncio.shield(task), 5)
    assert caught.value is error
    assert controller.queue.is_closed


async def test_a_filled_store_is_resumed_without_a_list() -> None:
    source, taking = LoggedSource("a"), WatchEventApplier()
    store: Store[Unstructured] = Store()
    store.add(Unstructured(pod("a", rv="1")))
    source.add("b")
    queue = DeltaFIFO[Unstructured](known_objects=store)
    controller = DeltaController(config(source, taking, queue=queue, resume_from="1"))
    async with running(controller), asyncio.timeout(20):
        await controller.has_synced
        await wait_until(lambda: bool(taking.lines))
    assert source.versions == ["1"]  # one watch, and no list
    assert taking.lines == [f"{DeltaType.ADDED.value} default/b"]


async def test_a_version_that_expired_is_listed_and_what_was_deleted_is_found() -> None:
    source, taking = LoggedSource("a"), WatchEventApplier()
    source.forget_history()
    store: Store[Unstructured] = Store()
    store.add(Unstructured(pod("gone", rv="1")))
    queue = DeltaFIFO[Unstructured](known_objects=store)
    controller = DeltaController(config(source, taking, queue=queue, resume_from="1"))
    async with running(controller), asyncio.timeout(20):
        await wait_until(lambda: len(taking.lines) == 2)
    assert taking.lines == [
        f"{DeltaType.DELETED.value} default/gone",
        f"{DeltaType.REPLACED.value} default/a",
    ]
