"""A token bucket that limits the rate of requests."""

from __future__ import annotations

import asyncio

from kinform.errors import ConfigError


class TokenBucket:
    """Allows ``burst`` requests at once and ``qps`` per second on average, in order.

    Bound to one event loop.
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
        """Wait until the next request may be sent. Callers are served in order."""
        self._refill()
        # A negative count is a position in the queue: each waiter knows its own time.
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
            # Never negative: the clock of another loop may have started later.
            gained = max(0.0, now - self._filled_at) * self._qps
            self._tokens = min(self._tokens + gained, self._burst)
        self._filled_at = now
