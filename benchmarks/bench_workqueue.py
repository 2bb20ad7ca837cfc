"""Measures work queues: cycles of add, get and done per second, beside asyncio's queue; wake-ups.

Run it with ``python benchmarks/bench_workqueue.py``. The goals: at least 200 000 cycles per second
of CPU time, and no timers for keys in backoff. Rates are of CPU time, as other programs may run.
"""

from __future__ import annotations

import argparse
import asyncio
import queue as stdlib
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from prometheus_client import CollectorRegistry

from kinform import blocking
from kinform.metrics import NO_METRICS, Metrics, PrometheusMetrics
from kinform.workqueue import WorkQueue

KEYS = [f"default/pod-{number}" for number in range(1000)]


async def cycles(count: int, metrics: Metrics = NO_METRICS) -> None:
    """Add, get and done of one key after the other, in one task."""
    queue: WorkQueue[str] = WorkQueue("bench", metrics=metrics)
    for _ in range(count // len(KEYS)):
        for key in KEYS:
            queue.add(key)
            queue.done(await queue.get())


async def batches(count: int, priorities: int = 1) -> None:
    """A thousand adds, then a thousand gets, as after an initial list."""
    queue: WorkQueue[str] = WorkQueue("bench")
    for _ in range(count // len(KEYS)):
        for number, key in enumerate(KEYS):
            queue.add(key, priority=-(number % priorities))
        for _ in KEYS:
            queue.done(await queue.get())


async def backlog(count: int) -> None:
    """All keys at once, and then all gets."""
    queue: WorkQueue[int] = WorkQueue("bench")
    for number in range(count):
        queue.add(number)
    for _ in range(count):
        queue.done(await queue.get())


async def retries(count: int) -> None:
    """Each key fails: it is delayed, and made ready by another add."""
    queue: WorkQueue[str] = WorkQueue("bench")
    for _ in range(count // len(KEYS)):
        for key in KEYS:
            queue.add_rate_limited(key)
        for key in KEYS:
            queue.add(key)
            queue.done(await queue.get())


async def workers(count: int, number: int = 4) -> None:
    """Tasks that wait, and a producer that gives way after each key."""
    queue: WorkQueue[int] = WorkQueue("bench")

    async def work() -> None:
        while True:
            queue.done(await queue.get())

    tasks = [asyncio.create_task(work()) for _ in range(number)]
    for each in range(count):
        queue.add(each)
        await asyncio.sleep(0)
    await queue.drain()
    await asyncio.gather(*tasks, return_exceptions=True)


async def threads(count: int) -> None:
    """The queue for threads, in one thread."""
    queue: blocking.WorkQueue[str] = blocking.WorkQueue("bench")
    for _ in range(count // len(KEYS)):
        for key in KEYS:
            queue.add(key)
            queue.done(queue.get())


async def asyncio_cycles(count: int) -> None:
    """The same with asyncio's queue, which knows neither keys nor priorities nor threads."""
    queue: asyncio.Queue[str] = asyncio.Queue()
    for _ in range(count // len(KEYS)):
        for key in KEYS:
            queue.put_nowait(key)
            await queue.get()
            queue.task_done()


async def stdlib_cycles(count: int) -> None:
    """The same with the standard library's queue for threads."""
    queue: stdlib.Queue[str] = stdlib.Queue()
    for _ in range(count // len(KEYS)):
        for key in KEYS:
            queue.put(key)
            queue.get()
            queue.task_done()


async def rate(work: Callable[[int], Awaitable[None]], count: int) -> float:
    """The best of three runs, per second of CPU time."""
    best = 0.0
    for _ in range(3):
        started = time.process_time()
        await work(count)
        best = max(best, count / (time.process_time() - started))
    return best


async def wake_ups(rounds: int, *, from_thread: bool) -> list[float]:
    """Seconds from an add until a waiting task has the key, sorted."""
    queue: WorkQueue[float] = WorkQueue("bench")
    found = []

    async def work() -> None:
        while True:
            added = await queue.get()
            found.append(time.perf_counter() - added)
            queue.done(added)

    def add() -> None:
        queue.add(time.perf_counter())

    worker = asyncio.create_task(work())
    for _ in range(rounds):
        if from_thread:
            thread = threading.Thread(target=add)
            thread.start()
        else:
            asyncio.get_running_loop().call_soon(add)
        await asyncio.sleep(0.001)
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    return sorted(found)


async def backoff_cost(keys: int, seconds: float) -> tuple[float, int]:
    """CPU seconds and timers of a loop with a waiting worker and keys in a long backoff."""
    queue: WorkQueue[int] = WorkQueue("bench")
    for key in range(keys):
        queue.add_after(key, 600.0 + key)
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0.1)
    loop: Any = asyncio.get_running_loop()
    timers = len(loop._scheduled)
    started = time.process_time()
    await asyncio.sleep(seconds)
    spent = time.process_time() - started
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)
    return spent, timers


async def measure(count: int, rounds: int) -> None:
    async def with_metrics(count: int) -> None:
        await cycles(count, PrometheusMetrics(CollectorRegistry()))

    async def with_priorities(count: int) -> None:
        await batches(count, priorities=3)

    theirs = await rate(asyncio_cycles, count)
    rows: dict[str, Callable[[int], Awaitable[None]]] = {
        "cycles, one task": cycles,
        "cycles, Prometheus": with_metrics,
        "batches of 1000": batches,
        "batches, 3 priorities": with_priorities,
        f"a backlog of {count:,}": backlog,
        "retries": retries,
        "4 tasks that wait": workers,
        "kinform.blocking, one thread": threads,
        "queue.Queue, one thread": stdlib_cycles,
    }
    print(f"{'add, get and done':34}{'per CPU second':>16}{'of asyncio':>12}")
    print(f"  {'asyncio.Queue':32}{theirs:16,.0f}{1:12.2f}")
    for name, work in rows.items():
        ours = await rate(work, count)
        print(f"  {name:32}{ours:16,.0f}{ours / theirs:12.2f}")

    print(f"\n{'wake-up of a waiting task':34}{'p50 µs':>16}{'p99 µs':>12}")
    for name, from_thread in (("from the loop", False), ("from a new thread", True)):
        found = await wake_ups(rounds, from_thread=from_thread)
        p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
        print(f"  {name:32}{p50 * 1e6:16.1f}{p99 * 1e6:12.1f}")

    spent, timers = await backoff_cost(10_000, 2.0)
    print(f"\n10,000 keys in backoff, 2 s: {spent * 1e3:.2f} ms of CPU, {timers} timers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="cycles of each row")
    parser.add_argument("--rounds", type=int, default=1_000, help="wake-ups")
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.count, arguments.rounds))


if __name__ == "__main__":
    main()
