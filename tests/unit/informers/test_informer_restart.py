"""A stopped informer that is started again: what it asks the server for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from kinform.api import ListOptions
from kinform.client import ObjectList, WatchEvent
from kinform.informers import ListWatch, SharedIndexInformer
from kinform.objects import JSON, Record, Unstructured

_CONFIG_MAP = (
    b'{"apiVersion":"v1","kind":"ConfigMap","metadata":'
    b'{"name":"a","namespace":"n","uid":"u","resourceVersion":"7"}}'
)


async def test_the_first_list_after_a_restart_asks_for_nothing_older_than_the_store() -> None:
    asked: asyncio.Queue[str] = asyncio.Queue()

    async def page(options: ListOptions) -> ObjectList[Unstructured]:
        asked.put_nowait(f"list {options.resource_version}")
        return ObjectList(Unstructured, [Record.read(_CONFIG_MAP, JSON)], resource_version="7")

    async def watch(options: ListOptions) -> AsyncIterator[WatchEvent[Unstructured]]:
        asked.put_nowait(f"watch {options.resource_version}")
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    informer = SharedIndexInformer(ListWatch(page, watch, name="maps"))

    runs = []
    for _ in range(2):
        async with informer:
            runs.append([await asked.get(), await asked.get()])

    assert runs == [["list 0", "watch 7"], ["list 7", "watch 7"]]
