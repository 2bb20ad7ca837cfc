"""One timer for many limits: who waits too long is told so, and nobody else is."""

from __future__ import annotations

import asyncio

import pytest

from kinform.informers.reflector._alarm import Alarm
from kinform.testing import virtual_time


@virtual_time
async def test_who_waits_too_long_gets_a_timeout() -> None:
    alarm = Alarm()
    with pytest.raises(TimeoutError), alarm.set(5):
        await asyncio.sleep(6)
    assert asyncio.get_running_loop().time() == pytest.approx(5)
    await asyncio.sleep(0)  # nothing of it is left


@virtual_time
async def test_each_wait_has_its_own_limit() -> None:
    alarm = Alarm()
    for _ in range(10):
        with alarm.set(5):
            await asyncio.sleep(4)
    with pytest.raises(TimeoutError), alarm.set(1):
        await asyncio.sleep(4)
    assert asyncio.get_running_loop().time() == pytest.approx(41)


@virtual_time
async def test_time_between_two_waits_does_not_count() -> None:
    alarm = Alarm()
    with alarm.set(5):
        await asyncio.sleep(1)
    await asyncio.sleep(60)
    with alarm.set(5):
        await asyncio.sleep(4)
    alarm.stop()


@virtual_time
async def test_a_cancellation_by_somebody_else_stays_one() -> None:
    alarm = Alarm()

    async def wait() -> None:
        with alarm.set(5):
            await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await asyncio.sleep(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


@virtual_time
async def test_a_cancellation_at_the_same_time_wins() -> None:
    alarm = Alarm()

    async def wait() -> None:
        with alarm.set(5):
            await asyncio.sleep(60)

    task = asyncio.create_task(wait())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_at(5.0, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task


@virtual_time
async def test_a_stopped_alarm_leaves_no_timer() -> None:
    alarm = Alarm()
    with alarm.set(1000):
        await asyncio.sleep(0)
    alarm.stop()
    await asyncio.sleep(1)
    assert asyncio.get_running_loop().time() == pytest.approx(1)
