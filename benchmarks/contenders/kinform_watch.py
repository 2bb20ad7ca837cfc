"""``Client.watch`` of all pods: every event of one stream."""

from __future__ import annotations

import asyncio

from benchmarks.measure import Facts, Parameters, report
from kinform import GVR, Client

PODS = GVR("", "v1", "pods")


async def watch_pods(parameters: Parameters) -> Facts:
    events = 0
    last = ""
    async with (
        Client.from_kubeconfig(parameters["kubeconfig"]) as client,
        client.watch(PODS, resource_version="1") as watch,
    ):
        async for event in watch:
            events += 1
            last = event.object.name
    return {"objects": events, "last": last}


report(lambda parameters: asyncio.run(watch_pods(parameters)))
