"""The local clock by which leases are judged."""

from __future__ import annotations

import time

# Linux has a clock that also counts the time while the machine is suspended. By any other clock, a
# leader that wakes up would consider its lease valid for as long as before.
_BOOT_TIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def boot_time() -> float:
    """Return seconds since some point in the past, including suspended time where possible."""
    return time.monotonic() if _BOOT_TIME is None else time.clock_gettime(_BOOT_TIME)
