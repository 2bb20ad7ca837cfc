"""Side tasks: they end with their block, and a failing one ends its block."""

from __future__ import annotations

import asyncio

import pytest

from kinform.informers.reflector._side_task import SideTask
from kinform.testing import virtual_time


async def fail_after_a_second() -> None:
    await asyncio.sleep(1)
    raise ValueError("no more")


@virtual_time
async def test_a_side_task_ends_with_its_block() -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(1)
            ticks.append(asyncio.get_running_loop().time())

    async with SideTask(tick):
        await asyncio.sleep(2.5)
    await asyncio.sleep(5)
    assert len(ticks) == 2


@virtual_time
async def test_a_failing_side_task_ends_its_block_with_its_error() -> None:
    with pytest.raises(ValueError, match="no more"):
        async with asyncio.timeout(5), SideTask(fail_after_a_second):
            await asyncio.sleep(10)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@virtual_time
async def test_its_error_wins_over_what_the_block_makes_of_the_cancellation() -> None:
    async def convert() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            raise ConnectionError("converted") from None

    with pytest.raises(ValueError, match="no more"):
        async with SideTask(fail_after_a_second):
            await convert()


@virtual_time
async def test_a_cancellation_from_outside_wins_over_a_failing_side_task() -> None:
    async def block() -> None:
        async with SideTask(fail_after_a_second):
            try:
                await asyncio.sleep(10)
            finally:
                await asyncio.sleep(1)

    task = asyncio.create_task(block())
    await asyncio.sleep(1.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@virtual_time
async def test_without_work_there_is_no_task() -> None:
    async with SideTask(None):
        assert len(asyncio.all_tasks()) == 1
