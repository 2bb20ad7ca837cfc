"""A loop on a thread: results out of it, and an end to it, whatever happens around it."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from kinform.blocking import LoopThread
from kinform.errors import StateError


@pytest.fixture
def loop() -> Iterator[LoopThread]:
    loop = LoopThread(name="the loop")
    loop.start()
    yield loop
    loop.stop()


async def _forever(started: threading.Event) -> None:
    started.set()
    await asyncio.get_running_loop().create_future()


async def _answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_a_result_comes_back(loop: LoopThread) -> None:
    assert loop.run(_answer()) == 42
    assert loop.call(threading.current_thread) is not threading.current_thread()


def test_an_error_comes_back(loop: LoopThread) -> None:
    async def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        loop.run(fail())
    assert loop.run(_answer()) == 42


@pytest.mark.parametrize("exit_type", [SystemExit, KeyboardInterrupt])
def test_an_exit_raised_on_the_loop_goes_to_the_caller_and_the_loop_lives_on(
    loop: LoopThread, exit_type: type[BaseException]
) -> None:
    async def leave() -> None:
        raise exit_type

    with pytest.raises(exit_type):
        loop.run(leave())
    assert loop.run(_answer()) == 42


def test_many_threads_call_at_once(loop: LoopThread) -> None:
    here = threading.Barrier(9)
    answers: list[int] = []

    def call() -> None:
        here.wait()
        answers.extend(loop.run(_answer()) for _ in range(50))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    here.wait()
    for thread in threads:
        thread.join()

    assert answers == [42] * 400


def test_who_waits_when_it_is_stopped_is_told(loop: LoopThread) -> None:
    started = threading.Event()
    told: list[str] = []

    def wait() -> None:
        try:
            loop.run(_forever(started))
        except StateError as error:
            told.append(str(error))

    thread = threading.Thread(target=wait)
    thread.start()
    started.wait()
    loop.stop()
    thread.join(30)

    assert told == ["the loop was stopped during the call"]


def test_callers_that_race_with_the_end_all_come_back() -> None:
    for _ in range(20):
        loop = LoopThread(name="the loop")
        loop.start()
        here = threading.Barrier(5)

        def call(loop: LoopThread = loop, here: threading.Barrier = here) -> None:
            here.wait()
            try:
                while True:
                    loop.run(_answer())
            except StateError:
                return

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        here.wait()
        loop.stop()
        for thread in threads:
            thread.join(30)
        assert not any(thread.is_alive() for thread in threads)


def test_before_it_starts_and_after_it_stops_there_is_nobody_to_call() -> None:
    loop = LoopThread(name="the loop")
    loop.stop()
    with pytest.raises(StateError, match="the loop is not running"):
        loop.run(_answer())
    loop.start()
    loop.stop()
    loop.stop()
    with pytest.raises(StateError, match="the loop is not running"):
        loop.run(_answer())
    with pytest.raises(StateError, match="already started"):
        loop.start()
    assert not loop.is_running


def test_it_is_started_once_however_many_ask() -> None:
    before = threading.active_count()
    loop = LoopThread(name="the loop")
    loop.ensure_started()
    loop.ensure_started()
    assert threading.active_count() == before + 1
    loop.stop()
    assert threading.active_count() == before


def test_a_call_on_its_own_loop_is_refused(loop: LoopThread) -> None:
    with pytest.raises(StateError, match="would deadlock"):
        loop.call(lambda: loop.run(_answer()))


def test_it_can_be_stopped_on_its_own_loop() -> None:
    before = threading.active_count()
    loop = LoopThread(name="the loop")
    loop.start()
    loop.call(loop.stop)
    loop.stop()
    assert threading.active_count() == before


async def test_a_call_that_would_stall_another_loop_is_refused_with_the_way_out() -> None:
    loop = LoopThread(name="the loop", instead="the other one")
    loop.start()
    try:
        with pytest.raises(StateError, match="use the other one in asyncio code"):
            loop.run(_answer())
    finally:
        loop.stop()


async def test_an_executor_of_a_running_loop_may_call() -> None:
    loop = LoopThread(name="the loop", instead="the other one")
    loop.start()
    try:
        assert await asyncio.to_thread(lambda: loop.run(_answer())) == 42
    finally:
        loop.stop()


def test_what_still_runs_is_cancelled_at_the_end(loop: LoopThread) -> None:
    cancelled: list[bool] = []

    async def work() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def leave_it_running() -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work())
        await asyncio.sleep(0)
        return task

    task = loop.run(leave_it_running())
    loop.stop()

    assert cancelled == [True]
    assert task.cancelled()


def test_closers_run_before_the_end_youngest_first(loop: LoopThread) -> None:
    closed: list[str] = []

    async def close(name: str) -> None:
        await asyncio.sleep(0)
        closed.append(name)
        if name == "bad":
            raise LookupError(name)

    loop.add_closer(lambda: close("old"))
    forget = loop.add_closer(lambda: close("forgotten"))
    loop.add_closer(lambda: close("bad"))
    loop.add_closer(lambda: close("young"))
    forget()
    loop.stop()

    assert closed == ["young", "bad", "old"]


def test_an_owner_that_is_dropped_ends_its_thread_in_order() -> None:
    closed = threading.Event()
    threads: list[threading.Thread] = []

    async def close() -> None:
        closed.set()

    def use_and_drop() -> weakref.ref[LoopThread]:
        loop = LoopThread(name="the loop")
        loop.start()
        loop.add_closer(close)
        threads.append(loop.call(threading.current_thread))
        return weakref.ref(loop)

    dropped = use_and_drop()
    gc.collect()

    assert dropped() is None
    threads[0].join(30)
    assert not threads[0].is_alive()
    assert closed.is_set()


def test_spawned_work_is_finished_before_the_end(loop: LoopThread) -> None:
    finished: list[bool] = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        finished.append(True)

    loop.spawn(work)
    loop.call(lambda: None)
    loop.stop()
    loop.spawn(work)

    assert finished == [True]
