"""Backoff: delays between attempts, exponential with jitter and a cap."""

from __future__ import annotations

import random

from kinform.errors import ConfigError


class Backoff:
    """Exponential backoff. Delay n is uniform in ``[d, 2d)``, where d = min(base · factorⁿ, cap).

    ``reset`` returns to the base; a reflector calls it when a connection made progress.
    """

    def __init__(self, base: float = 0.8, *, factor: float = 2.0, cap: float = 30.0) -> None:
        if not (base > 0 and factor >= 1 and cap >= base):
            raise ConfigError(
                f"a backoff requires 0 < base <= cap and factor >= 1, not base={base!r}, "
                f"factor={factor!r}, cap={cap!r}"
            )
        self._base = base
        self._factor = factor
        self._cap = cap
        self._next = base

    def next(self, *, patience: float = 1.0, at_least: float | None = None) -> float:
        """Return the next delay, multiplied by ``patience`` and not less than ``at_least``."""
        delay = self._next * patience
        self._next = min(self._next * self._factor, self._cap)
        return max(delay * (1 + random.random()), at_least or 0.0)

    def reset(self) -> None:
        """Return to the base delay."""
        self._next = self._base


def connection_backoff() -> Backoff:
    """Return a backoff for lost connections: first 0.1 s to 0.2 s, at most 1.5 s.

    It is short because a failed connection costs the server almost nothing, while a waiting
    informer falls behind.
    """
    return Backoff(0.1, cap=0.75)
