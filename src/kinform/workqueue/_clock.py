"""The clock of a queue that was given none."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from kinform._runtime import running_loop


def default_clock() -> Callable[[], float]:
    """Return ``time.monotonic``, or the clock of the running loop if that loop has its own.

    So delays follow virtual time in tests. Loops that are not asyncio's do not count: some return
    the time of their last iteration, which may be long ago on other threads.
    """
    loop = running_loop()
    if isinstance(loop, asyncio.BaseEventLoop):
        has_own_clock = type(loop).time is not asyncio.BaseEventLoop.time
        return loop.time if has_own_clock else time.monotonic
    return time.monotonic
