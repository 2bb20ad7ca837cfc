"""Work queues: what client-go's and controller-runtime's own tests guarantee, or a difference."""

from __future__ import annotations

import asyncio
import gc
import random
import threading
import weakref

import pytest
from prometheus_client import CollectorRegistry

from kinform import blocking
from kinform.errors import AlreadyStoppedError, QueueClosedError
from kinform.metrics import PrometheusMetrics
from kinform.testing import virtual_time
from kinform.workqueue import (
    ExponentialBackoff,
    FastSlow,
    MaxOf,
    RateLimiter,
    TokenBucket,
    WithMaxWait,
    WorkQueue,
)
from tests.support.informer_sources import LoggedSource, informer_of

Strings = WorkQueue[str]


async def _rest(queue: Strings) -> list[str]:
    """Process all keys that are ready, one by one."""
    keys = []
    while len(queue):
        keys.append(await queue.get())
        queue.done(keys[-1])
    return keys


# -- client-go: the queue ---------------------------------------------------------------------


@virtual_time
async def test_a_key_added_while_it_is_processed_is_handed_out_again_after_done() -> None:
    """C-70: and not before, however many workers wait."""
    queue: Strings = WorkQueue()
    queue.add("key")
    key = await queue.get()
    waiting = asyncio.create_task(queue.get())
    queue.add(key)
    await asyncio.sleep(1)
    assert not waiting.done()

    queue.done(key)
    assert await waiting == "key"
    queue.done(key)
    assert len(queue) == 0


@virtual_time
async def test_several_adds_of_a_queued_key_are_one() -> None:
    """C-70: one entry per key."""
    queue: Strings = WorkQueue()
    for key in ("a", "b", "a", "a"):
        queue.add(key)

    assert await _rest(queue) == ["a", "b"]


@virtual_time
async def test_several_adds_of_a_key_while_it_is_processed_are_one() -> None:
    """C-70: at most one more round."""
    queue: Strings = WorkQueue()
    queue.add("key")
    key = await queue.get()
    for _ in range(3):
        queue.add(key)
    assert len(queue) == 0
    queue.done(key)

    assert await _rest(queue) == ["key"]


@virtual_time
async def test_drain_waits_for_keys_that_are_being_processed() -> None:
    """C-70: until the last one is done."""
    queue: Strings = WorkQueue()
    for key in "ab":
        queue.add(key)
        await queue.get()
    drain = asyncio.create_task(queue.drain())
    await asyncio.sleep(1)
    queue.done("a")
    await asyncio.sleep(1)
    assert not drain.done()

    queue.done("b")
    await drain


@virtual_time
async def test_drain_waits_for_queued_keys_too() -> None:
    """C-70: client-go returns when nothing is in flight, although keys are queued."""
    queue: Strings = WorkQueue()
    for key in "abc":
        queue.add(key)
    held = await queue.get()
    queue.add(held)
    drain = asyncio.create_task(queue.drain())
    await asyncio.sleep(1)
    assert not drain.done()

    queue.done(held)
    assert await _rest(queue) == ["b", "c", "a"]
    await drain
    with pytest.raises(QueueClosedError):
        await queue.get()


@pytest.mark.parametrize("delayed", [False, True])
@virtual_time
async def test_drain_processes_delayed_keys_on_request(delayed: bool) -> None:
    """C-70: otherwise they are dropped and counted."""
    queue: Strings = WorkQueue()
    queue.add("ready")
    queue.add_after("delayed", 1000.0)
    drain = asyncio.create_task(queue.drain(delayed=delayed))
    await asyncio.sleep(1)

    assert await _rest(queue) == (["ready", "delayed"] if delayed else ["ready"])
    await drain
    assert queue.status().dropped == (0 if delayed else 1)


@virtual_time
async def test_keys_added_during_a_drain_are_refused_and_counted() -> None:
    """C-70: a retry would keep the queue from draining."""
    queue: Strings = WorkQueue()
    queue.add("key")
    key = await queue.get()
    drain = asyncio.create_task(queue.drain())
    await asyncio.sleep(1)
    queue.add("other")
    queue.add_rate_limited(key)
    queue.done(key)
    await drain

    assert queue.status().refused == 2


