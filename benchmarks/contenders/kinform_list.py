"""``Client.list`` of all pods, as a user would call it."""

from __future__ import annotations

import asyncio

from benchmarks.measure import Facts, Parameters, report
from kinform import GVR, Client

PODS = GVR("", "v1", "pods")


async def list_pods(parameters: Parameters) -> Facts:
    async with Client.from_kubeconfig(parameters["kubeconfig"]) as client:
        pods = await client.list(PODS)
    names = {pod.name for pod in pods}
    if parameters["read_parts"]:
        # What is read is dropped with the handle; the list itself does not grow.
        for pod in pods:
            pod.metadata, pod["spec"], pod["status"]
    payload = sum(len(record.payload) for record in pods.records)
    return {"objects": len(names), "payload": payload}


report(lambda parameters: asyncio.run(list_pods(parameters)))
