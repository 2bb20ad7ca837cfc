"""A handler that comes late misses nothing: first it is told what there is, then what changes.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import Client, DynamicSharedInformerFactory, Latch, Unstructured
from kinform.testing import ApiServer


class Late:
    """``async def`` methods run in a task on the event loop, one call at a time."""

    def __init__(self) -> None:
        self.has_seen_the_new_one = Latch()

    async def on_add(self, found: Unstructured, is_in_initial_list: bool) -> None:
        print(f"late: {found.name} {'was there' if is_in_initial_list else 'is new'}")
        if found.name == "new":
            self.has_seen_the_new_one.set()


async def create(client: Client, name: str) -> None:
    metadata = {"name": name, "labels": {"example": "late-handler"}}
    await client.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


async def run(client: Client) -> None:
    for name in ("a", "b"):
        await create(client, name)

    factory = DynamicSharedInformerFactory(client, namespace=client.namespace)
    maps = factory.for_resource("v1/configmaps", labels="example=late-handler").informer
    early = maps.add_event_handler(on_add=lambda found: print(f"early: {found.name}"))
    async with factory:
        await factory.wait_for_cache_sync(timeout=30, strict=True)
        # The cache has everything. Whether a handler was told of it, its registration knows.
        await early.has_synced

        handler = Late()
        late = maps.add_event_handler(handler)
        print("the informer has synced:", bool(maps.has_synced), "- late:", bool(late.has_synced))
        await late.has_synced
        print("late has been told of all that was there")

        await create(client, "new")
        await handler.has_seen_the_new_one
        late.remove()
        await late.stopped  # it is not called any more, nor is a call under way
        print("late was told", late.stats.processed, "events, and failed on", late.stats.failed)


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