@virtual_time
async def test_processed_keys_are_not_kept_alive() -> None:
    """C-70: the queue has no reference left."""

    class Key:
        pass

    queue: WorkQueue[Key] = WorkQueue()
    keys = [Key() for _ in range(100)]
    freed = [weakref.ref(key) for key in keys]
    for key in keys:
        queue.add(key)
    for _ in range(100):
        queue.done(await queue.get())
    del keys, key
    gc.collect()

    assert [each() for each in freed if each() is not None] == []


# -- client-go: delays ------------------------------------------------------------------------


@virtual_time
async def test_the_earliest_of_several_delays_of_a_key_counts() -> None:
    """C-70: in whichever order they were added, and only once."""
    for delays in ((5.0, 2.0), (2.0, 5.0)):
        queue: Strings = WorkQueue()
        for delay in delays:
            queue.add_after("key", delay)
        await asyncio.sleep(1.9)
        assert len(queue) == 0
        await asyncio.sleep(0.2)
        assert await _rest(queue) == ["key"]
        await asyncio.sleep(10)
        assert len(queue) == 0


@virtual_time
async def test_a_delay_of_zero_or_less_is_none() -> None:
    """C-70: the key is ready at once."""
    queue: Strings = WorkQueue()
    queue.add_after("zero", 0.0)
    queue.add_after("negative", -1.0)

    assert await _rest(queue) == ["zero", "negative"]


@virtual_time
async def test_delays_end_in_the_order_of_time_whatever_the_order_of_adds() -> None:
    """C-70: also while a worker waits for an earlier one."""
    queue: Strings = WorkQueue()
    for key, delay in [("third", 3.0), ("first", 1.0), ("second", 2.0)]:
        queue.add_after(key, delay)
    received = []
    for _ in range(3):
        received.append(await queue.get())
        queue.done(received[-1])

    assert received == ["first", "second", "third"]


# -- client-go: rate limiters -----------------------------------------------------------------


def _delays(limiter: RateLimiter[str], count: int, key: str = "key") -> list[float]:
    return [limiter.next_delay(key) for _ in range(count)]


def test_exponential_backoff_is_by_key_until_it_is_forgotten() -> None:
    """C-70: doubled each time."""
    limiter = ExponentialBackoff(0.001, 1.0)

    assert _delays(limiter, 5) == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert limiter.num_requeues("key") == 5
    assert _delays(limiter, 2, "other") == [0.001, 0.002]
    limiter.forget("key")
    assert limiter.num_requeues("key") == 0
    assert _delays(limiter, 1) == [0.001]


def test_exponential_backoff_never_exceeds_its_cap() -> None:
    """C-70: nor does it overflow."""
    limiter = ExponentialBackoff(0.001, 1000.0)
    delays = _delays(limiter, 2000)

    assert delays[19] == 0.001 * 2**19
    assert set(delays[20:]) == {1000.0}


def test_fast_attempts_are_followed_by_slow_ones() -> None:
    """C-70: by key, until it is forgotten."""
    limiter = FastSlow(0.005, 10.0, 3)

    assert _delays(limiter, 5) == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.num_requeues("key") == 5
    assert _delays(limiter, 1, "other") == [0.005]
    limiter.forget("key")
    assert _delays(limiter, 1) == [0.005]


def test_the_longest_delay_of_several_limiters_counts() -> None:
    """C-70: and the largest number of failures."""
    limiter = MaxOf(FastSlow(0.005, 3.0, 3), ExponentialBackoff(0.001, 1.0))

    assert _delays(limiter, 5) == [0.005, 0.005, 0.005, 3.0, 3.0]
    assert limiter.num_requeues("key") == 5
    limiter.forget("key")
    assert limiter.num_requeues("key") == 0
    assert _delays(limiter, 1) == [0.005]


