"""What client-go promises of starting, stopping and waiting for informers (C-56, C-58, C-62)."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kinform import Client
from kinform.api import ListOptions
from kinform.errors import AlreadyStartedError, AlreadyStoppedError, CacheSyncError, StateError
from kinform.informers import (
    DynamicSharedInformerFactory,
    Latch,
    ListWatch,
    SharedIndexInformer,
    wait_for,
)
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from kinform.transport import ClusterConfig, Request
from tests.support.answers import Answer, json_answer, pod, pod_list, status, watch_answer
from tests.support.informer_sources import AsyncRecorder, LoggedSource, Recorder, informer_of
from tests.support.memory_transport import MemoryTransport

# -- states ----------------------------------------------------------------------------------


async def test_an_informer_is_new_then_running_then_stopped() -> None:
    """C-56: each state is told, and having synced is never taken back."""
    informer = informer_of(LoggedSource("a"))

    def state() -> tuple[bool, bool, bool]:
        return informer.is_running, informer.is_stopped, bool(informer.has_synced)

    assert state() == (False, False, False)
    informer.start()
    assert state() == (True, False, False)
    await informer.has_synced
    assert state() == (True, False, True)
    informer.stop()
    await informer.stopped
    assert state() == (False, True, True)


async def test_an_informer_that_runs_is_not_started_a_second_time() -> None:
    """C-56: the second start is refused, and the first goes on."""
    async with informer_of(LoggedSource("a")) as informer:
        with pytest.raises(AlreadyStartedError, match="pods"):
            informer.start()
        with pytest.raises(AlreadyStartedError, match="pods"):
            await informer.run()
        await informer.has_synced


def test_starting_where_no_loop_runs_is_refused() -> None:
    """C-56: by an error of ours, and the informer is as new."""
    informer = informer_of(LoggedSource("a"))
    with pytest.raises(StateError, match="pods"):
        informer.start()
    assert not informer.is_running


async def test_nothing_can_be_registered_with_a_stopped_informer() -> None:
    """C-56: the refusal names the informer and the way out."""
    async with informer_of(LoggedSource("a")) as informer:
        await informer.has_synced

    with pytest.raises(AlreadyStoppedError, match=r"pods has stopped.*start it again"):
        informer.add_event_handler(Recorder())
    with pytest.raises(AlreadyStoppedError, match="pods has stopped"):
        informer.events()
    assert informer.registrations == ()
    assert [obj.name for obj in informer.indexer.list()] == ["a"]


async def test_a_handler_can_be_removed_from_a_stopped_informer() -> None:
    """C-56: and again, as before."""
    informer = informer_of(LoggedSource("a"))
    registration = informer.add_event_handler(Recorder())
    async with informer:
        await registration.has_synced

    registration.remove()
    registration.remove()

    await registration.stopped
    assert informer.registrations == ()


async def test_stopping_twice_is_stopping_once() -> None:
    """C-56: also while a handler still finishes what it does."""
    informer = informer_of(LoggedSource("a"))
    began, ended = asyncio.Event(), asyncio.Event()

    async def take_some_time(obj: Unstructured) -> None:
        began.set()
        await asyncio.sleep(0.1)
        ended.set()

    informer.add_event_handler(on_add=take_some_time)
    informer.stop()
    informer.start()
    await began.wait()
    for _ in range(3):
        informer.stop()
        await asyncio.sleep(0.01)
    async with asyncio.timeout(10):
        await informer.stopped
    informer.stop()

    assert ended.is_set()


async def test_a_stopped_informer_can_be_started_again() -> None:
    """C-56: unlike client-go's; handlers stay, and hear what changed meanwhile as changes."""
    source = LoggedSource("a", "b")
    informer = informer_of(source)
    recorder = Recorder()
    registration = informer.add_event_handler(recorder)
    async with informer:
        await registration.has_synced
    source.update("a")
    source.delete("b")
    source.add("c")
    async with informer:
        await recorder.count(5)
        source.add("end")
        told = await recorder.until("add end@6")

    assert told == [
        "add a@1 initial",
        "add b@2 initial",
        "delete b@2?",
        "update a@1 a@3",
        "add c@5",
        "add end@6",
    ]


