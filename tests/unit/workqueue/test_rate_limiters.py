"""Rate limiters: the delays between the attempts of a key."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from kinform.errors import ConfigError
from kinform.testing import virtual_time
from kinform.workqueue import (
    ExponentialBackoff,
    FastSlow,
    MaxOf,
    RateLimiter,
    TokenBucket,
    WithMaxWait,
    classic_rate_limiter,
    default_rate_limiter,
)


def _delays(limiter: RateLimiter[str], count: int, key: str = "key") -> list[float]:
    return [round(limiter.next_delay(key), 6) for _ in range(count)]


def test_a_token_bucket_limits_all_keys_together() -> None:
    now = 0.0
    bucket = TokenBucket(rate=10, burst=2, clock=lambda: now)

    assert [round(bucket.next_delay(key), 6) for key in "abcd"] == [0, 0, 0.1, 0.2]
    now = 0.25
    assert _delays(bucket, 1) == [0.05]


def test_a_token_bucket_saves_no_more_than_its_burst() -> None:
    now = 0.0
    bucket = TokenBucket(rate=10, burst=2, clock=lambda: now)
    now = 1000.0

    assert _delays(bucket, 3) == [0, 0, 0.1]
    bucket.forget("key")
    assert bucket.num_requeues("key") == 0


@virtual_time
async def test_a_token_bucket_follows_virtual_time() -> None:
    bucket = TokenBucket(rate=1, burst=1)
    bucket.next_delay("key")
    await asyncio.sleep(1)

    assert bucket.next_delay("key") == 0


def test_the_limiter_of_controllers_has_no_bucket() -> None:
    limiter = default_rate_limiter()

    assert {limiter.next_delay(f"key-{number}") for number in range(1000)} == {0.005}


def test_the_classic_limiter_has_one() -> None:
    limiter = classic_rate_limiter()
    delays = [limiter.next_delay(f"key-{number}") for number in range(200)]

    assert set(delays[:100]) == {0.005}
    assert delays[199] > 9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExponentialBackoff(0), "requires 0 < base <= cap, not base=0"),
        (lambda: ExponentialBackoff(2, 1), "requires 0 < base <= cap"),
        (lambda: FastSlow(-1, 1, 1), "FastSlow requires values of at least 0, not fast=-1"),
        (lambda: TokenBucket(0), "requires rate > 0 and burst >= 1, not rate=0"),
        (lambda: TokenBucket(1, 0), "not rate=1, burst=0"),
        (lambda: MaxOf(), "MaxOf requires at least one rate limiter"),
        (
            lambda: MaxOf(cast(Any, 5)),
            "MaxOf takes a rate limiter, .* not 5: it has no method next_delay",
        ),
        (lambda: WithMaxWait(ExponentialBackoff(), -1), "max_wait must be at least 0 seconds"),
    ],
)
def test_invalid_arguments_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        make()
