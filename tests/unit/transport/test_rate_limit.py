"""The token bucket, on a clock that the test moves."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kinform.errors import ConfigError
from kinform.transport._rate_limit import TokenBucket


class JumpingSelector(selectors.DefaultSelector):
    """Instead of waiting for the next timer, goes there."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = JumpingSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def in_virtual_time(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(main())


async def departures(bucket: TokenBucket, count: int) -> list[float]:
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def leave() -> float:
        await bucket.acquire()
        return loop.time() - start

    return list(await asyncio.gather(*(leave() for _ in range(count))))


def test_a_burst_goes_at_once_and_the_rest_at_the_rate_in_order() -> None:
    async def main() -> None:
        bucket = TokenBucket(qps=2, burst=3)
        assert await departures(bucket, 6) == pytest.approx([0, 0, 0, 0.5, 1.0, 1.5])

    in_virtual_time(main)


def test_a_quiet_time_refills_up_to_the_burst_and_no_further() -> None:
    async def main() -> None:
        bucket = TokenBucket(qps=10, burst=2)
        await departures(bucket, 2)
        await asyncio.sleep(100)
        assert await departures(bucket, 3) == pytest.approx([0, 0, 0.1])

    in_virtual_time(main)


def test_a_cancelled_waiter_gives_its_place_back() -> None:
    async def main() -> None:
        bucket = TokenBucket(qps=1, burst=1)
        await bucket.acquire()
        waiter = asyncio.ensure_future(bucket.acquire())
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        assert await departures(bucket, 1) == pytest.approx([1.0])

    in_virtual_time(main)


@pytest.mark.parametrize("qps", [0, -1, float("nan")])
def test_a_rate_that_is_none_is_refused(qps: float) -> None:
    with pytest.raises(ConfigError, match="qps must be above 0"):
        TokenBucket(qps=qps, burst=1)


def test_a_burst_below_one_is_refused() -> None:
    with pytest.raises(ConfigError, match="burst must be at least 1"):
        TokenBucket(qps=1, burst=0)