async def test_what_a_handler_was_not_told_before_the_stop_it_is_told_after_a_restart() -> None:
    """C-56: it goes on where it was, and has synced only then."""
    informer = informer_of(LoggedSource("a", "b", "c"))
    told, began = list[str](), asyncio.Event()
    go_on = asyncio.Event()

    async def on_add(obj: Unstructured) -> None:
        told.append(obj.name)
        began.set()
        await go_on.wait()

    registration = informer.add_event_handler(on_add=on_add)
    async with informer:
        await began.wait()
    assert not registration.has_synced
    go_on.set()
    async with informer, asyncio.timeout(10):
        await registration.has_synced

    assert told == ["a", "b", "c"]


# -- what is left ----------------------------------------------------------------------------


@contextmanager
def nothing_left() -> Iterator[None]:
    """No task and no thread that was not there before."""
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    yield
    assert asyncio.all_tasks() - tasks == set()
    assert set(threading.enumerate()) - threads == set()


def with_handlers(informer: SharedIndexInformer[Unstructured]) -> list[Recorder | AsyncRecorder]:
    recorders: list[Recorder | AsyncRecorder] = [Recorder(), AsyncRecorder(), Recorder()]
    for recorder in recorders:
        informer.add_event_handler(recorder)
    return recorders


async def test_an_informer_that_never_started_leaves_nothing() -> None:
    """C-58: registering is no beginning."""
    with nothing_left():
        informer = informer_of(LoggedSource("a"))
        with_handlers(informer)
        informer.stop()


async def test_an_informer_that_stops_before_it_has_synced_leaves_nothing() -> None:
    """C-58: neither at once nor while its list hangs."""

    async def hang(options: ListOptions) -> AsyncIterator[object]:
        listing.set()
        await asyncio.Event().wait()
        raise AssertionError

    for wait in (False, True):
        listing = asyncio.Event()
        with nothing_left():
            informer: SharedIndexInformer[Unstructured] = SharedIndexInformer(
                ListWatch(hang, hang, name="pods")
            )
            with_handlers(informer)
            informer.start()
            if wait:
                await listing.wait()
            informer.stop()
            async with asyncio.timeout(10):
                await informer.stopped


async def test_an_informer_that_ran_leaves_nothing() -> None:
    """C-58: with handlers on threads and in tasks, one removed, one that came late."""
    source = LoggedSource("a", "b")
    with nothing_left():
        informer = informer_of(source)
        recorders = with_handlers(informer)
        async with informer:
            await informer.has_synced
            informer.registrations[2].remove()
            late = informer.add_event_handler(Recorder())
            source.add("c")
            await late.has_synced
            for recorder in recorders[:2]:
                await recorder.until("add c@3")


async def test_a_handler_may_stop_its_own_informer() -> None:
    """C-58: from a thread, a task or a callback, and nothing is left of any."""

    async def stop_in_task(obj: Unstructured) -> None:
        informer.stop()

    def stop(obj: Unstructured) -> None:
        informer.stop()

    handlers: list[dict[str, Any]] = [
        {"on_add": stop_in_task},
        {"on_add": stop, "run_on": "loop"},
        {"on_add": stop, "run_on": "thread"},
    ]
    for options in handlers:
        with nothing_left():
            informer = informer_of(LoggedSource("a"))
            informer.add_event_handler(**options)
            informer.start()
            async with asyncio.timeout(10):
                await informer.stopped


async def test_cancelling_a_run_stops_it_and_leaves_nothing() -> None:
    """C-58: the run returns after everything else has ended."""
    with nothing_left():
        informer = informer_of(LoggedSource("a"))
        recorders = with_handlers(informer)
        run = asyncio.create_task(informer.run())
        for recorder in recorders:
            await recorder.count(1)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        assert informer.is_stopped


