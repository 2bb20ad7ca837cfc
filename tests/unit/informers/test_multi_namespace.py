"""One informer over several namespaces: one store, and a list and watch for each of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform import Client
from kinform.errors import ForbiddenError
from kinform.informers import (
    DynamicSharedInformerFactory,
    ListWatch,
    Phase,
    SharedIndexInformer,
)
from kinform.metrics import NoMetrics
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.support.config_maps import MAPS
from tests.support.informer_sources import QUICK, LoggedSource, Recorder
from tests.support.waiting import wait_until


class Two:
    """Sources of the namespaces ``a`` and ``b``."""

    def __init__(self) -> None:
        self.a, self.b = LoggedSource(), LoggedSource()

    @property
    def sources(self) -> list[ListWatch[Unstructured]]:
        made = []
        for namespace, source in (("a", self.a), ("b", self.b)):
            listwatch = source.list_watch(f"pods in {namespace}")
            listwatch.namespace = namespace
            made.append(listwatch)
        return made

    def informer(self, **options: Any) -> SharedIndexInformer[Unstructured]:
        return SharedIndexInformer(self.sources, name="pods", options=QUICK, **options)


async def test_all_namespaces_are_in_one_store() -> None:
    two = Two()
    two.a.add("x", namespace="a")
    two.b.add("x", namespace="b")
    recorder = Recorder()
    informer = two.informer()
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        assert sorted(informer.indexer.list_keys()) == ["a/x", "b/x"]
        assert [obj.key for obj in informer.indexer.by_index("namespace", "b")] == ["b/x"]
        two.b.add("y", namespace="b")
        await recorder.until("add y@2")

    assert informer.namespaces == ("a", "b")
    assert sorted(recorder.lines[:2]) == ["add x@1 initial"] * 2


async def test_it_has_synced_when_all_of_them_have() -> None:
    two = Two()
    two.a.add("x", namespace="a")
    two.b.list_error = RuntimeError("not yet")
    failed = asyncio.Event()
    informer = two.informer(on_watch_error=lambda failure: failed.set())
    registration = informer.add_event_handler(Recorder())
    async with informer:
        await failed.wait()
        await wait_until(lambda: len(informer.indexer) == 1)
        assert not informer.has_synced
        assert not registration.has_synced
        status = informer.sync_status()
        assert not status
        assert "not yet" in str(status.error)
        assert informer.last_sync_resource_version == ""
        two.b.list_error = None
        await informer.has_synced
        await registration.has_synced
        assert informer.sync_status()


async def test_what_the_second_namespace_lists_late_is_still_the_initial_list() -> None:
    two = Two()
    two.a.add("x", namespace="a")
    two.b.add("y", namespace="b")
    two.b.list_error = RuntimeError("not yet")
    recorder = Recorder()
    informer = two.informer()
    informer.add_event_handler(recorder)
    async with informer:
        await recorder.until("add x@1 initial")
        two.a.update("x", namespace="a")
        await recorder.until("update x@1 x@2")
        two.b.list_error = None
        await recorder.until("add y@1 initial")


async def test_a_new_list_of_one_namespace_leaves_the_others_alone() -> None:
    two = Two()
    for name in ("x", "y"):
        two.a.add(name, namespace="a")
        two.b.add(name, namespace="b")
    recorder = Recorder()
    informer = two.informer()
    registration = informer.add_event_handler(recorder)
    async with informer:
        await registration.has_synced
        del recorder.lines[:]
        two.a.delete("x", missed=True)
        two.a.forget_history()
        await recorder.until("delete x@1?")
        assert sorted(informer.indexer.list_keys()) == ["a/y", "b/x", "b/y"]
        status = informer.status()

    assert recorder.lines == ["delete x@1?"]
    assert sum(status.sources["a"].relists.values()) == 1
    assert status.sources["b"].relists == {}
    assert status.relists == status.sources["a"].relists


async def test_a_namespace_whose_name_begins_another_is_not_taken_for_it() -> None:
    short, long = LoggedSource(), LoggedSource()
    sources = []
    for namespace, source in (("team", short), ("team-2", long)):
        source.add("x", namespace=namespace)
        listwatch = source.list_watch()
        listwatch.namespace = namespace
        sources.append(listwatch)
    informer = SharedIndexInformer(sources, options=QUICK)
    async with informer:
        await informer.has_synced
        short.delete("x", missed=True)
        short.forget_history()
        await informer.wait_for_rv(short.version, namespace="team")
        assert informer.indexer.list_keys() == ["team-2/x"]


async def test_how_far_it_has_come_is_told_by_the_one_that_is_behind() -> None:
    two = Two()
    two.a.add("x", namespace="a")
    for _ in range(9):
        two.b.add("y", namespace="b")
    async with two.informer() as informer:
        await informer.has_synced
        assert informer.last_sync_resource_version == "1"
        two.a.update("x", namespace="a")
        await informer.wait_for_rv("2", namespace="a")
        assert informer.last_sync_resource_version == "2"
        assert informer.wait_for_rv("9", namespace="b")
        assert not informer.wait_for_rv("9", namespace="a")


async def test_the_end_of_what_could_never_be_read_takes_no_other_namespaces_version() -> None:
    two = Two()
    two.a.add("poison", namespace="a")
    for _ in range(50):
        two.b.add("y", namespace="b")

    def fail_on_poison(obj: Unstructured) -> None:
        if obj.name == "poison":
            raise ValueError

    async with two.informer(transform=fail_on_poison) as informer:
        await informer.has_synced
        two.b.update("y", namespace="b")
        await informer.wait_for_rv("51", namespace="b")
        later = informer.wait_for_rv("40", namespace="a")
        two.a.delete("poison")
        await informer.wait_for_rv("2", namespace="a")
        assert informer.last_sync_resource_version == "2"
        assert not later


async def test_each_namespace_is_asked_for_by_itself_and_one_refusal_is_its_own(
    kinform_api: ApiServer,
) -> None:
    for namespace in ("open", "closed", "unasked"):
        kinform_api.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        )
        metadata = {"name": "x", "namespace": namespace}
        kinform_api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    kinform_api.faults.inject(
        faults.forbidden(), resource="configmaps", namespace="closed", times=None
    )
    async with Client(kinform_api.config) as client:
        factory = DynamicSharedInformerFactory(client, options=QUICK)
        maps = factory.for_resource(MAPS, namespace=["open", "closed"])
        async with factory:
            await wait_until(lambda: len(maps.lister) == 1)
            await wait_until(lambda: maps.informer.sync_status().attempts > 1)
            status = maps.informer.status()
            result = await factory.wait_for_cache_sync(timeout=0.05)
            assert status.sources["open"].phase is Phase.WATCHING
            assert isinstance(status.sources["closed"].last_error, ForbiddenError)
            assert isinstance(result["v1/configmaps in closed, open"].error, ForbiddenError)
            kinform_api.faults.clear()
            assert await factory.wait_for_cache_sync(timeout=20)
            assert [obj.key for obj in maps.lister.list()] == ["closed/x", "open/x"]

    asked = {request.namespace for request in kinform_api.requests.matching(resource=MAPS)}
    assert asked == {"open", "closed"}


async def test_a_restart_finds_what_changed_in_each() -> None:
    two = Two()
    two.a.add("x", namespace="a")
    for _ in range(5):
        two.b.add("y", namespace="b")
    recorder = Recorder()
    informer = two.informer()
    informer.add_event_handler(recorder)
    async with informer:
        await recorder.count(2)
    two.a.delete("x")
    two.b.update("y", namespace="b")
    async with informer:
        await recorder.count(4)

    assert sorted(recorder.lines[2:]) == ["delete x@1?", "update y@5 y@6"]
    # Each is asked for nothing older than what was had of it.
    lists = [source.versions[2] for source in (two.a, two.b)]
    assert lists == ["1", "5"]


async def test_an_object_in_quarantine_stays_there_when_another_namespace_is_listed() -> None:
    two = Two()
    two.a.add("poison", namespace="a")
    two.b.add("y", namespace="b")

    def fail_on_poison(obj: Unstructured) -> None:
        if obj.name == "poison":
            raise ValueError

    async with two.informer(transform=fail_on_poison) as informer:
        await informer.has_synced
        two.b.forget_history()
        await informer.wait_for_rv(two.b.version, namespace="b")
        assert list(informer.quarantine) == ["a/poison"]
        assert informer.status().quarantined == 1


@pytest.mark.parametrize("namespaces", [1, 2])
async def test_metrics_say_which_list_and_watch_they_are_of(namespaces: int) -> None:
    class Names(NoMetrics):
        def __init__(self) -> None:
            self.names: set[str] = set()

        def list_finished(self, informer: str, duration: float, items: int) -> None:
            self.names.add(informer)

    metrics = Names()
    informer = SharedIndexInformer(Two().sources[:namespaces], name="the pods", metrics=metrics)
    async with informer:
        await informer.has_synced

    assert metrics.names == ({"the pods"} if namespaces == 1 else {"the pods[a]", "the pods[b]"})
