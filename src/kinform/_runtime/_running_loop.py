"""The event loop that runs on the current thread."""

from __future__ import annotations

import asyncio


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs on this thread; ``None`` if there is none."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
