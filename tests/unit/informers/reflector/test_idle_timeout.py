"""The idle timeout: one timer for many deadlines, which ends only waits that are too long."""

from __future__ import annotations

import asyncio

import pytest

from kinform.informers.reflector._idle_timeout import IdleTimeout
from kinform.testing import virtual_time


class Limit:
    """An alarm, and a deadline that is so many seconds from when it was last moved."""

    def __init__(self) -> None:
        self._at = 0.0
        self.alarm = IdleTimeout(lambda: self._at)

    def move(self, seconds: float) -> None:
        self._at = asyncio.get_running_loop().time() + seconds

    def set(self, seconds: float) -> IdleTimeout:
        self.move(seconds)
        return self.alarm.set()


@virtual_time
async def test_waiting_too_long_raises_a_timeout() -> None:
    limit = Limit()
    with pytest.raises(TimeoutError), limit.set(5):
        await asyncio.sleep(6)
    assert asyncio.get_running_loop().time() == pytest.approx(5)
    await asyncio.sleep(0)  # nothing of it is left


@virtual_time
async def test_each_wait_has_its_own_limit() -> None:
    limit = Limit()
    for _ in range(10):
        with limit.set(5):
            await asyncio.sleep(4)
    with pytest.raises(TimeoutError), limit.set(1):
        await asyncio.sleep(4)
    assert asyncio.get_running_loop().time() == pytest.approx(41)


@virtual_time
async def test_time_between_two_waits_does_not_count() -> None:
    limit = Limit()
    with limit.set(5):
        await asyncio.sleep(1)
    await asyncio.sleep(60)
    with limit.set(5):
        await asyncio.sleep(4)
    limit.alarm.stop()


@virtual_time
async def test_a_cancellation_by_somebody_else_stays_one() -> None:
    limit = Limit()

    async def wait() -> None:
        with limit.set(5):
            await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


@virtual_time
async def test_a_cancellation_at_the_same_time_wins() -> None:
    limit = Limit()

    async def wait() -> None:
        with limit.set(5):
            await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(5.0, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task


@virtual_time
async def test_a_stopped_alarm_leaves_no_timer() -> None:
    limit = Limit()
    with limit.set(1000):
        await asyncio.sleep(0)
    limit.alarm.stop()
    await asyncio.sleep(1)
    assert asyncio.get_running_loop().time() == pytest.approx(1)


@virtual_time
async def test_a_deadline_that_moves_on_while_one_waits_is_the_one_that_counts() -> None:
    limit = Limit()
    loop = asyncio.get_running_loop()
    loop.call_at(4, limit.move, 5)
    loop.call_at(8, limit.move, 3)
    with pytest.raises(TimeoutError), limit.set(5):
        await asyncio.sleep(60)
    assert loop.time() == pytest.approx(11)


@virtual_time
async def test_setting_it_again_while_waiting_can_make_it_earlier() -> None:
    limit = Limit()
    loop = asyncio.get_running_loop()
    loop.call_at(4, limit.set, 3)
    with pytest.raises(TimeoutError), limit.set(100):
        await asyncio.sleep(60)
    assert loop.time() == pytest.approx(7)


@virtual_time
async def test_a_deadline_in_the_past_is_one_too() -> None:
    limit = Limit()
    with pytest.raises(TimeoutError), limit.set(-1):
        await asyncio.sleep(60)
    assert asyncio.get_running_loop().time() == pytest.approx(0)
