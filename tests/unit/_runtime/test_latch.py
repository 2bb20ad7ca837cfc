"""Something that happens once: whoever waits for it, on whatever loop or thread, is let through."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import weakref

import pytest

from kinform._runtime import Latch, wait_for
from kinform.errors import AlreadyStoppedError, CacheSyncError, StateError
from kinform.testing import run_virtual, virtual_time


def test_it_is_false_until_it_is_set_and_true_for_ever() -> None:
    latch = Latch("pods has synced")
    assert not latch
    assert repr(latch) == "<Latch 'pods has synced' not set>"

    latch.set()
    latch.set()

    assert latch
    assert repr(latch) == "<Latch 'pods has synced' set>"


async def test_a_set_latch_lets_through_at_once() -> None:
    latch = Latch()
    latch.set()

    await latch
    assert latch.wait()


async def test_all_who_await_it_are_let_through() -> None:
    latch = Latch()
    tasks = [asyncio.ensure_future(_await(latch)) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in tasks)

    latch.set()

    assert await asyncio.gather(*tasks) == ["through"] * 3


async def test_it_can_be_set_on_another_thread() -> None:
    latch = Latch()
    waiting = asyncio.ensure_future(_await(latch))
    await asyncio.sleep(0)

    await asyncio.to_thread(latch.set)

    assert await asyncio.wait_for(waiting, 30) == "through"


def test_threads_and_loops_wait_for_the_same_one() -> None:
    latch = Latch()
    here = threading.Barrier(5)
    through: list[str] = []

    def wait() -> None:
        here.wait()
        assert latch.wait(30)
        through.append("thread")

    async def wait_on_a_loop() -> None:
        waiting = asyncio.ensure_future(_await(latch))
        await asyncio.sleep(0)
        here.wait()
        await asyncio.wait_for(waiting, 30)
        through.append("loop")

    threads = [threading.Thread(target=wait) for _ in range(2)]
    threads += [threading.Thread(target=lambda: asyncio.run(wait_on_a_loop())) for _ in range(2)]
    for thread in threads:
        thread.start()
    here.wait()
    latch.set()
    for thread in threads:
        thread.join(30)

    assert sorted(through) == ["loop", "loop", "thread", "thread"]


def test_many_setters_and_waiters_at_once_leave_nobody_behind() -> None:
    for _ in range(50):
        latch = Latch()
        here = threading.Barrier(6)
        through: list[bool] = []

        def wait(
            latch: Latch = latch, here: threading.Barrier = here, through: list[bool] = through
        ) -> None:
            here.wait()
            through.append(latch.wait(30))

        def set_it(latch: Latch = latch, here: threading.Barrier = here) -> None:
            here.wait()
            latch.set()

        threads = [threading.Thread(target=wait) for _ in range(4)]
        threads += [threading.Thread(target=set_it) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert through == [True] * 4


def test_waiting_in_vain_ends_with_the_timeout() -> None:
    latch = Latch()

    assert latch.wait(0) is False
    assert latch.wait(0.01) is False
    latch.set()
    assert latch.wait(0)


async def test_waiting_where_a_loop_would_stand_still_is_refused() -> None:
    with pytest.raises(StateError, match=r"pods has synced would block.*await it"):
        Latch("pods has synced").wait(0)


async def test_a_cancelled_awaiter_leaves_nothing_behind_and_the_others_waiting() -> None:
    latch = Latch()
    stays = asyncio.ensure_future(_await(latch))
    leaves = asyncio.ensure_future(_await(latch))
    await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.wait([leaves])
    gone = weakref.ref(leaves)

    del leaves
    gc.collect()

    assert gone() is None
    latch.set()
    assert await stays == "through"


def test_who_gave_up_waiting_is_not_remembered() -> None:
    class Witness:
        pass

    latch = Latch()

    async def give_up() -> weakref.ref[Witness]:
        async def wait(witness: Witness) -> None:
            await latch

        witness = Witness()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(wait(witness), 5)
        return weakref.ref(witness)

    witness = run_virtual(give_up())
    gc.collect()

    assert witness() is None
    latch.set()


def test_it_can_be_set_after_the_loop_of_an_awaiter_has_ended() -> None:
    latch = Latch()
    waiting = _await(latch)

    async def begin_to_wait() -> None:
        waiting.send(None)

    asyncio.run(begin_to_wait())
    latch.set()

    assert latch
    waiting.close()


# -- giving up -------------------------------------------------------------------------------


async def test_who_waits_for_the_impossible_is_told_why_now_or_later() -> None:
    latch = Latch("pods has synced")
    waiting = [
        asyncio.ensure_future(_await(latch)),
        asyncio.ensure_future(asyncio.to_thread(latch.wait)),
    ]
    await asyncio.sleep(0)

    latch.give_up("pods has stopped")

    for late in (*waiting, _await(latch), asyncio.to_thread(latch.wait)):
        with pytest.raises(AlreadyStoppedError, match="pods has stopped"):
            await late
    assert not latch


async def test_what_has_happened_cannot_be_given_up() -> None:
    latch = Latch()
    latch.set()

    latch.give_up("too late")

    assert latch
    assert latch.wait()
    await latch


# -- waiting for several ---------------------------------------------------------------------


@virtual_time
async def test_wait_for_returns_when_the_last_one_is_set() -> None:
    loop = asyncio.get_running_loop()
    latches = [Latch(name) for name in "abc"]
    for delay, latch in zip((7, 5, 3), latches, strict=True):
        loop.call_later(delay, latch.set)

    await wait_for(*latches, timeout=100)

    assert loop.time() == pytest.approx(7)
    assert all(latches)


@virtual_time
async def test_wait_for_nothing_or_for_what_is_set_returns_at_once() -> None:
    latch = Latch()
    latch.set()

    await wait_for()
    await wait_for(latch, timeout=0)


@virtual_time
async def test_wait_for_names_those_that_are_late_in_order() -> None:
    latches = [Latch(name) for name in ("pods", "nodes", "", "jobs")]
    latches[3].set()

    with pytest.raises(CacheSyncError) as raised:
        await wait_for(*latches, what="the caches", timeout=30)

    assert str(raised.value) == (
        "timed out after 30 s of waiting for the caches; not set yet: a latch, nodes, pods"
    )
    assert raised.value.__cause__ is None
    assert asyncio.get_running_loop().time() == pytest.approx(30)


@virtual_time
async def test_one_that_is_set_in_the_last_moment_is_not_late() -> None:
    loop = asyncio.get_running_loop()
    early, late = Latch("early"), Latch("late")

    def set_both() -> None:
        early.set()
        late.set()

    # Due with the timeout and before it, so that the waiter is cancelled and let through at once.
    loop.call_at(30, set_both)

    await wait_for(early, late, timeout=30)

    assert loop.time() == pytest.approx(30)


@virtual_time
async def test_the_cancellation_of_a_wait_stays_a_cancellation() -> None:
    waiting = asyncio.ensure_future(wait_for(Latch(), timeout=30))
    await asyncio.sleep(1)
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


@virtual_time
async def test_who_is_late_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kinform.informer")
    quick, slow = Latch("quick"), Latch("slow")
    loop = asyncio.get_running_loop()
    loop.call_later(5, quick.set)
    loop.call_later(500, slow.set)

    await wait_for(quick, slow, what="the caches")

    assert caplog.messages == ["waiting for the caches for more than 10 s; not set yet: slow"]


@virtual_time
async def test_who_is_in_time_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kinform.informer")
    latch = Latch("quick")
    asyncio.get_running_loop().call_later(5, latch.set)

    await wait_for(latch)
    await asyncio.sleep(100)

    assert caplog.messages == []


async def _await(latch: Latch) -> str:
    await latch
    return "through"
