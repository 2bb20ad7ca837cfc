"""``kinform.Cache`` of all pods, as told on standard input: a JSON object per line in, one out.

The commands ``start``, ``bench`` and ``collect`` are those of ``peers/controller_runtime``.
``idle`` caches kinds that never change and measures what that costs.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from itertools import cycle

from benchmarks.measure import Facts, Parameters, peak_memory, resident_memory, used_cpu
from kinform import GVR, Cache, Client
from kinform.models.core.v1 import Pod

NODE = "spec.nodeName"
_SETTLE_SECONDS = 3.0

Call = Callable[[], Awaitable[object]]


def read_two(pods: Iterable[Pod]) -> None:
    for pod in pods:
        _ = (pod.status.phase, pod.spec.node_name)


def iterate(pods: Iterable[Pod]) -> None:
    """Objects of a list are created as they are reached."""
    for _ in pods:
        pass


async def main() -> None:
    parameters = await command()
    async with Client.from_kubeconfig(parameters["kubeconfig"]) as client:
        cache = Cache(client)
        if parameters["do"] == "idle":
            answer(await idle(cache, parameters))
            return
        cache.index_field(Pod, NODE)
        before, began = resident_memory(), time.perf_counter()
        async with cache:
            await cache.wait_for_cache_sync(timeout=600, strict=True)
            facts = {
                "sync": time.perf_counter() - began,
                "sync_cpu": used_cpu(),
                "synced": resident_memory(),
            }
            await asyncio.sleep(parameters["rest"])
            facts |= {"rest": resident_memory(), "peak": peak_memory()}
            answer({**facts, "before": before, **parts_of_memory(cache)})
            while parameters := await command():
                if parameters["do"] == "collect":
                    gc.collect()
                    answer({"rest": resident_memory()})
                else:
                    answer(await bench(cache, parameters))


def parts_of_memory(cache: Cache) -> Facts:
    """Bytes of all pods: payloads, payloads with heads, and indices."""
    indexer = cache.peek(Pod).informer.indexer
    records = indexer.table.copy()[0].values()
    return {
        "payloads": sum(len(each.payload) for each in records),
        "records": indexer.memory,
        "indices": sum(indexer.index_memory.values()),
    }


async def bench(cache: Cache, parameters: Parameters) -> Facts:
    """Nanoseconds per call: medians over the batches."""
    pods = await cache.list(Pod)
    keys = [f"{pod.namespace}/{pod.name}" for pod in pods]
    nodes = sorted({pod.spec.node_name or "" for pod in pods})
    facts: dict[str, object] = {
        "objects": len(keys),
        "by_field_objects": len(keys) / len(nodes),
    }
    del pods
    # Shuffled beforehand: a random choice takes half as long as a read.
    shuffled = random.Random(19)
    shuffled.shuffle(keys)
    shuffled.shuffle(nodes)
    sample = parameters.get("sample", len(keys))
    any_key, any_node = (
        cycle(keys[:sample]),
        cycle(nodes[: max(1, sample * len(nodes) // len(keys))]),
    )
    peek = cache.peek(Pod)

    # Both ways to read: one may wait, the other never does.
    async def get() -> None:
        await cache.get(Pod, next(any_key))

    async def get_read() -> None:
        read_two([await cache.get(Pod, next(any_key))])

    async def by_field() -> None:
        await cache.list(Pod, fields={NODE: next(any_node)})

    async def by_field_read() -> None:
        read_two(await cache.list(Pod, fields={NODE: next(any_node)}))

    async def by_field_iterated() -> None:
        iterate(await cache.list(Pod, fields={NODE: next(any_node)}))

    async def list_all() -> None:
        await cache.list(Pod)

    async def list_read() -> None:
        read_two(await cache.list(Pod))

    async def list_iterated() -> None:
        iterate(await cache.list(Pod))

    async def peek_get() -> None:
        peek.get(next(any_key))

    async def peek_by_field() -> None:
        peek.list(fields={NODE: next(any_node)})

    async def peek_list() -> None:
        peek.list()

    calls: list[tuple[str, int, Call]] = [
        ("get", parameters["gets"], get),
        ("get_read", parameters["gets"], get_read),
        ("by_field", parameters["lists_by_field"], by_field),
        ("by_field_iterated", parameters["lists_by_field"], by_field_iterated),
        ("by_field_read", parameters["lists_by_field"], by_field_read),
        ("list", parameters["lists"], list_all),
        ("list_iterated", parameters["lists"], list_iterated),
        ("list_read", parameters["lists"], list_read),
        ("peek_get", parameters["gets"], peek_get),
        ("peek_by_field", parameters["lists_by_field"], peek_by_field),
        ("peek_list", parameters["lists"], peek_list),
    ]
    for name, count, call in calls:
        facts[name] = await measure(parameters["batches"], count, call)
    return {**facts, "rest": resident_memory(), "peak": peak_memory()}


async def measure(batches: int, count: int, call: Call) -> Facts:
    """The first batch is left out, as in the peer."""
    for _ in range(count):
        await call()
    walls: list[float] = []
    cpus: list[float] = []
    for _ in range(batches):
        began, used = time.perf_counter(), used_cpu()
        for _ in range(count):
            await call()
        walls.append((time.perf_counter() - began) / count * 1e9)
        cpus.append((used_cpu() - used) / count * 1e9)
    return {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}


async def idle(cache: Cache, parameters: Parameters) -> Facts:
    """CPU of the process per second of nothing, once all kinds are cached."""
    async with cache:
        for kind in parameters["kinds"]:
            await cache.list(GVR(**kind))
        await asyncio.sleep(_SETTLE_SECONDS)
        used, began = used_cpu(), time.monotonic()
        await asyncio.sleep(parameters["seconds"])
        share = (used_cpu() - used) / (time.monotonic() - began)
        return {"share": share, "rest": resident_memory()}


async def command() -> Parameters:
    """The next line; empty at the end of the input."""
    line = await asyncio.to_thread(sys.stdin.readline)
    parameters: Parameters = json.loads(line) if line else {}
    return parameters


def answer(facts: Facts) -> None:
    print(json.dumps(facts), flush=True)


asyncio.run(main())
