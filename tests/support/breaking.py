"""Bytes in; the same, broken here and there by chance, out."""

from __future__ import annotations

from collections.abc import Callable
from random import Random


def broken(
    data: bytes, chance: Random, *, place: Callable[[int], int], insertion: Callable[[], bytes]
) -> bytes:
    """A byte or a bit changed, some bytes gone or too many; once, or a few times.

    Args:
        data: What is broken.
        chance: Decides how, and how often.
        place: Where, in so many bytes.
        insertion: What comes in between.
    """
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 5))):
        if not made:
            break
        at = place(len(made))
        how = chance.randrange(4)
        if how == 0:
            made[at] = chance.randrange(256)
        elif how == 1:
            made[at] ^= 1 << chance.randrange(8)
        elif how == 2:
            del made[at : at + chance.randrange(1, 40)]
        else:
            made[at:at] = insertion()
    return bytes(made)
