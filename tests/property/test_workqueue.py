"""Work queues: any order of calls gives what a simple model gives; threads lose no key."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform import blocking
from kinform.errors import QueueClosedError
from kinform.testing import run_virtual
from kinform.workqueue import ExponentialBackoff, WorkQueue
from tests.property.workqueue_model import BASE, CAP, CLOSED, WorkQueueModel

pytestmark = pytest.mark.timeout(120)

KEYS = st.sampled_from("abcde")
PRIORITIES = st.sampled_from([-100, -1, 0, 0, 0, 2, 9])
# Multiples of powers of two, so that sums are exact.
DELAYS = st.sampled_from([0.0, 0.0, 0.0, -1.0, 0.25, 0.5, 1.0, 8.0])
Step = tuple[Any, ...]

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), KEYS, PRIORITIES, DELAYS, st.booleans()),
        st.tuples(st.just("add"), KEYS, PRIORITIES, st.just(0.0), st.just(False)),
        st.tuples(st.just("get")),
        st.tuples(st.just("done"), st.integers(0, 4)),
        st.tuples(st.just("cancel"), st.integers(0, 4)),
        st.tuples(st.just("advance"), st.sampled_from([0.0, 0.25, 0.75, 2.0, 20.0])),
        st.tuples(st.just("settle")),
        st.tuples(st.just("forget"), KEYS),
    ),
    max_size=60,
)
endings = st.sampled_from([(), (("shutdown",),), (("drain", False),), (("drain", True),)])


class _World:
    """A queue and its model; each step is made with both."""

    def __init__(self, aging: float | None) -> None:
        self.queue: WorkQueue[str] = WorkQueue(
            "tested", rate_limiter=ExponentialBackoff(BASE, CAP), aging=aging
        )
        self.model = WorkQueueModel(aging)
        self._tasks: list[asyncio.Task[str]] = []
        self._cancelled: set[int] = set()
        self._drain: asyncio.Task[None] | None = None

    async def make(self, step: Step) -> None:
        name, *arguments = step
        await getattr(self, f"_{name}")(*arguments)

    async def _add(self, key: str, priority: int, after: float, rate_limited: bool) -> None:
        self.queue.add(key, priority=priority, after=after, rate_limited=rate_limited)
        self.model.add(key, priority, after, rate_limited)

    async def _get(self) -> None:
        if len(self.model.workers) < 4:
            self.model.get(len(self._tasks))
            self._tasks.append(asyncio.create_task(self.queue.get()))

    async def _done(self, number: int) -> None:
        keys = sorted(self.model.processing)
        if keys:
            key = keys[number % len(keys)]
            self.queue.done(key)
            self.model.done(key)

    async def _cancel(self, number: int) -> None:
        """Without waiting before: the worker may have been woken already."""
        if self.model.workers:
            worker = self.model.workers.pop(number % len(self.model.workers))
            self._cancelled.add(worker)
            self._tasks[worker].cancel()

    async def _forget(self, key: str) -> None:
        self.queue.forget(key)
        self.model.failures.pop(key, None)

    async def _advance(self, seconds: float) -> None:
        await self._settle()
        await asyncio.sleep(seconds)
        self.model.advance(seconds)
        await self._settle()

    async def _shutdown(self) -> None:
        self.queue.shutdown()
        self.model.shutdown()

    async def _drain_(self, delayed: bool) -> None:
        await self._settle()
        if self._drain is None:
            self._drain = asyncio.create_task(self.queue.drain(delayed=delayed))
            self.model.drain(delayed)
            await self._settle()

    async def _settle(self) -> None:
        for _ in range(30):
            await asyncio.sleep(0)
        self.model.serve()
        self._compare()

    def _compare(self) -> None:
        queue, model = self.queue, self.model
        received = {
            worker: CLOSED if isinstance(task.exception(), QueueClosedError) else task.result()
            for worker, task in enumerate(self._tasks)
            if task.done() and not task.cancelled()
        }
        assert received == model.received
        assert {n for n, task in enumerate(self._tasks) if task.cancelled()} == self._cancelled
        status = queue.status()
        assert status.by_priority == Counter(each.priority for each in model.ready)
        assert len(queue) == status.ready == len(model.ready)
        assert status.delayed == len(model.delayed)
        assert status.held == len(model.held)
        assert status.processing == len(model.processing)
        assert status.waiting_workers == len(model.workers)
        assert (status.refused, status.dropped) == (model.refused, model.dropped)
        assert queue.is_shut_down is (model.phase == "shut")
        assert queue.is_draining is (model.phase == "draining")
        for key, priority in model.processing.items():
            assert queue.priority_of(key) == priority
        for key in "abcde":
            assert queue.num_requeues(key) == model.failures.get(key, 0)

    async def finish(self) -> None:
        """Process what is left, and check that all of it ends."""
        await self._settle()
        while self.model.processing or self.model.ready:
            for key in sorted(self.model.processing):
                self.queue.done(key)
                self.model.done(key)
            await self._get()
            await self._settle()
        await self._advance(100.0)
        if self._drain is not None:
            error = (await asyncio.gather(self._drain, return_exceptions=True))[0]
            assert isinstance(error, QueueClosedError) is self.model.was_aborted
        await self._shutdown()
        await self._settle()
        assert self.queue.status().waiting_workers == 0


def _run(aging: float | None, script: Sequence[Step]) -> None:
    async def run() -> None:
        world = _World(aging)
        for name, *arguments in script:
            await world.make(("drain_" if name == "drain" else name, *arguments))
        await world.finish()

    run_virtual(run())


@settings(max_examples=300)
@given(st.sampled_from([0.125, 1.0, None]), steps, endings, steps, endings)
def test_any_order_of_calls_gives_what_the_model_gives(
    aging: float | None,
    before: list[Step],
    ending: tuple[Step, ...],
    after: list[Step],
    second_ending: tuple[Step, ...],
) -> None:
    _run(aging, [*before, *ending, *after, *second_ending])


class _Ledger:
    """Notes for each key the version that was added and the one that a worker has seen."""

    def __init__(self, keys: int) -> None:
        self.added = [0] * keys
        self.seen = [0] * keys
        self._working = [threading.Lock() for _ in range(keys)]
        self._adding = [threading.Lock() for _ in range(keys)]
        self.collisions = 0

    def next_version(self, key: int) -> None:
        with self._adding[key]:
            self.added[key] += 1

    def begin(self, key: int) -> None:
        if not self._working[key].acquire(blocking=False):
            self.collisions += 1
        self.seen[key] = self.added[key]

    def end(self, key: int) -> None:
        self._working[key].release()


def _produce(queue: Any, ledger: _Ledger, rng: random.Random, rounds: int) -> None:
    for _ in range(rounds):
        key = rng.randrange(len(ledger.added))
        ledger.next_version(key)
        queue.add(
            key,
            priority=rng.choice([-100, 0, 0, 5]),
            after=rng.choice([0.0, 0.0, 0.0001, 0.002]),
            rate_limited=rng.random() < 0.1,
        )


@pytest.mark.parametrize("seed", range(5))
def test_threads_never_share_a_key_and_lose_none(seed: int) -> None:
    ledger = _Ledger(keys=30)
    queue: blocking.WorkQueue[int] = blocking.WorkQueue(
        rate_limiter=ExponentialBackoff(0.0001, 0.001)
    )

    def work(rng: random.Random) -> None:
        while True:
            try:
                # Short timeouts, so that workers leave the line all the time.
                key = queue.get(timeout=rng.choice([None, 0.0005, 0.01]))
            except TimeoutError:
                continue
            except QueueClosedError:
                return
            ledger.begin(key)
            if rng.random() < 0.2:
                queue.add_rate_limited(key)
            ledger.end(key)
            queue.done(key)

    workers = [threading.Thread(target=work, args=(random.Random(seed + n),)) for n in range(4)]
    producers = [
        threading.Thread(target=_produce, args=(queue, ledger, random.Random(n), 1000))
        for n in range(3)
    ]
    for thread in (*workers, *producers):
        thread.start()
    for thread in producers:
        thread.join()
    queue.drain(timeout=60, delayed=True)
    for thread in workers:
        thread.join(60)

    assert not any(thread.is_alive() for thread in workers)
    assert ledger.collisions == 0
    assert ledger.seen == ledger.added
    assert queue.status().dropped == 0


@pytest.mark.parametrize("seed", range(5))
async def test_tasks_that_are_cancelled_at_random_lose_no_key_of_any_thread(seed: int) -> None:
    ledger = _Ledger(keys=30)
    queue: WorkQueue[int] = WorkQueue(rate_limiter=ExponentialBackoff(0.0001, 0.001))
    rng = random.Random(seed)

    async def work() -> None:
        while True:
            key = await queue.get()
            # Not cancelled from here on: a worker that has a key must finish it.
            workers.discard(asyncio.current_task())
            ledger.begin(key)
            await asyncio.sleep(0)
            ledger.end(key)
            queue.done(key)
            workers.add(asyncio.current_task())

    workers: set[asyncio.Task[Any] | None] = set()
    everyone: list[asyncio.Task[None]] = []

    def hire() -> None:
        everyone.append(asyncio.create_task(work()))
        workers.add(everyone[-1])

    for _ in range(4):
        hire()
    producers = [
        threading.Thread(target=_produce, args=(queue, ledger, random.Random(n), 1000))
        for n in range(3)
    ]
    for thread in producers:
        thread.start()
    while any(thread.is_alive() for thread in producers):
        if workers and rng.random() < 0.5:
            victim = workers.pop()
            assert victim is not None
            victim.cancel()
            hire()
        await asyncio.sleep(0)
    await queue.drain(timeout=60, delayed=True)
    results = await asyncio.gather(*everyone, return_exceptions=True)

    assert {type(result) for result in results} <= {QueueClosedError, asyncio.CancelledError}
    assert ledger.collisions == 0
    assert ledger.seen == ledger.added
