"""Failures in, the seconds to wait out: ever longer, never in step with others, up to a cap."""

from __future__ import annotations

import random

from kinform.errors import ConfigError


class Backoff:
    """Exponential with jitter: the n-th delay is uniform in ``[d, 2d)``, d = base · factorⁿ ≤ cap.

    Who uses it calls ``reset`` on proven health, not on a first success: a server that answers
    and falls over again is not healthy.
    """

    def __init__(self, base: float = 0.8, *, factor: float = 2.0, cap: float = 30.0) -> None:
        if not (base > 0 and factor >= 1 and cap >= base):
            raise ConfigError(
                f"a backoff wants 0 < base <= cap and factor >= 1, not base={base!r}, "
                f"factor={factor!r}, cap={cap!r}"
            )
        self._base = base
        self._factor = factor
        self._cap = cap
        self._next = base

    def next(self, *, patience: float = 1.0, at_least: float | None = None) -> float:
        """The next delay. ``patience`` stretches it; it is never below ``at_least``."""
        delay = self._next * patience
        self._next = min(self._next * self._factor, self._cap)
        return max(delay * (1 + random.random()), at_least or 0.0)

    def reset(self) -> None:
        """Start anew: all is well."""
        self._next = self._base
