"""Consumers that come and go: no item is overlooked, and there is never more than one."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from kinform._runtime import Latch
from kinform.informers.dispatch._mailbox import SYNCED, Item, UnboundedMailbox
from kinform.informers.dispatch._runner import TaskRunner, ThreadRunner
from tests.support.changes import added, record
from tests.support.waiting import wait_until

CHANGE = added(record("a"))


@pytest.mark.parametrize("linger", [0.0, 0.00005, 0.001])
async def test_no_item_is_overlooked_when_threads_retire_all_the_time(linger: float) -> None:
    mailbox = UnboundedMailbox()
    told, threads = threading.Semaphore(0), set[int]()

    def tell(_item: Item) -> None:
        threads.add(threading.get_ident())
        told.release()

    runner = ThreadRunner(mailbox, tell, name="hammer", linger=linger)
    runner.start(asyncio.get_running_loop())

    def hammer() -> None:
        for round in range(1500):
            for _ in range(1 + round % 3):
                mailbox.put([CHANGE])
                runner.notify()
            for _ in range(1 + round % 3):
                assert told.acquire(timeout=10), f"an item was overlooked in round {round}"

    await asyncio.to_thread(hammer)
    ended = Latch()
    runner.halt(ended.set)
    await ended


async def test_a_thread_retires_when_it_was_idle_and_another_one_follows() -> None:
    mailbox = UnboundedMailbox()
    threads: list[threading.Thread] = []
    runner = ThreadRunner(
        mailbox, lambda _: threads.append(threading.current_thread()), name="short", linger=0.001
    )
    runner.start(asyncio.get_running_loop())

    async def tell_and_retire() -> None:
        told = len(threads)
        mailbox.put([CHANGE])
        runner.notify()
        await wait_until(lambda: len(threads) > told)
        await asyncio.to_thread(threads[-1].join, 10)
        assert not threads[-1].is_alive()

    await tell_and_retire()
    await tell_and_retire()
    assert threads[0] is not threads[1]
    assert {(thread.name, thread.daemon) for thread in threads} == {("short", True)}


async def test_calls_of_one_runner_never_overlap_whoever_nudges() -> None:
    mailbox = UnboundedMailbox()
    inside = threading.Lock()
    overlaps: list[Item] = []
    count = threading.Semaphore(0)

    def tell(item: Item) -> None:
        if not inside.acquire(blocking=False):
            overlaps.append(item)
        else:
            time.sleep(0)  # an invitation to all other threads
            inside.release()
        count.release()

    runner = ThreadRunner(mailbox, tell, name="alone", linger=0.0)
    runner.start(asyncio.get_running_loop())

    def push() -> None:
        for _ in range(1000):
            mailbox.put([CHANGE])
            runner.notify()

    await asyncio.gather(*(asyncio.to_thread(push) for _ in range(4)))
    await asyncio.to_thread(lambda: [count.acquire(timeout=10) for _ in range(4000)])
    assert overlaps == []
    assert not mailbox


async def test_a_task_is_woken_from_any_thread() -> None:
    mailbox = UnboundedMailbox()
    told = threading.Semaphore(0)

    async def tell(_item: Item) -> None:
        told.release()

    runner = TaskRunner(mailbox, tell, name="task")
    runner.start(asyncio.get_running_loop())

    def hammer() -> None:
        for _ in range(1000):
            mailbox.put([CHANGE])
            runner.notify()
            assert told.acquire(timeout=10)

    await asyncio.to_thread(hammer)


async def test_a_runner_that_was_halted_before_its_task_began_ends_without_a_call() -> None:
    mailbox = UnboundedMailbox()
    told: list[Item] = []

    async def tell(item: Item) -> None:
        told.append(item)

    runner = TaskRunner(mailbox, tell, name="task")
    runner.start(asyncio.get_running_loop())
    mailbox.put([CHANGE])
    runner.notify()
    ended = Latch()
    runner.halt(ended.set)
    assert not ended
    await ended
    assert told == []


async def test_what_came_while_a_task_was_being_cancelled_is_told_after_a_restart() -> None:
    mailbox = UnboundedMailbox()
    told: list[Item] = []
    entered = asyncio.Event()

    async def tell(item: Item) -> None:
        told.append(item)
        entered.set()
        if item is not SYNCED:
            await asyncio.get_running_loop().create_future()

    loop = asyncio.get_running_loop()
    runner = TaskRunner(mailbox, tell, name="task")
    runner.start(loop)
    mailbox.put([CHANGE])
    runner.notify()
    await entered.wait()
    runner.halt(lambda: None)
    runner.cancel()
    mailbox.put_synced()
    runner.start(loop)
    await wait_until(lambda: len(told) == 2)
    assert told == [CHANGE, SYNCED]


async def test_without_a_thread_to_be_had_changes_wait_for_the_next_nudge(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    mailbox = UnboundedMailbox()
    told: list[Item] = []
    runner = ThreadRunner(mailbox, told.append, name="poor", linger=0.0)
    with monkeypatch.context() as scarce:
        scarce.setattr(threading.Thread, "start", _no_thread)
        mailbox.put([CHANGE])
        runner.start(asyncio.get_running_loop())
    assert "cannot start a thread for handler poor" in caplog.text
    runner.notify()
    await wait_until(lambda: told == [CHANGE])


def _no_thread(_thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
