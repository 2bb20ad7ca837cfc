"""The same informer as in ipam_blocks.py for plain code: no ``async``, no ``await``, no loop.

It starts the embedded API server. For your own cluster, give ``run`` a
``blocking.Client.from_env()``.
"""

from __future__ import annotations

import contextlib

from kinform import GVR, DeletedObject, Latch, Unstructured, blocking
from kinform.errors import AlreadyExistsError
from kinform.testing import BlockingApiServer

GROUP = "crd.projectcalico.org"
IPAM_BLOCKS = GVR(GROUP, "v1", "ipamblocks")
NAMES = {"plural": "ipamblocks", "singular": "ipamblock", "kind": "IPAMBlock"}
SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
VERSION = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"ipamblocks.{GROUP}"},
    "spec": {"group": GROUP, "scope": "Namespaced", "names": NAMES, "versions": [VERSION]},
}


def create_ipam_block(client: blocking.Client) -> Unstructured:
    metadata = {"generateName": "informer-dynamic-simple-", "labels": {"example": "ipam-blocks"}}
    block = {"apiVersion": f"{GROUP}/v1", "kind": "IPAMBlock", "metadata": metadata}
    created = client.create({**block, "data": {"foo": "bar"}}, resource=IPAM_BLOCKS)
    print(f"Created IPAMBlock {created.key}")
    return created


def delete_ipam_block(client: blocking.Client, block: Unstructured) -> None:
    client.delete(IPAM_BLOCKS, block.name, namespace=block.namespace)
    print(f"Deleted IPAMBlock {block.key}")


def run(client: blocking.Client) -> None:
    has_updated, has_deleted = Latch(), Latch()

    def updated(old: Unstructured, new: Unstructured) -> None:
        print(f"Informer event: UPDATED {new.key}")
        has_updated.set()

    def deleted(gone: DeletedObject[Unstructured]) -> None:
        print(f"Informer event: DELETED {gone.key}")
        has_deleted.set()

    with contextlib.suppress(AlreadyExistsError):
        client.create(DEFINITION)
    factory = blocking.DynamicSharedInformerFactory(client, default_resync=5.0)
    blocks = factory.for_resource(IPAM_BLOCKS)
    blocks.informer.add_event_handler(
        on_add=lambda block: print(f"Informer event: ADDED {block.key}"),
        on_update=updated,
        on_delete=deleted,
    )
    with factory:  # start ... shutdown
        for resource, status in factory.wait_for_cache_sync(timeout=30).items():
            if not status.synced:
                raise SystemExit(f"failed to sync the cache of {resource}: {status}")
        block = create_ipam_block(client)
        has_updated.wait()  # by the resync, for nobody changes it
        delete_ipam_block(client, block)
        has_deleted.wait()


if __name__ == "__main__":
    with BlockingApiServer() as server, blocking.Client(server.config) as client:
        run(client)
