"""Follow objects by their metadata alone: what they contain never travels, and is never kept.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import GVR, Client, MetadataSharedInformerFactory
from kinform.testing import ApiServer

CONFIG_MAPS = GVR("", "v1", "configmaps")
SIZE = 100_000


async def create(client: Client, name: str) -> None:
    metadata = {"name": name, "labels": {"team": "blue"}}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    await client.create({**body, "data": {"blob": "x" * SIZE}})


async def run(client: Client) -> None:
    for number in range(3):
        await create(client, f"big-{number}")

    factory = MetadataSharedInformerFactory(client, namespace=client.namespace)
    maps = factory.for_resource(CONFIG_MAPS, labels={"team": "blue"})
    # What is there, and then what changes: a loop instead of a handler.
    async with factory, maps.informer.events() as events:
        await factory.wait_for_cache_sync(timeout=30, strict=True)
        held = maps.informer.status()
        print(f"{held.objects} objects of {SIZE} bytes and more on the server")
        print("in the cache they are smaller than one of them:", held.bytes < SIZE)

        await create(client, "big-3")
        await client.patch(CONFIG_MAPS, "big-3", {"metadata": {"labels": {"tier": "db"}}})
        await client.delete(CONFIG_MAPS, "big-0")
        async for event in events:
            labels = dict(event.object.labels) if event.object is not None else {}
            print(event.type, event.key, labels)
            if event.type == "DELETED":
                break
        print("left:", *(each.name for each in maps.lister.list("team=blue")))


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