def test_delays_are_cut_to_a_maximum() -> None:
    """C-70: failures are counted on."""
    limiter = WithMaxWait(FastSlow(0.005, 100.0, 3), 10.0)

    assert _delays(limiter, 5) == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.num_requeues("key") == 5
    limiter.forget("key")
    assert limiter.num_requeues("key") == 0
    assert _delays(limiter, 1) == [0.005]


def test_a_bucket_delays_all_keys_after_its_burst() -> None:
    """C-70: by its rate."""
    limiter = TokenBucket(10, 3, clock=lambda: 0.0)

    assert [round(limiter.next_delay(key), 6) for key in "abcde"] == [0, 0, 0, 0.1, 0.2]


# -- metrics ----------------------------------------------------------------------------------


@virtual_time
async def test_metrics_have_the_names_of_client_go() -> None:
    """C-70: depth, adds, durations, unfinished work, longest running, retries."""
    registry = CollectorRegistry()
    queue: Strings = WorkQueue("web", metrics=PrometheusMetrics(registry))

    def value(metric: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"workqueue_{metric}", {"name": "web", **labels})

    queue.add("key")
    queue.add("key")
    queue.add_after("delayed", 1000.0)
    assert (value("adds_total"), value("retries_total")) == (1, 1)
    assert value("depth", priority="0") == 1
    await asyncio.sleep(0.5)

    key = await queue.get()
    assert value("depth", priority="0") == 0
    assert value("queue_duration_seconds_sum") == 0.5
    await asyncio.sleep(2)
    assert value("unfinished_work_seconds") == 2
    assert value("longest_running_processor_seconds") == 2

    queue.done(key)
    assert value("work_duration_seconds_sum") == 2
    assert value("work_duration_seconds_count") == 1
    assert value("unfinished_work_seconds") == 0
    queue.shutdown()
    assert value("depth", priority="0") is None
    assert value("unfinished_work_seconds") is None
    assert value("adds_total") == 1


@pytest.mark.parametrize(("priorities", "labels"), [(1, 2), (24, 25), (25, 26), (1000, 26)])
@virtual_time
async def test_the_depth_of_too_many_priorities_shares_one_label(
    priorities: int, labels: int
) -> None:
    """C-70, cr-43: each of the first 25 priorities has its own; 0 is always one of them."""
    registry = CollectorRegistry()
    queue: Strings = WorkQueue("web", metrics=PrometheusMetrics(registry))
    for priority in range(1, priorities + 1):
        queue.add(str(priority), priority=priority)
    samples = [
        sample
        for metric in registry.collect()
        if metric.name == "workqueue_depth"
        for sample in metric.samples
    ]

    assert len(samples) == labels
    assert sum(sample.value for sample in samples) == priorities
    other = [sample.value for sample in samples if sample.labels["priority"] == "other"]
    assert other == ([priorities - 24] if priorities > 24 else [])


# -- controller-runtime: priorities -----------------------------------------------------------


@virtual_time
async def test_keys_are_handed_out_by_priority_then_in_order() -> None:
    """C-70, cr-39: of keys that were added at the same time."""
    queue: Strings = WorkQueue()
    for key, priority in [("a", 0), ("b", 1), ("c", 0), ("d", 1), ("e", -1)]:
        queue.add(key, priority=priority)

    assert await _rest(queue) == ["b", "d", "a", "c", "e"]


@virtual_time
async def test_a_key_in_flight_does_not_hold_up_others() -> None:
    """C-70, cr-39: although it has the highest priority and was added again."""
    queue: Strings = WorkQueue()
    queue.add("a", priority=1)
    assert await queue.get() == "a"
    queue.add("a", priority=1)
    queue.add("b")

    assert await queue.get() == "b"
    queue.done("a")
    assert await queue.get() == "a"


@virtual_time
async def test_a_key_keeps_the_highest_priority_of_its_adds() -> None:
    """C-70, cr-39: a lower one is ignored."""
    queue: Strings = WorkQueue()
    queue.add("a", priority=1)
    queue.add("a", priority=2)
    queue.add("a", priority=1)

    assert queue.status().by_priority == {2: 1}
    await queue.get()
    assert queue.priority_of("a") == 2


