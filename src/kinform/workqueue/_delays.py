"""The keys whose delay has not passed, by the end of their delay."""

from __future__ import annotations

import math
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from kinform.workqueue._entry import Entry

K = TypeVar("K")

# The heap is rebuilt when it holds more invalid items than valid ones, and more than these.
_TOLERATED = 64


class DelayHeap(Generic[K]):
    """A heap of keys. A key that leaves early stays in the heap as an invalid item for a while.

    Attributes:
        count: The number of delayed keys.
        earliest: No delay ends before this time.
    """

    __slots__ = ("_heap", "_last_ticket", "count", "earliest")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Entry[K]]] = []
        self._last_ticket = 0
        self.count = 0
        self.earliest = math.inf

    def put(self, entry: Entry[K], due: float) -> None:
        """Add a key that is not in the heap."""
        self._last_ticket += 1
        entry.due = due
        entry.ticket = self._last_ticket
        heappush(self._heap, (due, entry.ticket, entry))
        self.count += 1
        self.earliest = min(self.earliest, due)

    def remove(self, entry: Entry[K]) -> None:
        """Remove a key before its delay has passed."""
        entry.ticket = 0
        self.count -= 1
        if len(self._heap) > 2 * self.count + _TOLERATED:
            self._heap = [item for item in self._heap if item[2].ticket == item[1]]
            heapify(self._heap)

    def pop_due(self, now: float) -> Entry[K] | None:
        """Remove and return the key whose delay ended first; ``None`` if none has ended."""
        if self.next_due() > now:
            return None
        entry = heappop(self._heap)[2]
        entry.ticket = 0
        self.count -= 1
        return entry

    def next_due(self) -> float:
        """Return when the next delay ends; infinity if there is none."""
        heap = self._heap
        while heap and heap[0][2].ticket != heap[0][1]:
            heappop(heap)
        self.earliest = heap[0][0] if heap else math.inf
        return self.earliest

    def entries(self) -> list[Entry[K]]:
        """Return the delayed keys, the next ones first."""
        return [item[2] for item in sorted(self._heap) if item[2].ticket == item[1]]

    def clear(self) -> list[Entry[K]]:
        """Remove and return all keys, the next ones first."""
        entries = self.entries()
        for entry in entries:
            entry.ticket = 0
        self._heap.clear()
        self.count = 0
        self.earliest = math.inf
        return entries
