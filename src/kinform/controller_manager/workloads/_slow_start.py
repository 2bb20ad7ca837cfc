"""Calls in batches of 1, 2, 4 and so on, so that a common failure is met once and not often."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kinform.errors import KinformError


async def slow_start(count: int, call: Callable[[], Awaitable[object]]) -> KinformError | None:
    """Call a function so many times, in batches that double as long as all calls succeed.

    A quota that refuses one pod would refuse a hundred: the batches after a failure are not begun.

    Returns:
        The first error, or ``None``.
    """
    size = 1
    while count > 0:
        batch = min(size, count)
        results = await asyncio.gather(*(call() for _ in range(batch)), return_exceptions=True)
        if (error := first_error(results)) is not None:
            return error
        count -= batch
        size *= 2
    return None


def first_error(results: list[object | BaseException]) -> KinformError | None:
    """Return the first error in the results of ``gather``.

    Raises:
        BaseException: A result is an exception that no server and no connection caused.
    """
    for each in results:
        if isinstance(each, BaseException) and not isinstance(each, KinformError):
            raise each
    return next((each for each in results if isinstance(each, KinformError)), None)
