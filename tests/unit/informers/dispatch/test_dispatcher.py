"""Changes in, calls out: what is told to whom, in which order, and who delays nobody."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.api import LabelSelector
from kinform.errors import ConfigError
from kinform.informers._changes import Change, ChangeSource, ChangeType, DeletedObject
from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.informers.dispatch._handler_options import HandlerOptions
from kinform.informers.dispatch._informer_event import InformerEvent
from kinform.informers.dispatch._invoker import HandlerFailure
from kinform.informers.dispatch._mailbox import Policy
from kinform.informers.dispatch._registration import Registration
from kinform.objects import Unstructured
from tests.support.changes import added, deleted, deliver, record, updated, version, wake
from tests.support.waiting import wait_until

Call = tuple[object, ...]
Pods = Dispatcher[Unstructured]

A0, A1, A2 = (record("a", rv) for rv in "012")
B1 = record("b", "1")
WEB1, WEB2, DB3 = record("a", "1", app="web"), record("a", "2", app="web"), record("a", "3")


class Recorder:
    """A handler that remembers versions and flags, and can wait for a number of calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
        self.calls.append(("add", obj.name, obj.resource_version, is_in_initial_list))

    def on_update(self, old: Unstructured, new: Unstructured) -> None:
        self.calls.append(("update", new.name, old.resource_version, new.resource_version))

    def on_delete(self, deleted: DeletedObject[Unstructured]) -> None:
        last = deleted.object and deleted.object.resource_version
        self.calls.append(("delete", deleted.name, last, deleted.final_state_unknown))

    async def heard(self, count: int) -> list[Call]:
        await wait_until(lambda: len(self.calls) >= count)
        return self.calls


class AsyncRecorder:
    def __init__(self) -> None:
        self.inner = Recorder()

    async def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
        self.inner.on_add(obj, is_in_initial_list)

    async def on_update(self, old: Unstructured, new: Unstructured) -> None:
        self.inner.on_update(old, new)

    async def on_delete(self, deleted: DeletedObject[Unstructured]) -> None:
        self.inner.on_delete(deleted)

    async def heard(self, count: int) -> list[Call]:
        return await self.inner.heard(count)


class Told:
    """The failures that a dispatcher reported."""

    def __init__(self) -> None:
        self.failures: list[HandlerFailure] = []


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
async def pods(told: Told) -> AsyncIterator[Pods]:
    dispatcher: Pods = Dispatcher(
        name="pods", from_entry=wake, version=version, on_error=told.failures.append
    )
    dispatcher.start()
    yield dispatcher
    await dispatcher.stop()


def listen(pods: Pods, **given: Any) -> Registration[Unstructured]:
    replay, synced = given.pop("replay", None), given.pop("synced", False)
    return pods.add(HandlerOptions(**given), replay=replay, synced=synced)


def handler_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("pods/")]


@pytest.fixture(params=[Recorder, AsyncRecorder])
def recorder(request: pytest.FixtureRequest) -> Recorder | AsyncRecorder:
    made: Recorder | AsyncRecorder = request.param()
    return made


async def test_every_kind_of_change_becomes_its_call(
    pods: Pods, recorder: Recorder | AsyncRecorder
) -> None:
    listen(pods, handler=recorder)
    deliver(pods, [added(A1, ChangeSource.INITIAL), added(B1)])
    deliver(pods, [updated(A1, A2), deleted(A2, record("a", "3")), deleted(B1)])
    deliver(pods, [deleted(None, key="default/c")])
    assert await recorder.heard(6) == [
        ("add", "a", "1", True),
        ("add", "b", "1", False),
        ("update", "a", "1", "2"),
        ("delete", "a", "3", False),
        ("delete", "b", "1", True),
        ("delete", "c", None, True),
    ]


