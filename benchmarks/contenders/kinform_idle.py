"""Many informers in one process, a namespace and a handler each, and nothing happens in any."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any

from benchmarks.measure import Facts, Parameters, report, resident_memory, used_cpu
from kinform import GVR, Client, DynamicSharedInformerFactory, Unstructured

PODS = GVR("", "v1", "pods")
_SETTLE_SECONDS = 3.0


def _on_add(pod: Unstructured) -> None: ...


async def _on_add_async(pod: Unstructured) -> None: ...


async def idle(parameters: Parameters) -> Facts:
    options: dict[str, Any] = (
        {"on_add": _on_add_async}
        if parameters["async_handlers"]
        else {"on_add": _on_add, "run_on": "thread"}
    )
    async with Client.from_kubeconfig(parameters["kubeconfig"]) as client:
        factory = DynamicSharedInformerFactory(client)
        for number in range(parameters["informers"]):
            pods = factory.for_resource(PODS, namespace=f"idle-{number}")
            pods.informer.add_event_handler(**options)
        async with factory:
            await factory.wait_for_cache_sync(timeout=60, strict=True)
            await asyncio.sleep(_SETTLE_SECONDS)
            cpu, began = used_cpu(), time.monotonic()
            await asyncio.sleep(parameters["seconds"])
            share = (used_cpu() - cpu) / (time.monotonic() - began)
            return {
                "share": share,
                "threads": _threads(),
                "named": sorted({thread.name for thread in threading.enumerate()})[:10],
                "rest": resident_memory(),
            }


def _threads() -> int:
    """Of the whole process, whoever started them. Linux only."""
    return len(os.listdir("/proc/self/task"))


report(lambda parameters: asyncio.run(idle(parameters)))
