"""Requests in, requests out at a bounded rate: a token bucket on the loop's clock."""

from __future__ import annotations

import asyncio

from kinform.errors import ConfigError


class TokenBucket:
    """Lets ``burst`` requests through at once and ``qps`` per second on average, in order.

    Belongs to one event loop.
    """

    def __init__(self, *, qps: float, burst: int) -> None:
        if not qps > 0:
            raise ConfigError(f"qps must be above 0, not {qps!r}; None turns the limit off")
        if burst < 1:
            raise ConfigError(f"burst must be at least 1, not {burst!r}")
        self._qps = qps
        self._burst = burst
        self._tokens = float(burst)
        self._filled_at: float | None = None

    async def acquire(self) -> None:
        """Return when the next request may go. Callers leave in the order in which they came."""
        self._refill()
        # Going below zero is a place in the queue: each waiter knows its own time to leave.
        self._tokens -= 1
        if self._tokens >= 0:
            return
        try:
            await asyncio.sleep(-self._tokens / self._qps)
        except asyncio.CancelledError:
            self._tokens = min(self._tokens + 1, self._burst)
            raise

    def _refill(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._filled_at is not None:
            # Never less: another loop may have begun its clock later.
            gained = max(0.0, now - self._filled_at) * self._qps
            self._tokens = min(self._tokens + gained, self._burst)
        self._filled_at = now
