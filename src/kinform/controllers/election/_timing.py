"""The durations of a leader election, and the rules between them."""

from __future__ import annotations

import math
import random

import msgspec

from kinform.errors import ConfigError

# A candidate waits retry_period · [1, 1 + _JITTER) between attempts, as in client-go.
_JITTER = 1.2
# The same factor keeps a leader's attempts apart from the deadline.
_LEAST_DEADLINE = 1.2
# A candidate that waits for the end of a lease attempts to take it this part of retry_period later.
_SPREAD = 0.2


class ElectionTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The durations of an election, in seconds.

    Attributes:
        lease_duration: How long a lease is valid after a renewal.
        renew_deadline: How long a leader goes on without a renewal.
        retry_period: Time between attempts.
    """

    lease_duration: float
    renew_deadline: float
    retry_period: float

    def check(self) -> None:
        """Check the durations.

        Raises:
            ConfigError: A duration is not a positive number, or they contradict each other.
        """
        for option in ("lease_duration", "renew_deadline", "retry_period"):
            given = getattr(self, option)
            is_number = isinstance(given, int | float) and not isinstance(given, bool)
            if not (is_number and given > 0 and math.isfinite(given)):
                raise ConfigError(f"{option} must be a number of seconds above 0, not {given!r}")
        if self.lease_duration <= self.renew_deadline:
            raise ConfigError(
                f"lease_duration ({self.lease_duration:g} s) must be longer than renew_deadline "
                f"({self.renew_deadline:g} s): the work stops in the time between them"
            )
        if self.renew_deadline <= _LEAST_DEADLINE * self.retry_period:
            raise ConfigError(
                f"renew_deadline ({self.renew_deadline:g} s) must be longer than "
                f"{_LEAST_DEADLINE:g} times retry_period ({self.retry_period:g} s), so that a "
                "failed renewal can be repeated"
            )

    @property
    def attempt_timeout(self) -> float:
        """The limit of one attempt: a request that hangs leaves time for another one."""
        return self.renew_deadline / 2

    @property
    def recorded_seconds(self) -> int:
        """The duration in the Lease, which has whole seconds; never shorter than the real one."""
        return math.ceil(self.lease_duration)

    def candidate_delay(self, expires_in: float | None) -> float:
        """Return the time until the next attempt of a candidate.

        Args:
            expires_in: Seconds until the observed lease runs out; ``None`` if it does not matter.
        """
        delay = self.retry_period * (1 + _JITTER * random.random())
        if expires_in is None:
            return delay
        spread = self.retry_period * _SPREAD * random.random()
        return min(delay, max(expires_in, 0.0) + spread)
