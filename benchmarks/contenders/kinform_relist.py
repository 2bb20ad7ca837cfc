"""A dynamic informer of all pods whose watch expires once: what a second list adds to memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from benchmarks.measure import (
    Facts,
    Parameters,
    forget_peak,
    peak_memory,
    report,
    resident_memory,
)
from kinform import GVR, Client
from kinform.api import ListOptions
from kinform.client import Frame
from kinform.informers import ListWatch, SharedIndexInformer
from kinform.objects import Unstructured

PODS = GVR("", "v1", "pods")

_B = TypeVar("_B")

_EXPIRED: dict[str, object] = {
    "type": "ERROR",
    "object": {"kind": "Status", "status": "Failure", "code": 410, "reason": "Expired"},
}


def expiring(source: ListWatch[Unstructured], expire: asyncio.Event) -> ListWatch[Unstructured]:
    """The same, but a watch that is open when ``expire`` is set ends with what a server says."""

    async def watch(options: ListOptions) -> AsyncIterator[list[Frame] | dict[str, object]]:
        async with source.watch(options) as batches:
            while batch := await _unless(expire, anext(batches, None)):
                yield batch
        if expire.is_set():
            expire.clear()
            yield _EXPIRED

    return ListWatch(source.page, watch, name="pods that expire", supports_streaming=True)


async def _unless(event: asyncio.Event, batch: Awaitable[_B | None]) -> _B | None:
    """What comes, or ``None`` if the event is first; nothing is left running."""
    coming, told = asyncio.ensure_future(batch), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((coming, told), return_when=asyncio.FIRST_COMPLETED)
        return None if event.is_set() else await coming
    finally:
        coming.cancel()
        told.cancel()
        await asyncio.wait((coming, told))


async def relist_pods(parameters: Parameters) -> Facts:
    added = 0

    def on_add(pod: Unstructured) -> None:
        nonlocal added
        added += 1

    async with Client.from_kubeconfig(parameters["kubeconfig"]) as client:
        expire = asyncio.Event()
        informer = SharedIndexInformer(expiring(ListWatch.for_resource(client, PODS), expire))
        registration = informer.add_event_handler(on_add=on_add)
        async with informer:
            await registration.has_synced
            await asyncio.sleep(parameters["rest"])
            before = resident_memory()
            forget_peak()
            expire.set()
            await _until_relisted(informer)
            await asyncio.sleep(parameters["rest"])
            return {
                "objects": added,
                "before_relist": before,
                "relist_peak": peak_memory(),
                "rest": resident_memory(),
                "relists": dict(informer.status().relists),
            }


async def _until_relisted(informer: SharedIndexInformer[Unstructured]) -> None:
    """It does not say so when it has: nothing has changed, and nobody is told."""
    while not informer.status().relists:  # noqa: ASYNC110  # there is no event to wait for
        await asyncio.sleep(0.1)


report(lambda parameters: asyncio.run(relist_pods(parameters)))
