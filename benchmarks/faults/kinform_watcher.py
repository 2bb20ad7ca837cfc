"""kinform informers that log every handler call; the counterpart of client-go's faults.go.

Given JSON parameters, it prints ``synced`` after the initial sync, ``current`` once every
namespace's sentinel object was added, and ends at the line ``stop`` with its cache and the CPU
seconds since the sync. The log has the format that faults.go describes.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from typing import IO, Any

from msgspec.structs import replace

from benchmarks.measure import used_cpu
from kinform import (
    GVR,
    Client,
    DynamicSharedInformerFactory,
    MetadataSharedInformerFactory,
    SharedInformerFactory,
)
from kinform.informers import DeletedObject, InformerFactory
from kinform.objects import Handle
from kinform.transport import ClusterConfig

FACTORIES: dict[str, type[InformerFactory[Any]]] = {
    "typed": SharedInformerFactory,
    "dynamic": DynamicSharedInformerFactory,
    "metadata": MetadataSharedInformerFactory,
}

_SYNC_TIMEOUT = 60.0


class EventLog:
    """A handler that writes its calls to a file."""

    def __init__(self, file: IO[str], *, sentinel: str, sentinels: int) -> None:
        self._file = file
        self._sentinel = sentinel
        self._sentinels = sentinels

    async def on_add(self, obj: Handle, is_in_initial_list: bool) -> None:
        self._file.write(f"{time.monotonic_ns()} A {obj.key} {obj.resource_version}\n")
        if obj.name == self._sentinel:
            self._sentinels -= 1
            if not self._sentinels:
                print("current", flush=True)

    async def on_update(self, old: Handle, new: Handle) -> None:
        self._file.write(f"{time.monotonic_ns()} U {new.key} {new.resource_version}\n")

    async def on_delete(self, deleted: DeletedObject[Any]) -> None:
        kind = "X" if deleted.final_state_unknown else "D"
        version = deleted.object.resource_version if deleted.object is not None else "0"
        self._file.write(f"{time.monotonic_ns()} {kind} {deleted.key} {version}\n")


async def watch(given: Mapping[str, Any], file: IO[str]) -> dict[str, Any]:
    """Run the informers until the harness says ``stop``; their cache and CPU time."""
    log = EventLog(file, sentinel=given["sentinel"], sentinels=given["sentinels"])
    config = ClusterConfig.from_kubeconfig(given["kubeconfig"])
    async with Client(replace(config, user_agent=given["user_agent"])) as client:
        factory = FACTORIES[given["form"]](client)
        resource = GVR("", "v1", given["resource"])
        informers = [
            factory.for_resource(resource, namespace=namespace).informer
            for namespace in given["namespaces"] or [None]
        ]
        registrations = [informer.add_event_handler(log) for informer in informers]
        async with factory:
            async with asyncio.timeout(_SYNC_TIMEOUT):
                for registration in registrations:
                    await registration.has_synced
            before = used_cpu()
            print("synced", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            return {
                "cpu": used_cpu() - before,
                "cache": {
                    obj.key: obj.resource_version
                    for informer in informers
                    for obj in informer.store.list()
                },
            }


def main() -> None:
    given = json.loads(sys.argv[1])
    with open(given["log"], "w", buffering=1 << 20) as file:
        record = asyncio.run(watch(given, file))
    print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
