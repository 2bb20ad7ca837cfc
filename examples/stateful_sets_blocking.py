"""The same program as stateful_sets.py for plain code: no ``async``, no ``await``, no loop.

It starts the embedded API server. For your own cluster, give ``run`` a
``blocking.Client.from_env()``.
"""

from __future__ import annotations

from kinform import DeletedObject, Latch, blocking
from kinform.models.apps.v1 import StatefulSet, StatefulSetSpec
from kinform.models.core.v1 import Container, PodSpec, PodTemplateSpec
from kinform.models.meta.v1 import LabelSelector, ObjectMeta
from kinform.testing import BlockingApiServer

LABELS = {"app": "web"}
TEMPLATE = PodTemplateSpec(
    metadata=ObjectMeta(labels=LABELS),
    spec=PodSpec(containers=[Container(name="main", image="nginx")]),
)
SPEC = StatefulSetSpec(
    replicas=1, selector=LabelSelector(match_labels=LABELS), template=TEMPLATE, service_name="web"
)


def run(client: blocking.Client) -> None:
    has_deleted = Latch()

    def deleted(gone: DeletedObject[StatefulSet]) -> None:
        print("delete a stateful set:", gone.name)
        has_deleted.set()

    factory = blocking.SharedInformerFactory(
        client, default_resync=30.0, namespace=client.namespace
    )
    sets = factory.apps.v1.stateful_sets
    sets.informer.add_event_handler(
        on_add=lambda each: print("add a stateful set:", each.metadata.name),
        on_update=lambda old, new: print("update:", old.spec.replicas, "->", new.spec.replicas),
        on_delete=deleted,
    )
    client.create(StatefulSet(metadata=ObjectMeta(name="web"), spec=SPEC))
    with factory:  # start ... shutdown
        factory.wait_for_cache_sync(timeout=30, strict=True)
        for number, each in enumerate(sets.lister.namespace(client.namespace).list(), 1):
            print(f"{number} -->> {each.metadata.name}")

        mine = sets.lister.namespace(client.namespace).get("web").copy()
        mine.spec.replicas = 3  # what a lister gives is read-only; the copy is ours
        client.update(mine)
        client.delete(StatefulSet, "web")
        has_deleted.wait()


if __name__ == "__main__":
    with BlockingApiServer() as server, blocking.Client(server.config) as client:
        run(client)
