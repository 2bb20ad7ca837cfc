"""The work queue for tasks: order, delays, waiting workers, shutdown and status."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
import time
import weakref
from collections.abc import Hashable
from typing import Any

import pytest

from kinform.errors import (
    AlreadyStoppedError,
    ConfigError,
    QueueClosedError,
    ShutdownTimeoutError,
    StateError,
)
from kinform.metrics import NoMetrics, WorkQueueGauges
from kinform.testing import virtual_time
from kinform.workqueue import ExponentialBackoff, FastSlow, WorkQueue

Strings = WorkQueue[str]


async def _take(queue: Strings, count: int = 1) -> list[str]:
    """Process the next keys, one by one."""
    keys = []
    for _ in range(count):
        key = await queue.get()
        queue.done(key)
        keys.append(key)
    return keys


async def _rest(queue: Strings) -> list[str]:
    """Process all keys that are ready."""
    return await _take(queue, len(queue))


async def _blocked_workers(queue: Strings, *names: str) -> dict[str, asyncio.Task[str]]:
    """Start workers that wait, in this order."""
    workers = {}
    for number, name in enumerate(names, start=queue.status().waiting_workers + 1):
        workers[name] = asyncio.create_task(queue.get(), name=name)
        await _until_waiting(queue, number)
    return workers


async def _until_waiting(queue: Strings, count: int) -> None:
    while queue.status().waiting_workers < count:  # noqa: ASYNC110  # a queue sets no event
        await asyncio.sleep(0)


# -- order ------------------------------------------------------------------------------------


@virtual_time
async def test_keys_of_one_priority_are_handed_out_in_the_order_of_their_adds() -> None:
    queue: Strings = WorkQueue()
    for key in "cab":
        queue.add(key)

    assert await _rest(queue) == ["c", "a", "b"]


@virtual_time
async def test_keys_of_equal_age_are_handed_out_by_priority() -> None:
    queue: Strings = WorkQueue()
    for key, priority in [("low", -100), ("usual", 0), ("high", 10), ("higher", 20)]:
        queue.add(key, priority=priority)

    assert queue.status().by_priority == {20: 1, 10: 1, 0: 1, -100: 1}
    assert await _rest(queue) == ["higher", "high", "usual", "low"]


@virtual_time
async def test_a_key_of_low_priority_precedes_new_keys_after_it_has_aged() -> None:
    queue: Strings = WorkQueue(aging=0.1)
    queue.add("low", priority=-100)
    await asyncio.sleep(9.99)
    queue.add("before")
    await asyncio.sleep(0.02)
    queue.add("after")

    assert await _rest(queue) == ["before", "low", "after"]


@virtual_time
async def test_of_keys_with_equal_effective_priority_the_older_is_first() -> None:
    queue: Strings = WorkQueue(aging=0.5)
    queue.add("older", priority=-4)
    await asyncio.sleep(2)
    queue.add("newer")

    assert await _rest(queue) == ["older", "newer"]


@virtual_time
async def test_without_ageing_a_low_priority_waits_for_all_others() -> None:
    queue: Strings = WorkQueue(aging=None)
    queue.add("low", priority=-1)
    await asyncio.sleep(10_000)
    queue.add("usual")

    assert await _rest(queue) == ["usual", "low"]


@virtual_time
async def test_many_priorities_leave_no_empty_levels_behind() -> None:
    queue: Strings = WorkQueue(aging=None)
    for priority in range(1000):
        queue.add(str(priority), priority=priority)

    assert await _rest(queue) == [str(priority) for priority in reversed(range(1000))]
    assert len(queue._core._ready._levels) < 10


# -- delays -----------------------------------------------------------------------------------


@virtual_time
async def test_delayed_keys_become_ready_in_the_order_of_their_deadlines() -> None:
    queue: Strings = WorkQueue()
    loop = asyncio.get_running_loop()
    for key, delay in [("c", 3.0), ("a", 1.0), ("b", 2.0)]:
        queue.add_after(key, delay)

    received = []
    for _ in range(3):
        [key] = await _take(queue)
        received.append((key, round(loop.time(), 3)))
    assert received == [("a", 1.0), ("b", 2.0), ("c", 3.0)]


@virtual_time
async def test_a_key_that_became_due_precedes_keys_added_later() -> None:
    queue: Strings = WorkQueue()
    queue.add_after("due", 1.0)
    await asyncio.sleep(2)
    queue.add("later")

    assert await _rest(queue) == ["due", "later"]


@virtual_time
async def test_a_key_that_became_due_precedes_a_key_that_was_held_back_until_later() -> None:
    queue: Strings = WorkQueue(aging=None)
    queue.add("held")
    queue.add_after("due", 1.0)
    key = await queue.get()
    queue.add(key)
    await asyncio.sleep(2)
    queue.done(key)

    assert await _rest(queue) == ["due", "held"]


@virtual_time
async def test_a_shorter_delay_wakes_a_waiting_worker_in_time() -> None:
    queue: Strings = WorkQueue()
    queue.add_after("late", 100.0)
    [worker] = (await _blocked_workers(queue, "worker")).values()
    queue.add_after("soon", 1.0)

    assert await worker == "soon"
    assert asyncio.get_running_loop().time() < 2


@virtual_time
async def test_the_next_worker_takes_over_the_timer_of_a_cancelled_one() -> None:
    queue: Strings = WorkQueue()
    queue.add_after("key", 5.0)
    first, second = (await _blocked_workers(queue, "first", "second")).values()
    first.cancel()

    assert await second == "key"
    assert asyncio.get_running_loop().time() < 6


@virtual_time
async def test_keys_in_backoff_set_no_timers_while_no_worker_waits() -> None:
    loop: Any = asyncio.get_running_loop()
    queue: Strings = WorkQueue()
    for number in range(10_000):
        queue.add_rate_limited(f"key-{number}")
    before = len(loop._scheduled)
    [worker] = (await _blocked_workers(queue, "worker")).values()
    while_waiting = len(loop._scheduled)
    await worker

    assert (before, while_waiting) == (0, 1)


@virtual_time
async def test_keys_that_leave_their_delay_early_do_not_fill_the_heap() -> None:
    queue: Strings = WorkQueue()
    for _ in range(1000):
        queue.add_after("key", 1000.0)
        queue.add("key")
        await _take(queue)

    assert len(queue._core._delays._heap) < 100
    assert queue.status().delayed == 0


@virtual_time
async def test_the_shorter_of_after_and_the_rate_limit_counts() -> None:
    queue: Strings = WorkQueue(rate_limiter=FastSlow(1.0, 50.0, fast_attempts=1))
    loop = asyncio.get_running_loop()
    queue.add("limited", after=10.0, rate_limited=True)
    await _take(queue)
    assert round(loop.time(), 3) == 1

    queue.add("limited", after=10.0, rate_limited=True)
    await _take(queue)
    assert round(loop.time(), 3) == 11


@virtual_time
async def test_failures_are_counted_until_the_key_is_forgotten() -> None:
    queue: Strings = WorkQueue()
    for _ in range(3):
        queue.add_rate_limited("key")

    assert queue.num_requeues("key") == 3
    queue.forget("key")
    assert queue.num_requeues("key") == 0


def test_delays_follow_the_given_clock() -> None:
    now = 100.0
    queue: Strings = WorkQueue(clock=lambda: now)
    queue.add_after("key", 5.0)
    before = len(queue)
    now = 105.0

    assert (before, len(queue)) == (0, 1)


# -- workers ----------------------------------------------------------------------------------


async def test_workers_are_served_in_the_order_in_which_they_began_to_wait() -> None:
    queue: Strings = WorkQueue()
    workers = await _blocked_workers(queue, "first", "second", "third")
    for key in "abc":
        queue.add(key)

    assert [await worker for worker in workers.values()] == ["a", "b", "c"]


async def test_a_worker_that_comes_later_does_not_overtake_one_that_was_woken() -> None:
    queue: Strings = WorkQueue()
    [waiting] = (await _blocked_workers(queue, "waiting")).values()
    queue.add("a")
    queue.add("b")

    assert await queue.get() == "b"
    assert waiting.result() == "a"


async def test_a_woken_worker_takes_the_best_key_of_that_time() -> None:
    queue: Strings = WorkQueue()
    [worker] = (await _blocked_workers(queue, "worker")).values()
    queue.add("usual")
    queue.add("urgent", priority=10)

    assert await worker == "urgent"


async def test_a_worker_cancelled_after_it_was_woken_loses_no_key() -> None:
    queue: Strings = WorkQueue()
    first, second = (await _blocked_workers(queue, "first", "second")).values()
    queue.add("key")
    first.cancel()

    assert await asyncio.wait_for(second, 5) == "key"
    with pytest.raises(asyncio.CancelledError):
        await first
    assert queue.status().waiting_workers == 0


async def test_a_worker_cancelled_alone_leaves_the_key_in_the_queue() -> None:
    queue: Strings = WorkQueue()
    [worker] = (await _blocked_workers(queue, "worker")).values()
    queue.add("key")
    worker.cancel()
    await asyncio.wait([worker])

    assert worker.cancelled()
    assert await queue.get() == "key"


async def test_keys_may_be_added_from_other_threads() -> None:
    queue: WorkQueue[int] = WorkQueue()

    def produce() -> None:
        for number in range(1000):
            queue.add(number)

    thread = threading.Thread(target=produce)
    thread.start()
    received = []
    for _ in range(1000):
        received.append(await queue.get())
        queue.done(received[-1])
    thread.join()

    assert received == list(range(1000))


async def test_workers_of_several_loops_share_a_queue() -> None:
    queue: Strings = WorkQueue()
    received: list[str] = []
    thread = threading.Thread(target=lambda: received.append(asyncio.run(queue.get())))
    thread.start()
    await _until_waiting(queue, 1)
    queue.add("key")
    await asyncio.to_thread(thread.join)

    assert received == ["key"]


# -- processing -------------------------------------------------------------------------------


@virtual_time
async def test_the_priority_of_a_key_can_be_kept_for_its_retry() -> None:
    queue: Strings = WorkQueue()
    queue.add("key", priority=-100)
    queued = queue.priority_of("key")
    key = await queue.get()
    queue.add(key, priority=5)

    assert (queued, queue.priority_of(key)) == (-100, -100)
    queue.done(key)
    assert queue.priority_of(key) == 5
    assert queue.priority_of("unknown") == 0


@virtual_time
async def test_a_key_delayed_while_processed_is_ready_after_both() -> None:
    queue: Strings = WorkQueue()
    queue.add("key")
    key = await queue.get()
    queue.add_after(key, 5.0)
    await asyncio.sleep(10)
    assert len(queue) == 0
    assert queue.status().held == 1

    queue.done(key)
    assert await _rest(queue) == ["key"]


@virtual_time
async def test_done_of_a_key_that_is_not_processed_is_an_error() -> None:
    queue: Strings = WorkQueue("web")
    queue.add("queued")

    for key in ("queued", "unknown"):
        with pytest.raises(StateError, match=f"web: done was called for '{key}'"):
            queue.done(key)
    assert await _rest(queue) == ["queued"]


# -- markers ----------------------------------------------------------------------------------


@virtual_time
async def test_a_marker_waits_for_keys_that_are_ready_held_or_processed() -> None:
    queue: Strings = WorkQueue()
    for key in ("held", "processed"):
        queue.add(key)
        assert await queue.get() == key
    queue.add("held")
    queue.add("ready")
    queue.add_after("delayed", 5.0)
    marker = queue.when_processed()
    queue.add("later")

    queue.done("processed")
    queue.done("held")
    assert not marker
    assert await _take(queue, 2) == ["ready", "later"]
    assert not marker
    assert await _take(queue) == ["held"]
    assert marker


@virtual_time
async def test_a_marker_of_an_idle_queue_is_set_at_once() -> None:
    queue: Strings = WorkQueue()
    queue.add_after("delayed", 5.0)

    assert queue.when_processed()


@virtual_time
async def test_markers_of_one_key_are_independent() -> None:
    queue: Strings = WorkQueue()
    queue.add("key")
    first, second = queue.when_processed(), queue.when_processed()
    await queue.get()
    queue.add("key")
    third = queue.when_processed()
    queue.done("key")
    assert (bool(first), bool(second), bool(third)) == (True, True, False)

    await _rest(queue)
    assert third


@virtual_time
async def test_waiting_for_a_marker_fails_when_the_queue_is_shut_down() -> None:
    queue: Strings = WorkQueue("web")
    queue.add("key")
    marker = queue.when_processed()
    queue.shutdown()

    with pytest.raises(AlreadyStoppedError, match="web was shut down before all keys"):
        await marker


# -- the end ----------------------------------------------------------------------------------


@virtual_time
async def test_shutdown_wakes_all_workers_and_drops_what_is_queued() -> None:
    queue: Strings = WorkQueue("web")
    workers = await _blocked_workers(queue, "first", "second")
    queue.add_after("delayed", 5.0)
    queue.shutdown()
    queue.shutdown()
    queue.add("refused")

    for worker in workers.values():
        with pytest.raises(QueueClosedError, match="web is shut down"):
            await worker
    status = queue.status()
    assert (status.ready, status.delayed, status.dropped, status.refused) == (0, 0, 1, 1)
    assert status.waiting_workers == 0
    assert queue.is_shut_down


@virtual_time
async def test_a_key_in_flight_can_be_finished_after_shutdown() -> None:
    queue: Strings = WorkQueue()
    queue.add("key")
    key = await queue.get()
    queue.add(key)
    queue.shutdown()
    queue.done(key)

    assert queue.status().processing == 0
    assert len(queue) == 0
    await queue.drain(timeout=1)


@virtual_time
async def test_drain_after_shutdown_waits_for_keys_in_flight() -> None:
    queue: Strings = WorkQueue()
    queue.add("key")
    key = await queue.get()
    queue.shutdown()
    drain = asyncio.create_task(queue.drain())
    await asyncio.sleep(1)
    assert not drain.done()

    queue.done(key)
    await drain


@virtual_time
async def test_drain_of_an_idle_queue_shuts_it_down_at_once() -> None:
    queue: Strings = WorkQueue()
    [worker] = (await _blocked_workers(queue, "worker")).values()
    await queue.drain()

    assert queue.is_shut_down
    with pytest.raises(QueueClosedError):
        await worker


@virtual_time
async def test_a_drain_that_takes_too_long_says_what_is_left() -> None:
    queue: Strings = WorkQueue("web")
    queue.add("slow")
    queue.add("waiting")
    await queue.get()

    with pytest.raises(
        ShutdownTimeoutError,
        match=r"web was not drained within 5 s: 1 keys were queued, 1 being processed "
        r"\('slow' for 5.0 s\)",
    ):
        await queue.drain(timeout=5)
    assert queue.is_shut_down


@virtual_time
async def test_shutdown_ends_a_drain() -> None:
    queue: Strings = WorkQueue("web")
    queue.add("key")
    drain = asyncio.create_task(queue.drain())
    await asyncio.sleep(0)
    assert queue.is_draining
    queue.shutdown()

    with pytest.raises(QueueClosedError, match="web was shut down before it was drained"):
        await drain
    await queue.drain()


@virtual_time
async def test_a_cancelled_drain_shuts_the_queue_down() -> None:
    queue: Strings = WorkQueue()
    queue.add("key")
    drain = asyncio.create_task(queue.drain())
    await asyncio.sleep(0)
    drain.cancel()
    await asyncio.wait([drain])

    assert queue.is_shut_down


@virtual_time
async def test_the_rate_limiter_is_not_asked_after_shutdown() -> None:
    limiter = ExponentialBackoff()
    queue: Strings = WorkQueue(rate_limiter=limiter)
    queue.shutdown()
    queue.add_rate_limited("key")

    assert limiter.num_requeues("key") == 0


# -- status and arguments ---------------------------------------------------------------------


@virtual_time
async def test_the_status_shows_every_place_of_keys() -> None:
    queue: Strings = WorkQueue("web")
    for key in ("processed", "ready", "low"):
        queue.add(key, priority=-1 if key == "low" else 0)
    await queue.get()
    queue.add("processed")
    queue.add_after("delayed", 30.0)
    await asyncio.sleep(10)
    status = queue.status()

    assert (status.name, status.ready, status.held, status.delayed) == ("web", 2, 1, 1)
    assert (status.processing, status.by_priority) == (1, {0: 1, -1: 1})
    assert (status.oldest_key, status.oldest_age) == ("ready", 10.0)
    assert (status.longest_running_key, status.longest_running) == ("processed", 10.0)
    assert status.next_due == 20.0
    assert (status.adds, status.retries) == (4, 1)
    assert (status.is_draining, status.is_shut_down) == (False, False)
    assert repr(queue) == "<WorkQueue 'web' ready=2 delayed=1 processing=1>"


def test_an_empty_queue_has_no_ages_and_is_true() -> None:
    queue: Strings = WorkQueue()
    status = queue.status()

    assert (status.oldest_key, status.oldest_age) == (None, None)
    assert (status.longest_running, status.next_due) == (None, None)
    assert queue
    assert queue.name == ""


@virtual_time
async def test_processed_keys_are_freed() -> None:
    class Key:
        pass

    queue: WorkQueue[Hashable] = WorkQueue()
    key = Key()
    freed = weakref.ref(key)
    queue.add(key)
    queue.add_after(key, 5.0)
    queue.done(await queue.get())
    del key
    gc.collect()

    assert freed() is None
    assert queue._core._entries == {}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"after": math.nan}, "after must be a finite number of seconds, not nan"),
        ({"after": math.inf}, "after must be a finite number of seconds, not inf"),
        ({"after": "1"}, "after must be a finite number of seconds, not '1'"),
        ({"priority": 1.5}, "priority must be an int between"),
        ({"priority": 2**31}, "priority must be an int between"),
    ],
)
def test_an_invalid_argument_of_add_is_refused(arguments: dict[str, Any], message: str) -> None:
    queue: Strings = WorkQueue()

    with pytest.raises(ConfigError, match=message):
        queue.add("key", **arguments)
    assert len(queue) == 0


def test_a_key_that_is_not_hashable_is_refused() -> None:
    queue: WorkQueue[Any] = WorkQueue("web")

    with pytest.raises(ConfigError, match=r"web: keys must be hashable, .* not list"):
        queue.add(["key"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aging": 0}, "aging must be a number of seconds above 0, or None, not 0"),
        ({"aging": math.nan}, "aging must be"),
        ({"rate_limiter": 5}, "rate_limiter takes a rate limiter"),
        ({"rate_limiter": ExponentialBackoff}, "rate_limiter takes a rate limiter"),
        ({"clock": 5}, "clock must be a function"),
    ],
)
def test_an_invalid_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        WorkQueue("web", **options)


def test_a_rate_limiter_that_returns_rubbish_is_named() -> None:
    class Broken:
        def next_delay(self, key: str) -> float:
            return math.nan

        def forget(self, key: str) -> None: ...
        def num_requeues(self, key: str) -> int:
            return 0

    queue: Strings = WorkQueue(rate_limiter=Broken())

    with pytest.raises(ConfigError, match="the delay of the rate limiter must be a finite"):
        queue.add_rate_limited("key")


async def test_a_queue_on_an_ordinary_loop_uses_the_monotonic_clock() -> None:
    assert WorkQueue[str]()._core._clock is time.monotonic


# -- metrics ----------------------------------------------------------------------------------


class _Recorder(NoMetrics):
    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def workqueue_started(self, queue: str, gauges: object) -> None:
        self.calls.append(("started", queue))

    def workqueue_added(self, queue: str) -> None:
        self.calls.append(("added", queue))

    def workqueue_retried(self, queue: str) -> None:
        self.calls.append(("retried", queue))

    def workqueue_taken(self, queue: str, seconds: float) -> None:
        self.calls.append(("taken", queue, seconds))

    def workqueue_done(self, queue: str, seconds: float) -> None:
        self.calls.append(("done", queue, seconds))

    def workqueue_stopped(self, queue: str, gauges: object) -> None:
        self.calls.append(("stopped", queue))


@virtual_time
async def test_metrics_receive_each_step_once() -> None:
    recorder = _Recorder()
    queue: Strings = WorkQueue("web", metrics=recorder)
    queue.add("key")
    queue.add("key")
    await asyncio.sleep(2)
    key = await queue.get()
    await asyncio.sleep(3)
    queue.done(key)
    queue.add_after("key", 1.0)
    await queue.drain()
    queue.shutdown()

    assert recorder.calls == [
        ("started", "web"),
        ("added", "web"),
        ("taken", "web", 2.0),
        ("done", "web", 3.0),
        ("retried", "web"),
        ("stopped", "web"),
    ]


@virtual_time
async def test_a_queue_without_a_name_has_no_metrics() -> None:
    recorder = _Recorder()
    queue: Strings = WorkQueue(metrics=recorder)
    queue.add("key")
    queue.shutdown()

    assert recorder.calls == []


@virtual_time
async def test_metrics_that_raise_do_not_disturb_the_queue() -> None:
    class Failing(NoMetrics):
        def workqueue_added(self, queue: str) -> None:
            raise RuntimeError("out of order")

    queue: Strings = WorkQueue("web", metrics=Failing())
    queue.add("key")

    assert await _rest(queue) == ["key"]


def test_metrics_may_read_the_gauges_while_they_are_called() -> None:
    class Reading(NoMetrics):
        seen: WorkQueueGauges | None = None

        def workqueue_started(self, queue: str, gauges: Any) -> None:
            self.gauges = gauges

        def workqueue_added(self, queue: str) -> None:
            self.seen = self.gauges()

    metrics = Reading()
    queue: Strings = WorkQueue("web", metrics=metrics)
    queue.add("key", priority=3)

    assert metrics.seen == WorkQueueGauges(depths={3: 1}, unfinished=0, longest_running=0)
