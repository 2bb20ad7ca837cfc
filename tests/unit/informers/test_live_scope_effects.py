"""When changes of the scope are complete, and how the deletions they cause are marked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kinform.client import Client
from kinform.informers import DeletedObject, Latch, ListWatch, SharedIndexInformer
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK
from tests.support.waiting import wait_until

NAMESPACES = ("one", "two")
Deleted = DeletedObject[Unstructured]


@pytest.fixture
async def informer(kinform_api: ApiServer) -> AsyncIterator[SharedIndexInformer[Unstructured]]:
    """Covers ``one`` and ``two``; is stopped at the end if the test starts it."""
    for name in NAMESPACES:
        kinform_api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    async with Client(kinform_api.config) as client:
        sources = [ListWatch.for_resource(client, MAPS, namespace=name) for name in NAMESPACES]
        informer = SharedIndexInformer(sources, options=QUICK)
        yield informer
        if informer.is_running:
            informer.stop()
            await informer.stopped


def names(informer: SharedIndexInformer[Unstructured]) -> list[str]:
    return sorted(obj.name for obj in informer.store.list())


async def test_added_namespace_that_is_being_reselected_is_covered_after_the_swap(
    kinform_api: ApiServer, informer: SharedIndexInformer[Unstructured]
) -> None:
    kinform_api.create(config_map("old", "one", app="web"))
    kinform_api.create(config_map("new", "one", app="db"))
    informer.start()
    async with asyncio.timeout(20):
        await informer.set_selectors(labels="app=web")
        kinform_api.faults.inject(faults.delay_answer(0.1), resource="configmaps", times=None)
        informer.set_selectors(labels="app=db", namespace="one")
        await informer.add_namespace("one", labels="app=db")
    assert names(informer) == ["new"]


async def test_latches_of_replaced_changes_are_set_with_the_change_that_replaces_them(
    kinform_api: ApiServer, informer: SharedIndexInformer[Unstructured]
) -> None:
    kinform_api.create(config_map("a", "one", app="web"))
    informer.start()
    async with asyncio.timeout(20):
        await informer.has_synced
        with kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None):
            latches: list[Latch] = [
                informer.set_selectors(labels="app=db", namespace="one"),
                informer.remove_namespace("one"),
                informer.add_namespace("one", labels="app=web"),
                informer.set_selectors(labels="app=api"),
            ]
            informer.remove_namespace("two")
            informer.remove_namespace("one")
            for latch in latches:
                await latch
    assert informer.namespaces == ()
    assert names(informer) == []


@pytest.mark.parametrize("is_synced", [True, False])
async def test_deletions_of_a_swap_are_out_of_scope_before_and_after_the_first_sync(
    kinform_api: ApiServer, informer: SharedIndexInformer[Unstructured], is_synced: bool
) -> None:
    deleted: list[Deleted] = []
    kinform_api.create(config_map("a", "one", app="web"))
    informer.add_event_handler(on_delete=deleted.append)
    forbidden = kinform_api.faults.inject(
        faults.forbidden(), resource="configmaps", namespace="two", times=None
    )
    if is_synced:
        forbidden.remove()
    informer.start()
    await wait_until(lambda: names(informer) == ["a"])
    async with asyncio.timeout(20):
        if is_synced:
            await informer.has_synced
        await informer.set_selectors(labels="app=db", namespace="one")
        assert bool(informer.has_synced) is is_synced
        await wait_until(lambda: bool(deleted))
    assert [(each.key, each.out_of_scope) for each in deleted] == [("one/a", True)]


async def test_deletion_of_a_recreated_object_is_not_out_of_scope(
    kinform_api: ApiServer, informer: SharedIndexInformer[Unstructured]
) -> None:
    deleted: list[Deleted] = []
    kinform_api.create(config_map("a", "one", app="web"))
    kinform_api.create(config_map("b", "one", app="db"))
    informer.add_event_handler(on_delete=deleted.append)
    informer.start()
    async with asyncio.timeout(20):
        await informer.has_synced
        # Only the new selection gets through, and its list finds what happened meanwhile.
        kinform_api.faults.inject(
            faults.forbidden(),
            resource="configmaps",
            times=None,
            when=lambda call: not call.query.get("labelSelector"),
        )
        await kinform_api.stop()
        recreated = kinform_api.recreate(MAPS, "a", "one")
        await kinform_api.start()
        await informer.set_selectors(labels="app=web", namespace="one")
        await wait_until(lambda: len(deleted) == 2)
    (kept,) = informer.store.list()
    assert kept.uid == recreated["metadata"]["uid"]
    assert {each.key: each.out_of_scope for each in deleted} == {"one/a": False, "one/b": True}


@pytest.mark.parametrize("is_async", [True, False])
async def test_handlers_may_change_the_scope(
    kinform_api: ApiServer, informer: SharedIndexInformer[Unstructured], is_async: bool
) -> None:
    kinform_api.create(config_map("a", "one"))
    kinform_api.create(config_map("b", "two"))
    kinform_api.create(config_map("c", "default"))
    latches: list[Latch] = []

    def change(obj: Unstructured) -> None:
        if obj.name == "a":
            latches.extend([informer.remove_namespace("two"), informer.add_namespace("default")])

    async def change_in_task(obj: Unstructured) -> None:
        change(obj)

    informer.add_event_handler(on_add=change_in_task if is_async else change)
    informer.start()
    async with asyncio.timeout(20):
        await wait_until(lambda: len(latches) == 2)
        for latch in latches:
            await latch
    assert names(informer) == ["a", "c"]


async def test_object_deleted_during_a_swap_that_fits_both_scopes_is_not_out_of_scope(
    kinform_api: ApiServer, client: Client
) -> None:
    kinform_api.create(config_map("a", app="web"))
    source = ListWatch.for_resource(client, MAPS, namespace="default")
    informer = SharedIndexInformer(source, options=QUICK)
    deleted: list[DeletedObject[Unstructured]] = []
    informer.add_event_handler(on_delete=deleted.append)
    async with asyncio.timeout(20), informer:
        await informer.has_synced
        kinform_api.faults.inject(
            faults.forbidden(),
            resource="configmaps",
            times=None,
            when=lambda call: not call.query.get("labelSelector"),
        )
        await kinform_api.stop()
        kinform_api.delete(MAPS, "a", "default")
        await kinform_api.start()
        await informer.set_selectors(labels="app=web")
        await wait_until(lambda: bool(deleted))
    assert [each.out_of_scope for each in deleted] == [False]
