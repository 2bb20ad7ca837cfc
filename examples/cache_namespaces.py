"""A cache over namespaces that come and go: those of a label, and those added by hand.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import Cache, Client
from kinform.cache import NamespaceSelector
from kinform.errors import OutOfScopeError
from kinform.informers import DeletedObject
from kinform.models.core.v1 import ConfigMap, Namespace
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer


class Arrivals:
    """Prints the objects that enter and leave a cache, and counts them."""

    def __init__(self) -> None:
        self.changed = asyncio.Condition()
        self.count = 0

    async def on_add(self, obj: ConfigMap) -> None:
        print("entered:", obj.name)
        await self._count(1)

    async def on_delete(self, gone: DeletedObject[ConfigMap]) -> None:
        print("left the scope:" if gone.out_of_scope else "deleted:", gone.key.split("/")[1])
        await self._count(-1)

    async def wait_for(self, count: int) -> None:
        async with self.changed:
            await self.changed.wait_for(lambda: self.count == count)

    async def _count(self, change: int) -> None:
        async with self.changed:
            self.count += change
            self.changed.notify_all()


async def create_team(client: Client, name: str, **labels: str) -> str:
    """Create a namespace with one object, named after the namespace of the client."""
    namespace = f"{client.namespace}-{name}"
    await client.create(Namespace(metadata=ObjectMeta(name=namespace, labels=labels)))
    meta = ObjectMeta(name=f"of-{name}", namespace=namespace)
    await client.create(ConfigMap(metadata=meta, data={"team": name}))
    return namespace


async def follow_a_label(client: Client, label: str) -> None:
    arrivals = Arrivals()
    async with Cache(client, namespace=NamespaceSelector({"shown-in": label})) as cache:
        informer = await cache.get_informer(ConfigMap)
        informer.add_event_handler(
            on_add=arrivals.on_add,
            on_delete=arrivals.on_delete,
            filter=lambda obj: obj.name.startswith("of-"),
        )
        red = await create_team(client, "red", **{"shown-in": label})
        await arrivals.wait_for(1)
        await create_team(client, "blue", **{"shown-in": label})
        await arrivals.wait_for(2)
        # Without its label, a namespace leaves the cache; its objects still exist.
        await client.patch(Namespace, red, {"metadata": {"labels": {"shown-in": None}}})
        await arrivals.wait_for(1)


async def choose_by_hand(client: Client) -> None:
    red, blue = f"{client.namespace}-red", f"{client.namespace}-blue"
    async with Cache(client, namespace=[red]) as cache:

        async def names() -> list[str]:
            found = await cache.list(ConfigMap)
            return [each.name for each in found if each.name.startswith("of-")]

        print("by hand:", *await names())
        await cache.add_namespace(blue)
        print("one more:", *await names())
        await cache.remove_namespace(red)
        print("one less:", *await names())
        try:
            await cache.get(ConfigMap, f"{red}/of-red")
        except OutOfScopeError:
            print("of-red is out of scope, which is not the same as deleted")


async def run(client: Client) -> None:
    await follow_a_label(client, label=client.namespace)
    await choose_by_hand(client)


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
