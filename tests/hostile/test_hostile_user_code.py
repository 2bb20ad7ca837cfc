"""What programs do wrong with a controller: it stays visible, and ends nothing else."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kinform import Cache, Client
from kinform.controllers import (
    After,
    Channel,
    Cluster,
    Context,
    Controller,
    Leadership,
    Request,
    Retry,
    Stream,
    Timer,
    Watch,
)
from kinform.errors import AlreadyStoppedError, CacheSyncError, LeadershipLostError, StateError
from kinform.metrics import NoMetrics
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.testing import ApiServer
from kinform.workqueue import ExponentialBackoff
from tests.support.config_maps import MAPS, config_map
from tests.support.controllers import running
from tests.support.waiting import wait_until


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
async def cluster(api: ApiServer) -> AsyncIterator[Cluster]:
    async with Client(api.config) as client:
        found = Cluster(client)
        async with found.cache:
            yield found


def sent(reconciler: Any, channel: Channel[Any], **options: Any) -> Controller[Any]:
    options.setdefault("rate_limiter", ExponentialBackoff(0.001, cap=0.01))
    return Controller("sent", reconciler, watches=[channel], **options)


# -- reconcilers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["then awaits", "then returns", "twice", "and catches it"])
async def test_reconciler_that_cancels_itself_ends_no_worker(cluster: Cluster, how: str) -> None:
    calls: list[tuple[str, int]] = []

    async def reconcile(request: str, context: Context[Any]) -> None:
        calls.append((request, context.attempt))
        if request != "bad" or context.attempt > 2:
            return
        task = asyncio.current_task()
        assert task is not None
        for _ in range(2 if how == "twice" else 1):
            task.cancel()
        if how == "then returns":
            return
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            if how != "and catches it":
                raise

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    async with running(controller, cluster):
        channel.send("bad")
        await wait_until(lambda: bool(calls))
        channel.send("good")
        await wait_until(lambda: ("good", 1) in calls)
        assert controller.status().state == "working"
        if how in ("then awaits", "twice"):
            await wait_until(lambda: ("bad", 3) in calls)
        assert controller.status().active == {}


@pytest.mark.parametrize("answer", ["returns", "raises"])
async def test_reconciler_that_swallows_cancellation_does_not_keep_the_work_alive(
    cluster: Cluster, answer: str
) -> None:
    started = asyncio.Event()

    async def reconcile(request: str, context: Context[Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if answer == "raises":
                raise RuntimeError("cleaned up") from None

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    await controller.warm_up(cluster)
    work = asyncio.create_task(controller.work())
    channel.send("a")
    await started.wait()
    work.cancel()
    done, _ = await asyncio.wait([work], timeout=10)
    assert done == {work}
    assert work.cancelled()
    await controller.close()


async def test_lost_leadership_ends_workers_that_swallow_cancellation(cluster: Cluster) -> None:
    clock = [0.0]
    leadership = Leadership("me", 1, valid_until=10.0, clock=lambda: clock[0])
    started = asyncio.Event()

    async def reconcile(request: str, context: Context[Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel, workers=2)
    await controller.warm_up(cluster)
    work = asyncio.create_task(controller.work(leadership))
    channel.send("a")
    await started.wait()
    clock[0] = 11.0
    channel.send("b")
    with pytest.raises(LeadershipLostError):
        await asyncio.wait_for(work, 10)
    assert controller.queue.status().oldest_key == "b"
    await controller.close()


async def test_timeout_counts_though_the_reconciler_returns_something(cluster: Cluster) -> None:
    calls: list[int] = []

    async def reconcile(request: str, context: Context[Any]) -> After:
        calls.append(context.attempt)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return After(3600)
        raise AssertionError

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel, timeout=0.01)
    async with running(controller, cluster):
        channel.send("a")
        await wait_until(lambda: controller.status().outcomes["requeue_after"] == 1)
        assert controller.status().timeouts == 1
        channel.send("b")
        await wait_until(lambda: controller.status().timeouts == 2)


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise ValueError("broken")


async def test_error_without_a_text_is_a_retry(cluster: Cluster) -> None:
    attempts: list[int] = []

    async def reconcile(request: str, context: Context[Any]) -> None:
        attempts.append(context.attempt)
        if context.attempt == 1:
            raise UnreadableError

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    async with running(controller, cluster):
        channel.send("a")
        await wait_until(lambda: attempts == [1, 2])
        assert controller.status().failures[0].error.startswith("UnreadableError")


@pytest.mark.parametrize("kind", ["async", "def"])
async def test_coroutine_that_is_returned_is_an_error(cluster: Cluster, kind: str) -> None:
    async def later() -> None:
        raise AssertionError

    async def reconcile(request: str, context: Context[Any]) -> Any:
        return later()

    def reconcile_on_thread(request: str, context: Context[Any]) -> Any:
        return later()

    channel: Channel[str] = Channel()
    controller = sent(reconcile if kind == "async" else reconcile_on_thread, channel)
    async with running(controller, cluster):
        channel.send("a")
        await wait_until(lambda: bool(controller.status().failures))
        assert "coroutine" in controller.status().failures[-1].error


async def test_tasks_of_a_reconciler_are_its_own(cluster: Cluster) -> None:
    async def reconcile(request: str, context: Context[Any]) -> None:
        spawned.append(asyncio.create_task(asyncio.sleep(3600)))

    spawned: list[asyncio.Task[None]] = []
    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    async with running(controller, cluster):
        channel.send("a")
        await wait_until(lambda: bool(spawned))
    assert not spawned[0].done()
    spawned[0].cancel()


class BrokenLimiter(ExponentialBackoff):
    def next_delay(self, key: Any) -> float:
        raise ZeroDivisionError


class BackwardLimiter(ExponentialBackoff):
    def next_delay(self, key: Any) -> float:
        return -1.0


@pytest.mark.parametrize("limiter", [BrokenLimiter(), BackwardLimiter()])
@pytest.mark.parametrize("result", ["error", "retry"])
async def test_rate_limiter_that_fails_loses_no_key(
    cluster: Cluster, limiter: ExponentialBackoff, result: str
) -> None:
    calls: list[str] = []

    async def reconcile(request: str, context: Context[Any]) -> Any:
        calls.append(request)
        if calls.count("a") == 1 and request == "a":
            if result == "retry":
                return Retry()
            raise RuntimeError("x")
        return None

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel, rate_limiter=limiter)
    async with running(controller, cluster):
        channel.send("a")
        await wait_until(lambda: bool(calls))
        channel.send("b")
        await wait_until(lambda: calls.count("a") == 2 and "b" in calls)


class BrokenMetrics(NoMetrics):
    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        raise RuntimeError("metrics")

    def workers_started(self, controller: str, workers: int, active: Callable[[], int]) -> None:
        raise RuntimeError("metrics")

    def workers_stopped(self, controller: str) -> None:
        raise RuntimeError("metrics")


async def test_metrics_that_raise_end_nothing(cluster: Cluster) -> None:
    calls: list[str] = []

    async def reconcile(request: str, context: Context[Any]) -> None:
        calls.append(request)

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel, metrics=BrokenMetrics())
    async with running(controller, cluster):
        channel.send("a")
        channel.send("b")
        await wait_until(lambda: calls == ["a", "b"])
        controller.stop()


# -- life ----------------------------------------------------------------------------------------


async def test_def_reconciler_works_after_a_restart(cluster: Cluster) -> None:
    names: list[str] = []

    def reconcile(request: str, context: Context[Any]) -> None:
        names.append(request)

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel, workers=2)
    for count in (1, 2, 3):
        async with running(controller, cluster):
            channel.send(f"n{count}")
            await wait_until(lambda count=count: len(names) == count)  # type: ignore[misc]


async def test_abandoned_thread_does_not_take_the_place_of_a_new_one(cluster: Cluster) -> None:
    gate = threading.Event()
    names: list[str] = []

    def reconcile(request: str, context: Context[Any]) -> None:
        names.append(request)
        if request == "hangs":
            gate.wait()

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    await controller.warm_up(cluster)
    work = asyncio.create_task(controller.work())
    channel.send("hangs")
    await wait_until(lambda: names == ["hangs"])
    await controller.close()  # does not wait for the thread for ever
    await asyncio.wait([work], timeout=10)
    assert work.done()
    try:
        async with running(controller, cluster):
            channel.send("next")
            await wait_until(lambda: "next" in names)
            gate.set()
            channel.send("last")
            await wait_until(lambda: "last" in names)
    finally:
        gate.set()


async def test_close_cancels_running_reconciles_and_waits_for_them(cluster: Cluster) -> None:
    started, cleaned = asyncio.Event(), asyncio.Event()

    async def reconcile(request: str, context: Context[Any]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cleaned.set()

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel, workers=3)
    await controller.warm_up(cluster)
    work = asyncio.create_task(controller.work())
    channel.send("a")
    await started.wait()
    await asyncio.gather(controller.close(), controller.close())
    assert cleaned.is_set()
    assert controller.status().state == "closed"
    assert controller.status().active == {}
    await asyncio.wait_for(work, 10)
    assert controller.status().state == "closed"
    async with running(controller, cluster):
        assert controller.status().sources[0].has_synced


async def test_reconciler_cannot_close_its_controller(cluster: Cluster) -> None:
    refused: list[StateError] = []

    async def reconcile(request: str, context: Context[Any]) -> None:
        try:
            await controller.close()
        except StateError as error:
            refused.append(error)
        controller.stop()

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    channel.send("a")
    await asyncio.wait_for(controller.run(cluster), 10)
    assert "stop()" in str(refused[0])


async def test_close_during_warm_up_ends_it_and_a_new_one_is_not_disturbed(
    api: ApiServer, cluster: Cluster
) -> None:
    gate, mapping = asyncio.Event(), asyncio.Event()

    async def slow(obj: Any) -> list[Request]:
        mapping.set()
        await gate.wait()
        return [Request("ns", "mapped")]

    calls: list[str] = []

    async def reconcile(request: Request, context: Context[Any]) -> None:
        calls.append(request.name)

    api.create(config_map("a"))
    controller: Controller[Any] = Controller(
        "maps", reconcile, for_=Secret, watches=[Watch(ConfigMap, map=slow)]
    )
    first = asyncio.create_task(controller.warm_up(cluster))
    await mapping.wait()
    await asyncio.wait_for(controller.close(), 10)
    assert controller.status().state == "closed"
    gate.set()
    async with running(controller, cluster):
        with pytest.raises(AlreadyStoppedError):
            await first
        await wait_until(lambda: calls == ["mapped"])


async def test_stop_before_work_is_final_until_the_next_warm_up(cluster: Cluster) -> None:
    calls: list[str] = []

    async def reconcile(request: str, context: Context[Any]) -> None:
        calls.append(request)

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    controller.stop()  # nothing to stop
    await controller.warm_up(cluster)
    channel.send("a")
    controller.stop()
    for _ in range(2):
        await asyncio.wait_for(controller.work(), 10)
    assert calls == []
    await controller.close()
    channel.send("b")
    async with running(controller, cluster):
        await wait_until(lambda: calls == ["b"])


async def test_source_added_while_the_controller_closes_is_closed_too(cluster: Cluster) -> None:
    async def reconcile(request: str, context: Context[Any]) -> None: ...

    async def endless() -> AsyncIterator[str]:
        try:
            await asyncio.Event().wait()
            yield ""
        finally:
            added.append(await controller.watch(Channel(name="late")))

    added: list[Any] = []
    controller: Controller[Any] = Controller("sent", reconcile, watches=[Stream(endless)])
    await controller.warm_up(cluster)
    await asyncio.sleep(0)
    await controller.close()
    assert [source.is_closed for source in added] == [True]


# -- sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mapped",
    [
        None,
        5,
        "default/web",
        Request("default", "web"),
        [{}],
        [[]],
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["async", "def"])
async def test_map_that_returns_no_list_of_keys_is_a_problem(
    api: ApiServer, cluster: Cluster, mapped: Any, kind: str
) -> None:
    def map_object(obj: Any) -> Any:
        return mapped if obj.name == "bad" else [Request("ns", obj.name)]

    async def map_object_async(obj: Any) -> Any:
        return map_object(obj)

    calls: list[Any] = []

    async def reconcile(request: Any, context: Context[Any]) -> None:
        calls.append(request)

    watch: Watch[Any] = Watch(
        ConfigMap, map=map_object_async if kind == "async" else map_object, name="maps"
    )
    controller: Controller[Any] = Controller("maps", reconcile, watches=[watch])
    api.create(config_map("bad"))
    async with running(controller, cluster):
        assert controller.status().sources[0].failures == 1
        assert any("maps" in problem for problem in controller.problems())
        api.create(config_map("good"))
        await wait_until(lambda: bool(calls))
        assert calls == [Request("ns", "good")]


async def test_map_that_forgets_to_await_is_a_problem(api: ApiServer, cluster: Cluster) -> None:
    async def lookup(obj: Any) -> list[Request]:
        return []

    async def reconcile(request: Any, context: Context[Any]) -> None: ...

    watch: Watch[Any] = Watch(ConfigMap, map=lambda obj: lookup(obj))
    controller: Controller[Any] = Controller("maps", reconcile, watches=[watch])
    api.create(config_map("a"))
    async with running(controller, cluster):
        assert "list of keys" in controller.status().sources[0].problem


@pytest.mark.parametrize("answer", [1, "yes", [0], 0, "", None])
async def test_predicate_may_return_anything(api: ApiServer, cluster: Cluster, answer: Any) -> None:
    calls: list[str] = []

    async def reconcile(request: Request, context: Context[Any]) -> None:
        calls.append(request.name)

    controller: Controller[Any] = Controller(
        "maps",
        reconcile,
        watches=[Watch(ConfigMap, when=lambda e: e.key.endswith("last") or answer)],
    )
    async with running(controller, cluster):
        api.create(config_map("a"))
        api.create(config_map("last"))
        await wait_until(lambda: "last" in calls)
        assert ("a" in calls) is bool(answer)
        assert controller.problems() == ()


async def test_two_sources_of_one_kind_queue_a_key_once(api: ApiServer, cluster: Cluster) -> None:
    calls: list[str] = []

    async def reconcile(request: Request, context: Context[Any]) -> None:
        calls.append(request.name)

    controller: Controller[Any] = Controller("maps", reconcile, watches=[ConfigMap, ConfigMap])
    api.create(config_map("a"))
    await controller.warm_up(cluster)
    assert len(controller.queue) == 1
    assert len(api.requests.watches(MAPS)) == 1
    await controller.close()


async def test_cache_that_is_never_started_is_named(api: ApiServer) -> None:
    async def reconcile(request: Request, context: Context[Any]) -> None: ...

    async with Client(api.config) as client:
        cluster = Cluster(client, cache=Cache(client))
        controller: Controller[Any] = Controller(
            "maps", reconcile, for_=ConfigMap, sync_timeout=0.3
        )
        with pytest.raises(CacheSyncError, match=r"(?s)ConfigMap.*start"):
            await controller.warm_up(cluster)
        assert controller.status().state == "closed"


async def test_source_removed_while_its_map_hangs_is_removed(
    api: ApiServer, cluster: Cluster
) -> None:
    mapping, ended = asyncio.Event(), asyncio.Event()

    async def hangs(obj: Any) -> list[Request]:
        mapping.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return []

    calls: list[Any] = []

    async def reconcile(request: Any, context: Context[Any]) -> None:
        calls.append(request)

    channel: Channel[str] = Channel()
    controller = sent(reconcile, channel)
    async with running(controller, cluster):
        source = await controller.watch(Watch(ConfigMap, map=hangs))
        api.create(config_map("a"))
        await mapping.wait()
        await asyncio.wait_for(source.close(), 10)
        assert ended.is_set()
        channel.send("b")
        await wait_until(lambda: calls == ["b"])


async def test_channel_belongs_to_one_controller(cluster: Cluster) -> None:
    async def reconcile(request: str, context: Context[Any]) -> None:
        calls.append(request)

    calls: list[str] = []
    channel: Channel[str] = Channel()
    first, second = sent(reconcile, channel), sent(reconcile, channel)
    async with running(first, cluster):
        with pytest.raises(StateError, match="Channel"):
            await second.warm_up(cluster)
        channel.send("a")
        await wait_until(lambda: calls == ["a"])


async def test_timer_whose_function_returns_no_list_is_a_problem(cluster: Cluster) -> None:
    async def reconcile(request: str, context: Context[Any]) -> None: ...

    timer: Timer[Any] = Timer(60, lambda: None, name="nightly")  # type: ignore[arg-type,return-value]
    controller: Controller[Any] = Controller("timed", reconcile, watches=[timer])
    async with running(controller, cluster):
        await wait_until(lambda: bool(controller.problems()))
        assert "nightly" in controller.problems()[0]


# -- cost ----------------------------------------------------------------------------------------


async def test_ten_thousand_keys_in_backoff_cost_no_polling(cluster: Cluster) -> None:
    async def reconcile(request: int, context: Context[Any]) -> After:
        return After(3600)

    channel: Channel[int] = Channel()
    controller = sent(reconcile, channel, workers=4)
    async with running(controller, cluster):
        for number in range(10_000):
            channel.send(number)
        await wait_until(lambda: controller.queue.status().delayed == 10_000)
        loop = asyncio.get_running_loop()
        turns = 0
        select = loop._selector.select  # type: ignore[attr-defined]

        def counted(timeout: float | None = None) -> Any:
            nonlocal turns
            turns += 1
            return select(timeout)

        loop._selector.select = counted  # type: ignore[attr-defined]
        began = time.thread_time()
        await asyncio.sleep(2.0)
        spent = time.thread_time() - began
        loop._selector.select = select  # type: ignore[attr-defined]
        assert turns < 60  # the loop monitor asks twice a second
        assert spent < 0.2
