"""Each rule about own writes, with a watch whose events come when the test says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Cache
from kinform.cache import _own_writes
from kinform.cache._own_writes import OwnWrites
from kinform.client import Client, EventType, Frame
from kinform.errors import NotFoundError, StaleReadError
from kinform.informers import KindOptions, SharedIndexInformer
from kinform.models.core.v1 import ConfigMap
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.support.answers import pod
from tests.support.config_maps import MAPS, config_map
from tests.support.held_source import HeldSource, HeldStream
from tests.support.objects import record_of


def tree(name: str, rv: str, uid: str = "", *, dying: bool = False) -> dict[str, Any]:
    made = pod(name, rv=rv)
    made["metadata"]["uid"] = uid or f"uid-{name}"
    if dying:
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made


def written(name: str, rv: str, uid: str = "") -> Unstructured:
    return Unstructured.over(record_of(tree(name, rv, uid)))


def event(kind: str, name: str, rv: str, uid: str = "", *, dying: bool = False) -> Frame:
    return Frame(EventType(kind), record_of(tree(name, rv, uid, dying=dying)))


class Held:
    """Own writes of a running informer at version 10, and its watch."""

    def __init__(self, informer: SharedIndexInformer[Unstructured], stream: HeldStream) -> None:
        self.informer = informer
        self.stream = stream
        self.own = OwnWrites("v1/pods")
        self.own.follow(informer)

    def missing(self, name: str | None = None) -> list[str]:
        key = None if name is None else written(name, "1").key
        return [each.key.rpartition("/")[2] for each in self.own.pending(key=key)]

    def delete(self, name: str, uid: str = "", *, may_linger: bool = False) -> None:
        gone = written(name, "1")
        self.own.add_deletion(gone.key, gone.namespace, uid or f"uid-{name}", may_linger=may_linger)


@pytest.fixture
async def held() -> AsyncIterator[Held]:
    source = HeldSource()
    informer = SharedIndexInformer(source)
    async with informer:
        await informer.has_synced
        yield Held(informer, await source.awaited())


async def test_write_is_missing_until_its_version_arrives(held: Held) -> None:
    held.own.add_object(written("a", "11"))
    assert held.missing("a") == held.missing() == ["a"]
    assert held.missing("b") == []
    held.stream.give(event("ADDED", "a", "11"))
    assert held.missing("a") == []
    assert not held.own


async def test_newer_write_of_another_client_is_enough(held: Held) -> None:
    held.own.add_object(written("a", "11"))
    held.stream.give(event("ADDED", "a", "15"))
    assert held.missing() == []


async def test_later_version_of_the_store_is_enough_if_the_object_is_gone(held: Held) -> None:
    held.own.add_object(written("a", "11"))
    held.stream.give(event("ADDED", "b", "12"))
    assert held.missing() == []


async def test_response_that_was_overtaken_does_not_replace_a_newer_write(held: Held) -> None:
    """Concurrent writes to one object: the responses may come in any order."""
    held.own.add_object(written("a", "12"))
    held.own.add_object(written("a", "11"))
    held.stream.give(event("ADDED", "a", "11"))
    assert held.missing("a") == ["a"]
    held.stream.give(event("MODIFIED", "a", "12"))
    assert held.missing("a") == []


async def test_late_response_to_a_write_does_not_hide_the_deletion(held: Held) -> None:
    held.delete("a")
    held.own.add_object(written("a", "11"))
    assert held.own.pending() == []
    held.stream.give(event("ADDED", "a", "11"))
    (own,) = held.own.pending()
    assert own.deleted_uid == "uid-a"


async def test_deletion_of_an_object_that_the_store_has(held: Held) -> None:
    held.stream.give(event("ADDED", "a", "11"))
    held.delete("a")
    assert held.missing("a") == ["a"]
    held.stream.give(event("DELETED", "a", "12"))
    assert held.missing("a") == []


async def test_deleted_object_that_arrives_late_is_missing_its_deletion(held: Held) -> None:
    """Its creation was a foreign one, so only the uid tells that it is older."""
    held.delete("a")
    assert held.missing("a") == []
    held.stream.give(event("ADDED", "a", "11"))
    assert held.missing("a") == ["a"]
    held.stream.give(event("DELETED", "a", "12"))
    assert held.missing("a") == []


async def test_deletion_before_the_first_list_is_remembered() -> None:
    """A list that began before the deletion still has the object."""
    source = HeldSource("a")
    informer = SharedIndexInformer(source)
    own = OwnWrites("v1/pods")
    own.follow(informer)
    async with informer:
        gone = written("a", "1")
        listed = Unstructured.over(record_of(pod("a")))
        own.add_deletion(gone.key, gone.namespace, listed.uid, may_linger=False)
        await informer.has_synced
        assert [each.key for each in own.pending()] == [gone.key]


async def test_deletion_after_an_own_write_hides_what_was_there_before_both(held: Held) -> None:
    held.stream.give(event("ADDED", "a", "11", "first"))
    held.own.add_object(written("a", "13", "second"))  # the first one was deleted by another
    held.delete("a", "second")
    assert held.missing("a") == ["a"]
    held.stream.give(event("DELETED", "a", "12", "first"))
    assert held.missing("a") == []


async def test_object_created_again_by_another_client_is_visible(held: Held) -> None:
    held.own.add_object(written("a", "11"))
    held.delete("a")
    held.stream.give(event("ADDED", "a", "14", "another"))
    assert held.missing("a") == []


async def test_collection_may_leave_objects_with_finalizers(held: Held) -> None:
    held.stream.give(event("ADDED", "a", "11"), event("ADDED", "b", "12"))
    held.delete("a", may_linger=True)
    held.delete("b")
    held.stream.give(event("MODIFIED", "a", "13", dying=True))
    held.stream.give(event("MODIFIED", "b", "14", dying=True))
    assert held.missing() == ["b"]


async def test_deletions_are_forgotten_after_a_while(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.delete("a")
    held.missing()
    assert held.own
    monkeypatch.setattr(_own_writes, "_MEMORY", -1.0)
    held.missing()
    assert not held.own


async def test_write_while_nothing_runs_is_required_of_the_next_list() -> None:
    source = HeldSource()
    informer = SharedIndexInformer(source)
    own = OwnWrites("v1/pods")
    own.add_object(written("a", "9"))
    own.follow(informer)
    own.add_object(written("a", "12"))
    own.add_object(written("b", "11"))
    assert own.pending() == []
    async with informer:
        await informer.has_synced
        with pytest.raises(StaleReadError, match="version 12"):
            await own.wait(timeout=0.01)
        stream = await source.awaited()
        stream.give(event("ADDED", "c", "12"))
        await own.wait(timeout=30)
    assert not own


async def test_wait_ends_with_the_event_and_says_what_is_missing(held: Held) -> None:
    held.own.add_object(written("a", "11"))
    with pytest.raises(StaleReadError, match=r"older than the own write of .*a after \d+\.\d s"):
        await held.own.wait(timeout=0.01)
    waiting = asyncio.ensure_future(held.own.wait(timeout=30))
    await asyncio.sleep(0)
    held.stream.give(event("ADDED", "a", "11"))
    await waiting


async def test_writes_that_the_store_has_are_forgotten_without_a_read(held: Held) -> None:
    for number in range(_own_writes._MANY):
        held.own.add_object(written(f"p{number}", "11"))
    held.stream.give(event("ADDED", "x", "20"))
    held.own.add_object(written("last", "21"))
    assert list(held.own._by_key) == [written("last", "21").key]


async def test_write_without_a_comparable_version_is_not_waited_for(held: Held) -> None:
    held.own.add_object(written("a", "opaque"))
    held.delete("b", uid="")
    assert held.missing() == []


# -- selectors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["wait", "overlay"])
async def test_object_that_leaves_the_selection_is_not_read(mode: Any) -> None:
    """19: also if the cache has not seen it in the selection yet."""
    async with ApiServer() as api, Client(api.config) as client:
        red = {ConfigMap: KindOptions[Any](labels={"color": "red"})}
        late = faults.delay_events(0.1)
        api.faults.inject(late, verb="watch", resource="configmaps", times=None)
        async with Cache(client, namespace="default", by_kind=red) as cache:
            own = cache.client(own_writes=mode)
            assert not await own.list(ConfigMap)
            api.create(config_map("foreign", color="red"))
            await own.create(config_map("own", color="red"))
            for name in ("foreign", "own"):
                blue = {"metadata": {"labels": {"color": "blue"}}}
                await own.patch(MAPS, name, blue, namespace="default")
                assert not [each for each in await own.list(ConfigMap) if each.name == name]
                for _ in range(30):
                    with pytest.raises(NotFoundError):
                        await own.get(ConfigMap, f"default/{name}")
                    await asyncio.sleep(0.01)


async def test_overlay_has_only_what_new_selectors_admit() -> None:
    async with ApiServer() as api, Client(api.config) as client:
        red = {ConfigMap: KindOptions[Any](labels={"color": "red"})}
        async with Cache(client, namespace="default", by_kind=red) as cache:
            own = cache.client(own_writes="overlay")
            assert not await own.list(ConfigMap)
            held = faults.delay_events(30)
            api.faults.inject(held, verb="watch", resource="configmaps", times=None)
            api.end_watches(MAPS)
            await asyncio.sleep(0.1)
            await own.create(config_map("a", color="red"))
            assert [each.name for each in await own.list(ConfigMap)] == ["a"]
            change = asyncio.ensure_future(cache.set_selectors(ConfigMap, labels={"color": "blue"}))
            await asyncio.sleep(0.05)
            assert not await own.list(ConfigMap)
            change.cancel()


async def test_write_during_the_first_list_waits_for_nothing_else() -> None:
    """19: no event follows in a quiet namespace, so a whole version must not be required."""
    async with ApiServer() as api, Client(api.config) as client:
        for verb in ("list", "watch"):
            late = faults.delay_body(0.2)
            api.faults.inject(late, verb=verb, resource="configmaps", times=1)
        async with Cache(client, namespace=["default", "kube-system"]) as cache:
            own = cache.client(timeout=10)
            first = asyncio.ensure_future(own.list(ConfigMap))
            await asyncio.sleep(0.1)
            await own.create(config_map("a"))
            await first
            assert [each.name for each in await own.list(ConfigMap)] == ["a"]
