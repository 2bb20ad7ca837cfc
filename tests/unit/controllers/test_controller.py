"""Controllers on the embedded server: sources, workers, results, stop and restart."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client
from kinform.controllers import (
    After,
    Channel,
    Cluster,
    Context,
    Controller,
    Request,
    Result,
    Retry,
    Terminal,
    Watch,
    controller,
)
from kinform.errors import (
    AlreadyStartedError,
    CacheSyncError,
    ConfigError,
    LeadershipLostError,
    StateError,
    TerminalError,
)
from kinform.models.apps.v1 import Deployment, ReplicaSet
from kinform.models.core.v1 import ConfigMap, Node, Secret
from kinform.testing import ApiServer
from kinform.workqueue import ExponentialBackoff
from tests.support.config_maps import config_map
from tests.support.controllers import Reconciles, running, running_cluster
from tests.support.waiting import wait_until


@pytest.fixture
async def server() -> AsyncIterator[ApiServer]:
    async with ApiServer() as running:
        yield running


@pytest.fixture
async def cluster(server: ApiServer) -> AsyncIterator[Cluster]:
    async with running_cluster(server) as found:
        yield found


def maps_controller(reconciler: Any, **options: Any) -> Controller[Any]:
    return Controller("maps", reconciler, for_=ConfigMap, **options)


# -- events become reconciles --------------------------------------------------------------------


async def test_existing_and_new_objects_are_reconciled(server: ApiServer, cluster: Cluster) -> None:
    server.create(config_map("old"))
    reconciles = Reconciles()
    async with running(maps_controller(reconciles), cluster):
        assert await reconciles.called(1) == ["default/old"]
        server.create(config_map("new"))
        assert await reconciles.called(2) == ["default/old", "default/new"]
        server.delete(ConfigMap, "new")
        assert (await reconciles.called(3))[2] == "default/new"
    assert [priority for _, _, priority in reconciles.calls] == [-100, 0, 0]


async def test_owned_object_reconciles_its_controller(server: ApiServer, cluster: Cluster) -> None:
    reconciles = Reconciles()
    web = Controller("web", reconciles, for_=Deployment, owns=[ReplicaSet])
    references = [
        _reference("apps/v1", "Deployment", "shop", controller=True),
        _reference("apps/v1", "Deployment", "guest"),
        _reference("other.io/v1", "Deployment", "stranger", controller=True),
    ]
    async with running(web, cluster):
        server.create(_replica_set("rs", references))
        assert await reconciles.called(1) == ["default/shop"]
        server.create(_replica_set("orphan", []))
        server.create(
            _replica_set("rs2", [_reference("apps/v1beta1", "Deployment", "b", controller=True)])
        )
        await reconciles.called(2)
    assert reconciles.keys == ["default/shop", "default/b"]


async def test_every_owner_is_reconciled_when_asked_for(
    server: ApiServer, cluster: Cluster
) -> None:
    reconciles = Reconciles()
    every: Watch[Request] = Watch(ReplicaSet, owner=Deployment, every_owner=True)
    async with running(Controller("web", reconciles, watches=[every]), cluster):
        references = [_reference("apps/v1", "Deployment", name) for name in ("a", "b")]
        server.create(_replica_set("rs", references))
        assert sorted(await reconciles.called(2)) == ["default/a", "default/b"]


async def test_owner_without_a_namespace_is_reconciled_without_one(
    server: ApiServer, cluster: Cluster
) -> None:
    reconciles = Reconciles()
    nodes = Controller("nodes", reconciles, for_=Node, owns=[ConfigMap])
    async with running(nodes, cluster):
        owned = config_map("of-node")
        owned["metadata"]["ownerReferences"] = [_reference("v1", "Node", "n1", controller=True)]
        server.create(owned)
        assert await reconciles.called(1) == ["n1"]


async def test_update_is_mapped_by_its_old_and_new_object(
    server: ApiServer, cluster: Cluster
) -> None:
    reconciles = Reconciles()
    by_label: Watch[Request] = Watch(
        ConfigMap, map=lambda obj: [Request("", obj.labels["web"])] if "web" in obj.labels else []
    )
    server.create(config_map("a", web="one"))
    async with running(Controller("web", reconciles, watches=[by_label]), cluster):
        await reconciles.called(1)
        server.patch(ConfigMap, "a", {"metadata": {"labels": {"web": "two"}}})
        assert sorted((await reconciles.called(3))[1:]) == ["one", "two"]


async def test_map_may_be_async(server: ApiServer, cluster: Cluster) -> None:
    reconciles = Reconciles()

    async def to_requests(obj: ConfigMap) -> list[Request]:
        await asyncio.sleep(0)
        return [Request("", obj.name)]

    watch: Watch[Request] = Watch(ConfigMap, map=to_requests)
    async with running(Controller("web", reconciles, watches=[watch]), cluster):
        server.create(config_map("a"))
        assert await reconciles.called(1) == ["a"]


async def test_requests_of_another_cluster_have_its_name(
    server: ApiServer, cluster: Cluster
) -> None:
    clusters: list[str] = []

    async def reconcile(request: Request, context: Context[Request]) -> None:
        found = await context.client.get(ConfigMap, request.name, namespace=request.namespace)
        clusters.append(f"{request}={context.cluster.name}={found.data['in']}")

    async with ApiServer() as other, running_cluster(other, "east") as east:
        server.create(config_map("a", data={"in": "home"}))
        other.create(config_map("a", data={"in": "east"}))
        watch: Watch[Request] = Watch(ConfigMap, cluster=east)
        both = Controller("both", reconcile, for_=ConfigMap, watches=[watch])
        async with running(both, cluster):
            await wait_until(lambda: len(clusters) == 2)
    assert sorted(clusters) == ["default/a==home", "east:default/a=east=east"]


async def test_workers_start_after_every_source_has_delivered_what_exists(
    server: ApiServer, cluster: Cluster
) -> None:
    """cr-28: a slow handler of one source delays the first reconcile."""
    for number in range(5):
        server.create(config_map(f"m{number}"))
    delivered: list[str] = []
    counts: list[int] = []

    async def slow(obj: ConfigMap) -> list[Request]:
        await asyncio.sleep(0.01)
        delivered.append(obj.name)
        return [Request("", obj.name)]

    async def reconcile(_request: Request, _context: Context[Request]) -> None:
        counts.append(len(delivered))

    watch: Watch[Request] = Watch(ConfigMap, map=slow)
    async with running(Controller("web", reconcile, for_=Node, watches=[watch]), cluster):
        await wait_until(lambda: len(counts) == 5)
    assert counts[0] == 5


async def test_source_that_does_not_sync_is_named_with_the_reason(cluster: Cluster) -> None:
    """cr-29: the kind does not exist."""
    missing = Controller(
        "web", Reconciles(), for_="example.com/v1/missings", watches=[ConfigMap], sync_timeout=0.3
    )
    with pytest.raises(CacheSyncError, match=r"web cannot start.*missings.*no resource"):
        await missing.warm_up(cluster)
    assert missing.status().state == "closed"


async def test_optional_kind_is_watched_when_it_comes(server: ApiServer, cluster: Cluster) -> None:
    reconciles = Reconciles()
    late: Watch[Request] = Watch("example.com/v1/widgets", optional=True)
    async with running(Controller("web", reconciles, watches=[late]), cluster) as web:
        assert not web.status().sources[0].has_synced
        assert web.problems() == ()
        server.create(_definition())
        server.create({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}})
        assert await reconciles.called(1) == ["w"]


async def test_sources_come_and_go_while_the_controller_works(
    server: ApiServer, cluster: Cluster
) -> None:
    reconciles = Reconciles()
    server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s1"}})
    async with running(maps_controller(reconciles), cluster) as maps:
        added = await maps.watch(Secret)
        await added.has_synced
        assert await reconciles.called(1) == ["default/s1"]
        await added.close()
        server.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s2"}})
        server.create(config_map("a"))
        assert await reconciles.called(2) == ["default/s1", "default/a"]
        assert [source.name for source in maps.status().sources] == ["ConfigMap"]


# -- results -------------------------------------------------------------------------------------


async def test_failed_reconcile_is_tried_again_with_its_attempt_and_priority(
    server: ApiServer, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """cr-32, cr-34: an exception is a retry, logged with key and attempt."""

    def answer(context: Context[Any]) -> Result:
        if context.attempt < 3:
            raise ValueError("not yet")
        return None

    reconciles = Reconciles(answer)
    server.create(config_map("a"))
    async with running(maps_controller(reconciles), cluster) as maps:
        await reconciles.called(3)
        await wait_until(lambda: maps.status().outcomes["success"] == 1)
        assert maps.queue.num_requeues(Request("default", "a")) == 0
        assert [failure.attempt for failure in maps.status().failures] == [2, 1]
    assert reconciles.calls == [("default/a", attempt, -100) for attempt in (1, 2, 3)]
    assert "reconcile of default/a failed in attempt 2: ValueError: not yet" in caplog.text


async def test_retry_keeps_the_attempts_until_a_success(
    server: ApiServer, cluster: Cluster
) -> None:
    """cr-32: not reset until there is a result without an error."""
    results: list[Result] = [Retry("poll"), Retry("poll"), After(0.01), None]
    reconciles = Reconciles(lambda _: results.pop(0) if results else None)
    server.create(config_map("a"))
    async with running(maps_controller(reconciles), cluster) as maps:
        await reconciles.called(4)
        await wait_until(lambda: maps.status().outcomes["success"] == 1)
        outcomes = maps.status().outcomes
    assert [attempt for _, attempt, _ in reconciles.calls] == [1, 2, 3, 1]
    assert (outcomes["requeue"], outcomes["requeue_after"], outcomes["error"]) == (2, 1, 0)


async def test_result_may_change_the_priority(server: ApiServer, cluster: Cluster) -> None:
    """cr-34: the priority of a retry is kept unless the result has one."""
    results: list[Result] = [Retry(priority=7), After(0.0), After(0.0, priority=3), None]
    reconciles = Reconciles(lambda _: results.pop(0))
    server.create(config_map("a"))
    async with running(maps_controller(reconciles), cluster):
        await reconciles.called(4)
    assert [priority for _, _, priority in reconciles.calls] == [-100, 7, 7, 3]


@pytest.mark.parametrize("how", ["returned", "raised", "wrapped"])
async def test_terminal_failure_waits_for_a_change(
    server: ApiServer, cluster: Cluster, how: str
) -> None:
    """cr-32: not requeued; unlike controller-runtime, the attempts begin anew."""

    def answer(context: Context[Any]) -> Result:
        if how == "returned":
            return Terminal("no such image")
        if how == "raised":
            raise TerminalError("no such image")
        raise SpecialTerminalError("no such image")

    reconciles = Reconciles(answer)
    server.create(config_map("a"))
    async with running(maps_controller(reconciles), cluster) as maps:
        await wait_until(lambda: maps.status().outcomes["terminal"] == 1)
        status = maps.status()
        assert status.queue is not None
        assert (status.queue.delayed, status.queue.ready) == (0, 0)
        server.patch(ConfigMap, "a", {"data": {"changed": "yes"}})
        await reconciles.called(2)
    assert [attempt for _, attempt, _ in reconciles.calls] == [1, 1]
    assert status.failures[0].is_terminal


class SpecialTerminalError(TerminalError):
    """An error of a program."""


@pytest.mark.parametrize("rubbish", [5, "done", True, object()])
async def test_rubbish_that_a_reconciler_returns_is_an_error(
    server: ApiServer, cluster: Cluster, rubbish: Any
) -> None:
    reconciles = Reconciles(lambda _: rubbish)
    server.create(config_map("a"))
    async with running(maps_controller(reconciles), cluster) as maps:
        await reconciles.called(2)
        assert "it may return None, Done()" in maps.status().failures[0].error


async def test_timeout_cancels_the_reconcile_and_retries(
    server: ApiServer, cluster: Cluster
) -> None:
    """cr-36: only the controller's own timeout counts as one."""
    cancelled: list[int] = []

    async def reconcile(_request: Request, context: Context[Request]) -> None:
        if context.attempt == 1:
            raise TimeoutError("of another kind")
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(context.attempt)
            raise

    server.create(config_map("a"))
    async with running(maps_controller(reconcile, timeout=0.02), cluster) as maps:
        await wait_until(lambda: len(cancelled) == 2)
        status = maps.status()
    assert cancelled == [2, 3]
    assert 1 <= status.timeouts <= 2
    assert any("took longer than 0.02 s" in failure.error for failure in status.failures)
    assert status.failures[-1].error == "TimeoutError: of another kind"


