"""The grace period: its shares, and what an interruption does."""

from __future__ import annotations

import asyncio

import pytest

from kinform.controllers.manager._grace_period import GracePeriod
from kinform.testing import virtual_time


async def _for_ever() -> None:
    await asyncio.Event().wait()


def _now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_a_fifth_of_the_period_is_left_for_the_cleanup() -> None:
    task = asyncio.create_task(_for_ever())
    grace = GracePeriod(30)
    await grace.let_finish([task])
    assert _now() == pytest.approx(24)
    assert not await grace.let_end([task])
    assert _now() == pytest.approx(30)
    task.cancel()


@virtual_time
async def test_each_step_of_the_cleanup_has_a_little_time_even_when_none_is_left() -> None:
    async def quick() -> None:
        await asyncio.sleep(1)

    async def hangs() -> None:
        await _for_ever()

    async def breaks() -> None:
        raise OSError("no file")

    grace = GracePeriod(0)
    errors = await grace.clean_up({"quick": quick(), "hangs": hangs(), "breaks": breaks()})

    assert list(errors) == ["breaks"]
    assert grace.late == {"hangs": "did not stop"}


@virtual_time
async def test_an_interruption_ends_the_time_to_finish_but_not_the_cleanup() -> None:
    task = asyncio.create_task(_for_ever())
    grace = GracePeriod(None)
    waiting = asyncio.create_task(grace.let_finish([task]))
    await asyncio.sleep(10)
    waiting.cancel()
    await waiting

    assert grace.was_interrupted
    assert _now() == pytest.approx(10)
    assert not await grace.let_end([task])
    assert 10 < _now() < 15
    task.cancel()


@virtual_time
async def test_an_expected_interruption_changes_nothing() -> None:
    task = asyncio.create_task(_for_ever())
    grace = GracePeriod(30, lambda: True)
    waiting = asyncio.create_task(grace.let_finish([task]))
    await asyncio.sleep(10)
    waiting.cancel()
    await waiting

    assert not grace.was_interrupted
    assert _now() == pytest.approx(24)
    task.cancel()
