"""The sizes of a run."""

from __future__ import annotations

from dataclasses import dataclass

JUDGED_FROM = 20_000
"""Objects; with fewer of them, starting and importing outweigh the work."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything.

    Attributes:
        server: Names whom to list from.
        seconds: How long a steady stream of changes lasts, and how long idlers are looked at.
        rest: How long an informer rests before its memory is read.
    """

    server: str
    objects: int
    events: int
    repeats: int
    seconds: int
    rest: float