# -- what a reconciler can do wrong --------------------------------------------------------------


async def test_reconciler_that_awaits_something_cancelled_is_tried_again(
    server: ApiServer, cluster: Cluster
) -> None:
    def answer(context: Context[Any]) -> Result:
        if context.attempt == 1:
            raise asyncio.CancelledError
        return None

    reconciles = Reconciles(answer)
    server.create(config_map("a"))
    async with running(maps_controller(reconciles), cluster):
        await reconciles.called(2)


async def test_reconciler_that_never_yields_leaves_the_loop_to_others(
    server: ApiServer, cluster: Cluster
) -> None:
    turns = 0

    def answer(_context: Context[Any]) -> Result:
        time.sleep(0.002)  # busy
        return After(0.0)

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    server.create(config_map("a"))
    reconciles = Reconciles(answer)
    async with running(maps_controller(reconciles), cluster):
        task = asyncio.create_task(others())
        await reconciles.called(50)
        task.cancel()
    assert turns > 5


async def test_blocked_loop_is_reported_with_the_place(
    server: ApiServer, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = False

    def answer(_context: Context[Any]) -> Result:
        nonlocal blocked
        if not blocked:
            blocked = True
            time.sleep(2.2)
        return None

    server.create(config_map("a"))
    async with running(maps_controller(Reconciles(answer)), cluster) as maps:
        await wait_until(lambda: bool(maps.problems()))
        assert re.match("the event loop (is|was) blocked for", maps.problems()[0])
    assert "the event loop is blocked" in caplog.text
    assert "test_controller.py" in caplog.text


async def test_hanging_reconcile_is_a_problem_and_the_others_go_on(
    server: ApiServer, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinform.controllers._controller._STUCK", 0.05)
    calls: list[str] = []

    async def reconcile(request: Request, _context: Context[Request]) -> None:
        calls.append(request.name)
        if request.name == "hang":
            await asyncio.Event().wait()

    server.create(config_map("hang"))
    async with running(maps_controller(reconcile, workers=2), cluster) as maps:
        await wait_until(lambda: bool(maps.problems()))
        assert "the reconcile of default/hang has been running" in maps.problems()[0]
        server.create(config_map("other"))
        await wait_until(lambda: "other" in calls)


async def test_predicate_that_raises_lets_the_event_pass_and_is_a_problem(
    server: ApiServer, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(event: object) -> bool:
        raise KeyError("app")

    reconciles = Reconciles()
    async with running(maps_controller(reconciles, when=broken), cluster) as maps:
        server.create(config_map("a"))
        await reconciles.called(1)
        assert maps.problems() == ("ConfigMap: a predicate raised KeyError: 'app'",)
    assert "a predicate" in caplog.text


async def test_map_that_raises_is_a_problem_and_not_the_end(
    server: ApiServer, cluster: Cluster
) -> None:
    def to_requests(obj: ConfigMap) -> list[Request]:
        return [Request("", obj.labels["web"])]

    reconciles = Reconciles()
    watch: Watch[Request] = Watch(ConfigMap, map=to_requests)
    async with running(Controller("web", reconciles, watches=[watch]), cluster) as web:
        server.create(config_map("a"))
        server.create(config_map("b", web="shop"))
        assert await reconciles.called(1) == ["shop"]
        assert web.problems() == ("ConfigMap: its map function raised KeyError: 'web'",)
        assert web.status().sources[0].failures == 1


# -- def reconcilers -----------------------------------------------------------------------------


async def test_def_reconciler_runs_on_its_own_threads(server: ApiServer, cluster: Cluster) -> None:
    threads: set[str] = set()
    both = threading.Barrier(2, timeout=10)

    def reconcile(request: Request, context: Context[Request]) -> None:
        both.wait()
        found = context.wait(context.client.get(ConfigMap, request.name, namespace="default"))
        assert found.name == request.name
        threads.add(threading.current_thread().name)

    for name in "ab":
        server.create(config_map(name))
    async with running(maps_controller(reconcile, workers=2), cluster) as maps:
        await wait_until(lambda: maps.status().outcomes["success"] == 2)
    assert threads == {"kinform-maps-0", "kinform-maps-1"}
    assert not [each for each in threading.enumerate() if each.name in threads]


async def test_def_reconciler_keeps_its_key_until_it_returns(
    server: ApiServer, cluster: Cluster
) -> None:
    """A thread cannot be cancelled, so a timeout must not start a second reconcile of the key."""
    go_on = threading.Event()
    running_now: list[int] = []
    overlaps: list[int] = []

    def reconcile(_request: Request, context: Context[Request]) -> None:
        running_now.append(context.attempt)
        overlaps.append(len(running_now))
        if context.attempt == 1:
            go_on.wait(10)
        running_now.remove(context.attempt)

    server.create(config_map("a"))
    async with running(maps_controller(reconcile, workers=2, timeout=0.05), cluster) as maps:
        await wait_until(lambda: len(running_now) == 1)
        server.patch(ConfigMap, "a", {"data": {"x": "y"}})
        await asyncio.sleep(0.2)
        assert running_now == [1]
        go_on.set()
        await wait_until(lambda: maps.status().outcomes["success"] == 1)
        assert maps.status().timeouts == 1
    assert set(overlaps) == {1}


async def test_def_reconciler_that_returns_a_coroutine_is_an_error(
    server: ApiServer, cluster: Cluster
) -> None:
    async def inner() -> None: ...

    def reconcile(_request: Request, context: Context[Request]) -> Any:
        return inner() if context.attempt == 1 else None

    server.create(config_map("a"))
    async with running(maps_controller(reconcile), cluster) as maps:
        await wait_until(lambda: bool(maps.status().failures))
        assert "make it async def" in maps.status().failures[0].error


async def test_waiting_on_the_loop_is_an_error(server: ApiServer, cluster: Cluster) -> None:
    async def reconcile(_request: Request, context: Context[Request]) -> None:
        context.wait(context.client.get(ConfigMap, "a"))

    server.create(config_map("a"))
    async with running(maps_controller(reconcile), cluster) as maps:
        await wait_until(lambda: bool(maps.status().failures))
        assert "await the coroutine instead" in maps.status().failures[0].error


# -- lifecycle -----------------------------------------------------------------------------------


async def test_stop_lets_running_reconciles_finish(server: ApiServer, cluster: Cluster) -> None:
    began, go_on = asyncio.Event(), asyncio.Event()
    finished: list[str] = []

    async def reconcile(request: Request, _context: Context[Request]) -> None:
        began.set()
        await go_on.wait()
        finished.append(request.name)

    for name in "ab":
        server.create(config_map(name))
    maps = maps_controller(reconcile)
    run = asyncio.create_task(maps.run(cluster))
    await began.wait()
    maps.stop()
    await asyncio.sleep(0)
    assert not run.done()
    go_on.set()
    await run
    assert finished == ["a"]


async def test_stop_of_idle_workers_returns_at_once(cluster: Cluster) -> None:
    maps = maps_controller(Reconciles(), workers=3)
    run = asyncio.create_task(maps.run(cluster))
    await wait_until(lambda: maps.status().state == "working")
    await asyncio.sleep(0.01)
    maps.stop()
    await run
    assert maps.status().state == "closed"


async def test_cancelled_work_keeps_its_keys_for_the_next_leader(
    server: ApiServer, cluster: Cluster
) -> None:
    hang = True
    calls: list[str] = []

    async def reconcile(request: Request, _context: Context[Request]) -> None:
        calls.append(request.name)
        if hang:
            await asyncio.Event().wait()

    server.create(config_map("a"))
    maps = maps_controller(reconcile)
    await maps.warm_up(cluster)
    work = asyncio.create_task(maps.work())
    await wait_until(lambda: calls == ["a"])
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert maps.status().state == "standby"
    hang = False
    work = asyncio.create_task(maps.work())
    await wait_until(lambda: calls == ["a", "a"])
    maps.stop()
    await work
    await maps.close()


async def test_nothing_is_reconciled_without_valid_leadership(
    server: ApiServer, cluster: Cluster
) -> None:
    class Lost:
        is_valid = False
        token = 3

    server.create(config_map("a"))
    reconciles = Reconciles()
    maps = maps_controller(reconciles)
    await maps.warm_up(cluster)
    lost: Any = Lost()
    with pytest.raises(LeadershipLostError, match="maps has lost its leadership"):
        await maps.work(lost)
    assert reconciles.calls == []
    assert len(maps.queue) == 1
    await maps.close()


async def test_fencing_token_is_that_of_the_leadership(server: ApiServer, cluster: Cluster) -> None:
    class Held:
        is_valid = True
        token = 3

    tokens: list[int | None] = []

    async def reconcile(_request: Request, context: Context[Request]) -> None:
        tokens.append(context.fencing_token)

    server.create(config_map("a"))
    held: Any = Held()
    async with running(maps_controller(reconcile), cluster, held):
        await wait_until(lambda: tokens == [3])


async def test_controller_can_run_again(server: ApiServer, cluster: Cluster) -> None:
    server.create(config_map("a"))
    reconciles = Reconciles()
    maps = maps_controller(reconciles)
    for count in (1, 2):
        async with running(maps, cluster):
            await reconciles.called(count)


async def test_controller_cannot_run_twice_at_once(cluster: Cluster) -> None:
    """cr-30."""
    maps = maps_controller(Reconciles())
    async with running(maps, cluster):
        with pytest.raises(AlreadyStartedError, match="controller maps is"):
            await maps.warm_up(cluster)
        await wait_until(lambda: maps.status().state == "working")
        with pytest.raises(StateError, match="is working"):
            await maps.work()


async def test_cancelled_warm_up_closes_everything(cluster: Cluster) -> None:
    missing = Controller("web", Reconciles(), for_="example.com/v1/missings")
    task = asyncio.create_task(missing.warm_up(cluster))
    await wait_until(lambda: missing.status().state == "warming up")
    before = {each for each in asyncio.all_tasks() if each.get_name().startswith("example.com")}
    assert before
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await wait_until(lambda: all(each.done() for each in before))
    assert missing.status().state == "closed"


async def test_calls_before_warm_up_are_errors(cluster: Cluster) -> None:
    maps = maps_controller(Reconciles())
    with pytest.raises(StateError, match="call warm_up"):
        await maps.work()
    with pytest.raises(StateError, match="watches="):
        await maps.watch(Secret)
    with pytest.raises(StateError, match="no queue yet"):
        _ = maps.queue
    assert maps.problems() == ("it is new",)


# -- arguments -----------------------------------------------------------------------------------


def plain(_request: Request, _context: Context[Request]) -> None: ...


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"name": ""}, "name consists of"),
        ({"name": "a b"}, "name consists of"),
        ({"name": 5}, "name consists of"),
        ({"reconciler": None}, "must be a function"),
        ({"reconciler": Reconciles}, "must be a function"),
        ({"reconciler": lambda request: None}, "two arguments"),
        ({"workers": 0}, "workers must be"),
        ({"workers": True}, "workers must be"),
        ({"timeout": -1}, "timeout must be"),
        ({"sync_timeout": None}, "sync_timeout must be"),
        ({"for_": None}, "has no source"),
        ({"for_": None, "owns": [ConfigMap]}, "without for_="),
        ({"owns": ConfigMap}, "takes a list of kinds"),
        ({"watches": ConfigMap}, "takes a list of sources"),
        ({"watches": Channel()}, "takes a list of sources"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], match: str) -> None:
    """cr-47."""
    given = {"name": "maps", "reconciler": plain, "for_": ConfigMap, **arguments}
    with pytest.raises(ConfigError, match=match):
        Controller(**given)


