"""What pours when it comes, asked for piece by piece: for tests that want one at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

Pour = Callable[[Callable[[T], bool]], Awaitable[bool]]
"""The ``read_into`` of a response, or of a watch."""


async def next_poured(pour: Pour[T]) -> T | None:
    """The next piece or batch; ``None`` at the end."""
    got: list[T] = []

    def take(piece: T) -> bool:
        got.append(piece)
        return True

    assert await pour(take) is bool(got)
    assert len(got) < 2, "more came after it was enough"
    return got[0] if got else None


async def all_poured(pour: Pour[T]) -> list[T]:
    """Every piece or batch up to the end."""
    got: list[T] = []

    def take(piece: T) -> bool:
        got.append(piece)
        return False

    assert await pour(take) is False
    return got
