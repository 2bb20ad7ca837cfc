"""What runs until it is cancelled, for the length of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol


class Runs(Protocol):
    async def run(self) -> None: ...


@asynccontextmanager
async def running(what: Runs) -> AsyncIterator[asyncio.Task[None]]:
    """Run it inside ``async with``, and cancel it then. How it ended is in the task."""
    task = asyncio.create_task(what.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])
