"""The work queue for threads."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from kinform.blocking import WorkQueue
from kinform.errors import QueueClosedError, ShutdownTimeoutError, StateError

Strings = WorkQueue[str]


def _blocked_workers(pool: ThreadPoolExecutor, queue: Strings, count: int) -> list[Future[str]]:
    """Start workers that wait, in this order."""
    workers = []
    for number in range(1, count + 1):
        workers.append(pool.submit(queue.get))
        _wait_for_workers(queue, number)
    return workers


def _wait_for_workers(queue: Strings, count: int) -> None:
    pause = threading.Event()
    while queue.status().waiting_workers < count:
        pause.wait(0.001)


def test_threads_are_served_in_the_order_in_which_they_began_to_wait() -> None:
    queue: Strings = WorkQueue()
    with ThreadPoolExecutor() as pool:
        workers = _blocked_workers(pool, queue, 3)
        for key in "abc":
            queue.add(key)

        assert [worker.result(10) for worker in workers] == ["a", "b", "c"]


def test_a_waiting_thread_receives_a_delayed_key() -> None:
    queue: Strings = WorkQueue()
    queue.add_after("late", 600)
    with ThreadPoolExecutor() as pool:
        [worker] = _blocked_workers(pool, queue, 1)
        queue.add_after("soon", 0.01)

        assert worker.result(10) == "soon"


def test_get_gives_up_after_its_timeout_and_leaves_the_line() -> None:
    queue: Strings = WorkQueue("web")
    queue.add_after("late", 600)

    with pytest.raises(TimeoutError, match=r"web had no key within 0.01 s"):
        queue.get(timeout=0.01)
    assert queue.status().waiting_workers == 0
    queue.add("key")
    assert queue.get(timeout=0.01) == "key"


def test_a_key_goes_to_the_next_thread_when_the_first_gives_up() -> None:
    queue: Strings = WorkQueue()
    with ThreadPoolExecutor() as pool:
        impatient = pool.submit(queue.get, 0.05)
        _wait_for_workers(queue, 1)
        patient = pool.submit(queue.get)
        with pytest.raises(TimeoutError):
            impatient.result(10)
        queue.add("key")

        assert patient.result(10) == "key"


def test_shutdown_wakes_all_threads() -> None:
    queue: Strings = WorkQueue("web")
    with ThreadPoolExecutor() as pool:
        workers = _blocked_workers(pool, queue, 3)
        queue.shutdown()

        for worker in workers:
            with pytest.raises(QueueClosedError, match="web is shut down"):
                worker.result(10)


def test_drain_returns_when_the_threads_have_processed_all_keys() -> None:
    queue: Strings = WorkQueue()
    processed = []

    def work() -> None:
        while True:
            key = queue.get()
            processed.append(key)
            queue.done(key)

    for number in range(100):
        queue.add(f"key-{number}")
    queue.add_after("delayed", 600)
    with ThreadPoolExecutor() as pool:
        workers = [pool.submit(work) for _ in range(4)]
        queue.drain(timeout=10, delayed=True)

        assert len(processed) == 101
        for worker in workers:
            assert isinstance(worker.exception(10), QueueClosedError)


def test_a_drain_that_takes_too_long_shuts_the_queue_down() -> None:
    queue: Strings = WorkQueue("web")
    queue.add("key")

    with pytest.raises(ShutdownTimeoutError, match="1 keys were queued, 0 being processed"):
        queue.drain(timeout=0.01)
    assert queue.is_shut_down


def test_shutdown_ends_a_drain() -> None:
    queue: Strings = WorkQueue("web")
    queue.add("key")
    with ThreadPoolExecutor() as pool:
        drain = pool.submit(queue.drain)
        pause = threading.Event()
        while not queue.is_draining:
            pause.wait(0.001)
        queue.shutdown()

        with pytest.raises(QueueClosedError, match="shut down before it was drained"):
            drain.result(10)


def test_a_marker_can_be_waited_for() -> None:
    queue: Strings = WorkQueue()
    queue.add("key")
    marker = queue.when_processed()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(marker.wait, 10)
        queue.done(queue.get())

        assert waiting.result(10)


def test_waiting_on_the_thread_of_a_loop_is_an_error() -> None:
    queue: Strings = WorkQueue("web")

    async def use() -> None:
        with pytest.raises(StateError, match="get of web would block this thread's event loop"):
            queue.get()
        with pytest.raises(StateError, match="drain of web would block"):
            queue.drain()
        queue.add("key")
        assert queue.get() == "key"

    asyncio.run(use())
    assert queue.status().waiting_workers == 0
