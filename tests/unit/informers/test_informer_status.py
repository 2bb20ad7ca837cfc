"""One look at an informer: every number that it is watched by, and whether it can be trusted."""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from kinform import Client
from kinform.errors import ForbiddenError
from kinform.informers import (
    DynamicSharedInformerFactory,
    InformerStatus,
    Lister,
    ListWatch,
    Phase,
    ReflectorOptions,
    SharedIndexInformer,
    SyncMode,
    SyncStatus,
    label_index,
)
from kinform.informers._informer_status import worst
from kinform.informers.reflector._state import ReflectorState
from kinform.metrics import NoMetrics, PrometheusMetrics
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults, virtual_time
from tests.support.answers import pod, pod_list
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, LoggedSource, Recorder, informer_of
from tests.support.scripted_source import STAY, ScriptedSource, bookmark
from tests.support.waiting import wait_until


def maps_of(client: Client, **options: Any) -> SharedIndexInformer[Unstructured]:
    return SharedIndexInformer(
        ListWatch.for_resource(client, MAPS, namespace="default"), **{"options": QUICK, **options}
    )


# -- status ----------------------------------------------------------------------------------


async def test_a_new_informer_has_nothing_and_says_so() -> None:
    status = informer_of(LoggedSource("a")).status()

    assert (status.name, status.is_running, status.phase) == ("pods", False, Phase.NEW)
    assert (status.objects, status.bytes, status.resource_version) == (0, 0, "")
    assert status.mode is None
    assert (status.event_age, status.bookmark_age, status.list_age) == (None, None, None)
    assert str(status.sync) == "not started"


@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "list"])
async def test_an_informer_that_watches_tells_everything(
    kinform_api: ApiServer, client: Client, streaming: bool
) -> None:
    kinform_api.create(config_map("a", data={"text": "x" * 1000}))
    informer = maps_of(client, options=ReflectorOptions(streaming=streaming))
    recorder = Recorder()
    informer.add_event_handler(recorder, name="mine")
    async with informer:
        await informer.has_synced
        before = informer.status()
        kinform_api.create(config_map("b"))
        await recorder.count(2)
        await informer.wait_for_rv(kinform_api.resource_version)
        await wait_until(lambda: informer.registrations[0].stats.processed == 2)
        status = informer.status()

    assert status.is_running
    assert status.sync.synced
    assert status.phase is Phase.WATCHING
    assert status.mode is (SyncMode.STREAMING if streaming else SyncMode.LIST)
    assert status.objects == 2
    assert status.bytes > before.bytes > 1000
    assert status.index_bytes["namespace"] > 0
    assert status.resource_version == kinform_api.resource_version
    assert status.queue_depth == 0
    assert status.quarantined == 0
    assert status.watch_opens == 1
    assert (status.relists, status.errors, status.last_error) == ({}, {}, None)
    assert before.event_age is None
    assert status.event_age is not None
    assert status.list_age is not None
    assert status.contact_age is not None
    assert status.contact_age <= status.list_age
    handler = status.handlers["v1/configmaps in default/mine"]
    assert (handler.depth, handler.age, handler.processed, handler.failed) == (0, 0, 2, 0)


