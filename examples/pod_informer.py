"""Pods of one namespace: the accessor of a factory, and an informer that nobody shares.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import Client, SharedInformerFactory, new_informer
from kinform.models.core.v1 import Container, Pod, PodSpec
from kinform.models.meta.v1 import ObjectMeta
from kinform.testing import ApiServer


def web(number: int, image: str) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=f"web-{number}", labels={"app": "web"}),
        spec=PodSpec(containers=[Container(name="main", image=image)]),
    )


async def run(client: Client) -> None:
    for number, image in enumerate(["nginx:1.27", "nginx:1.28", "nginx:1.28"]):
        await client.create(web(number, image))

    # The one to prefer: all who ask the factory share one list, one watch and one copy.
    factory = SharedInformerFactory(client, namespace=client.namespace)
    pods = factory.core.v1.pods
    told = pods.informer.add_event_handler(
        on_add=lambda pod: print("added", pod.metadata.name, pod.spec.containers[0].image)
    )
    async with factory:
        await told.has_synced  # the cache has them all, and the handler was told of each
        for pod in pods.lister.namespace(client.namespace).list("app=web"):
            print(pod.metadata.name, "is", pod.status.phase, "and has", *pod.metadata.labels)

    # An informer of one's own, with an index of one's own beside the one by namespace.
    own = new_informer(
        Pod,
        client,
        namespace=client.namespace,
        indexers={"image": lambda pod: [each.image for each in pod.spec.containers]},
    )
    async with own:
        await own.has_synced
        print("on nginx:1.28:", *own.indexer.index_keys("image", "nginx:1.28"))
        print("indices:", *sorted(own.indexer.indexers))


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
