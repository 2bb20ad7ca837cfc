"""Markers: latches that are set when the keys that were queued at one moment are processed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kinform._runtime import Latch
from kinform.workqueue._entry import Entry, Place


class Marker:
    """Counts the keys that were queued at one moment, down to zero as they are processed."""

    __slots__ = ("latch", "remaining")

    def __init__(self, latch: Latch) -> None:
        self.latch = latch
        self.remaining = 0


class Markers:
    """The markers of one queue that have not been reached. Its lock must be held."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: set[Marker] = set()

    def add(self, latch: Latch, entries: Iterable[Entry[Any]]) -> bool:
        """Mark the keys that wait for a worker or are being processed, but not the delayed ones.

        Returns:
            Whether there are any; otherwise the latch is to be set at once.
        """
        marker = Marker(latch)
        for entry in entries:
            if entry.place in (Place.READY, Place.HELD):
                entry.markers = [*(entry.markers or ()), marker]
            elif entry.is_processing:
                entry.taken_markers = [*(entry.taken_markers or ()), marker]
            else:
                continue
            marker.remaining += 1
        if marker.remaining:
            self._pending.add(marker)
        return bool(marker.remaining)

    def count_down(self, entry: Entry[Any]) -> list[Latch]:
        """Count a processed key; return the latches to set."""
        markers, entry.taken_markers = entry.taken_markers or (), None
        for marker in markers:
            marker.remaining -= 1
        reached = [marker for marker in markers if not marker.remaining]
        self._pending.difference_update(reached)
        return [marker.latch for marker in reached]

    def clear(self) -> list[Latch]:
        """Return the latches that can no longer be set."""
        latches = [marker.latch for marker in self._pending]
        self._pending.clear()
        return latches