async def test_after_a_stop_it_says_stopped_and_what_it_holds(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    informer = maps_of(client)
    async with informer:
        await informer.has_synced
    status = informer.status()

    assert (status.is_running, status.phase, status.objects) == (False, Phase.STOPPED, 1)
    assert status.sync


async def test_errors_relists_and_watches_are_counted_by_kind(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", verb="list")
    kinform_api.faults.inject(faults.unavailable(), resource="configmaps", verb="list")
    kinform_api.faults.inject(faults.expired_event(), resource="configmaps", verb="watch")
    options = ReflectorOptions(streaming=False, backoff=QUICK.backoff)
    async with maps_of(client, options=options) as informer:
        await wait_until(lambda: informer.status().watch_opens == 2)
        status = informer.status()

    assert status.errors["Forbidden"] == 1
    assert status.errors["ServiceUnavailable"] == 1
    assert sum(status.relists.values()) == 1
    assert [each.kind for each in status.recent_errors] == [
        "Forbidden",
        "ServiceUnavailable",
        "Expired",
    ]
    # What is over does not count against it.
    assert status.last_error is None
    assert status.sync.attempts == 0
    assert status.sync.error is None


async def test_handlers_of_one_name_are_each_listed() -> None:
    informer = informer_of(LoggedSource("a"))
    for _ in range(3):
        informer.add_event_handler(on_add=lambda obj: None)
    informer.add_event_handler(on_add=lambda obj: None, name="mine")
    informer.add_event_handler(on_add=lambda obj: None, name="mine")

    status = informer.status()

    assert len(status.handlers) == 5
    assert {"pods/mine", "pods/mine (2)"} < status.handlers.keys()


async def test_a_handler_that_falls_behind_shows_how_far_and_since_when() -> None:
    source = LoggedSource("a")
    informer = informer_of(source)
    began = asyncio.Event()

    async def stuck(obj: Unstructured) -> None:
        began.set()
        await asyncio.Event().wait()

    informer.add_event_handler(on_add=stuck, name="stuck")
    async with informer:
        await began.wait()
        source.add("b")
        source.add("c")
        await informer.wait_for_rv("3")
        stats = informer.status().handlers["pods/stuck"]

    assert (stats.depth, stats.processed) == (2, 0)
    assert stats.age > 0
    assert stats.bytes > 0


async def test_any_thread_may_look_while_everything_changes() -> None:
    source = LoggedSource()
    informer = informer_of(source, indexers={"app": label_index("app")})
    lister = Lister(informer.indexer, Unstructured, "pods")
    finished, problems, looks = threading.Event(), list[BaseException](), Counter[str]()

    def look(name: str) -> None:
        try:
            while not finished.is_set():
                status = informer.status()
                assert status.bytes >= 0
                names = [each.name for each in lister.namespace("default").list("!app")]
                assert names == sorted(names)
                informer.is_fresh(1.0)
                repr(informer)
                looks[name] += 1
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=look, args=(name,)) for name in "ab"]
    async with informer:
        await informer.has_synced
        for thread in threads:
            thread.start()
        for number in range(2000):
            source.add(f"n{number % 300}", uid=str(number % 7))
            if number % 10 == 0:
                await asyncio.sleep(0)
            if number % 200 == 199:
                source.forget_history()
        await wait_until(lambda: len(looks) == 2)
        finished.set()
        for thread in threads:
            await asyncio.to_thread(thread.join)

    assert problems == []


# -- freshness -------------------------------------------------------------------------------


@virtual_time
async def test_it_is_fresh_while_the_server_gives_signs() -> None:
    steps = [60.0, bookmark("11"), 60.0, ("ADDED", pod("b", rv="12")), STAY]
    script = ScriptedSource().lists(pod_list(pod("a"), rv="10")).watches(steps)
    informer = SharedIndexInformer(script.listwatch)
    assert not informer.is_fresh(1e9)
    async with informer:
        await informer.has_synced
        await asyncio.sleep(50)
        assert informer.is_fresh(55)
        assert not informer.is_fresh(45)
        await asyncio.sleep(20)
        assert informer.is_fresh(15)
        status = informer.status()
        assert status.bookmark_age == pytest.approx(10)
        assert status.list_age == pytest.approx(70)
        assert status.event_age is None
        await asyncio.sleep(60)
        assert informer.status().event_age == pytest.approx(10)
        assert informer.is_fresh(15)
    assert not informer.is_fresh(1e9)


@virtual_time
async def test_it_is_not_fresh_before_it_has_synced() -> None:
    script = ScriptedSource()
    async with SharedIndexInformer(script.listwatch) as informer:
        await asyncio.sleep(1)
        assert informer.is_running
        assert not informer.is_fresh(1e9)


@virtual_time
async def test_of_several_namespaces_the_quietest_decides() -> None:
    scripts = [
        ScriptedSource().lists(pod_list(rv="10")).watches([50.0, bookmark("11"), STAY]),
        ScriptedSource().lists(pod_list(rv="10")).watches([STAY]),
    ]
    for namespace, script in zip("ab", scripts, strict=True):
        script.listwatch.namespace = namespace
    async with SharedIndexInformer([script.listwatch for script in scripts]) as informer:
        await informer.has_synced
        await asyncio.sleep(60)
        assert informer.status().contact_age == pytest.approx(60)
        assert informer.status().staleness == pytest.approx(60)
        assert informer.staleness == pytest.approx(60)
        assert not informer.is_fresh(30)
        assert informer.is_fresh(65)