@virtual_time
async def test_a_key_whose_priority_is_raised_goes_to_the_end_of_the_new_level() -> None:
    """C-70, cr-39: first in, first out, for each priority."""
    queue: Strings = WorkQueue()
    for key, priority in [("a", 0), ("b", 1), ("c", 1)]:
        queue.add(key, priority=priority)
    queue.add("a", priority=1)

    assert await _rest(queue) == ["b", "c", "a"]


@virtual_time
async def test_delayed_keys_do_not_count_until_they_are_ready() -> None:
    """C-70, cr-39: in the length and the depth."""
    queue: Strings = WorkQueue()
    queue.add("a")
    queue.add_after("b", 1.0)
    before = len(queue)
    await asyncio.sleep(1.5)

    assert (before, len(queue)) == (1, 2)


@virtual_time
async def test_an_add_without_delay_ends_the_delay_of_a_key() -> None:
    """C-70, cr-39: the earlier time counts, a later one is ignored."""
    queue: Strings = WorkQueue()
    queue.add_after("key", 10.0)
    queue.add("key")
    queue.add_after("key", 20.0)

    assert await _rest(queue) == ["key"]
    await asyncio.sleep(30)
    assert len(queue) == 0


async def test_a_key_is_never_with_two_workers_and_counts_are_never_negative() -> None:
    """C-70, cr-40: under random adds. `tests/property/test_workqueue.py` has all calls."""
    queue: Strings = WorkQueue(rate_limiter=ExponentialBackoff(0.0001, 0.001))
    rng = random.Random(1)
    working: set[str] = set()
    processed = 0

    async def work() -> None:
        nonlocal processed
        while True:
            key = await queue.get()
            assert key not in working
            working.add(key)
            await asyncio.sleep(0)
            if rng.random() < 0.3:
                queue.add_rate_limited(key)
            working.remove(key)
            queue.done(key)
            processed += 1

    workers = [asyncio.create_task(work()) for _ in range(5)]
    for _ in range(2000):
        queue.add(str(rng.randrange(20)), priority=rng.randrange(-3, 3), after=rng.random() * 0.001)
        status = queue.status()
        assert min(status.ready, status.held, status.delayed, *status.by_priority.values(), 0) == 0
        if rng.random() < 0.3:
            await asyncio.sleep(0)
    drain = asyncio.create_task(queue.drain(10, delayed=True))
    results = await asyncio.gather(*workers, return_exceptions=True)
    await drain

    assert {type(result) for result in results} == {QueueClosedError}
    assert processed >= 20


# -- controller-runtime: time -----------------------------------------------------------------


@virtual_time
async def test_a_key_of_high_priority_that_becomes_ready_is_the_next_one() -> None:
    """C-70, cr-41: before older keys of a lower priority."""
    queue: Strings = WorkQueue()
    queue.add("high", priority=100, after=1.0)
    for key in "abc":
        queue.add(key)
    queue.done(await queue.get())
    await asyncio.sleep(1)

    assert await _rest(queue) == ["high", "b", "c"]


@virtual_time
async def test_a_key_is_handed_out_when_its_delay_has_passed_and_not_before() -> None:
    """C-70, cr-41: whether a worker waits for it or comes later."""
    loop = asyncio.get_running_loop()
    queue: Strings = WorkQueue()
    queue.add("a", after=1.0)
    queue.add("b", after=2.0)
    queue.add("c", after=2.0)
    times = []
    for _ in range(3):
        queue.done(await queue.get())
        times.append(loop.time())

    assert times[0] >= 1
    assert min(times[1:]) >= 2
    assert max(times) < 2.1


@virtual_time
async def test_failures_delay_each_key_by_itself() -> None:
    """C-70, cr-42: adding several keys does not add up their delays."""
    queue: Strings = WorkQueue(rate_limiter=ExponentialBackoff(1.0, 100.0))
    queue.add_rate_limited("often")
    await _rest(queue)
    queue.add_rate_limited("often")
    for key in "abc":
        queue.add_rate_limited(key)
    await asyncio.sleep(1.1)

    assert await _rest(queue) == ["often", "a", "b", "c"]
    assert [queue.num_requeues(key) for key in ("often", "a")] == [2, 1]


