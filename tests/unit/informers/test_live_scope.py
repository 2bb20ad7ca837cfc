"""The scope of an informer changes while it runs, and handlers receive the differences once."""

from __future__ import annotations

import asyncio

import pytest

from kinform import Client
from kinform.errors import AlreadyStoppedError, ConfigError, SelectorError
from kinform.informers import (
    ChangeSource,
    ChangeType,
    DeletedObject,
    ListWatch,
    SharedIndexInformer,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer, ReceivedRequest, faults
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, LoggedSource, Recorder
from tests.support.waiting import wait_until


def informer_of(
    client: Client, *namespaces: str, labels: str = ""
) -> SharedIndexInformer[Unstructured]:
    sources = [
        ListWatch.for_resource(client, MAPS, namespace=each, labels=labels) for each in namespaces
    ]
    return SharedIndexInformer(sources, name="maps", options=QUICK)


class Deletions(Recorder):
    """Also notes whether a deletion only left the scope."""

    def on_delete(self, deleted: DeletedObject[Unstructured], /) -> None:
        self.write(f"delete {deleted.key}{' out of scope' if deleted.out_of_scope else ''}")


def version_of(informer: SharedIndexInformer[Unstructured], key: str) -> str:
    found = informer.indexer.get_by_key(key)
    return "" if found is None else found.resource_version


def keys(informer: SharedIndexInformer[Unstructured]) -> list[str]:
    return sorted(informer.indexer.list_keys())


def open_watches(server: ApiServer) -> list[ReceivedRequest]:
    return [each for each in server.requests.watches(MAPS) if each.is_open]


@pytest.fixture(autouse=True)
def objects(kinform_api: ApiServer) -> None:
    for namespace in ("a", "b", "c"):
        kinform_api.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        )
        for app in ("web", "db"):
            kinform_api.create(config_map(app, namespace, app=app))


async def test_added_namespace_is_delivered_as_adds_and_then_watched(
    kinform_api: ApiServer, client: Client
) -> None:
    informer = informer_of(client, "a")
    recorder = Recorder()
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        async with asyncio.timeout(20):
            await informer.add_namespace("b")
        assert informer.namespaces == ("a", "b")
        assert keys(informer) == ["a/db", "a/web", "b/db", "b/web"]
        kinform_api.create(config_map("new", "b"))
        await wait_until(lambda: "b/new" in informer.indexer)
    assert len([line for line in recorder.lines if line.startswith("add ")]) == 5


async def test_removed_namespace_is_delivered_as_deletions_out_of_scope(
    kinform_api: ApiServer, client: Client
) -> None:
    informer = informer_of(client, "a", "b")
    handler = Deletions()
    informer.add_event_handler(handler)
    async with informer:
        await informer.has_synced
        async with asyncio.timeout(20):
            await informer.remove_namespace("b")
        assert keys(informer) == ["a/db", "a/web"]
        await handler.until("delete b/web out of scope")
        kinform_api.delete(MAPS, "web", namespace="a")
        await handler.until("delete a/web")
        kinform_api.create(config_map("unseen", "b"))
        kinform_api.create(config_map("seen", "a"))
        await wait_until(lambda: "a/seen" in informer.indexer)
        assert "b/unseen" not in informer.indexer
        assert not [each for each in open_watches(kinform_api) if each.namespace == "b"]


async def test_new_selector_is_swapped_in_with_the_differences_only(client: Client) -> None:
    informer = informer_of(client, "a", "b", labels="app=web")
    async with informer, informer.events() as events:
        await informer.has_synced
        async with asyncio.timeout(20):
            await informer.set_selectors(labels="app in (web, db)")
            assert keys(informer) == ["a/db", "a/web", "b/db", "b/web"]
            await informer.set_selectors(labels="app=db")
        assert keys(informer) == ["a/db", "b/db"]
        async with asyncio.timeout(20):
            seen = [await anext(events) for _ in range(6)]
    assert [(e.type, e.key, e.source) for e in seen if e.key == "a/web"] == [
        (ChangeType.ADDED, "a/web", ChangeSource.INITIAL),
        (ChangeType.DELETED, "a/web", ChangeSource.SCOPE),
    ]
    assert [(e.type, e.source) for e in seen if e.key == "a/db"] == [
        (ChangeType.ADDED, ChangeSource.SCOPE)
    ]
    assert all(e.deleted.out_of_scope for e in seen if e.deleted is not None)


