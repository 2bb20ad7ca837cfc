"""Namespaces that are deleted: with content, with finalizers, with custom resources."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from kinform import NotFoundError
from tests.cluster.workload_scenarios import Scenario

NAMESPACES = "v1/namespaces"
MAPS = "v1/configmaps"


class NamespaceScenario(Scenario):
    """A scenario whose state is its namespace, and the ConfigMaps in it."""

    async def config_map(self, name: str, *finalizers: str) -> None:
        metadata = {"name": name, "namespace": self.namespace, "finalizers": list(finalizers)}
        await self.client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})

    async def delete(self) -> None:
        await self.client.delete(NAMESPACES, self.namespace)

    async def until_conditions(self) -> None:
        deadline = time.monotonic() + 60
        while not (await self.state()).get("conditions"):
            assert time.monotonic() < deadline, await self.state()
            await asyncio.sleep(0.1)

    async def until_gone(self) -> None:
        deadline = time.monotonic() + 60
        while await self.state() != {}:
            assert time.monotonic() < deadline, await self.state()
            await asyncio.sleep(0.1)

    async def state(self) -> dict[str, Any]:
        try:
            found = await self.client.get(NAMESPACES, self.namespace)
        except NotFoundError:
            return {}
        conditions: list[Any] = found.get_path("status.conditions") or []
        maps = await self.client.list(MAPS, namespace=self.namespace)
        return {
            "phase": found.get_path("status.phase"),
            "finalizers": found.get_path("spec.finalizers"),
            "conditions": [
                {key: value for key, value in each.items() if key != "lastTransitionTime"}
                for each in conditions
            ],
            "maps": sorted(each.name for each in maps),
        }


async def empty_namespace(run: NamespaceScenario) -> None:
    await run.delete()
    await run.until_gone()


async def namespace_with_content(run: NamespaceScenario) -> None:
    for number in range(5):
        await run.config_map(f"map-{number}")
    await run.deploy()
    await run.pod("alone", app="alone")
    await run.delete()
    await run.until_gone()


async def namespace_with_finalizers(run: NamespaceScenario) -> None:
    await run.config_map("kept", "example.com/keep")
    await run.config_map("gone")
    await run.delete()
    await run.until_conditions()


async def namespace_released_later(run: NamespaceScenario) -> None:
    await run.config_map("kept", "example.com/keep")
    await run.delete()
    await run.until_conditions()
    await run.patch(MAPS, "kept", {"metadata": {"finalizers": None}})
    await run.until_gone()


async def namespace_in_use(run: NamespaceScenario) -> None:
    await run.config_map("stays")


SCENARIOS: dict[str, Callable[[Any], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        empty_namespace,
        namespace_with_content,
        namespace_with_finalizers,
        namespace_released_later,
        namespace_in_use,
    )
}