# -- why it has not synced -------------------------------------------------------------------


@virtual_time
async def test_the_reason_names_phase_error_attempts_and_time() -> None:
    script = ScriptedSource().lists(*[ForbiddenError("no pods for you", code=403)] * 50)
    async with SharedIndexInformer(script.listwatch) as informer:
        await asyncio.sleep(100)
        status = informer.sync_status()

    assert not status
    assert status.phase is Phase.WAITING
    assert isinstance(status.error, ForbiddenError)
    assert status.attempts == len(script.asked) > 1
    assert status.waiting == pytest.approx(100)
    assert str(status).startswith(f"not synced for 100.0 s, waiting after {status.attempts} att")
    assert "no pods for you" in str(status)


def test_the_worst_part_speaks_for_all() -> None:
    def part(phase: Phase, *, synced: bool) -> ReflectorState:
        return ReflectorState(phase=phase, synced=synced)

    watching = part(Phase.WATCHING, synced=True).status()
    waiting = part(Phase.WAITING, synced=True).status()
    listing = part(Phase.LISTING, synced=False).status()
    assert worst([watching, waiting]) is waiting
    assert worst([watching, waiting, listing]) is listing
    assert worst([watching]) is watching


def test_parts_are_added_up() -> None:
    one, other = ReflectorState(watch_opens=2), ReflectorState(watch_opens=3)
    one.errors.update({"Forbidden": 1})
    other.errors.update({"Forbidden": 2, "Gone": 1})
    one.relists.update({"expired": 1})
    for vitals, age in ((one, 5.0), (other, 50.0)):
        vitals.clock = lambda: 100.0
        vitals.event_at = vitals.list_at = vitals.contact_at = 100.0 - age
    one.bookmark_at = 99.0
    status = InformerStatus(
        name="pods",
        sync=SyncStatus(synced=True, phase=Phase.WATCHING, error=None, attempts=0, waiting=0.0),
        is_running=True,
        mode=None,
        objects=0,
        bytes=0,
        index_bytes={},
        resource_version="",
        queue_depth=0,
        quarantined=0,
        sources={"a": one.status(), "b": other.status()},
        handlers={},
    )

    assert status.errors == {"Forbidden": 3, "Gone": 1}
    assert status.relists == {"expired": 1}
    assert status.watch_opens == 5
    assert (status.event_age, status.list_age, status.contact_age) == (5, 50, 50)
    assert status.bookmark_age is None  # one of them never had any


# -- metrics ---------------------------------------------------------------------------------


class Recording(NoMetrics):
    """Notes what it is told, and of whom."""

    def __init__(self) -> None:
        self.told: dict[str, list[tuple[Any, ...]]] = {}

    def _note(self, what: str, *arguments: Any) -> None:
        self.told.setdefault(what, []).append(arguments)

    def list_finished(self, informer: str, duration: float, items: int) -> None:
        self._note("list", informer, items)

    def watch_opened(self, informer: str) -> None:
        self._note("opened", informer)

    def watch_closed(self, informer: str, duration: float, events: int, short: bool) -> None:
        self._note("closed", informer, events, short)

    def relisted(self, informer: str, reason: str) -> None:
        self._note("relisted", informer, reason)

    def failed(self, informer: str, phase: str, kind: str) -> None:
        self._note("failed", informer, phase, kind)

    def advanced(self, informer: str, resource_version: str) -> None:
        self._note("advanced", informer, resource_version)

    def queue_depth(self, informer: str, depth: int) -> None:
        self._note("queue", informer, depth)

    def processed(self, informer: str, seconds: float) -> None:
        self._note("processed", informer, seconds >= 0)

    def store_changed(self, informer: str, objects: int, bytes: int, resource_version: str) -> None:
        self._note("store", informer, objects, bytes, resource_version)

    def handler_depth(self, informer: str, handler: str, depth: int) -> None:
        self._note("depth", informer, handler)

    def handler_done(self, informer: str, handler: str, ok: bool, seconds: float) -> None:
        self._note("done", informer, handler, ok)

    def handler_removed(self, informer: str, handler: str) -> None:
        self._note("removed", informer, handler)

    def informer_stopped(self, informer: str) -> None:
        self._note("stopped", informer)


