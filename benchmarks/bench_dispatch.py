"""Measures dispatch: µs per event from delivery to call, wake-up latency, bytes per pending event.

Run it with ``python benchmarks/bench_dispatch.py``. The goals: a pending event of a blocked handler
takes at most 200 bytes beyond the objects, and a wake-up is far below a millisecond.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import threading
import time
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

from kinform.informers._changes import Change, ChangeSource, ChangeType
from kinform.informers.dispatch._dispatcher import Dispatcher
from kinform.informers.dispatch._handler_options import HandlerOptions, SubscriptionOptions
from kinform.informers.dispatch._mailbox import Policy
from kinform.objects import JSON, Record, Unstructured
from kinform.testing.cluster_life import realistic_pod_json

Pods = Dispatcher[Unstructured]


def deliver(pods: Dispatcher[Any], changes: Sequence[Change]) -> None:
    """As an informer does it."""
    pods.deliver(changes)
    pods.run_inline_handlers()


def dispatcher() -> Pods:
    return Dispatcher(
        name="pods",
        from_entry=Unstructured.over,
        version=lambda record: record.head.resource_version,
    )


def records(count: int) -> list[Record]:
    return [Record.read(realistic_pod_json(number, size=9_000), JSON) for number in range(count)]


def additions(entries: Sequence[Record]) -> list[Change]:
    now, key, source = time.monotonic(), "default/pod-{}", ChangeSource.WATCH
    return [
        Change(ChangeType.ADDED, key.format(number), source, None, entry, now)
        for number, entry in enumerate(entries)
    ]


def plain(_pod: Unstructured) -> None:
    """A handler that does nothing."""


async def coroutine(_pod: Unstructured) -> None:
    """Likewise."""


async def throughput(changes: Sequence[Change], batch: int, **options: Any) -> float:
    """Seconds an event, from the first delivery to the return of the last call."""
    pods = dispatcher()
    registration = pods.add(HandlerOptions(**options))
    pods.start()
    started = time.perf_counter()
    for start in range(0, len(changes), batch):
        deliver(pods, changes[start : start + batch])
        if options.get("policy") == "block":
            await pods.wait_for_capacity()
    pods.mark_synced()
    await registration.has_synced
    spent = time.perf_counter() - started
    assert registration.stats.processed == len(changes)
    await pods.stop()
    return spent / len(changes)


async def stream_throughput(changes: Sequence[Change]) -> float:
    pods = dispatcher()
    stream = pods.open_stream(SubscriptionOptions(), replay=changes, synced=True)
    pods.start()
    started = time.perf_counter()
    async for _ in stream:
        if stream.has_synced:
            break
    spent = time.perf_counter() - started
    await pods.stop()
    return spent / len(changes)


async def delivery(changes: Sequence[Change], handlers: int) -> float:
    """Seconds an event on the loop alone, batches of one, with consumers that are busy."""
    pods = dispatcher()
    release = threading.Event()
    for _ in range(handlers):
        pods.add(HandlerOptions(on_add=lambda _: release.wait(), run_on="thread"))
    pods.start()
    deliver(pods, changes[:1])
    started = time.perf_counter()
    for change in changes:
        deliver(pods, (change,))
    spent = time.perf_counter() - started
    release.set()
    await pods.stop()
    return spent / len(changes)


async def latencies(change: Change, rounds: int, kind: str) -> list[float]:
    """Seconds from a delivery to an idle handler until it is called, sorted."""
    pods = dispatcher()
    found: list[float] = []
    delivered = 0.0

    def called(_pod: Unstructured) -> None:
        found.append(time.perf_counter() - delivered)

    async def called_async(pod: Unstructured) -> None:
        called(pod)

    on_add: Callable[[Unstructured], object] = called_async if kind == "async def" else called
    pods.add(HandlerOptions(on_add=on_add, run_on="thread" if kind == "thread" else None))
    pods.start()
    loop = asyncio.get_running_loop()

    def arrive() -> None:  # as changes do, in a callback of the loop
        nonlocal delivered
        delivered = time.perf_counter()
        deliver(pods, (change,))

    for _ in range(rounds):
        loop.call_soon(arrive)
        await asyncio.sleep(0.001)
    await pods.stop()
    return sorted(found)


async def pending_bytes(entries: Sequence[Record], count: int, policy: Policy) -> tuple[float, int]:
    """Bytes for each event that waits for a blocked handler, and how many those are."""
    pods = dispatcher()
    release, entered = threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def blocks(_pod: Unstructured) -> None:
        loop.call_soon_threadsafe(entered.set)
        release.wait()

    registration = pods.add(HandlerOptions(on_add=blocks, policy=policy, run_on="thread"))
    pods.start()
    deliver(pods, additions(entries[:1]))
    await entered.wait()
    keys = [f"default/pod-{number}" for number in range(count)]
    gc.collect()
    tracemalloc.start()
    for number, key in enumerate(keys):
        entry = entries[number % len(entries)]
        change = Change(ChangeType.ADDED, key, ChangeSource.WATCH, None, entry, time.monotonic())
        deliver(pods, (change,))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    depth = registration.stats.depth
    release.set()
    registration.remove()
    await pods.stop()
    return held / count, depth


async def measure(count: int, pending: int, rounds: int) -> None:
    entries = records(min(count, 1_000))
    changes = additions([entries[number % len(entries)] for number in range(count)])
    print(f"{'deliver to call':34}{'µs per event':>12}   ({count:,} events)")
    for batch in (1, 100):
        for name, options in _consumers().items():
            spent = min([await throughput(changes, batch, **options) for _ in range(3)])
            print(f"  {name + f', batches of {batch}':32}{spent * 1e6:12.2f}")
    print(f"  {'event stream':32}{await stream_throughput(changes) * 1e6:12.2f}")
    for handlers in (1, 10):
        spent = await delivery(changes, handlers)
        print(f"  {f'deliver alone, {handlers} busy handlers':32}{spent * 1e6:12.2f}")

    print(f"\n{'wake-up of an idle handler':34}{'p50 µs':>12}{'p99 µs':>12}")
    for name in ("def", "thread", "async def"):
        found = await latencies(changes[0], rounds, name)
        p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
        print(f"  {name:32}{p50 * 1e6:12.1f}{p99 * 1e6:12.1f}")

    print(f"\n{'a blocked handler':34}{'bytes each':>12}   ({pending:,} pending events)")
    policies: tuple[Policy, ...] = ("unbounded", "coalesce")
    for policy in policies:
        held, depth = await pending_bytes(entries, pending, policy)
        assert depth == pending
        print(f"  {policy:32}{held:12.1f}")


def _consumers() -> dict[str, dict[str, Any]]:
    return {
        "def": {"on_add": plain},
        "thread": {"on_add": plain, "run_on": "thread"},
        "async def": {"on_add": coroutine},
        "def, filter": {"on_add": plain, "filter": lambda pod: pod.name},
        "def, block": {"on_add": plain, "policy": "block"},
        "def, coalesce": {"on_add": plain, "policy": "coalesce"},
        "thread, coalesce": {"on_add": plain, "policy": "coalesce", "run_on": "thread"},
        "async def, coalesce": {"on_add": coroutine, "policy": "coalesce"},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50_000, help="events for the speed table")
    parser.add_argument("--pending", type=int, default=100_000, help="events for the memory table")
    parser.add_argument("--rounds", type=int, default=2_000, help="wake-ups for the latency table")
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.count, arguments.pending, arguments.rounds))


if __name__ == "__main__":
    main()
