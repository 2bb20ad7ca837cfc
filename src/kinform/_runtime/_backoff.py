"""Delays between attempts: exponential, jittered, and bounded."""

from __future__ import annotations

import random

from kinform.errors import ConfigError


class Backoff:
    """The n-th delay is uniform in ``[d, 2d)``, where d = base · factorⁿ, and at most the cap.

    ``reset`` begins again with the base; a reflector calls it when a connection made progress.
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
        """Begin again with the base."""
        self._next = self._base


def connection_backoff() -> Backoff:
    """Delays after lost connections: 0.1 s to 0.2 s at first, at most 1.5 s.

    A connection that fails costs a server next to nothing, and an informer that waits is behind.
    """
    return Backoff(0.1, cap=0.75)
