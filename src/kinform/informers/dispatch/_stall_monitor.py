"""The stall monitor: warns about a ``def`` handler that blocks the event loop."""

from __future__ import annotations

import logging

from kinform.informers._changes import Change

_log = logging.getLogger("kinform.dispatch")

# The first warning; each further one needs ten times as long a call. A container at its CPU limit
# is stopped for up to 0.1 s at a time, and the first access to a part of a kind builds its decoder;
# neither is the handler's fault.
_LONGEST_CALL = 1.0
_GROWTH = 10


class StallMonitor:
    """Reports the calls of one handler that take too long.

    Attributes:
        limit: The number of seconds from which on a call is reported; grows with each report.
    """

    __slots__ = ("_handler", "limit")

    def __init__(self, handler: str) -> None:
        self._handler = handler
        self.limit = _LONGEST_CALL

    def report(self, change: Change, seconds: float) -> None:
        """Log a call that took at least ``limit`` seconds."""
        _log.warning(
            "handler %s blocked the event loop for %.2f s on %s of %s, and everything else on it; "
            "register it with run_on='thread', or make it async def and await what takes long",
            self._handler,
            seconds,
            change.type,
            change.key,
        )
        while seconds >= self.limit:
            self.limit *= _GROWTH
