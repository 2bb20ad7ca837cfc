"""Retries of writes that conflict."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from kinform.controllers.helpers import retry_on_conflict
from kinform.errors import ConfigError, ConflictError, NotFoundError
from kinform.testing import virtual_time


class Contested:
    """Conflicts some times, then succeeds."""

    def __init__(self, conflicts: int) -> None:
        self.conflicts = conflicts
        self.times: list[float] = []

    async def __call__(self) -> str:
        self.times.append(asyncio.get_running_loop().time())
        if len(self.times) <= self.conflicts:
            raise ConflictError("modified", code=409)
        return "done"


@virtual_time
async def test_conflicts_are_retried_after_ten_milliseconds() -> None:
    """20: with client-go's defaults."""
    contested = Contested(4)
    assert await retry_on_conflict(contested) == "done"
    gaps = [b - a for a, b in pairwise(contested.times)]
    assert len(gaps) == 4
    assert all(0.0099 < gap < 0.0111 for gap in gaps)


@virtual_time
async def test_last_conflict_is_raised() -> None:
    """20: retries are bounded."""
    contested = Contested(99)
    with pytest.raises(ConflictError):
        await retry_on_conflict(contested, attempts=3, delay=1.0, factor=2.0)
    first, second = (b - a for a, b in pairwise(contested.times))
    assert 0.99 < first < 1.11
    assert 1.99 < second < 2.21


async def test_other_errors_are_not_retried() -> None:
    """20: nor does anything hide them."""
    calls = 0

    async def fail() -> None:
        nonlocal calls
        calls += 1
        raise NotFoundError("gone", code=404)

    with pytest.raises(NotFoundError):
        await retry_on_conflict(fail)
    assert calls == 1


@pytest.mark.parametrize(
    ("options", "why"),
    [({"attempts": 0}, "at least 1"), ({"delay": -1.0}, "delay >= 0"), ({"factor": 0.5}, "factor")],
)
async def test_wrong_option_is_named(options: dict[str, float], why: str) -> None:
    """20: before the first call."""
    contested = Contested(0)
    with pytest.raises(ConfigError, match=why):
        await retry_on_conflict(contested, **options)  # type: ignore[arg-type]
    assert contested.times == []
