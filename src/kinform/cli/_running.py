"""How commands run: a coroutine to its end, or until Ctrl-C, SIGTERM or the clock says stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_async(work: Coroutine[Any, Any, None]) -> None:
    """Run it; what a task of its groups raises is raised as it is, so that it can be told."""
    try:
        asyncio.run(work)
    except BaseExceptionGroup as problems:
        raise problems.exceptions[0] from problems


async def until_stopped(timeout: float | None = None) -> None:
    """Wait until someone asks the process to stop, or until ``timeout`` seconds are over."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    handled = []
    for number in _SIGNALS:
        # Where a loop cannot (Windows, or not the main thread) Ctrl-C is an exception, as usual.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stopped.set)
            handled.append(number)
    try:
        async with asyncio.timeout(timeout):
            await stopped.wait()
    except TimeoutError:
        pass
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
