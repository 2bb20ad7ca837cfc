"""The state of one key in a work queue."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from kinform.workqueue._markers import Marker

K = TypeVar("K")


class Place(Enum):
    """Where a key waits to be handed out."""

    NONE = "none"
    """Nowhere: it is only being processed."""
    DELAYED = "delayed"
    """Until its delay has passed."""
    HELD = "held"
    """Until the processing of the same key is done."""
    READY = "ready"
    """For a worker."""


class Entry(Generic[K]):
    """One key, from the first ``add`` until it is neither queued nor being processed.

    Compared and hashed by identity, which is faster than by key.

    Attributes:
        key: The key.
        place: Where it waits.
        priority: The priority with which it waits.
        since: When it was added, or when its delay ended.
        rank: Its position among the heads of all levels; the smallest is the next one.
        due: When its delay ends.
        ticket: The number of its valid item in the heap of delays.
        is_processing: Whether a worker has it. It may wait for its next turn at the same time.
        taken_at: When the worker received it.
        taken_priority: The priority with which the worker received it.
        markers: To be counted down when the waiting key has been processed.
        taken_markers: To be counted down when the current processing is done.
    """

    __slots__ = (
        "due",
        "is_processing",
        "key",
        "markers",
        "place",
        "priority",
        "rank",
        "since",
        "taken_at",
        "taken_markers",
        "taken_priority",
        "ticket",
    )

    def __init__(self, key: K, priority: int, now: float) -> None:
        self.key = key
        self.place = Place.NONE
        self.priority = priority
        self.since = now
        self.rank = 0.0
        self.due = 0.0
        self.ticket = 0
        self.is_processing = False
        self.taken_at = 0.0
        self.taken_priority = priority
        self.markers: list[Marker] | None = None
        self.taken_markers: list[Marker] | None = None
