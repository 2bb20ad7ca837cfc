"""Every StatefulSet, and each one that comes, changes and goes: the first program with client-go.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

from __future__ import annotations

import asyncio

from kinform import Client, DeletedObject, Latch, SharedInformerFactory
from kinform.models.apps.v1 import StatefulSet, StatefulSetSpec
from kinform.models.core.v1 import Container, PodSpec, PodTemplateSpec
from kinform.models.meta.v1 import LabelSelector, ObjectMeta
from kinform.testing import ApiServer

LABELS = {"app": "web"}
TEMPLATE = PodTemplateSpec(
    metadata=ObjectMeta(labels=LABELS),
    spec=PodSpec(containers=[Container(name="main", image="nginx")]),
)
SPEC = StatefulSetSpec(
    replicas=1, selector=LabelSelector(match_labels=LABELS), template=TEMPLATE, service_name="web"
)


async def run(client: Client) -> None:
    has_deleted = Latch()

    def deleted(gone: DeletedObject[StatefulSet]) -> None:
        print("delete a stateful set:", gone.name)
        has_deleted.set()

    factory = SharedInformerFactory(client, default_resync=30.0, namespace=client.namespace)
    sets = factory.apps.v1.stateful_sets
    sets.informer.add_event_handler(
        on_add=lambda each: print("add a stateful set:", each.metadata.name),
        on_update=lambda old, new: print("update:", old.spec.replicas, "->", new.spec.replicas),
        on_delete=deleted,
    )
    await client.create(StatefulSet(metadata=ObjectMeta(name="web"), spec=SPEC))
    async with factory:  # start ... shutdown
        await factory.wait_for_cache_sync(timeout=30, strict=True)
        for number, each in enumerate(sets.lister.namespace(client.namespace).list(), 1):
            print(f"{number} -->> {each.metadata.name}")

        mine = sets.lister.namespace(client.namespace).get("web").copy()
        mine.spec.replicas = 3  # what a lister gives is read-only; the copy is ours
        await client.update(mine)
        await client.delete(StatefulSet, "web")
        await has_deleted


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
