"""Calls in growing batches."""

from __future__ import annotations

import asyncio

import pytest

from kinform.controller_manager.workloads._slow_start import slow_start
from kinform.errors import ForbiddenError


class Calls:
    """Counts calls, and how many of them run at the same time."""

    def __init__(self, fails_from: int = 10_000, error: Exception | None = None) -> None:
        self.count = 0
        self.batches: list[int] = []
        self._running = 0
        self._fails_from = fails_from
        self._error = error or ForbiddenError("exceeded quota", code=403)

    async def __call__(self) -> None:
        self.count += 1
        number = self.count
        if self._running == 0:
            self.batches.append(0)
        self._running += 1
        self.batches[-1] += 1
        await asyncio.sleep(0)
        self._running -= 1
        if number >= self._fails_from:
            raise self._error


async def test_batches_double() -> None:
    calls = Calls()
    assert await slow_start(10, calls) is None
    assert calls.batches == [1, 2, 4, 3]
    assert await slow_start(0, calls) is None
    assert calls.count == 10


async def test_failure_ends_the_calls_after_its_batch() -> None:
    calls = Calls(fails_from=1)
    assert str(await slow_start(500, calls)) == "exceeded quota (403)"
    assert calls.count == 1
    calls = Calls(fails_from=5)
    assert isinstance(await slow_start(500, calls), ForbiddenError)
    assert calls.count == 7


async def test_errors_of_the_program_are_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await slow_start(3, Calls(fails_from=1, error=ZeroDivisionError()))
