"""An informer's life: begun once, ended from anywhere and at once, begun again where it was."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kinform import Client
from kinform.errors import AlreadyStartedError, AlreadyStoppedError, ApiError, ConfigError
from kinform.informers import (
    Backoff,
    Latch,
    ListWatch,
    Phase,
    ReflectorOptions,
    SharedIndexInformer,
    WatchFailure,
)
from kinform.metrics import NoMetrics
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults, virtual_time
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import AsyncRecorder, LoggedSource, Recorder, informer_of
from tests.support.waiting import wait_until

PATIENT = ReflectorOptions(backoff=lambda: Backoff(3600.0, cap=3600.0))


@contextmanager
def nothing_left() -> Iterator[None]:
    """No task and no thread that was not there before, but for those of the server."""
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    yield
    left = asyncio.all_tasks() - tasks
    assert {task for task in left if "RequestHandler" not in repr(task.get_coro())} == set()
    assert set(threading.enumerate()) - threads == set()


async def ended(informer: SharedIndexInformer[Unstructured]) -> None:
    async with asyncio.timeout(20):
        await informer.stopped


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(kinform_api.config) as client:
        kinform_api.create(config_map("a"))
        # The connection and what belongs to it are the client's, not the informer's.
        await client.list(MAPS)
        yield client


def maps_of(client: Client, **options: Any) -> SharedIndexInformer[Unstructured]:
    return SharedIndexInformer(ListWatch.for_resource(client, MAPS, namespace="default"), **options)


# -- stopping --------------------------------------------------------------------------------


async def test_a_plain_handler_may_stop_it(client: Client) -> None:
    informer = maps_of(client)
    informer.add_event_handler(on_add=lambda obj: informer.stop())
    bystander = informer.add_event_handler(Recorder())
    with nothing_left():
        informer.start()
        await ended(informer)

    assert informer.is_stopped
    assert not bystander.is_removed


async def test_an_async_handler_may_stop_it(client: Client) -> None:
    informer = maps_of(client)

    async def on_add(obj: Unstructured) -> None:
        informer.stop()

    informer.add_event_handler(on_add=on_add)
    informer.add_event_handler(Recorder())
    with nothing_left():
        informer.start()
        await ended(informer)


async def test_another_thread_may_stop_it_and_wait_for_it(client: Client) -> None:
    informer = maps_of(client)
    informer.add_event_handler(Recorder())
    informer.add_event_handler(AsyncRecorder())
    waited: list[bool] = []

    def stop() -> None:
        informer.stop()
        waited.append(informer.stopped.wait(20))

    informer.start()
    await informer.has_synced
    thread = threading.Thread(target=stop)
    thread.start()
    await ended(informer)
    await asyncio.to_thread(thread.join, 20)

    assert waited == [True]
    assert not informer.is_running


@virtual_time
async def test_a_stop_takes_less_than_a_second_however_long_its_handlers_would() -> None:
    informer = informer_of(LoggedSource("a"))
    stuck, let_go = [Latch("thread"), Latch("task")], threading.Event()

    def plain(obj: Unstructured) -> None:
        stuck[0].set()
        let_go.wait(30)

    async def in_a_task(obj: Unstructured) -> None:
        stuck[1].set()
        while True:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                await asyncio.sleep(3600)

    informer.add_event_handler(on_add=plain, run_on="thread")
    informer.add_event_handler(on_add=in_a_task)
    loop = asyncio.get_running_loop()
    try:
        informer.start()
        for latch in stuck:
            await latch
        before = loop.time()
        informer.stop()
        await informer.stopped
        assert loop.time() - before < 1.0
    finally:
        let_go.set()


@virtual_time
async def test_a_second_stop_does_not_break_off_the_tidying_of_the_first() -> None:
    informer = informer_of(LoggedSource("a"))
    began, finished = asyncio.Event(), list[str]()

    async def on_add(obj: Unstructured) -> None:
        began.set()
        await asyncio.sleep(0.3)
        finished.append(obj.name)

    informer.add_event_handler(on_add=on_add)
    with nothing_left():
        informer.start()
        await began.wait()
        informer.stop()
        await asyncio.sleep(0.1)
        informer.stop()
        await ended(informer)

    assert finished == ["a"]


@pytest.mark.parametrize(
    "fault",
    [faults.hang(), faults.stall_after(10), faults.missing_end_bookmark(), faults.unavailable()],
    ids=lambda fault: str(fault.name),
)
async def test_it_can_be_stopped_whatever_it_is_waiting_for(
    kinform_api: ApiServer, client: Client, fault: faults.Fault
) -> None:
    kinform_api.faults.inject(fault, resource="configmaps", times=None)
    informer = maps_of(client, options=PATIENT)
    with nothing_left():
        informer.start()
        await kinform_api.requests.wait_for(lambda request: fault.name in request.faults)
        informer.stop()
        await ended(informer)
    assert not informer.has_synced


async def test_it_can_be_stopped_while_a_full_handler_holds_it_back() -> None:
    source = LoggedSource(*(f"n{number}" for number in range(10)))
    informer = informer_of(source)

    async def stuck(obj: Unstructured) -> None:
        await asyncio.Event().wait()

    registration = informer.add_event_handler(on_add=stuck, policy="block", capacity=1)
    with nothing_left():
        informer.start()
        await wait_until(lambda: registration.stats.depth > 0)
        informer.stop()
        await ended(informer)


async def test_a_stop_before_the_first_step_is_a_stop() -> None:
    informer = informer_of(LoggedSource("a"))
    with nothing_left():
        informer.start()
        informer.stop()
        await ended(informer)
    assert informer.is_stopped
    async with informer:
        await informer.has_synced


def test_stopping_what_never_started_does_nothing() -> None:
    informer = informer_of(LoggedSource())
    informer.stop()
    assert (informer.was_started, informer.is_running, informer.is_stopped) == (False,) * 3


async def test_a_run_ends_with_the_stop() -> None:
    informer = informer_of(LoggedSource("a"))
    informer.add_event_handler(on_add=lambda obj: informer.stop())
    with nothing_left():
        async with asyncio.timeout(20):
            await informer.run()
    assert informer.is_stopped


def test_the_end_of_its_loop_is_its_end_too() -> None:
    informer = informer_of(LoggedSource("a"))
    recorder = Recorder()
    informer.add_event_handler(recorder)
    threads = set(threading.enumerate())

    async def forget_to_stop() -> None:
        informer.start()
        await recorder.until("add a@1 initial")

    asyncio.run(forget_to_stop())
    assert informer.is_stopped
    assert set(threading.enumerate()) - threads == set()


async def test_a_fault_of_its_own_ends_it_and_is_told_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Fault(BaseException):
        """What no part of the engine expects."""

    def fails(_pod: Unstructured) -> list[str]:
        raise Fault("of the machine")

    informer = informer_of(LoggedSource("a"), indexers={"bad": fails})
    with nothing_left():
        informer.start()
        await ended(informer)

    assert "pods stopped because of an internal error" in caplog.text
    assert "of the machine" in caplog.text


async def test_metrics_that_fail_are_told_in_the_log_and_nobody_suffers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(NoMetrics):
        def processed(self, informer: str, seconds: float) -> None:
            raise LookupError("no such metric")

    informer = informer_of(LoggedSource("a"), metrics=Broken())
    async with informer:
        await informer.has_synced
        assert informer.is_running
        assert len(informer.indexer) == 1

    assert "metrics failed in processed" in caplog.text


# -- starting again --------------------------------------------------------------------------


async def test_after_a_restart_handlers_are_told_the_difference_alone(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("b"))
    kinform_api.create(config_map("c"))
    transformed: list[str] = []
    informer = maps_of(
        client, transform=lambda obj: transformed.append(f"{obj.name} {obj.resource_version}")
    )
    told: list[str] = []
    done = Latch("done")

    class Telling:
        def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
            told.append(f"add {obj.name} {is_in_initial_list}")
            if obj.name == "end":
                done.set()

        def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
            told.append(f"update {new.name}")

        def on_delete(self, deleted: Any, /) -> None:
            told.append(f"delete {deleted.name} {deleted.final_state_unknown}")

    registration = informer.add_event_handler(Telling())
    async with informer:
        await registration.has_synced
    store, version = informer.indexer, informer.last_sync_resource_version
    assert sorted(told) == ["add a True", "add b True", "add c True"]
    told.clear()

    kinform_api.patch(MAPS, "a", {"data": {"x": "y"}}, "default")
    kinform_api.delete(MAPS, "b", "default")
    kinform_api.create(config_map("d"))
    assert sorted(store.list_keys()) == ["default/a", "default/b", "default/c"]
    assert informer.has_synced
    assert informer.last_sync_resource_version == version
    async with informer:
        await informer.wait_for_rv(kinform_api.resource_version)
        kinform_api.create(config_map("end"))
        await done

    assert informer.indexer is store
    assert told[0] == "delete b True"
    assert sorted(told[1:3]) == ["add d False", "update a"]
    assert told[3:] == ["add end False"]
    # What did not change was not transformed again.
    assert len(transformed) == len(set(transformed)) == 6


async def test_what_a_plain_handler_was_not_told_it_is_told_after_the_restart() -> None:
    source = LoggedSource("a", "b", "c")
    informer = informer_of(source)
    told: list[str] = []
    began, go_on, done = Latch("began"), threading.Event(), Latch("done")

    def on_add(obj: Unstructured) -> None:
        began.set()
        go_on.wait(30)
        told.append(obj.name)
        if obj.name == "d":
            done.set()

    registration = informer.add_event_handler(on_add=on_add, run_on="thread")
    async with informer:
        await began
    assert registration.stats.depth == 2
    go_on.set()
    source.add("d")
    async with informer:
        await done

    assert told == ["a", "b", "c", "d"]


def test_it_may_be_started_again_on_another_loop() -> None:
    names: list[list[str]] = []
    source = LoggedSource("x")
    informer = informer_of(source)

    async def live() -> None:
        async with informer:
            await informer.wait_for_rv(source.version)
            names.append(sorted(obj.name for obj in informer.indexer.list()))

    asyncio.run(live())
    source.add("y")
    asyncio.run(live())

    assert names == [["x"], ["x", "y"]]


async def test_handlers_may_be_added_again_after_a_restart() -> None:
    informer = informer_of(LoggedSource("a"))
    async with informer:
        await informer.has_synced
    with pytest.raises(AlreadyStoppedError, match="start it again"):
        informer.events()
    late = Recorder()
    async with informer:
        registration = informer.add_event_handler(late)
        await registration.has_synced

    assert late.lines == ["add a@1 initial"]


async def test_it_is_not_started_while_it_runs_nor_while_it_is_still_stopping() -> None:
    source = LoggedSource("a")
    informer = informer_of(source)
    informer.start()
    with pytest.raises(AlreadyStartedError, match="pods is already running"):
        informer.start()
    await informer.has_synced
    informer.stop()
    with pytest.raises(AlreadyStartedError, match="pods is already running"):
        informer.start()
    await ended(informer)
    informer.start()
    source.add("b")
    await informer.wait_for_rv("2")
    # After the restart nothing is asked for that is older than the store.
    assert source.versions == ["0", "1", "1", "2"]
    informer.stop()
    await ended(informer)


async def test_it_can_be_restarted_many_times() -> None:
    source = LoggedSource("a")
    informer = informer_of(source)
    recorder = Recorder()
    informer.add_event_handler(recorder)
    with nothing_left():
        for number in range(10):
            source.add(f"n{number}")
            async with informer:
                await informer.wait_for_rv(source.version)
                await recorder.until(f"add n{number}@{number + 2}{' initial' * (number == 0)}")
    assert len(recorder.lines) == 11


# -- settings --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_running", [True, False], ids=["running", "stopped"])
async def test_settings_are_refused_once_it_was_started(is_running: bool) -> None:
    informer = informer_of(LoggedSource("a"))
    informer.set_transform(None)
    informer.set_watch_error_handler(None)
    informer.start()
    if not is_running:
        informer.stop()
        await informer.stopped
    setters: list[Callable[[], None]] = [
        lambda: informer.set_transform(None),
        lambda: informer.set_watch_error_handler(None),
    ]
    for set_it in setters:
        with pytest.raises(AlreadyStartedError, match="pods has already been started"):
            set_it()
    informer.stop()
    await informer.stopped


async def test_the_transform_and_the_error_handler_that_were_set_last_count() -> None:
    source = LoggedSource("a")
    source.list_error = RuntimeError("out of order")
    told: list[WatchFailure] = []
    heard = asyncio.Event()

    def hear(failure: WatchFailure) -> None:
        told.append(failure)
        source.list_error = None
        heard.set()

    def fail(obj: object) -> None:
        raise AssertionError("replaced before the start")

    def mark(obj: Unstructured) -> None:
        obj["spec"] = {"marked": True}

    informer = informer_of(source, transform=fail, on_watch_error=fail)
    informer.set_transform(mark)
    informer.set_watch_error_handler(hear)
    async with informer:
        await heard.wait()
        await informer.has_synced
        assert [obj["spec"] for obj in informer.indexer.list()] == [{"marked": True}]

    assert [(each.name, each.phase, each.resource_version) for each in told] == [
        ("pods", Phase.LISTING, "")
    ]
    assert "out of order" in str(told[0].error)


async def test_the_error_handler_hears_of_a_lost_watch_where_it_was(
    kinform_api: ApiServer, client: Client
) -> None:
    told: list[WatchFailure] = []
    kinform_api.faults.inject(faults.drop_connection(), verb="watch", resource="configmaps")
    kinform_api.faults.inject(faults.forbidden(), verb="watch", resource="configmaps")
    informer = maps_of(
        client,
        on_watch_error=told.append,
        options=ReflectorOptions(streaming=False, backoff=lambda: Backoff(0.01, cap=0.02)),
    )
    async with informer:
        await wait_until(lambda: len(told) == 2)
        version = informer.last_sync_resource_version

    assert [each.phase for each in told] == [Phase.WATCHING] * 2
    assert [each.resource_version for each in told] == [version] * 2
    assert isinstance(told[1].error, ApiError)
    assert told[1].error.code == 403
    assert [each.attempts for each in told] == [1, 2]


def test_what_nobody_would_await_is_refused() -> None:
    async def hear(failure: WatchFailure) -> None: ...

    async def transform(obj: Unstructured) -> None: ...

    informer = informer_of(LoggedSource())
    with pytest.raises(ConfigError, match="on_watch_error"):
        informer.set_watch_error_handler(hear)
    with pytest.raises(ConfigError, match="on_watch_error"):
        informer_of(LoggedSource(), on_watch_error=hear)
    with pytest.raises(ConfigError, match="transform"):
        informer.set_transform(transform)  # type: ignore[arg-type]  # what mypy would tell as well
    with pytest.raises(ConfigError, match="transform"):
        informer_of(LoggedSource(), transform=transform)
