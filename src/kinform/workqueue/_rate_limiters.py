"""Rate limiters: how long a key waits before it is tried again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from kinform.errors import ConfigError
from kinform.workqueue._clock import default_clock

K_contra = TypeVar("K_contra", contravariant=True)


class RateLimiter(Protocol[K_contra]):
    """Decides the delay of ``add_rate_limited``. Called from any thread."""

    def next_delay(self, key: K_contra) -> float:
        """Count a failure of this key, and return the seconds to wait before the next attempt."""
        ...

    def forget(self, key: K_contra) -> None:
        """Forget the failures of a key: it succeeded, or will not be tried again."""
        ...

    def num_requeues(self, key: K_contra) -> int:
        """Return the number of failures of a key since it was last forgotten."""
        ...


class _Failures:
    """The number of failures by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: dict[Any, int] = {}

    def forget(self, key: Any) -> None:
        """Forget the failures of a key."""
        with self._lock:
            self._failures.pop(key, None)

    def num_requeues(self, key: Any) -> int:
        """Return the number of failures of a key since it was last forgotten."""
        return self._failures.get(key, 0)

    def _count(self, key: Any) -> int:
        """Count a failure; return the number of those before it."""
        with self._lock:
            before = self._failures.get(key, 0)
            self._failures[key] = before + 1
        return before


class ExponentialBackoff(_Failures):
    """Doubles the delay of a key with each failure: ``base · 2ⁿ``, at most ``cap`` seconds."""

    def __init__(self, base: float = 0.005, cap: float = 1000.0) -> None:
        super().__init__()
        if not 0 < base <= cap:
            raise ConfigError(
                f"ExponentialBackoff requires 0 < base <= cap, not base={base!r}, cap={cap!r}"
            )
        self._base = base
        self._cap = cap

    def next_delay(self, key: Any) -> float:
        """Count a failure of this key, and return its delay."""
        try:
            delay = self._base * 2.0 ** self._count(key)
        except OverflowError:
            return self._cap
        return min(delay, self._cap)


class FastSlow(_Failures):
    """Waits ``fast`` seconds for the first ``fast_attempts`` failures of a key, then ``slow``."""

    def __init__(self, fast: float, slow: float, fast_attempts: int) -> None:
        super().__init__()
        if not (fast >= 0 and slow >= 0 and fast_attempts >= 0):
            raise ConfigError(
                f"FastSlow requires values of at least 0, not fast={fast!r}, slow={slow!r}, "
                f"fast_attempts={fast_attempts!r}"
            )
        self._fast = fast
        self._slow = slow
        self._fast_attempts = fast_attempts

    def next_delay(self, key: Any) -> float:
        """Count a failure of this key, and return its delay."""
        return self._fast if self._count(key) < self._fast_attempts else self._slow


class TokenBucket:
    """Limits all keys together: ``burst`` at once, then ``rate`` per second.

    Args:
        rate: Tokens per second.
        burst: The number of tokens that can be saved.
        clock: Returns the time in seconds; defaults to ``time.monotonic``.
    """

    def __init__(
        self, rate: float = 10.0, burst: int = 100, *, clock: Callable[[], float] | None = None
    ) -> None:
        if not (rate > 0 and burst >= 1):
            raise ConfigError(
                f"TokenBucket requires rate > 0 and burst >= 1, not rate={rate!r}, burst={burst!r}"
            )
        self._rate = rate
        self._burst = burst
        self._clock = clock or default_clock()
        self._lock = threading.Lock()
        self._tokens = float(burst)
        self._counted_at = self._clock()

    def next_delay(self, key: Any) -> float:
        """Take a token, and return the time until there is one."""
        with self._lock:
            now = self._clock()
            saved = self._tokens + (now - self._counted_at) * self._rate
            # Below zero, the tokens are those of keys that are waiting.
            self._tokens = min(saved, float(self._burst)) - 1.0
            self._counted_at = now
            return max(-self._tokens / self._rate, 0.0)

    def forget(self, key: Any) -> None:
        """Do nothing: a bucket does not know keys."""

    def num_requeues(self, key: Any) -> int:
        """Return 0: a bucket does not know keys."""
        return 0


class MaxOf:
    """The longest delay, and the largest number of failures, of several limiters."""

    def __init__(self, *limiters: RateLimiter[Any]) -> None:
        if not limiters:
            raise ConfigError("MaxOf requires at least one rate limiter")
        for limiter in limiters:
            check_rate_limiter("MaxOf", limiter)
        self._limiters = limiters

    def next_delay(self, key: Any) -> float:
        """Ask all limiters, and return the longest delay."""
        return max([each.next_delay(key) for each in self._limiters])

    def forget(self, key: Any) -> None:
        """Forget the failures of a key in all limiters."""
        for each in self._limiters:
            each.forget(key)

    def num_requeues(self, key: Any) -> int:
        """Return the largest number of failures that a limiter has counted."""
        return max([each.num_requeues(key) for each in self._limiters])


class WithMaxWait:
    """Another limiter whose delays are cut to at most ``max_wait`` seconds."""

    def __init__(self, limiter: RateLimiter[Any], max_wait: float) -> None:
        check_rate_limiter("WithMaxWait", limiter)
        if not max_wait >= 0:
            raise ConfigError(f"max_wait must be at least 0 seconds, not {max_wait!r}")
        self._limiter = limiter
        self._max_wait = max_wait

    def next_delay(self, key: Any) -> float:
        """Return the delay of the other limiter, or ``max_wait`` if that is shorter."""
        return min(self._limiter.next_delay(key), self._max_wait)

    def forget(self, key: Any) -> None:
        """Forget the failures of a key."""
        self._limiter.forget(key)

    def num_requeues(self, key: Any) -> int:
        """Return the number of failures of a key since it was last forgotten."""
        return self._limiter.num_requeues(key)


def default_rate_limiter() -> RateLimiter[Any]:
    """Return what controllers use: per key, 5 ms doubled with each failure, at most 1000 s."""
    return ExponentialBackoff()


def classic_rate_limiter() -> RateLimiter[Any]:
    """Return client-go's default: the same, and all keys together 10 per second, 100 at once."""
    return MaxOf(ExponentialBackoff(), TokenBucket())


def check_rate_limiter(receiver: str, given: object) -> None:
    """Check that an argument has the methods of a rate limiter.

    Raises:
        ConfigError: It has not; the message names a missing method.
    """
    for method in ("next_delay", "forget", "num_requeues"):
        if isinstance(given, type) or not callable(getattr(given, method, None)):
            raise ConfigError(
                f"{receiver} takes a rate limiter, such as ExponentialBackoff(), not {given!r}: "
                f"it has no method {method}"
            )
