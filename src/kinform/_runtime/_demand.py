"""The answers between a stream and its consumer."""

from __future__ import annotations

from enum import Enum


class Demand(Enum):
    """The answer of a consumer to a batch, or to a piece of data."""

    MORE = "more"
    """The next one may follow at once."""
    STOP = "stop"
    """The consumer needs a pause, or has all it needs. The rest stays in the stream."""


class ReadOutcome(Enum):
    """Why ``read_into`` of a stream returned."""

    STOPPED = "stopped"
    """The consumer answered ``Demand.STOP``. Call ``read_into`` again to continue."""
    ENDED = "ended"
    """The stream has ended, and the consumer has received everything."""
