"""A dynamic informer of all pods with one handler: initial sync, or a steady watch."""

from __future__ import annotations

import asyncio

from benchmarks.measure import (
    Facts,
    Parameters,
    Window,
    report,
    resident_memory,
    since,
    used_cpu,
)
from kinform import GVR, Client, DynamicSharedInformerFactory, Unstructured

PODS = GVR("", "v1", "pods")


async def follow_pods(parameters: Parameters) -> Facts:
    window = Window()
    added = 0
    stamp = parameters["stamp"]

    def count(pod: Unstructured) -> None:
        nonlocal added
        added += 1

    def note(old: Unstructured, new: Unstructured) -> None:
        window.note(new.labels.get(stamp))
        if parameters.get("read_parts"):
            new.metadata, new["spec"], new["status"]

    async def on_add(pod: Unstructured) -> None:
        count(pod)

    async def on_update(old: Unstructured, new: Unstructured) -> None:
        note(old, new)

    async with Client.from_kubeconfig(parameters["kubeconfig"]) as client:
        factory = DynamicSharedInformerFactory(client)
        pods = factory.for_resource(PODS)
        # A task on the loop, as in an asyncio program; or a thread, as in any other.
        registration = (
            pods.informer.add_event_handler(on_add=count, on_update=note)
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
