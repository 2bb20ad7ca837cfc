"""Which pods run on this node? A cache answers from memory, and so do its lists by label or owner.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from kinform import Cache, Client
from kinform.models.core.v1 import Container, Pod, PodSpec
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer


async def create_pod(client: Client, name: str, node: str, image: str) -> Pod:
    spec = PodSpec(node_name=node, containers=[Container(name="main", image=image)])
    return await client.create(Pod(metadata=ObjectMeta(name=name), spec=spec))


def images(pod: Pod) -> Iterable[str]:
    return [each.image or "" for each in pod.spec.containers or []]


async def run(client: Client) -> None:
    for number in range(4):
        image = "redis" if number == 3 else "nginx"
        await create_pod(client, f"web-{number}", f"node-{number % 2}", image)

    cache = Cache(client, namespace=client.namespace)
    cache.index_field(Pod, "spec.nodeName")
    cache.index_field(Pod, "images", images)
    async with cache:
        for node in ("node-0", "node-1"):
            # The first read waits for the first list of the pods, the others do not wait.
            pods = await cache.list(Pod, fields={"spec.nodeName": node})
            print(f"{node}:", *(pod.name for pod in pods))

        nginx = await cache.list(Pod, fields={"spec.nodeName": "node-1", "images": "nginx"})
        print("nginx on node-1:", *(pod.name for pod in nginx))
        elsewhere = await cache.list(Pod, fields="spec.nodeName!=node-1", limit=1)
        print("first elsewhere:", *(pod.name for pod in elsewhere))

        # Never waits, on any thread.
        print("now:", cache.peek(Pod).get("web-0").spec.node_name)


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