async def test_selectors_of_one_namespace_change_alone(client: Client) -> None:
    informer = informer_of(client, "a", "b")
    async with informer:
        await informer.has_synced
        async with asyncio.timeout(20):
            await informer.set_selectors(labels="app=db", namespace="a")
        assert keys(informer) == ["a/db", "b/db", "b/web"]
        assert str(informer.scope) == "in a, b where app=db"


async def test_store_keeps_the_old_selection_until_the_new_list_is_complete(
    kinform_api: ApiServer, client: Client
) -> None:
    informer = informer_of(client, "a", labels="app=web")
    async with informer:
        await informer.has_synced
        refusal = kinform_api.faults.inject(faults.forbidden(), resource=MAPS, times=None)
        done = informer.set_selectors(labels="app=db")
        await wait_until(lambda: refusal.hits > 2)
        kinform_api.create(config_map("more", "a", app="web"))
        await wait_until(lambda: "a/more" in informer.indexer)
        assert not done
        assert keys(informer) == ["a/more", "a/web"]
        refusal.remove()
        async with asyncio.timeout(20):
            await done
        assert keys(informer) == ["a/db"]


async def test_list_that_is_older_than_the_store_is_fetched_again(
    kinform_api: ApiServer, client: Client
) -> None:
    """A change that arrives between the new list and the swap must not be undone."""
    informer = informer_of(client, "a", labels="app")
    recorder = Recorder()
    informer.add_event_handler(recorder)
    async with informer:
        await informer.has_synced
        # The new list is complete at the server, and arrives after changes of the old watch.
        kinform_api.faults.inject(faults.delay_events(0.1), verb="watch", resource=MAPS)
        done = informer.set_selectors(labels="app in (web, db)")
        for number in range(20):
            kinform_api.update(config_map("web", "a", app="web", data={"n": str(number)}))
            await asyncio.sleep(0.02)
        async with asyncio.timeout(20):
            await done
        last = kinform_api.get(MAPS, "web", namespace="a")["metadata"]["resourceVersion"]
        await wait_until(lambda: version_of(informer, "a/web") == last)
    versions = [int(line.split("@")[1].split()[0]) for line in recorder.lines if " web@" in line]
    assert versions == sorted(versions)


async def test_changes_before_the_start_apply_to_the_start(client: Client) -> None:
    informer = informer_of(client, "a", labels="app=web")
    added = informer.add_namespace("b")
    removed = informer.remove_namespace("a")
    selected = informer.set_selectors(labels="app=db")
    assert removed
    assert not added
    async with informer:
        async with asyncio.timeout(20):
            await added
            await selected
            await informer.has_synced
        assert keys(informer) == ["b/db"]


async def test_informer_without_namespaces_is_synced_and_empty(client: Client) -> None:
    informer = informer_of(client, "a")
    async with informer:
        await informer.has_synced
        async with asyncio.timeout(20):
            await informer.remove_namespace("a")
        assert keys(informer) == []
        assert informer.namespaces == ()
        assert informer.sync_status().synced
        assert informer.status().sources == {}
        assert informer.last_sync_resource_version == ""
        assert informer.staleness == 0.0
        async with asyncio.timeout(20):
            await informer.add_namespace("c")
        assert keys(informer) == ["c/db", "c/web"]


