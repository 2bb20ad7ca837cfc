"""Runs a command's coroutine to its end, or until Ctrl-C, SIGTERM or a timeout."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine, and raise the exception of a task group's task without its group."""
    try:
        return asyncio.run(work)
    except BaseExceptionGroup as problems:
        raise problems.exceptions[0] from problems


async def until_stopped(timeout: float | None = None) -> bool:
    """Wait until the process is asked to stop, and return True; False after ``timeout`` seconds."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    handled = []
    for number in _SIGNALS:
        # Without signal handlers (Windows, or not the main thread), Ctrl-C raises as usual.
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(number, stopped.set)
            handled.append(number)
    try:
        async with asyncio.timeout(timeout):
            return await stopped.wait()
    except TimeoutError:
        return False
    finally:
        for number in handled:
            loop.remove_signal_handler(number)
