"""The garbage collector, on the embedded server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from kinform import Client
from kinform.controller_manager.workloads import garbage_collector_controller
from kinform.controllers import EventRecorder, Manager
from kinform.errors import NotFoundError
from kinform.testing import ApiServer

MAPS = "v1/configmaps"
WIDGETS = "example.com/v1/widgets"
_TIMEOUT = 20.0


class Objects:
    """Creates objects, and waits until they are gone."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def make(
        self,
        name: str,
        *owners: dict[str, Any],
        finalizers: Sequence[str] = (),
        namespace: str = "default",
        kind: tuple[str, str] = ("v1", "ConfigMap"),
    ) -> dict[str, Any]:
        metadata = {
            "name": name,
            "namespace": namespace,
            "ownerReferences": list(owners),
            "finalizers": list(finalizers),
        }
        created = await self.client.create(
            {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}
        )
        return {"apiVersion": kind[0], "kind": kind[1], "name": name, "uid": created.uid}

    async def gone(self, name: str, resource: str = MAPS) -> None:
        async with asyncio.timeout(_TIMEOUT):
            while name in await self.names(resource):  # noqa: ASYNC110  # read from the server
                await asyncio.sleep(0.02)

    async def names(self, resource: str = MAPS) -> list[str]:
        return [each.name for each in await self.client.list(resource, namespace="default")]

    async def owners(self, name: str) -> list[str]:
        found = await self.client.get(MAPS, name, namespace="default")
        references: list[Any] = found.get_path("metadata.ownerReferences") or []
        return [each["name"] for each in references]

    async def until_owners(self, name: str, owners: list[str]) -> None:
        async with asyncio.timeout(_TIMEOUT):
            while await self.owners(name) != owners:  # noqa: ASYNC110  # read from the server
                await asyncio.sleep(0.02)


@pytest.fixture
async def objects() -> AsyncIterator[Objects]:
    async with ApiServer() as server, Client(server.config) as client:
        manager = Manager(client, recorder=EventRecorder(client, "garbage-collector"))
        manager.add(garbage_collector_controller())
        async with manager:
            await manager.ready
            yield Objects(client)


def blocking(reference: dict[str, Any]) -> dict[str, Any]:
    return {**reference, "blockOwnerDeletion": True}


async def test_background_deletion_reaches_the_end_of_a_chain(objects: Objects) -> None:
    b = await objects.make("b", await objects.make("a"))
    await objects.make("c", b)
    await objects.client.delete(MAPS, "a", propagation="Background")
    await objects.gone("c")
    assert await objects.names() == []


async def test_foreground_deletion_waits_for_blocking_dependents(objects: Objects) -> None:
    a = await objects.make("a")
    await objects.make("b", blocking(a), finalizers=["example.com/hold"])
    await objects.make("c", blocking(a))
    await objects.client.delete(MAPS, "a", propagation="Foreground")
    await objects.gone("c")
    assert await objects.names() == ["a", "b"]
    await objects.client.patch(MAPS, "b", {"metadata": {"finalizers": None}})
    await objects.gone("a")


async def test_foreground_deletion_of_a_circle_ends(objects: Objects) -> None:
    a = await objects.make("a")
    b = await objects.make("b", blocking(a))
    patch = {"metadata": {"ownerReferences": [blocking(b)]}}
    await objects.client.patch(MAPS, "a", patch)
    await objects.client.delete(MAPS, "a", propagation="Foreground")
    await objects.gone("a")
    await objects.gone("b")


async def test_orphans_forget_their_owner(objects: Objects) -> None:
    a, z = await objects.make("a"), await objects.make("z")
    await objects.make("b", a, z)
    await objects.make("c", a)
    await objects.client.delete(MAPS, "a", propagation="Orphan")
    await objects.gone("a")
    assert await objects.owners("b") == ["z"]
    assert await objects.owners("c") == []


async def test_object_stays_while_one_owner_exists(objects: Objects) -> None:
    a, b = await objects.make("a"), await objects.make("b")
    await objects.make("c", a, b)
    await objects.client.delete(MAPS, "a")
    await objects.until_owners("c", ["b"])
    await objects.client.delete(MAPS, "b")
    await objects.gone("c")


async def test_owner_with_another_uid_is_gone(objects: Objects) -> None:
    a = await objects.make("a")
    await objects.make("b", {**a, "uid": "11111111-2222-3333-4444-555555555555"})
    await objects.gone("b")
    assert await objects.names() == ["a"]


async def test_owner_in_another_namespace_is_gone_and_reported(objects: Objects) -> None:
    metadata = {"name": "other"}
    await objects.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    a = await objects.make("a", namespace="other")
    await objects.make("b", a)
    await objects.gone("b")
    assert await objects.client.get(MAPS, "a", namespace="other")
    async with asyncio.timeout(_TIMEOUT):
        while not (found := await _events(objects)):  # noqa: ASYNC110  # read from the server
            await asyncio.sleep(0.02)
    assert found[0].endswith('does not exist in namespace "default"')


async def test_owner_of_an_unknown_kind_counts(objects: Objects) -> None:
    uid = "11111111-2222-3333-4444-555555555555"
    ghost = {"apiVersion": "example.com/v1", "kind": "Ghost", "name": "g", "uid": uid}
    await objects.make("a", ghost)
    await objects.make("b", {**ghost, "apiVersion": "v1", "kind": "ConfigMap"})
    await objects.gone("b")
    assert await objects.names() == ["a"]


async def test_kinds_come_and_go(objects: Objects) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }
    await objects.client.create(definition)
    widget = ("example.com/v1", "Widget")
    async with asyncio.timeout(_TIMEOUT):
        while True:
            try:
                v, w = [await objects.make(each, kind=widget) for each in ("v", "w")]
                break
            except NotFoundError:
                await asyncio.sleep(0.02)
    await objects.make("a", v)
    await objects.make("b", w)
    part = await objects.make("part", v, kind=widget)
    await objects.make("c", part)
    await objects.client.delete(WIDGETS, "v", namespace="default")
    for name in ("a", "c"):
        await objects.gone(name)
    definitions = "apiextensions.k8s.io/v1/customresourcedefinitions"
    await objects.client.delete(definitions, "widgets.example.com")
    await objects.gone("b")


async def _events(objects: Objects) -> list[str]:
    found = await objects.client.list("events.k8s.io/v1/events", namespace="default")
    notes = [each for each in found if each.get_path("reason") == "OwnerRefInvalidNamespace"]
    return [str(each.get_path("note")) for each in notes]
