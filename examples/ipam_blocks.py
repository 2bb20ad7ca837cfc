"""An informer on a custom resource: every IPAMBlock, and each one that comes, changes and goes.

It starts the embedded API server. For your own cluster, give ``run`` a ``Client.from_env()``.
"""

import asyncio
import contextlib

from kinform import GVR, Client, DeletedObject, DynamicSharedInformerFactory, Latch, Unstructured
from kinform.errors import AlreadyExistsError
from kinform.testing import ApiServer

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


class Printer:
    """A handler: any of these three methods. They run on the event loop, in order."""

    def __init__(self) -> None:
        self.has_updated, self.has_deleted = Latch(), Latch()

    def on_add(self, block: Unstructured, is_in_initial_list: bool) -> None:
        print(f"Informer event: ADDED {block.key}")

    def on_update(self, old: Unstructured, new: Unstructured) -> None:
        print(f"Informer event: UPDATED {new.key}")
        self.has_updated.set()

    def on_delete(self, deleted: DeletedObject[Unstructured]) -> None:
        print(f"Informer event: DELETED {deleted.key}")
        self.has_deleted.set()


async def create_ipam_block(client: Client) -> Unstructured:
    metadata = {"generateName": "informer-dynamic-simple-", "labels": {"example": "ipam-blocks"}}
    block = {"apiVersion": f"{GROUP}/v1", "kind": "IPAMBlock", "metadata": metadata}
    created = await client.create({**block, "data": {"foo": "bar"}}, resource=IPAM_BLOCKS)
    print(f"Created IPAMBlock {created.key}")
    return created


async def delete_ipam_block(client: Client, block: Unstructured) -> None:
    await client.delete(IPAM_BLOCKS, block.name, namespace=block.namespace)
    print(f"Deleted IPAMBlock {block.key}")


async def run(client: Client) -> None:
    with contextlib.suppress(AlreadyExistsError):
        await client.create(DEFINITION)
    # One informer for each resource, shared by all who ask; every 5 s it tells its handlers again
    # what there is: that is a resync. It asks the cache, not the server.
    factory = DynamicSharedInformerFactory(client, default_resync=5.0)
    blocks = factory.for_resource(IPAM_BLOCKS)
    printer = Printer()
    blocks.informer.add_event_handler(printer)
    async with factory:  # start ... shutdown
        for resource, status in (await factory.wait_for_cache_sync(timeout=30)).items():
            if not status.synced:
                raise SystemExit(f"failed to sync the cache of {resource}: {status}")
        block = await create_ipam_block(client)
        await printer.has_updated  # by the resync, for nobody changes it
        await delete_ipam_block(client, block)
        await printer.has_deleted


async def main() -> None:
    async with ApiServer() as server, Client(server.config) as client:
        await run(client)


if __name__ == "__main__":
    asyncio.run(main())
