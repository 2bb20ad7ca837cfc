"""Nodes through the factory that has an accessor for every built-in kind, and through one's own.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import Client, ListOptions, SharedIndexInformer, SharedInformerFactory, new_informer
from kinform.informers import label_index
from kinform.models.core.v1 import Node, NodeSpec
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer

ZONE = "topology.kubernetes.io/zone"


def only_ours(options: ListOptions) -> ListOptions:
    return options.replace(label_selector="example=node-informer")


def build(client: Client, resync_period: float) -> SharedIndexInformer[Node]:
    """What a factory makes of nodes by itself, and with it an index by zone."""
    return new_informer(
        Node,
        client,
        resync_period=resync_period,
        indexers={"zone": label_index(ZONE)},
        tweak_list_options=only_ours,
    )


async def run(client: Client) -> None:
    for number in range(3):
        labels = {"example": "node-informer", ZONE: "ab"[number % 2]}
        metadata = ObjectMeta(name=f"example-{number}", labels=labels)
        await client.create(Node(metadata=metadata, spec=NodeSpec(unschedulable=number == 2)))

    factory = SharedInformerFactory(client, tweak_list_options=only_ours)
    informer = factory.informer_for(Node, build)
    nodes = factory.core.v1.nodes
    print("one informer for all who ask:", nodes.informer is informer)
    async with factory:  # start ... shutdown
        await factory.wait_for_cache_sync(timeout=30, strict=True)
        for node in nodes.lister.list():
            print(node.metadata.name, "cordoned" if node.spec.unschedulable else "ready for pods")
        print("in zone a:", *informer.indexer.index_keys("zone", "a"))
    await client.delete_collection(Node, labels="example=node-informer")


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
