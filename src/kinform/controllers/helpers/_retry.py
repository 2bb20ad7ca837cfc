"""Repeats a change that failed because the object was modified concurrently."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar

from kinform._checks import check_callable, expect
from kinform.errors import ConfigError, ConflictError

T = TypeVar("T")


async def retry_on_conflict(
    function: Callable[[], Awaitable[T]],
    *,
    attempts: int = 5,
    delay: float = 0.01,
    factor: float = 1.0,
) -> T:
    """Call an async function until it does not raise a ConflictError, and return its result.

    The function reads the object, edits a copy and writes it. It has to read it each time, and
    from the server: a cache may still have the version that caused the conflict.

    Args:
        function: Called up to ``attempts`` times.
        attempts: The number of calls.
        delay: Seconds before the second call, plus up to 10 %.
        factor: Multiplies the delay after each call.

    Raises:
        ConflictError: The last attempt failed too.
        ConfigError: An argument is invalid.
    """
    for wait in retry_delays(function, attempts, delay, factor):
        try:
            return await function()
        except ConflictError:
            await asyncio.sleep(wait)
    return await function()


def retry_delays(
    function: Callable[[], object], attempts: int, delay: float, factor: float
) -> Iterator[float]:
    """Return the delays between the attempts, with jitter.

    Raises:
        ConfigError: An argument is invalid.
    """
    check_callable("function", function)
    expect(attempts, int, receiver="attempts=", expected="a number")
    if attempts < 1:
        raise ConfigError(f"attempts must be at least 1, not {attempts!r}")
    if not delay >= 0 or not factor >= 1:
        raise ConfigError(
            f"a retry requires delay >= 0 and factor >= 1, not delay={delay!r}, factor={factor!r}"
        )
    return (delay * factor**number * (1 + 0.1 * random.random()) for number in range(attempts - 1))