async def test_namespace_that_comes_back_is_listed_again(client: Client) -> None:
    informer = informer_of(client, "a", "b")
    async with informer:
        await informer.has_synced
        async with asyncio.timeout(20):
            informer.remove_namespace("b")
            await informer.add_namespace("b")
        assert keys(informer) == ["a/db", "a/web", "b/db", "b/web"]


async def test_selector_that_is_set_back_before_the_swap_leaves_no_second_watch(
    kinform_api: ApiServer, client: Client
) -> None:
    informer = informer_of(client, "a", labels="app=web")
    async with informer:
        await informer.has_synced
        first = informer.set_selectors(labels="app=db")
        second = informer.set_selectors(labels="app=web")
        async with asyncio.timeout(20):
            await first
            await second
        assert keys(informer) == ["a/web"]
        await wait_until(lambda: len(open_watches(kinform_api)) == 1)


async def test_scope_changes_from_any_thread(client: Client) -> None:
    informer = informer_of(client, "a")
    async with informer:
        await informer.has_synced

        def change() -> list[bool]:
            return [
                informer.add_namespace("b").wait(20),
                informer.remove_namespace("a").wait(20),
                informer.set_selectors(labels="app=db").wait(20),
            ]

        assert await asyncio.to_thread(change) == [True, True, True]
        assert keys(informer) == ["b/db"]


async def test_a_handler_may_change_the_scope_of_its_own_informer(client: Client) -> None:
    informer = informer_of(client, "a", "b")
    gone: list[str] = []

    async def on_add(obj: Unstructured) -> None:
        if obj.key == "a/web":
            await informer.remove_namespace("b")
            await informer.add_namespace("c")

    async def on_delete(deleted: DeletedObject[Unstructured]) -> None:
        gone.append(deleted.key)

    registration = informer.add_event_handler(on_add=on_add, on_delete=on_delete)
    async with informer, asyncio.timeout(20):
        await registration.has_synced
        await wait_until(lambda: keys(informer) == ["a/db", "a/web", "c/db", "c/web"])
        await wait_until(lambda: len(gone) in (0, 2) and informer.namespaces == ("a", "c"))


async def test_wait_for_a_version_of_a_removed_namespace_ends(client: Client) -> None:
    informer = informer_of(client, "a", "b")
    async with informer:
        await informer.has_synced
        latch = informer.wait_for_rv("999999999999999999", namespace="b")
        await informer.remove_namespace("b")
        with pytest.raises(AlreadyStoppedError, match="does not cover namespace 'b'; it covers a"):
            await latch


async def test_restart_keeps_the_scope(client: Client) -> None:
    informer = informer_of(client, "a")
    async with informer:
        await informer.has_synced
        await informer.add_namespace("b")
    async with informer:
        await wait_until(lambda: len(informer.status().sources) == 2)
        assert keys(informer) == ["a/db", "a/web", "b/db", "b/web"]


def test_invalid_changes_are_rejected_and_change_nothing(client: Client) -> None:
    everything = SharedIndexInformer(ListWatch.for_resource(client, MAPS))
    with pytest.raises(ConfigError, match="all namespaces are covered already"):
        everything.add_namespace("a")
    with pytest.raises(ConfigError, match="'a' is not in the scope; it covers all namespaces"):
        everything.remove_namespace("a")
    some = informer_of(client, "a", labels="app=web")
    with pytest.raises(ConfigError, match="'x' is not in the scope; it covers a"):
        some.remove_namespace("x")
    with pytest.raises(ConfigError, match="covered already, with other selectors; change them"):
        some.add_namespace("a", labels="app=db")
    with pytest.raises(SelectorError):
        some.set_selectors(labels="app in (")
    assert str(some.scope) == "in a where app=web"
    by_hand = SharedIndexInformer(LoggedSource("x").list_watch())
    with pytest.raises(ConfigError, match="cannot change, because it consists of callables"):
        by_hand.set_selectors(labels="app=db")
