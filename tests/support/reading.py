"""Reads a stream piece by piece, for tests that look at one at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kinform._runtime import Demand, ReadOutcome

T = TypeVar("T")

ReadInto = Callable[[Callable[[T], Demand]], Awaitable[ReadOutcome]]
"""The ``read_into`` of a response, or of a watch."""


async def read_next(read_into: ReadInto[T]) -> T | None:
    """Return the next piece or batch; ``None`` at the end."""
    got: list[T] = []

    def take(piece: T) -> Demand:
        got.append(piece)
        return Demand.STOP

    outcome = await read_into(take)
    assert outcome is (ReadOutcome.STOPPED if got else ReadOutcome.ENDED)
    assert len(got) < 2, "more data came after STOP"
    return got[0] if got else None


async def read_all(read_into: ReadInto[T]) -> list[T]:
    """Return every piece or batch up to the end."""
    got: list[T] = []

    def take(piece: T) -> Demand:
        got.append(piece)
        return Demand.MORE

    assert await read_into(take) is ReadOutcome.ENDED
    return got