async def test_metrics_are_told_all_that_happens_under_the_informers_name(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a"))
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", verb="list")
    kinform_api.faults.inject(faults.expired_event(), resource="configmaps", verb="watch")
    metrics = Recording()
    factory = DynamicSharedInformerFactory(
        client,
        metrics=metrics,
        options=ReflectorOptions(streaming=False, backoff=QUICK.backoff),
    )
    maps = factory.for_resource(MAPS, labels="!internal").informer

    def on_add(obj: Unstructured) -> None:
        if obj.name == "b":
            raise ValueError

    registration = maps.add_event_handler(on_add=on_add, name="mine")
    async with factory:
        await factory.wait_for_cache_sync(timeout=20)
        await wait_until(lambda: maps.status().watch_opens == 2)
        kinform_api.create(config_map("b"))
        await wait_until(lambda: registration.stats.failed == 1)
        stored = maps.status()
        registration.remove()
        await registration.stopped

    name = "v1/configmaps"
    told = metrics.told
    assert {arguments[0] for calls in told.values() for arguments in calls} == {name}
    assert told["list"] == [(name, 1), (name, 1)]
    assert told["opened"] == [(name,)] * 2
    assert len(told["closed"]) == 2
    assert len(told["relisted"]) == 1
    assert (name, "listing", "Forbidden") in told["failed"]
    assert told["advanced"][-1] == (name, stored.resource_version)
    assert told["queue"][-1] == (name, 0)
    assert (name, True) in told["processed"]
    assert told["store"][-1] == (name, 2, stored.bytes, stored.resource_version)
    handler = "mine"
    assert (name, handler) in told["depth"]
    assert told["done"] == [(name, handler, True), (name, handler, False)]
    assert told["removed"] == [(name, handler)]
    assert told["stopped"] == [(name,)]


async def test_prometheus_shows_an_informer_while_it_runs_and_its_sums_afterwards(
    kinform_api: ApiServer, client: Client
) -> None:
    registry = CollectorRegistry()
    kinform_api.create(config_map("a"))
    informer = maps_of(client, metrics=PrometheusMetrics(registry), name="maps")
    registration = informer.add_event_handler(on_add=lambda obj: None, name="mine")
    async with informer:
        await registration.has_synced
        await wait_until(lambda: registration.stats.processed == 1)
        memory = informer.status().bytes
        running = generate_latest(registry).decode().splitlines()
    stopped = generate_latest(registry).decode().splitlines()

    sums = [
        'reflector_lists_total{name="maps"} 1.0',
        'reflector_watches_total{name="maps"} 1.0',
        'kinform_handler_events_total{handler="mine",name="maps",result="ok"} 1.0',
    ]
    gauges = [
        'kinform_informer_objects{name="maps"} 1.0',
        f'kinform_informer_bytes{{name="maps"}} {float(memory)}',
        'informer_queued_items{name="maps"} 0.0',
        'kinform_handler_pending{handler="mine",name="maps"} 0.0',
    ]
    assert set(sums + gauges) <= set(running)
    assert set(sums) <= set(stopped)
    assert not set(gauges) & set(stopped)


@virtual_time
async def test_the_gauge_of_staleness_follows_the_informer_until_it_stops() -> None:
    script = ScriptedSource().lists(ForbiddenError("no", code=403), pod_list(rv="10"))
    registry = CollectorRegistry()

    def gauge() -> float | None:
        return registry.get_sample_value("kinform_informer_staleness_seconds", {"name": "pods"})

    informer = SharedIndexInformer(script.listwatch, metrics=PrometheusMetrics(registry))
    async with informer:
        await asyncio.sleep(0)
        assert math.isnan(gauge() or 0)
        await informer.has_synced
        await asyncio.sleep(30)
        assert gauge() == informer.staleness == pytest.approx(30)
    assert gauge() is None
