"""The keys that are ready, in one first-in-first-out level for each priority."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from kinform.workqueue._entry import Entry

K = TypeVar("K")

# Empty levels are kept, because a level in use is often empty; but not those of many priorities.
_KEPT_LEVELS = 8


class ReadyLevels(Generic[K]):
    """Hands out the head of the level that is ahead: by priority, plus the time it has waited.

    The effective priority of a key is ``priority + waited / aging``. All keys age at the same
    speed, so the order of two keys never changes, and a fixed rank for each is enough.

    Args:
        aging: The seconds of waiting that count as one step of priority; ``None``: no ageing.
    """

    __slots__ = ("_levels", "_speed", "count")

    def __init__(self, aging: float | None) -> None:
        self._speed = 0.0 if aging is None else 1.0 / aging
        self._levels: dict[int, OrderedDict[Entry[K], None]] = {}
        self.count = 0

    def push(self, entry: Entry[K]) -> None:
        """Add a key at the end of the level of its priority."""
        priority = entry.priority
        entry.rank = entry.since * self._speed - priority
        try:
            self._levels[priority][entry] = None
        except KeyError:
            self._levels[priority] = OrderedDict(((entry, None),))
        self.count += 1

    def pop(self) -> Entry[K]:
        """Remove and return the next key. There must be one."""
        levels = self._levels
        if len(levels) == 1:
            [level] = levels.values()
        else:
            level = self._level_ahead()
        entry, _ = level.popitem(last=False)
        self.count -= 1
        if not level and len(levels) > _KEPT_LEVELS:
            del levels[entry.priority]
        return entry

    def remove(self, entry: Entry[K]) -> None:
        """Remove a key from the middle."""
        del self._levels[entry.priority][entry]
        self.count -= 1

    def clear(self) -> list[Entry[K]]:
        """Remove and return all keys."""
        entries = self.entries()
        self._levels.clear()
        self.count = 0
        return entries

    def entries(self) -> list[Entry[K]]:
        return [entry for level in self._levels.values() for entry in level]

    def heads(self) -> list[Entry[K]]:
        """Return the first key of each level."""
        return [next(iter(level)) for level in self._levels.values() if level]

    def depths(self) -> dict[int, int]:
        """Return the number of keys by priority, the highest first."""
        levels = sorted(self._levels.items(), key=lambda item: -item[0])
        return {priority: len(level) for priority, level in levels if level}

    def _level_ahead(self) -> OrderedDict[Entry[K], None]:
        # A loop: with three levels, min with a key function takes more than twice as long.
        ahead: OrderedDict[Entry[K], None] = OrderedDict()
        first: Entry[K] | None = None
        for level in self._levels.values():
            if not level:
                continue
            head = next(iter(level))
            # Of equal ranks, the one that has waited for longer.
            if (
                first is None
                or head.rank < first.rank
                or (head.rank == first.rank and head.since < first.since)
            ):
                first, ahead = head, level
        return ahead
