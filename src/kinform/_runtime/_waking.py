"""Wakes a waiting future from any thread."""

from __future__ import annotations

import asyncio

from kinform._runtime._running_loop import running_loop


def wake(waiter: asyncio.Future[None]) -> None:
    """Set the result of a future from any thread."""
    loop = waiter.get_loop()
    if running_loop() is loop:
        _finish(waiter)
        return
    try:
        loop.call_soon_threadsafe(_finish, waiter)
    except RuntimeError:
        # The loop is closed, and the waiting task with it.
        return


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
