"""Waiting for what no event announces: another process, a file, a server's view of a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def wait_until(condition: Callable[[], bool], *, timeout: float = 30.0) -> None:
    """Return as soon as ``condition`` holds; fail if it does not in time."""
    async with asyncio.timeout(timeout):
        while not condition():  # noqa: ASYNC110  # nobody could set an event for this
            await asyncio.sleep(0.005)
