"""Building blocks of everything that runs: lifecycles, latches, wake-ups, demand and backoff."""

from kinform._runtime._backoff import Backoff, connection_backoff
from kinform._runtime._demand import Demand, ReadOutcome
from kinform._runtime._latch import Latch, wait_for
from kinform._runtime._lifecycle import Lifecycle, Runnable
from kinform._runtime._running_loop import running_loop
from kinform._runtime._waking import wake

__all__ = [
    "Backoff",
    "Demand",
    "Latch",
    "Lifecycle",
    "ReadOutcome",
    "Runnable",
    "connection_backoff",
    "running_loop",
    "wait_for",
    "wake",
]