# -- waiting ---------------------------------------------------------------------------------


async def test_who_waits_in_vain_is_told_for_whom_sorted_by_name() -> None:
    """C-62: those that were done are not named."""
    latches = [Latch("pods has synced"), Latch("done"), Latch("jobs has synced")]
    latches[1].set()

    with pytest.raises(CacheSyncError) as caught:
        await wait_for(*latches, what="the caches", timeout=0.01)

    assert re.search(r"the caches.*: jobs has synced, pods has synced$", str(caught.value))


@virtual_time
async def test_what_is_done_by_the_end_of_the_time_is_not_late() -> None:
    """C-62: not even what is done in its very last moment."""
    loop, latch = asyncio.get_running_loop(), Latch("pods has synced")
    loop.call_at(loop.time() + 5, latch.set)

    await wait_for(latch, timeout=5)

    await wait_for(latch, timeout=0)
    await wait_for(timeout=0)


@virtual_time
async def test_who_waits_for_long_says_in_the_log_for_whom(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-62: sorted by name, and without those that are done."""
    caplog.set_level(logging.INFO, "kinform")
    latches = [Latch("pods has synced"), Latch("done"), Latch("jobs has synced")]
    latches[1].set()
    waiting = asyncio.create_task(wait_for(*latches, what="the caches"))
    await asyncio.sleep(5)
    assert caplog.messages == []
    await asyncio.sleep(10)
    latches[0].set()
    latches[2].set()
    await waiting

    (message,) = caplog.messages
    assert re.search(r"the caches.*: jobs has synced, pods has synced$", message)


async def test_who_is_cancelled_while_waiting_is_cancelled_for_that_reason() -> None:
    """C-62: it is not told as having taken too long."""
    waiting = asyncio.create_task(wait_for(Latch("never"), timeout=60))
    await asyncio.sleep(0)
    waiting.cancel("the program ends")
    with pytest.raises(asyncio.CancelledError, match="the program ends"):
        await waiting


def pods_and_their_watch(request: Request) -> Answer:
    if "watch" in dict(request.query or ()):
        return watch_answer()
    return json_answer(pod_list(pod("a")))


@virtual_time
async def test_waiting_for_caches_says_who_is_late_and_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """C-62: in the log while it waits, and in the result; one late informer delays no other."""
    memory = MemoryTransport()
    memory.on("/api/v1/pods", pods_and_their_watch)
    forbidden = json_answer(status(403, "Forbidden", "not for you"), 403)
    memory.on("/apis/example.com/v1/widgets", forbidden)
    memory.on("/api/v1/nodes", forbidden)
    caplog.set_level(logging.INFO, "kinform.informer")

    async with Client(ClusterConfig(server="https://cluster"), transport=memory) as client:
        factory = DynamicSharedInformerFactory(client)
        for resource in ("v1/pods", "v1/nodes", "example.com/v1/widgets"):
            factory.for_resource(resource)
        async with factory:
            result = await factory.wait_for_cache_sync(timeout=25)
            with pytest.raises(CacheSyncError, match="widgets"):
                await factory.wait_for_cache_sync(timeout=1, strict=True)

    assert not result
    assert result["v1/pods"]
    assert [*result.unsynced] == ["example.com/v1/widgets", "v1/nodes"]
    assert "not for you" in str(result["v1/nodes"].error)
    with pytest.raises(CacheSyncError, match=r"2 of 3.*widgets.*v1/nodes"):
        result.raise_for_unsynced()
    late = [record.getMessage() for record in caplog.records if "waiting" in record.getMessage()]
    assert len(late) == 2
    assert all(re.search(r"widgets: .*v1/nodes: ", line) for line in late)
    assert not any("v1/pods" in line for line in late)
