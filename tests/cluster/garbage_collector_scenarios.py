"""What people delete, and what is left of it afterwards."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from kinform.client import Propagation
from kinform.errors import KinformError, NoMatchError, NotFoundError
from kinform.objects import Unstructured
from tests.cluster.workload_scenarios import PODS, Scenario

MAPS = "v1/configmaps"
ROLES = "rbac.authorization.k8s.io/v1/clusterroles"
DEFINITIONS = "apiextensions.k8s.io/v1/customresourcedefinitions"
_PATIENCE = 90.0
_HOLD = "example.com/hold"


class GarbageScenario(Scenario):
    """The steps of one scenario. Objects are ConfigMaps unless it says otherwise."""

    @property
    def group(self) -> str:
        """The group of the custom resources of this scenario."""
        return f"{self.namespace}.example.com"

    @property
    def widgets(self) -> str:
        return f"{self.group}/v1/widgets"

    async def make(
        self, name: str, *owners: dict[str, Any], finalizers: list[str] | None = None
    ) -> dict[str, Any]:
        """Create a ConfigMap, and return a reference to it."""
        return await self._create("v1", "ConfigMap", name, owners, finalizers or [])

    async def make_widget(self, name: str, *owners: dict[str, Any]) -> dict[str, Any]:
        """Create a custom object, as soon as the server has its kind."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return await self._create(f"{self.group}/v1", "Widget", name, owners, [])
            except (NoMatchError, NotFoundError):
                assert time.monotonic() < deadline
                await asyncio.sleep(0.1)

    async def make_role(self, name: str, *owners: dict[str, Any]) -> dict[str, Any]:
        """Create a cluster-scoped object. Its name starts with that of the namespace."""
        api_version = "rbac.authorization.k8s.io/v1"
        name = f"{self.namespace}-{name}"
        return await self._create(api_version, "ClusterRole", name, owners, [], namespace="")

    async def define_widgets(self) -> None:
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
        }
        await self.client.create(
            {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"widgets.{self.group}"},
                "spec": {
                    "group": self.group,
                    "names": {"plural": "widgets", "kind": "Widget"},
                    "scope": "Namespaced",
                    "versions": [version],
                },
            }
        )

    async def _create(
        self,
        api_version: str,
        kind: str,
        name: str,
        owners: Any,
        finalizers: list[str],
        namespace: str | None = None,
    ) -> dict[str, Any]:
        metadata = {
            "name": name,
            "namespace": self.namespace if namespace is None else namespace,
            "ownerReferences": list(owners),
            "finalizers": finalizers,
        }
        created = await self.client.create(
            {"apiVersion": api_version, "kind": kind, "metadata": metadata}
        )
        return {"apiVersion": api_version, "kind": kind, "name": name, "uid": created.uid}

    async def begin(self) -> None:
        """Wait until a garbage collector is at work."""
        await self.make("at-work", ghost())
        await self.gone(MAPS, "at-work")

    async def followed(self) -> None:
        """Wait until the garbage collector follows the custom objects of this scenario."""
        await self.make_widget("followed", ghost())
        await self.gone(self.widgets, "followed")

    async def delete(
        self, name: str, propagation: Propagation = "Background", *, resource: str = MAPS
    ) -> None:
        await self.client.delete(resource, name, namespace=self.namespace, propagation=propagation)

    async def gone(self, resource: str, name: str) -> None:
        """Wait until an object does not exist any more."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                found = await self.client.get(resource, name, namespace=self.namespace)
            except NotFoundError:
                return
            assert time.monotonic() < deadline, f"{name}: {found.to_dict()}"
            await asyncio.sleep(0.05)

    async def release(self, name: str) -> None:
        await self.patch(MAPS, name, {"metadata": {"finalizers": None}})

    async def state(self) -> dict[str, Any]:
        found = [
            *await self.client.list(MAPS, namespace=self.namespace),
            *await self.client.list(PODS, namespace=self.namespace),
        ]
        roles = await self.client.list(ROLES)
        found += [each for each in roles if each.name.startswith(f"{self.namespace}-")]
        with suppress(KinformError):  # most scenarios have no such kind
            found += await self.client.list(self.widgets, namespace=self.namespace)
        return {f"{each.kind} {each.name}": _summary(each) for each in found}


def _summary(obj: Unstructured) -> Any:
    owners: list[Any] = obj.get_path("metadata.ownerReferences") or []
    return {
        "owners": [(each["name"], each.get("blockOwnerDeletion")) for each in owners],
        "finalizers": list(obj.get_path("metadata.finalizers") or ()),
        "is deleted": obj.get_path("metadata.deletionTimestamp") is not None,
    }


def blocking(reference: dict[str, Any]) -> dict[str, Any]:
    """The reference of an object whose owner waits for it in a foreground deletion."""
    return {**reference, "blockOwnerDeletion": True}


def ghost(kind: str = "ConfigMap", api_version: str = "v1") -> dict[str, Any]:
    """A reference to an object that never was."""
    uid = str(uuid.uuid4())
    return {"apiVersion": api_version, "kind": kind, "name": "ghost", "uid": uid}


async def chain(run: GarbageScenario, **last: Any) -> None:
    """A owns b, which owns c; and a owns d."""
    a = await run.make("a")
    b = await run.make("b", blocking(a))
    await run.make("c", blocking(b), **last)
    await run.make("d", a)


# -- the scenarios ---------------------------------------------------------------------------------


async def background(run: GarbageScenario) -> None:
    await chain(run)
    await run.delete("a", "Background")
    await run.gone(MAPS, "c")


async def foreground(run: GarbageScenario) -> None:
    await chain(run)
    await run.delete("a", "Foreground")
    await run.gone(MAPS, "a")


async def foreground_waits(run: GarbageScenario) -> None:
    await chain(run, finalizers=[_HOLD])
    await run.delete("a", "Foreground")


async def foreground_goes_on(run: GarbageScenario) -> None:
    await chain(run, finalizers=[_HOLD])
    await run.delete("a", "Foreground")
    await run.settled()
    await run.release("c")
    await run.gone(MAPS, "a")


async def foreground_does_not_wait_for_others(run: GarbageScenario) -> None:
    a = await run.make("a")
    await run.make("b", a, finalizers=[_HOLD])
    await run.delete("a", "Foreground")
    await run.gone(MAPS, "a")


async def foreground_is_unblocked(run: GarbageScenario) -> None:
    a = await run.make("a")
    await run.make("b", blocking(a), finalizers=[_HOLD])
    await run.delete("a", "Foreground")
    await run.settled()
    await run.patch(MAPS, "b", {"metadata": {"ownerReferences": [a]}})
    await run.gone(MAPS, "a")


async def foreground_of_a_circle(run: GarbageScenario) -> None:
    a = await run.make("a")
    b = await run.make("b", blocking(a))
    await run.patch(MAPS, "a", {"metadata": {"ownerReferences": [blocking(b)]}})
    await run.settled()
    await run.delete("a", "Foreground")
    await run.gone(MAPS, "a")


async def foreground_without_dependents(run: GarbageScenario) -> None:
    await run.make("a")
    await run.delete("a", "Foreground")
    await run.gone(MAPS, "a")


async def orphan(run: GarbageScenario) -> None:
    await chain(run)
    await run.delete("a", "Orphan")
    await run.gone(MAPS, "a")


async def orphan_of_custom_objects(run: GarbageScenario) -> None:
    await run.define_widgets()
    a = await run.make("a")
    await run.make_widget("w", a)
    await run.followed()
    await run.delete("a", "Orphan")
    await run.gone(MAPS, "a")


async def orphan_finalizer_is_kept(run: GarbageScenario) -> None:
    a = await run.make("a")
    b = await run.make("b", a, finalizers=["orphan"])
    await run.make("c", b)
    await run.delete("a")
    await run.gone(MAPS, "b")


async def two_owners(run: GarbageScenario) -> None:
    a, b = await run.make("a"), await run.make("b")
    await run.make("c", a, b)
    await run.settled()
    await run.delete("a")


async def two_owners_one_in_the_foreground(run: GarbageScenario) -> None:
    a, b = await run.make("a"), await run.make("b")
    await run.make("c", blocking(a), blocking(b))
    await run.settled()
    await run.delete("a", "Foreground")
    await run.gone(MAPS, "a")


async def two_owners_both_deleted(run: GarbageScenario) -> None:
    a, b = await run.make("a"), await run.make("b")
    await run.make("c", a, b)
    await run.delete("a")
    await run.delete("b")
    await run.gone(MAPS, "c")


async def dangling_owner(run: GarbageScenario) -> None:
    await run.make("a", ghost())
    await run.gone(MAPS, "a")


async def dangling_and_solid_owner(run: GarbageScenario) -> None:
    a = await run.make("a")
    await run.make("b", ghost(), a)


async def owner_with_another_uid(run: GarbageScenario) -> None:
    a = await run.make("a")
    await run.make("b", {**a, "uid": str(uuid.uuid4())})
    await run.gone(MAPS, "b")


async def owner_created_again(run: GarbageScenario) -> None:
    a = await run.make("a")
    await run.make("b", a)
    await run.delete("a")
    await run.make("a")
    await run.gone(MAPS, "b")


async def owner_of_an_unknown_kind(run: GarbageScenario) -> None:
    await run.make("a", ghost("Ghost", "example.com/v1"))


async def owner_in_another_namespace(run: GarbageScenario) -> None:
    metadata = {"name": f"{run.namespace}-other"}
    await run.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    a = await GarbageScenario(run.client, f"{run.namespace}-other").make("a")
    await run.make("b", a)
    await run.gone(MAPS, "b")


async def cluster_scoped_owner(run: GarbageScenario) -> None:
    role, other = await run.make_role("role"), await run.make_role("other")
    await run.make("a", role)
    await run.make("b", other)
    await run.settled()
    await run.client.delete(ROLES, role["name"], propagation="Foreground")
    await run.gone(MAPS, "a")


async def cluster_scoped_object_with_an_owner_in_a_namespace(run: GarbageScenario) -> None:
    a = await run.make("a")
    await run.make_role("role", a)
    await run.settled()
    await run.delete("a")


async def owned_pods(run: GarbageScenario) -> None:
    a = await run.make("a")
    for name in ("one", "two"):
        await run.pod(name, app="web")
        await run.patch(PODS, name, {"metadata": {"ownerReferences": [blocking(a)]}})
    await run.delete("a", "Foreground")
    await run.gone(MAPS, "a")


async def custom_owner(run: GarbageScenario) -> None:
    await run.define_widgets()
    widget = await run.make_widget("w")
    await run.make("a", widget)
    await run.make("b", await run.make_widget("v"))
    await run.followed()
    await run.delete("w", resource=run.widgets)
    await run.gone(MAPS, "a")


async def custom_owner_in_the_foreground(run: GarbageScenario) -> None:
    await run.define_widgets()
    widget = await run.make_widget("w")
    part = await run.make_widget("part", blocking(widget))
    await run.make("a", blocking(part))
    await run.followed()
    await run.delete("w", "Foreground", resource=run.widgets)
    await run.gone(run.widgets, "w")


async def definition_deleted(run: GarbageScenario) -> None:
    await run.define_widgets()
    await run.make("a", await run.make_widget("w"))
    await run.followed()
    await run.client.delete(DEFINITIONS, f"widgets.{run.group}")
    await run.gone(MAPS, "a")


SCENARIOS: dict[str, Callable[[GarbageScenario], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        background,
        foreground,
        foreground_waits,
        foreground_goes_on,
        foreground_does_not_wait_for_others,
        foreground_is_unblocked,
        foreground_of_a_circle,
        foreground_without_dependents,
        orphan,
        orphan_of_custom_objects,
        orphan_finalizer_is_kept,
        two_owners,
        two_owners_one_in_the_foreground,
        two_owners_both_deleted,
        dangling_owner,
        dangling_and_solid_owner,
        owner_with_another_uid,
        owner_created_again,
        owner_of_an_unknown_kind,
        owner_in_another_namespace,
        cluster_scoped_owner,
        cluster_scoped_object_with_an_owner_in_a_namespace,
        owned_pods,
        custom_owner,
        custom_owner_in_the_foreground,
        definition_deleted,
    )
}
