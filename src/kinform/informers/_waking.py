"""A future that somebody waits on in; that somebody woken, on whatever loop and thread it is."""

from __future__ import annotations

import asyncio


def wake(waiter: asyncio.Future[None]) -> None:
    """From whatever thread."""
    loop = waiter.get_loop()
    try:
        here = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        _finish(waiter)
        return
    try:
        loop.call_soon_threadsafe(_finish, waiter)
    except RuntimeError:
        # That loop has ended, and with it whoever waited on it.
        return


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