async def test_on_event_receives_every_type_with_its_cause(pods: Pods) -> None:
    events: list[InformerEvent[Unstructured]] = []
    listen(pods, on_event=events.append)
    deliver(pods, [added(A1, ChangeSource.INITIAL), updated(A1, A2, ChangeSource.RESYNC)])
    deliver(pods, [deleted(A1, source=ChangeSource.RELIST)])
    await wait_until(lambda: len(events) == 3)

    assert [(str(event.type), str(event.source), event.key) for event in events] == [
        ("ADDED", "initial", "default/a"),
        ("UPDATED", "resync", "default/a"),
        ("DELETED", "relist", "default/a"),
    ]
    assert [event.is_in_initial_list for event in events] == [True, False, False]
    assert events[2].final_state_unknown


async def test_callbacks_that_are_not_there_are_not_missed(pods: Pods) -> None:
    gone: list[str] = []
    registration = listen(pods, on_delete=lambda deleted: gone.append(deleted.key))
    deliver(pods, [added(A1), updated(A1, A2), deleted(A2, A2)])
    await wait_until(lambda: registration.stats.processed == 3)
    assert gone == ["default/a"]
    assert registration.stats.failed == 0


async def test_a_late_handler_sees_the_snapshot_first(
    pods: Pods, recorder: Recorder | AsyncRecorder
) -> None:
    replay = [added(A1, ChangeSource.REPLAY), added(B1, ChangeSource.REPLAY)]
    registration = listen(pods, handler=recorder, replay=replay, synced=True)
    deliver(pods, [updated(A1, A2)])
    await registration.has_synced
    assert await recorder.heard(3) == [
        ("add", "a", "1", True),
        ("add", "b", "1", True),
        ("update", "a", "1", "2"),
    ]


async def test_handlers_get_handles_of_their_own(pods: Pods) -> None:
    seen: list[Unstructured] = []
    for _ in range(2):
        listen(pods, on_add=seen.append)
    deliver(pods, [added(A1)])
    await wait_until(lambda: len(seen) == 2)
    assert seen[0] is not seen[1]


async def test_unchanged_updates_go_to_those_who_asked(pods: Pods) -> None:
    usual, curious = Recorder(), Recorder()
    listen(pods, handler=usual)
    listen(pods, handler=curious, unchanged_updates=True)
    same = [
        updated(A1, record("a", "1"), source)
        for source in (ChangeSource.RELIST, ChangeSource.WATCH)
    ]
    deliver(pods, [*same, added(B1)])
    assert len(await curious.heard(3)) == 3
    assert await usual.heard(1) == [("add", "b", "1", False)]


@pytest.mark.parametrize(
    "filter",
    [LabelSelector.parse("app=web"), lambda pod: pod.labels.get("app") == "web"],
    ids=["selector", "callable"],
)
async def test_crossing_a_filter_is_an_addition_or_a_deletion(pods: Pods, filter: Any) -> None:
    recorder = Recorder()
    registration = listen(pods, handler=recorder, filter=filter)
    deliver(pods, [added(A0), updated(A0, WEB1), updated(WEB1, WEB2), updated(WEB2, DB3)])
    deliver(pods, [updated(DB3, A2), deleted(A2, A2), added(WEB1), deleted(WEB1, DB3)])
    await wait_until(lambda: registration.stats.processed == 8)
    assert recorder.calls == [
        ("add", "a", "1", False),
        ("update", "a", "1", "2"),
        ("delete", "a", "2", False),
        ("add", "a", "1", False),
        ("delete", "a", "3", False),
    ]


async def test_coalescing_loses_no_deletion_that_a_filter_lets_through(pods: Pods) -> None:
    recorder = Recorder()
    registration = listen(
        pods, handler=recorder, filter=LabelSelector.parse("app=web"), policy="coalesce"
    )
    deliver(pods, [added(WEB1)])
    await recorder.heard(1)
    deliver(pods, [updated(WEB1, DB3), deleted(DB3)])
    await wait_until(lambda: registration.stats.processed == 2)
    assert [call[0] for call in recorder.calls] == ["add", "delete"]


async def test_a_raising_filter_is_a_failure_of_that_event_alone(pods: Pods, told: Told) -> None:
    recorder = Recorder()
    listen(pods, handler=recorder, filter=lambda pod: 1 // len(pod.labels) >= 0, name="picky")
    deliver(pods, [added(A1), added(WEB1)])
    assert await recorder.heard(1) == [("add", "a", "1", False)]
    assert [type(failure.error) for failure in told.failures] == [ZeroDivisionError]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), KeyboardInterrupt()], ids=repr)
