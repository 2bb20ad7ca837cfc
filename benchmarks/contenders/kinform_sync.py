"""An informer of all pods with one handler: initial sync, or a steady watch."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.measure import (
    Facts,
    Parameters,
    Window,
    report,
    resident_memory,
    since,
    used_cpu,
)
from benchmarks.reading import read_everything
from kinform import GVR, Client, DynamicSharedInformerFactory, SharedInformerFactory
from kinform.informers import strip_managed_fields

PODS = GVR("", "v1", "pods")


def read_two_fields(pod: Any) -> None:
    """What a scheduler looks at."""
    _ = (pod.status.phase, pod.spec.node_name)


READERS: Mapping[str | None, Callable[[Any], None] | None] = {
    None: None,
    "two fields": read_two_fields,
    "everything": read_everything,
}


async def follow_pods(parameters: Parameters) -> Facts:
    window = Window()
    added = 0
    stamp = parameters["stamp"]
    read = READERS[parameters.get("reads")]

    def count(pod: Any) -> None:
        nonlocal added
        added += 1
        if read is not None:
            read(pod)

    def note(old: Any, new: Any) -> None:
        window.note(new.labels.get(stamp))
        if parameters.get("read_parts"):
            new.metadata, new["spec"], new["status"]

    async def on_add(pod: Any) -> None:
        count(pod)

    async def on_update(old: Any, new: Any) -> None:
        note(old, new)

    async with Client.from_kubeconfig(
        parameters["kubeconfig"],
        wire_format=parameters.get("wire", "auto"),
        watch_latency=parameters.get("watch_latency", 0.0),
    ) as client:
        transform = strip_managed_fields if parameters.get("strip") else None
        factory = (
            SharedInformerFactory(client, transform=transform)
            if parameters.get("typed")
            else DynamicSharedInformerFactory(client, transform=transform)
        )
        pods = factory.for_resource(PODS)
        # On the loop, or on a thread.
        registration = (
            pods.informer.add_event_handler(on_add=count, on_update=note, run_on="thread")
            if parameters.get("threaded")
            else pods.informer.add_event_handler(on_add=on_add, on_update=on_update)
        )
        async with factory:
            await registration.has_synced
            facts = {"cpu": used_cpu(), "work_wall": since(parameters["started"])}
            if parameters["mode"] == "sync":
                await asyncio.sleep(parameters["rest"])
                facts["rested_cpu"] = used_cpu()
            else:
                facts |= await asyncio.to_thread(window.measure)
            return {**facts, "objects": added, "rest": resident_memory()}


report(lambda parameters: asyncio.run(follow_pods(parameters)))
