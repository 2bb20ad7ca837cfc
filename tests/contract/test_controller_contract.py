"""The contract of controllers, on the embedded and on the real server.

``cr-N`` in a docstring is item N of the tests of controller-runtime that docs/parity.md lists.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from kinform.controllers import (
    LOW_PRIORITY,
    After,
    Channel,
    Context,
    Controller,
    Done,
    Request,
    Result,
    Retry,
    Terminal,
    Watch,
)
from kinform.errors import AlreadyStartedError, CacheSyncError, StateError, TerminalError
from kinform.informers import InformerEvent
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.workqueue import ExponentialBackoff
from tests.contract.controller_world import (
    ControllerWorld,
    CountedReconciles,
    HeldSource,
    Seen,
    soon,
    tasks,
)
from tests.support.controllers import running
from tests.support.waiting import wait_until


def maps_controller(reconciler: Any, **options: Any) -> Controller[Any]:
    options.setdefault("rate_limiter", soon())
    return Controller("maps", reconciler, for_=ConfigMap, **options)


# -- start ---------------------------------------------------------------------------------------


async def test_no_reconcile_before_every_handler_has_its_initial_objects(
    world: ControllerWorld,
) -> None:
    """cr-28: a cache that has synced is not enough; a map function may still be at work."""
    await world.create_map("a")
    await world.create_secret("s")
    gate = asyncio.Event()
    mapping = asyncio.Event()

    async def slow(secret: Any) -> list[Request]:
        mapping.set()
        await gate.wait()
        return [world.request("b")]

    seen = Seen()
    controller = maps_controller(seen, watches=[Watch(Secret, map=slow)])
    run = asyncio.create_task(controller.run(world.cluster))
    await mapping.wait()
    assert await world.cluster.cache.list(ConfigMap)  # that source has synced
    await wait_until(lambda: controller.status().sources[0].has_synced)
    assert controller.status().state == "warming up"
    assert seen.calls == []

    gate.set()
    await seen.called(2)
    assert sorted(seen.names) == ["a", "b"]
    controller.stop()
    await run


async def test_source_that_does_not_sync_in_time_is_named(world: ControllerWorld) -> None:
    """cr-29: the error names the source; everything is closed, and may be warmed up again."""
    held = HeldSource("slow-source")
    seen = Seen()
    controller = maps_controller(seen, watches=[held], sync_timeout=0.2)
    await world.cluster.cache.list(ConfigMap)  # its informer belongs to the cache
    before = tasks()
    with pytest.raises(CacheSyncError, match="slow-source"):
        await controller.warm_up(world.cluster)
    assert held.opened[0].is_closed
    assert controller.status().state == "closed"
    assert tasks() <= before

    with pytest.raises(CacheSyncError, match="slow-source"):
        await controller.run(world.cluster)
    held.on_open = lambda queue: held.sync()
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(1)


async def test_cancelled_warm_up_is_no_failure(world: ControllerWorld) -> None:
    """cr-29: cancelling while a source syncs raises no error of sources, and leaves nothing."""
    held = HeldSource()
    controller = maps_controller(Seen(), watches=[held])
    for start in (controller.warm_up, controller.run):
        start_up = asyncio.create_task(start(world.cluster))
        count = len(held.opened) + 1
        await wait_until(lambda count=count: len(held.opened) == count)  # type: ignore[misc]
        start_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await start_up
        assert held.opened[-1].is_closed
        assert controller.status().state == "closed"


async def test_source_that_cannot_be_opened_fails_the_start(world: ControllerWorld) -> None:
    """cr-29: an exception of a source is raised, and the sources before it are closed again."""
    held, broken = HeldSource("first"), HeldSource("broken")

    def fail(_: Any) -> None:
        raise RuntimeError("no such host")

    broken.on_open = fail
    controller = maps_controller(Seen(), watches=[held, broken])
    with pytest.raises(Exception, match="no such host"):
        await controller.warm_up(world.cluster)
    assert held.opened[0].is_closed
    assert controller.status().state == "closed"


async def test_controller_starts_once(world: ControllerWorld) -> None:
    """cr-30: warming up and running again are refused while it runs, in every state."""
    controller = maps_controller(Seen())
    await controller.warm_up(world.cluster)
    with pytest.raises(AlreadyStartedError):
        await controller.warm_up(world.cluster)
    with pytest.raises(AlreadyStartedError):
        await controller.run(world.cluster)
    work = asyncio.create_task(controller.work())
    await wait_until(lambda: controller.status().state == "working")
    with pytest.raises(AlreadyStartedError):
        await controller.warm_up(world.cluster)
    with pytest.raises(AlreadyStartedError):
        await controller.run(world.cluster)
    with pytest.raises(StateError):
        await controller.work()
    assert controller.status().state == "working"
    controller.stop()
    await work
    await controller.close()


async def test_concurrent_starts_open_each_source_once(world: ControllerWorld) -> None:
    """cr-31: one of them starts, the others are refused and do not disturb it."""
    held = HeldSource()
    held.on_open = lambda queue: held.sync()
    seen = Seen()
    controller = maps_controller(seen, watches=[held])
    outcomes = await asyncio.gather(
        *(controller.warm_up(world.cluster) for _ in range(5)), return_exceptions=True
    )
    assert sum(outcome is None for outcome in outcomes) == 1
    assert sum(isinstance(outcome, AlreadyStartedError) for outcome in outcomes) == 4
    assert len(held.opened) == 1
    assert not held.opened[0].is_closed
    await controller.close()
    assert held.opened[0].is_closed


async def test_sources_are_opened_anew_by_the_next_start(world: ControllerWorld) -> None:
    """cr-31: Differs: a controller can be started again, so it keeps its sources."""
    await world.create_map("a")
    held = HeldSource()
    held.on_open = lambda queue: held.sync()
    seen = Seen()
    controller = maps_controller(seen, watches=[held])
    for count in (1, 2, 3):
        async with running(controller, world.cluster):
            await seen.called(count)
        assert len(held.opened) == count
        assert all(source.is_closed for source in held.opened)
    assert len(controller.status().sources) <= 2


# -- results -------------------------------------------------------------------------------------


async def test_error_is_tried_again_until_a_success(world: ControllerWorld) -> None:
    """cr-32: with growing attempts, and with fresh ones after the success."""
    seen = Seen(RuntimeError("one"), RuntimeError("two"), None, RuntimeError("three"))
    controller = maps_controller(seen)
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(3)
        await wait_until(lambda: controller.queue.num_requeues(world.request("a")) == 0)
        await world.label_map("a", step="2")
        await seen.called(5)
        assert seen.attempts == [1, 2, 3, 1, 2]
        await wait_until(lambda: controller.status().outcomes.get("success") == 2)
        assert controller.status().outcomes["error"] == 3
        failures = controller.status().failures
        assert [failure.attempt for failure in failures] == [1, 2, 1]  # the newest first
        assert "three" in failures[0].error
        assert failures[0].key == f"{world.namespace}/a"
        assert controller.problems() == ()


class RefusedByPolicyError(TerminalError):
    """A terminal error of a program."""


@pytest.mark.parametrize(
    "answer",
    [
        Terminal("never"),
        TerminalError("never"),
        RefusedByPolicyError("never"),
    ],
    ids=["returned", "raised", "subclass"],
)
async def test_terminal_failure_is_not_tried_again(
    world: ControllerWorld, answer: Result | BaseException
) -> None:
    """cr-32: Differs in that it ends the series of failures; the next change starts with one."""
    seen = Seen(RuntimeError("first"), answer)
    controller = maps_controller(seen)
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(2)
        await wait_until(lambda: controller.status().outcomes.get("terminal") == 1)
        assert controller.queue.status().delayed == 0
        assert controller.queue.num_requeues(world.request("a")) == 0
        await controller.queue.when_processed()
        assert controller.status().failures[0].is_terminal
        assert "never" in controller.status().failures[0].error
        await world.label_map("a", step="2")
        await seen.called(3)
        assert seen.attempts == [1, 2, 1]


async def test_terminal_cause_of_another_error_is_a_retry(world: ControllerWorld) -> None:
    """cr-32: Differs: controller-runtime looks through the whole chain, kinform at the error."""

    async def reconcile(request: Request, context: Context[Any]) -> None:
        attempts.append(context.attempt)
        if context.attempt == 1:
            raise RuntimeError("while rendering") from TerminalError("bad spec")

    attempts: list[int] = []
    controller = maps_controller(reconcile)
    async with running(controller, world.cluster):
        await world.create_map("a")
        await wait_until(lambda: attempts == [1, 2])


async def test_backoff_is_not_reset_before_a_result_that_is_no_failure(
    world: ControllerWorld,
) -> None:
    """cr-32: errors and polls count on, whichever comes; success and ``After`` begin anew."""
    seen = Seen(
        RuntimeError("one"),
        Retry("not yet"),
        RuntimeError("two"),
        Retry(),
        After(0.001),
        RuntimeError("three"),
        Done(),
    )
    controller = maps_controller(seen)
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(7)
        assert seen.attempts == [1, 2, 3, 4, 5, 1, 2]
        await wait_until(lambda: controller.queue.num_requeues(world.request("a")) == 0)
        await wait_until(lambda: controller.status().outcomes.get("success") == 1)
        assert controller.status().outcomes == {
            "success": 1,
            "error": 3,
            "requeue": 2,
            "requeue_after": 1,
            "terminal": 0,
        }


async def test_after_does_not_use_the_rate_limiter(world: ControllerWorld) -> None:
    """cr-33: after the given time, however many failures there were."""
    seen = Seen(RuntimeError("one"), After(0.02), After(0), After(0.01, priority=3))
    asked: list[Any] = []

    class Asked(ExponentialBackoff):
        def next_delay(self, key: Any) -> float:
            asked.append(key)
            return 0.0 * super().next_delay(key)

    controller = maps_controller(seen, rate_limiter=Asked())
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(5)
        assert len(asked) == 1  # by the error
        assert seen.attempts == [1, 2, 1, 1, 1]
        assert seen.priorities[-1] == 3


async def test_change_comes_before_a_distant_after(world: ControllerWorld) -> None:
    """cr-33: the earlier of both counts, and the later one is kept for then."""
    seen = Seen(After(3600), After(3600))
    controller = maps_controller(seen)
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(1)
        await world.label_map("a", step="2")
        await seen.called(2)
        await wait_until(lambda: controller.queue.status().delayed == 1)


@pytest.mark.parametrize("answer", [RuntimeError("x"), Retry(), After(0.001)], ids=str)
async def test_priority_is_kept(world: ControllerWorld, answer: Result | BaseException) -> None:
    """cr-34: objects of the initial list keep their low priority, changes their high one."""
    await world.create_map("old")
    seen = Seen(answer, None, answer)
    controller = maps_controller(seen)
    async with running(controller, world.cluster):
        await seen.called(2)
        assert seen.priorities == [LOW_PRIORITY, LOW_PRIORITY]
        await world.create_map("new")
        await seen.called(4)
        assert seen.priorities == [LOW_PRIORITY, LOW_PRIORITY, 0, 0]


@pytest.mark.parametrize("answer", [Retry(priority=7), After(0.001, priority=7)], ids=str)
async def test_result_overrides_the_priority(world: ControllerWorld, answer: Result) -> None:
    """cr-34: also upwards from that of the initial list; an exception has none to give."""
    await world.create_map("old")
    seen = Seen(answer, RuntimeError("keeps it"))
    controller = maps_controller(seen)
    async with running(controller, world.cluster):
        await seen.called(3)
        assert seen.priorities == [LOW_PRIORITY, 7, 7]


class Poison(BaseException):
    """What ``except Exception`` does not catch."""


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("x"),
        StopAsyncIteration(),
        TimeoutError(),
        asyncio.CancelledError(),
        ExceptionGroup("several", [ValueError("x")]),
        Poison(),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("kind", ["async", "def"])
async def test_whatever_is_raised_is_a_retry(
    world: ControllerWorld, error: BaseException, kind: str
) -> None:
    """cr-35: a failure of one key ends neither its worker nor the controller."""
    attempts: list[tuple[str, int]] = []

    async def reconcile(request: Request, context: Context[Any]) -> None:
        reconcile_on_thread(request, context)

    def reconcile_on_thread(request: Request, context: Context[Any]) -> None:
        attempts.append((request.name, context.attempt))
        if request.name == "bad" and context.attempt < 3:
            raise error

    controller = maps_controller(reconcile if kind == "async" else reconcile_on_thread)
    async with running(controller, world.cluster):
        await world.create_map("bad")
        await wait_until(lambda: ("bad", 3) in attempts)
        await world.create_map("good")
        await wait_until(lambda: ("good", 1) in attempts)
        assert controller.status().state == "working"
        assert controller.status().outcomes["error"] == 2
        assert controller.status().failures[0].error.startswith(type(error).__name__)


# -- timeouts ------------------------------------------------------------------------------------


async def _returns(context: Context[Any]) -> None:
    return None


async def _hangs(context: Context[Any]) -> None:
    if context.attempt == 1:
        await asyncio.Event().wait()


async def _raises_timeout(context: Context[Any]) -> None:
    if context.attempt == 1:
        raise TimeoutError("of a program")


async def _limits_itself(context: Context[Any]) -> None:
    if context.attempt == 1:
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()


async def _raises_another_error_when_cancelled(context: Context[Any]) -> None:
    if context.attempt == 1:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise RuntimeError("cleaned up") from None


@pytest.mark.parametrize(
    ("body", "timeout", "timeouts", "errors"),
    [
        (_returns, None, 0, 0),
        (_returns, 30.0, 0, 0),
        (_hangs, 0.02, 1, 1),
        (_raises_timeout, 30.0, 0, 1),
        (_limits_itself, 30.0, 0, 1),
        (_limits_itself, None, 0, 1),
        (_raises_another_error_when_cancelled, 0.02, 1, 1),
    ],
)
async def test_timeouts_are_counted_if_they_are_those_of_the_controller(
    world: ControllerWorld, body: Any, timeout: float | None, timeouts: int, errors: int
) -> None:
    """cr-36: a timeout inside of the reconciler is an error like others."""
    counted = CountedReconciles()

    async def reconcile(request: Request, context: Context[Any]) -> None:
        await body(context)

    controller = maps_controller(reconcile, timeout=timeout, metrics=counted)
    async with running(controller, world.cluster):
        await world.create_map("a")
        await wait_until(lambda: "success" in counted.results)
        assert counted.results == ["error"] * errors + ["success"]
        assert counted.timeouts == controller.status().timeouts == timeouts


# -- warm standby --------------------------------------------------------------------------------


async def test_standby_has_its_queue_filled_before_it_works(world: ControllerWorld) -> None:
    """cr-37: sources run without workers; changes meanwhile are one key each."""
    await world.create_map("a")
    seen = Seen()
    events: list[str] = []

    def note(event: InformerEvent[Any]) -> bool:
        events.append(event.key)
        return True

    controller = maps_controller(seen, when=note)
    await controller.warm_up(world.cluster)
    assert controller.status().state == "standby"
    await world.create_map("b")
    await world.label_map("b", step="2")
    await wait_until(lambda: len(events) == 3)
    assert len(controller.queue) == 2
    assert seen.calls == []
    work = asyncio.create_task(controller.work())
    await seen.called(2)
    assert sorted(seen.names) == ["a", "b"]
    controller.stop()
    await work
    await controller.close()


async def test_source_added_after_warm_up_is_opened_at_once(world: ControllerWorld) -> None:
    """cr-37: in standby and at work alike."""
    await world.create_secret("s")
    seen = Seen()
    channel: Channel[Request] = Channel()
    controller: Controller[Any] = Controller("maps", seen, watches=[channel])
    await controller.warm_up(world.cluster)
    source = await controller.watch(Secret)
    await source.has_synced
    assert len(controller.queue) == 1
    work = asyncio.create_task(controller.work())
    await seen.called(1)
    added = await controller.watch(ConfigMap)
    await world.create_map("a")
    await seen.called(2)
    assert seen.names == ["s", "a"]
    await added.close()
    await source.close()
    await world.create_map("b")
    channel.send(world.request("last"))
    await seen.called(3)
    assert seen.names[2:] == ["last"]
    controller.stop()
    await work
    await controller.close()


@pytest.mark.parametrize("end", ["stop", "cancel", "close", "cancel run"])
async def test_nothing_is_left_after_any_end(world: ControllerWorld, end: str) -> None:
    """cr-37: no task, thread or handler, whichever way it ends."""
    await world.create_map("a")
    await world.cluster.cache.list(ConfigMap)
    before, threads = tasks(), set(threading.enumerate())
    called = threading.Event()

    def reconcile(request: Request, context: Context[Any]) -> Result:
        called.set()
        return After(3600)

    controller = maps_controller(reconcile, workers=3)
    if end == "cancel run":
        work = asyncio.create_task(controller.run(world.cluster))
    else:
        await controller.warm_up(world.cluster)
        work = asyncio.create_task(controller.work())
    await wait_until(called.is_set)
    await wait_until(lambda: controller.queue.status().delayed == 1)
    if end == "stop":
        controller.stop()
    elif end != "close":
        work.cancel()
    await asyncio.wait_for(controller.close(), 10)
    await asyncio.wait([work], timeout=10)
    assert work.done()
    await wait_until(lambda: tasks() <= before)
    await wait_until(lambda: set(threading.enumerate()) <= threads)
    assert controller.status().state == "closed"


async def test_work_needs_a_warm_up(world: ControllerWorld) -> None:
    """cr-37: without it, work is refused; ``run`` does both."""
    controller = maps_controller(Seen())
    with pytest.raises(StateError):
        await controller.work()
    await controller.warm_up(world.cluster)
    await controller.close()
    with pytest.raises(StateError):
        await controller.work()


# -- names ---------------------------------------------------------------------------------------


async def test_names_need_not_be_unique_in_a_process(world: ControllerWorld) -> None:
    """cr-38: Differs: there is no global register; both work."""
    one, two = Seen(), Seen()
    async with (
        running(maps_controller(one), world.cluster),
        running(maps_controller(two), world.cluster),
    ):
        await world.create_map("a")
        await one.called(1)
        await two.called(1)


async def test_controller_that_is_never_started_runs_nothing(world: ControllerWorld) -> None:
    """cr-38: the constructor starts no task and no thread, and asks no server."""
    before, threads = tasks(), threading.active_count()
    informers = list(world.cluster.cache.informers)
    controller = maps_controller(Seen(), owns=[Secret], watches=[HeldSource()], workers=10)
    assert tasks() == before
    assert threading.active_count() == threads
    assert list(world.cluster.cache.informers) == informers
    assert controller.status().state == "new"
    assert controller.status().queue is None
    assert controller.status().workers == 10
    controller.stop()
    await controller.close()


async def test_defaults_are_those_of_controller_runtime(world: ControllerWorld) -> None:
    """cr-38: one worker, the leader only; failures are tried again without any option."""
    seen = Seen(RuntimeError("x"))
    controller = Controller("maps", seen, for_=ConfigMap)
    assert controller.needs_leader
    assert controller.name == "maps"
    async with running(controller, world.cluster):
        await world.create_map("a")
        await seen.called(2)
        assert controller.status().workers == 1