def test_watch_takes_map_or_owner() -> None:
    with pytest.raises(ConfigError, match="not both"):
        Watch(ConfigMap, map=lambda obj: [], owner=Node)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "5", True])
def test_after_takes_seconds(seconds: Any) -> None:
    with pytest.raises(ConfigError, match="After takes a number of seconds"):
        After(seconds)


def test_decorator_makes_a_controller_of_a_function() -> None:
    @controller(for_=ConfigMap, workers=3)
    async def config_maps(request: Request, context: Context[Request]) -> None: ...

    assert config_maps.name == "config-maps"
    assert config_maps.status().workers == 3


async def test_recorder_that_is_missing_is_named(server: ApiServer, cluster: Cluster) -> None:
    async def reconcile(_request: Request, context: Context[Request]) -> None:
        _ = context.recorder

    server.create(config_map("a"))
    async with running(maps_controller(reconcile), cluster) as maps:
        await wait_until(lambda: bool(maps.status().failures))
        assert "no event recorder" in maps.status().failures[0].error


async def test_log_of_the_context_names_the_request(
    server: ApiServer, cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kinform.controllers")

    async def reconcile(_request: Request, context: Context[Request]) -> Result:
        context.log.info("checked %d pods", 3)
        return Retry() if context.attempt == 1 else None

    server.create(config_map("a"))
    async with running(maps_controller(reconcile), cluster) as maps:
        await wait_until(lambda: maps.status().outcomes["success"] == 1)
    assert "default/a: checked 3 pods" in caplog.text
    assert "default/a (attempt 2): checked 3 pods" in caplog.text


async def test_rate_limiter_decides_the_delays(server: ApiServer, cluster: Cluster) -> None:
    def answer(_context: Context[Any]) -> Result:
        raise ValueError("always")

    reconciles = Reconciles(answer)
    slow = ExponentialBackoff(base=3600, cap=7200)
    server.create(config_map("a"))
    async with running(maps_controller(reconciles, rate_limiter=slow), cluster) as maps:
        await wait_until(lambda: bool(maps.status().failures))
        queue = maps.status().queue
    assert queue is not None
    assert queue.delayed == 1


def _reference(
    api_version: str, kind: str, name: str, *, controller: bool = False
) -> dict[str, Any]:
    made = {"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{name}"}
    return {**made, "controller": True} if controller else made


def _replica_set(name: str, references: list[dict[str, Any]]) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default", "ownerReferences": references},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "a", "image": "b"}]},
            },
        },
    }


def _definition() -> dict[str, Any]:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Cluster",
            "versions": [version],
        },
    }


def test_client_is_checked() -> None:
    client: Any = 5
    with pytest.raises(ConfigError, match="Cluster takes a"):
        Cluster(client)
    cache: Any = 5
    with pytest.raises(ConfigError, match="cache= takes"):
        Cluster(Client.__new__(Client), cache=cache)
