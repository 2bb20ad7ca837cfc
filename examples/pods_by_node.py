"""Which pods run on this node? An index answers from memory, whatever the size of the cluster.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import Client, DynamicSharedInformerFactory, Unstructured
from kinform.informers import field_index
from kinform.testing import ApiServer


async def create_pod(client: Client, name: str, node: str) -> Unstructured:
    spec = {"nodeName": node, "containers": [{"name": "main", "image": "nginx"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    return await client.create(pod)


async def run(client: Client) -> None:
    for number in range(4):
        await create_pod(client, f"web-{number}", f"node-{number % 2}")

    factory = DynamicSharedInformerFactory(client)
    pods = factory.for_resource("v1/pods", namespace=client.namespace)
    pods.informer.add_indexers({"node": field_index("spec.nodeName")})
    async with factory:
        await factory.wait_for_cache_sync(timeout=30, strict=True)
        for node in sorted(pods.informer.indexer.index_values("node")):
            names = [pod.name for pod in pods.informer.indexer.by_index("node", node)]
            print(f"{node}:", *sorted(names))

        # The cache hears of a write a little later; wait_for_rv waits until it has.
        created = await create_pod(client, "web-4", "node-1")
        await pods.informer.wait_for_rv(created.resource_version)
        print("node-1 now:", *pods.informer.indexer.index_keys("node", "node-1"))

        # An index may also be any function of an object, added at any time.
        pods.informer.add_indexers(
            {"image": lambda pod: [each["image"] for each in pod["spec"]["containers"]]}
        )
        print("with nginx:", len(pods.informer.indexer.by_index("image", "nginx")))


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
