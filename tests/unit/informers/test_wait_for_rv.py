"""Reading one's own writes: a latch that is set when the store has come as far as a version."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

from kinform import Client
from kinform.errors import AlreadyStoppedError, CacheError
from kinform.informers import (
    DynamicSharedInformerFactory,
    Latch,
    ListWatch,
    Scope,
    SharedIndexInformer,
    wait_for,
)
from kinform.informers._source_versions import SourceVersions, oldest
from kinform.informers._store_waiters import StoreWaiters
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.support.answers import pod_list
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, LoggedSource, informer_of


class SourceState:
    def __init__(self, name: str = "", resource_version: str = "") -> None:
        self.name = name
        self.resource_version = resource_version


async def test_a_write_can_be_read_when_its_version_has_come(client: Client) -> None:
    source = ListWatch.for_resource(client, MAPS, namespace="default")
    async with SharedIndexInformer(source) as informer:
        await informer.has_synced
        for number in range(20):
            created = await client.create(Unstructured(config_map(f"map-{number}")))
            await informer.wait_for_rv(created.resource_version)
            assert informer.indexer.get_by_key(f"default/map-{number}") is not None
            changed = await client.patch(MAPS, f"map-{number}", {"data": {"n": "1"}})
            await informer.wait_for_rv(changed.resource_version)
            found = informer.indexer.get_by_key(f"default/map-{number}")
            assert found is not None
            assert found["data"] == {"n": "1"}


async def test_a_deletion_has_come_when_a_later_version_has() -> None:
    source = LoggedSource("a")
    async with informer_of(source) as informer:
        await informer.has_synced
        source.delete("a")
        await informer.wait_for_rv(source.version)
        assert informer.indexer.list() == []
        assert informer.last_sync_resource_version == "2"


async def test_what_is_there_already_needs_no_waiting() -> None:
    source = LoggedSource("a", "b", "c")
    async with informer_of(source) as informer:
        await informer.has_synced
        assert informer.wait_for_rv("2")
        assert informer.wait_for_rv("3")
        assert not informer.wait_for_rv("4")


async def test_it_can_be_asked_for_before_the_start_and_waited_for_in_a_thread() -> None:
    source = LoggedSource("a")
    informer = informer_of(source)
    latch = informer.wait_for_rv("1")
    waited: list[bool] = []
    thread = threading.Thread(target=lambda: waited.append(latch.wait(20)))
    thread.start()
    assert not latch
    async with informer:
        await asyncio.to_thread(thread.join, 20)

    assert waited == [True]


async def test_a_bookmark_and_a_list_carry_the_version_on_as_events_do() -> None:
    source = LoggedSource("a")
    async with informer_of(source) as informer:
        await informer.has_synced
        source.bookmark()
        await informer.wait_for_rv("2")
        source.update("a", missed=True)
        source.forget_history()
        await informer.wait_for_rv("4")
        found = informer.indexer.get_by_key("default/a")
        assert found is not None
        assert found.resource_version == "3"


async def test_versions_without_order_cannot_be_waited_for(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.faults.inject(
        faults.opaque_resource_versions("rv-"), resource="configmaps", times=None
    )
    kinform_api.create(config_map("a"))
    source = ListWatch.for_resource(client, MAPS, namespace="default")
    async with SharedIndexInformer(source, options=QUICK) as informer:
        await informer.has_synced
        version = informer.last_sync_resource_version
        assert version.startswith("rv-")
        with pytest.raises(CacheError, match="is not a number"):
            informer.wait_for_rv(version)


async def test_versions_beyond_64_bits_have_their_order_too(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.faults.inject(faults.huge_resource_versions(), resource="configmaps", times=None)
    source = ListWatch.for_resource(client, MAPS, namespace="default")
    async with SharedIndexInformer(source, options=QUICK) as informer:
        await informer.has_synced
        before = int(informer.last_sync_resource_version)
        assert before > 1 << 64
        later = informer.wait_for_rv(str(before + 1))
        assert not later
        kinform_api.create(config_map("a"))
        await later


async def test_a_namespace_can_be_waited_for_alone(kinform_api: ApiServer, client: Client) -> None:
    kinform_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}})
    factory = DynamicSharedInformerFactory(client, namespace=["default", "other"])
    maps = factory.for_resource(MAPS).informer
    async with factory:
        await factory.wait_for_cache_sync(timeout=20)
        kinform_api.create(config_map("a"))
        version = kinform_api.resource_version
        everywhere = maps.wait_for_rv(version)
        await maps.wait_for_rv(version, namespace="default")
        # The other one has had neither an event nor a bookmark.
        assert not everywhere
        assert not maps.wait_for_rv(version, namespace="other")
        kinform_api.create(config_map("b", "other"))
        await everywhere
        with pytest.raises(
            CacheError, match="does not cover namespace 'third'; it covers default, other"
        ):
            maps.wait_for_rv(version, namespace="third")


async def test_an_informer_of_all_namespaces_has_them_all() -> None:
    source = LoggedSource("a")
    async with informer_of(source) as informer:
        await informer.wait_for_rv("1", namespace="whichever")


async def test_a_source_without_versions_has_none() -> None:
    source: ListWatch[Unstructured] = ListWatch(
        lambda options: pod_list(rv=""), lambda options: iter(()), name="pods"
    )
    async with SharedIndexInformer(source) as informer:
        await informer.has_synced
        assert informer.last_sync_resource_version == ""


# -- an informer that has stopped ------------------------------------------------------------

NEVER = "informer pods stopped before it reached version 9; start it again"


async def test_nobody_waits_for_what_a_stopped_informer_will_never_hear_of() -> None:
    informer = informer_of(LoggedSource("a"))
    async with informer:
        await informer.has_synced

    with pytest.raises(AlreadyStoppedError, match=NEVER):
        informer.wait_for_rv("9")
    # What it has heard of before is still there to be read.
    await informer.wait_for_rv("1")


async def test_who_waits_is_told_that_the_informer_has_stopped() -> None:
    informer = informer_of(LoggedSource("a"))
    async with informer:
        await informer.has_synced
        latch = informer.wait_for_rv("9")
        waiting = [
            asyncio.ensure_future(wait_for(latch)),
            asyncio.ensure_future(asyncio.to_thread(latch.wait, 30)),
        ]
        await asyncio.sleep(0)
        assert not any(each.done() for each in waiting)

    for each in waiting:
        with pytest.raises(AlreadyStoppedError, match=NEVER):
            await each
    with pytest.raises(AlreadyStoppedError, match=NEVER):
        await latch
    assert not latch


async def test_an_informer_that_was_stopped_before_its_first_step_keeps_nobody_waiting() -> None:
    informer = informer_of(LoggedSource("a"))
    latch = informer.wait_for_rv("9")
    informer.start()
    informer.stop()

    async with asyncio.timeout(20):
        with pytest.raises(AlreadyStoppedError, match=NEVER):
            await latch


async def test_after_a_restart_versions_can_be_waited_for_again() -> None:
    source = LoggedSource("a")
    informer = informer_of(source)
    async with informer:
        await informer.has_synced
        before = informer.wait_for_rv("2")
    async with informer, asyncio.timeout(20):
        source.add("b")
        await informer.wait_for_rv("2")
    # Who waited in the run before has been told of its end, and that stands.
    with pytest.raises(AlreadyStoppedError):
        await before


# -- who waits -------------------------------------------------------------------------------


def test_who_gave_up_waiting_is_forgotten() -> None:
    part = SourceState(resource_version="1")
    awaited = StoreWaiters("pods")
    reached = SourceVersions("pods", lambda: [part], Scope).condition("5", None)
    latch: Latch | None = awaited.latch(reached, "reached version 5")
    reference = weakref.ref(latch) if latch is not None else None
    assert reference is not None

    latch = None
    gc.collect()

    assert reference() is None
    part.resource_version = "6"
    awaited.check()


def test_everyone_whose_version_has_come_is_let_through_and_no_other() -> None:
    part = SourceState()
    awaited = StoreWaiters("pods")
    versions = SourceVersions("pods", lambda: [part], Scope)
    latches = {
        version: awaited.latch(versions.condition(version, None), f"reached version {version}")
        for version in ("9", "10", "11")
    }
    for version, come in (("8", []), ("10", ["9", "10"]), ("100", ["9", "10", "11"])):
        part.resource_version = version
        awaited.check()
        assert [each for each, latch in latches.items() if latch] == come


async def test_versions_that_were_not_reached_before_a_server_went_back_are_lost() -> None:
    """18.8: The server will use them again, for other changes; others are waited for."""
    restored, other = SourceState("a", "20"), SourceState("b", "5")
    awaited = StoreWaiters("pods")
    versions = SourceVersions("pods", lambda: [restored, other], Scope)
    lost = awaited.latch(versions.condition("30", None), "reached version 30")
    kept = awaited.latch(versions.condition("15", None), "reached version 15")

    restored.resource_version = "10"
    versions.went_back("20", "10")
    awaited.check()

    with pytest.raises(AlreadyStoppedError, match="versions went back from 20 to 10"):
        await lost
    assert not kept
    restored.resource_version = other.resource_version = "15"
    awaited.check()
    assert kept


@pytest.mark.parametrize(
    ("versions", "expected"),
    [(["5"], "5"), (["10", "9"], "9"), (["9", "10", "11"], "9"), (["9", ""], ""), (["", "9"], "")],
)
def test_the_oldest_of_several_versions_speaks_for_all(versions: list[str], expected: str) -> None:
    assert oldest(versions) == expected
