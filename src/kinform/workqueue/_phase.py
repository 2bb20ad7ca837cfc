"""The phases of a work queue."""

from __future__ import annotations

from enum import Enum


class Phase(Enum):
    """Which calls a queue accepts."""

    OPEN = "open"
    DRAINING = "draining"
    """No adds; the queued keys are handed out."""
    SHUT = "shut"
    """No adds, and no keys are handed out."""