# -- controller-runtime: shutdown -------------------------------------------------------------


@virtual_time
async def test_waiting_workers_are_released_by_shutdown() -> None:
    """C-70, cr-42: all of them."""
    queue: Strings = WorkQueue()
    workers = [asyncio.create_task(queue.get()) for _ in range(5)]
    await asyncio.sleep(1)
    queue.shutdown()
    results = await asyncio.gather(*workers, return_exceptions=True)

    assert {type(result) for result in results} == {QueueClosedError}


@virtual_time
async def test_nothing_is_handed_out_after_shutdown_although_keys_are_queued() -> None:
    """C-70, cr-42: client-go hands out the rest; here, that is what drain is for."""
    queue: Strings = WorkQueue()
    queue.add("key")
    queue.shutdown()

    with pytest.raises(QueueClosedError):
        await queue.get()
    assert queue.status().dropped == 1


@pytest.mark.parametrize("round_number", range(20))
def test_shutdown_while_keys_are_handed_out_blocks_nobody(round_number: int) -> None:
    """C-70, cr-42: with workers and producers on threads."""
    queue: blocking.WorkQueue[int] = blocking.WorkQueue()
    is_over = threading.Event()

    def work() -> None:
        while True:
            try:
                key = queue.get()
            except QueueClosedError:
                return
            queue.done(key)

    def produce() -> None:
        number = 0
        while not is_over.is_set():
            queue.add(number := number + 1)

    threads = [threading.Thread(target=target) for target in (work, work, produce)]
    for thread in threads:
        thread.start()
    while queue.status().adds < 10 * round_number:
        pass
    queue.shutdown()
    for worker in threads[:2]:
        worker.join(10)
    is_over.set()
    threads[2].join(10)

    assert not any(thread.is_alive() for thread in threads)


# -- client-go: synced through user code ------------------------------------------------------


async def test_the_initial_list_is_processed_when_the_workers_are_done_with_it() -> None:
    """C-67: a latch tells when the keys that a handler has queued are processed."""
    names = [f"pod-{number}" for number in range(20)]
    informer = informer_of(LoggedSource(*names))
    queue: Strings = WorkQueue("pods")
    processed: list[str] = []

    async def work() -> None:
        while True:
            key = await queue.get()
            await asyncio.sleep(0)
            processed.append(key)
            queue.done(key)

    registration = informer.add_event_handler(on_add=lambda pod: queue.add(pod.key))
    async with informer:
        await registration.has_synced
        marker = queue.when_processed()
        assert not marker
        workers = [asyncio.create_task(work()) for _ in range(3)]
        await marker

        assert sorted(processed) == sorted(f"default/{name}" for name in names)
        queue.shutdown()
        await asyncio.gather(*workers, return_exceptions=True)


@virtual_time
async def test_a_key_counts_as_processed_although_it_failed() -> None:
    """C-67: its retry is a new key."""
    queue: Strings = WorkQueue()
    queue.add("key")
    marker = queue.when_processed()
    key = await queue.get()
    queue.add_rate_limited(key)
    queue.done(key)

    assert marker


@virtual_time
async def test_a_key_that_is_processed_again_counts_when_that_is_done() -> None:
    """C-67: what was queued at the time of the call has not been seen by the first round."""
    queue: Strings = WorkQueue()
    queue.add("key")
    await queue.get()
    queue.add("key")
    marker = queue.when_processed()
    queue.done("key")
    assert not marker

    await queue.get()
    queue.done("key")
    assert marker


@virtual_time
async def test_a_queue_without_keys_has_processed_them() -> None:
    """C-67: and keys that are added later do not matter."""
    queue: Strings = WorkQueue()
    marker = queue.when_processed()
    queue.add("key")

    assert marker


@virtual_time
async def test_a_wait_for_keys_that_are_dropped_fails() -> None:
    """C-67: instead of waiting forever."""
    queue: Strings = WorkQueue()
    queue.add("key")
    marker = queue.when_processed()
    queue.shutdown()

    with pytest.raises(AlreadyStoppedError, match="shut down"):
        await marker
