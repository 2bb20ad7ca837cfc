"""Write, then read from a cache: the cached client sees its own writes.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import Cache, Client, NotFoundError
from kinform.models.core.v1 import ConfigMap
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer


async def run(client: Client) -> None:
    async with Cache(client, namespace=client.namespace, kinds=[ConfigMap]) as cache:
        cached = cache.client(timeout=20)
        new = ConfigMap(metadata=ObjectMeta(name="counter"), data={"n": "0"})
        created = await cached.create(new)
        for number in range(1, 4):
            # Each read waits for the write before it, so no update is refused as out of date.
            counter = (await cached.get(ConfigMap, created.key)).copy()
            counter.data = {"n": str(number)}
            await cached.update(counter)
        found = await cached.get(ConfigMap, created.key)
        print("counted to", (found.data or {})["n"])

        # The overlay does not wait: it returns what was written, until the cache has it.
        overlay = cache.client(own_writes="overlay")
        await overlay.patch(ConfigMap, "counter", {"data": {"n": "10"}})
        patched = await overlay.get(ConfigMap, created.key)
        print("patched to", (patched.data or {})["n"])

        await cached.delete(ConfigMap, "counter")
        try:
            await cached.get(ConfigMap, created.key)
        except NotFoundError as error:
            print("deleted:", error.details["name"])

        # Writes of others are waited for by their version.
        other = await client.create(ConfigMap(metadata=ObjectMeta(name="other")))
        await cache.caught_up(other.resource_version, ConfigMap)
        print("caught up:", cache.peek(ConfigMap).get("other").name)


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