async def test_what_a_handler_raises_on_its_thread_is_reported_and_it_goes_on(
    pods: Pods, told: Told, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    calls: list[str] = []

    def fails_once(pod: Unstructured) -> None:
        calls.append(pod.name)
        if pod.name == "a":
            raise error

    replay = [added(A1), added(B1)]
    registration = listen(
        pods, run_on="thread", on_add=fails_once, name="clumsy", replay=replay, synced=True
    )
    await registration.has_synced
    assert calls == ["a", "b"]
    stats = registration.stats
    assert (stats.processed, stats.failed, stats.last_error) == (2, 1, error)
    assert told.failures == [HandlerFailure("pods/clumsy", "default/a", ChangeType.ADDED, error)]
    [entry] = [entry for entry in caplog.records if entry.name == "kinform.dispatch"]
    assert entry.levelno == logging.ERROR
    assert entry.getMessage() == "handler pods/clumsy failed on ADDED of default/a"
    assert entry.exc_info is not None


@pytest.mark.parametrize("error", [ValueError("no"), asyncio.CancelledError()], ids=repr)
async def test_what_an_async_handler_raises_is_reported_and_it_goes_on(
    pods: Pods, told: Told, error: BaseException
) -> None:
    calls: list[str] = []

    async def fails_once(pod: Unstructured) -> None:
        calls.append(pod.name)
        if pod.name == "a":
            raise error

    replay = [added(A1), added(B1)]
    registration = listen(pods, on_add=fails_once, replay=replay, synced=True)
    await registration.has_synced
    assert calls == ["a", "b"]
    assert [failure.error for failure in told.failures] == [error]


async def test_an_async_handler_that_awaits_something_cancelled_goes_on(pods: Pods) -> None:
    async def awaits(_pod: Unstructured) -> None:
        cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        cancelled.cancel()
        await cancelled

    registration = listen(pods, on_add=awaits, replay=[added(A1), added(B1)], synced=True)
    await registration.has_synced
    assert registration.stats.failed == 2


async def test_a_failing_error_callback_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    def fails(*_: object) -> None:
        raise ValueError

    dispatcher: Pods = Dispatcher(name="pods", from_entry=wake, version=version, on_error=fails)
    dispatcher.start()
    registration = listen(dispatcher, on_add=fails, replay=[added(A1)] * 2, synced=True)
    await registration.has_synced
    await dispatcher.stop()
    assert registration.stats.failed == 2
    assert "on_handler_error failed for handler" in caplog.text


async def test_a_plain_handler_that_returns_a_coroutine_is_told_so(pods: Pods, told: Told) -> None:
    async def work() -> None:
        """Would never be awaited."""

    registration = listen(pods, on_add=lambda _: work(), replay=[added(A1)], synced=True)
    await registration.has_synced
    [failure] = told.failures
    assert isinstance(failure.error, ConfigError)
    assert "make it async def" in str(failure.error)


async def test_a_handler_blocked_for_ever_delays_no_sibling(pods: Pods) -> None:
    release, entered = threading.Event(), threading.Event()

    def blocks(_pod: Unstructured) -> None:
        entered.set()
        release.wait()

    async def hangs(_pod: Unstructured) -> None:
        await asyncio.get_running_loop().create_future()

    stuck = listen(pods, run_on="thread", on_add=blocks)
    hung = listen(pods, on_add=hangs)
    siblings: list[Recorder | AsyncRecorder] = [Recorder(), AsyncRecorder()]
    for sibling in siblings:
        listen(pods, handler=sibling)
    try:
        for number in range(200):
            deliver(pods, [added(record(f"p{number}"))])
        for sibling in siblings:
            assert len(await sibling.heard(200)) == 200
        await wait_until(entered.is_set)
        assert (stuck.stats.depth, hung.stats.depth) == (199, 199)
        assert stuck.stats.bytes > 199 * 50
        assert stuck.stats.age > 0
    finally:
        release.set()


async def test_a_handler_that_never_awaits_leaves_the_loop_to_others(pods: Pods) -> None:
    seen: list[str] = []
    turns: list[int] = []

    async def never_awaits(pod: Unstructured) -> None:
        seen.append(pod.name)

    listen(pods, on_add=never_awaits)
    deliver(pods, [added(A1)] * 1000)
    while len(seen) < 1000:
        turns.append(len(seen))
        await asyncio.sleep(0)
    assert max(b - a for a, b in zip(turns, [*turns[1:], 1000], strict=True)) <= 50


async def test_nobody_has_synced_before_the_list_was_delivered(pods: Pods) -> None:
    recorder = Recorder()
    first = listen(pods, handler=recorder)
    deliver(pods, [added(A1, ChangeSource.INITIAL)])
    await recorder.heard(1)
    assert not first.has_synced
    pods.mark_synced()
    await first.has_synced
    pods.mark_synced()
    assert first.has_synced


async def test_a_handler_has_synced_only_after_its_last_call_returned(pods: Pods) -> None:
    release = asyncio.Event()

    async def waits(_pod: Unstructured) -> None:
        await release.wait()

    registration = listen(pods, on_add=waits)
    deliver(pods, [added(A1)])
    pods.mark_synced()
    await wait_until(lambda: registration.stats.depth == 0)
    assert not registration.has_synced
    release.set()
    await registration.has_synced


async def test_an_empty_list_is_a_list(pods: Pods, recorder: Recorder | AsyncRecorder) -> None:
    registration = listen(pods, handler=recorder)
    pods.mark_synced()
    await registration.has_synced


async def test_only_those_who_are_due_are_reminded() -> None:
    dispatcher: Pods = Dispatcher(name="pods", from_entry=wake, version=version)
    never, often, seldom = Recorder(), Recorder(), Recorder()
    listen(dispatcher, handler=never)
    listen(dispatcher, handler=often, resync_period=1)
    listen(dispatcher, handler=seldom, resync_period=3600)
    assert dispatcher.next_resync() is None
    dispatcher.start()
    now = asyncio.get_running_loop().time()
    due = dispatcher.next_resync()
    assert due is not None
    assert now < due <= now + 1
    asked: list[int] = []

    def changes() -> list[Change]:
        asked.append(1)
        return [updated(A1, A1, ChangeSource.RESYNC)]

    dispatcher.resync(changes)
    assert asked == []
    await wait_until(lambda: asyncio.get_running_loop().time() >= due)
    dispatcher.resync(changes)
    dispatcher.resync(changes)
    assert await often.heard(1) == [("update", "a", "1", "1")]
    later = dispatcher.next_resync()
    assert later is not None
    assert later >= due + 1
    await dispatcher.stop()
    assert (asked, never.calls, seldom.calls) == ([1], [], [])
    assert dispatcher.next_resync() is None


async def test_there_is_room_when_the_blocking_handler_has_caught_up(pods: Pods) -> None:
    release = threading.Event()
    listen(pods, on_add=lambda _: None)
    listen(pods, run_on="thread", on_add=lambda _: release.wait(), policy="block", capacity=10)
    await pods.wait_for_capacity()
    deliver(pods, [added(A1)] * 30)
    waiting = asyncio.ensure_future(pods.wait_for_capacity())
    await asyncio.wait([waiting], timeout=0.05)
    assert not waiting.done()
    release.set()
    await waiting


async def test_removing_the_full_handler_makes_room(pods: Pods) -> None:
    release = threading.Event()
    registration = listen(
        pods, run_on="thread", on_add=lambda _: release.wait(), policy="block", capacity=1
    )
    deliver(pods, [added(A1)] * 3)
    waiting = asyncio.ensure_future(pods.wait_for_capacity())
    await asyncio.wait([waiting], timeout=0.05)
    registration.remove()
    await waiting
    release.set()


@pytest.mark.parametrize("policy", ["unbounded", "block", "coalesce"])
async def test_ten_thousand_changes_arrive_in_order_under_every_policy(
    pods: Pods, recorder: Recorder | AsyncRecorder, policy: Policy
) -> None:
    registration = listen(pods, handler=recorder, policy=policy)
    names = [f"p{number}" for number in range(10_000)]
    for start in range(0, 10_000, 100):
        deliver(pods, [added(record(name)) for name in names[start : start + 100]])
        await pods.wait_for_capacity()
    pods.mark_synced()
    await registration.has_synced
    assert [call[1] for call in await recorder.heard(10_000)] == names


async def test_after_a_stop_there_is_no_thread_and_no_task(pods: Pods) -> None:
    before = asyncio.all_tasks()
    registrations = [
        listen(pods, handler=Recorder()),
        listen(pods, handler=Recorder(), run_on="thread"),
        listen(pods, handler=AsyncRecorder()),
    ]
    deliver(pods, [added(A1)])
    pods.mark_synced()
    for registration in registrations:
        await registration.has_synced
    assert handler_threads() != []
    await pods.stop()
    assert handler_threads() == []
    assert asyncio.all_tasks() == before
    assert not any(registration.stopped for registration in registrations)


async def test_idle_handlers_cost_no_thread_and_no_task(pods: Pods) -> None:
    before = asyncio.all_tasks()
    for _ in range(50):
        listen(pods, run_on="thread", handler=Recorder(), replay=[])
        listen(pods, handler=AsyncRecorder(), replay=[])
    await asyncio.sleep(0)
    assert handler_threads() == []
    assert asyncio.all_tasks() == before


async def test_what_was_not_told_before_a_stop_is_told_after_a_restart(
    pods: Pods, recorder: Recorder | AsyncRecorder
) -> None:
    await pods.stop()
    registration = listen(pods, handler=recorder)
    deliver(pods, [added(A1)])
    pods.mark_synced()
    await pods.stop()
    pods.start()
    deliver(pods, [added(B1)])
    assert [call[1] for call in await recorder.heard(2)] == ["a", "b"]
    await registration.has_synced


async def test_what_was_delivered_before_the_start_is_told_after_it() -> None:
    dispatcher: Pods = Dispatcher(name="pods", from_entry=wake, version=version)
    recorder = Recorder()
    registration = listen(dispatcher, handler=recorder)
    deliver(dispatcher, [added(A1)])
    dispatcher.mark_synced()
    assert recorder.calls == []
    dispatcher.start()
    await registration.has_synced
    assert len(recorder.calls) == 1
    await dispatcher.stop()


async def test_a_stop_lets_a_short_callback_finish(pods: Pods) -> None:
    finished: list[str] = []
    entered = asyncio.Event()

    async def works(_pod: Unstructured) -> None:
        entered.set()
        await asyncio.sleep(0.01)
        finished.append("async")

    listen(pods, on_add=works)
    deliver(pods, [added(A1), added(B1)])
    await entered.wait()
    await pods.stop()
    assert finished == ["async"]


async def test_a_stop_cancels_a_task_that_does_not_finish(pods: Pods) -> None:
    entered, cancelled = asyncio.Event(), asyncio.Event()

    async def hangs(_pod: Unstructured) -> None:
        entered.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cancelled.set()

    registration = listen(pods, on_add=hangs)
    deliver(pods, [added(A1), added(B1)])
    await entered.wait()
    await pods.stop()
    assert cancelled.is_set()
    assert registration.stats.failed == 0


async def test_a_stop_gives_up_on_a_stuck_thread_and_calls_never_overlap(
    pods: Pods, caplog: pytest.LogCaptureFixture
) -> None:
    release, entered = threading.Event(), threading.Event()
    calls: list[tuple[str, int]] = []

    def sticks(pod: Unstructured) -> None:
        entered.set()
        release.wait()
        calls.append((pod.name, threading.get_ident()))

    listen(pods, run_on="thread", on_add=sticks, name="sticky")
    deliver(pods, [added(A1)])
    await wait_until(entered.is_set)
    await pods.stop()
    assert "handler pods/sticky is still running" in caplog.text
    pods.start()
    deliver(pods, [added(B1)])
    assert len(handler_threads()) == 1
    release.set()
    await wait_until(lambda: len(calls) == 2)
    assert [name for name, _ in calls] == ["a", "b"]
    assert len({thread for _, thread in calls}) == 1


async def test_a_stuck_thread_ends_when_its_callback_returns(pods: Pods) -> None:
    release, entered = threading.Event(), threading.Event()

    def sticks(_pod: Unstructured) -> None:
        entered.set()
        release.wait()

    listen(pods, run_on="thread", on_add=sticks)
    deliver(pods, [added(A1), added(B1)])
    await wait_until(entered.is_set)
    [thread] = handler_threads()
    assert thread.daemon
    await pods.stop()
    release.set()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()


async def test_a_handler_that_was_removed_is_let_go_when_its_last_callback_returns(
    pods: Pods,
) -> None:
    class Slow:
        def __init__(self) -> None:
            self.entered, self.release = threading.Event(), threading.Event()

        def on_add(self, _pod: Unstructured, _is_in_initial_list: bool) -> None:
            self.entered.set()
            self.release.wait()

    slow = Slow()
    handler, release = weakref.ref(slow), slow.release
    registration = listen(pods, run_on="thread", handler=slow)
    deliver(pods, [added(A1)])
    await wait_until(slow.entered.is_set)
    del slow
    registration.remove()
    [thread] = handler_threads()
    gc.collect()
    assert handler() is not None

    release.set()
    await registration.stopped
    await asyncio.to_thread(thread.join, 10)

    # Neither another removal nor a stop is needed for that.
    del registration, thread
    gc.collect()
    assert handler() is None


async def test_a_plain_handler_may_stop_its_own_informer_and_wait_for_it(pods: Pods) -> None:
    loop = asyncio.get_running_loop()
    calls: list[str] = []

    def stops(pod: Unstructured) -> None:
        asyncio.run_coroutine_threadsafe(pods.stop(), loop).result()
        calls.append(pod.name)

    listen(pods, run_on="thread", on_add=stops)
    deliver(pods, [added(A1), added(B1)])
    await wait_until(lambda: calls == ["a"])
    await pods.stop()
    assert handler_threads() == []
    assert calls == ["a"]


async def test_handlers_come_and_go_on_other_threads_while_changes_are_delivered(
    pods: Pods,
) -> None:
    constant = Recorder()
    listen(pods, handler=constant)
    going = threading.Event()

    def come_and_go() -> None:
        while not going.is_set():
            for made in (Recorder, AsyncRecorder):
                registration = listen(pods, handler=made(), replay=[added(A1)] * 3, synced=True)
                assert registration.has_synced.wait(10)
                registration.remove()
                assert registration.stopped.wait(10)

    workers = [asyncio.ensure_future(asyncio.to_thread(come_and_go)) for _ in range(3)]
    for number in range(500):
        deliver(pods, [added(record(f"p{number}"))])
        await asyncio.sleep(0)
    going.set()
    await asyncio.gather(*workers)
    assert [call[1] for call in await constant.heard(500)] == [f"p{at}" for at in range(500)]
    assert len(pods.registrations) == 1


async def test_an_async_handler_that_blocks_delays_no_thread_even_where_the_change_arrives(
    pods: Pods,
) -> None:
    heard, in_time = threading.Event(), []

    async def on_add(_pod: Unstructured) -> None:
        if _pod.name == "b":
            in_time.append(heard.wait(5))

    def on_add_in_a_thread(pod: Unstructured) -> None:
        if pod.name == "b":
            heard.set()

    first = pods.add(HandlerOptions(on_add=on_add))
    second = pods.add(HandlerOptions(run_on="thread", on_add=on_add_in_a_thread))
    deliver(pods, [added(A1)])
    await wait_until(lambda: first.stats.processed == second.stats.processed == 1)
    # As a change arrives: in a callback of the loop, and in nobody's task.
    asyncio.get_running_loop().call_soon(deliver, pods, [added(B1)])
    await wait_until(lambda: first.stats.processed == 2)
    assert in_time == [True]
