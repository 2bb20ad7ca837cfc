"""The correlator: decides which event an occurrence belongs to, and limits new events.

The same occurrence again counts as the same event. Occurrences that differ in their messages only
are combined into one event once there are many. New events about one object are limited; what is
above the limit is combined as well, so that it is still counted.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from datetime import datetime
from typing import Generic, TypeVar

from kinform.controllers.recorder._entry import EventEntry
from kinform.controllers.recorder._occurrence import Occurrence

V = TypeVar("V")

# client-go's numbers.
_REMEMBERED = 4096
_DISTINCT_MESSAGES = 10
_SIMILAR_WITHIN = 600.0
_BURST = 25
_SECONDS_PER_TOKEN = 300.0
# New events that have nothing in common with earlier ones may exceed the limit by this much.
_RESERVE = 10


class Correlator:
    """Remembers recent events. The caller holds a lock.

    Attributes:
        evicted: Events that were forgotten because there are too many. The caller clears it.
    """

    def __init__(self, *, remembered: int = _REMEMBERED) -> None:
        self._entries = _Recent[EventEntry](remembered)
        self._groups = _Recent[_Group](remembered)
        self._buckets = _Recent[_Buckets](remembered)
        self.evicted: list[EventEntry] = []

    def __iter__(self) -> Iterator[EventEntry]:
        return iter(list(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def observe(self, occurrence: Occurrence, now: float, at: datetime) -> EventEntry | None:
        """Count an occurrence and return its event; ``None`` if the spam filter drops it."""
        similar = _similarity(occurrence)
        group = self._groups.get(similar)
        if group is None or now - group.last_seen > _SIMILAR_WITHIN:
            group = _Group()
            self._groups.put(similar, group)
        is_known_reason = bool(group.messages)
        is_combined = group.observe(occurrence.message, now)
        key: Hashable = similar if is_combined else (similar, occurrence.message)
        found = self._counted(key, occurrence, now, at)
        if found is not None:
            return found
        buckets = self._buckets_of(occurrence, now)
        if not buckets.usual.take(now):
            if is_known_reason and not is_combined:
                is_combined, key = True, similar
                found = self._counted(key, occurrence, now, at)
                if found is not None:
                    return found
            if not buckets.reserve.take(now):
                return None
        entry = EventEntry(key, occurrence, is_combined=is_combined, now=now, at=at)
        self.evicted.extend(self._entries.put(key, entry))
        return entry

    def may_update(self, entry: EventEntry, now: float) -> bool:
        """Whether the count of an event may be written now; takes a token of its object."""
        return self._buckets_of(entry.occurrence, now).usual.take(now)

    def knows(self, entry: EventEntry) -> bool:
        """Whether later occurrences may belong to this event."""
        return self._entries.peek(entry.key) is entry

    def forget(self, entry: EventEntry) -> None:
        """Let the next occurrence begin another event. Idempotent."""
        if self.knows(entry):
            self._entries.remove(entry.key)

    def clear(self) -> None:
        """Forget everything."""
        for each in (self._entries, self._groups, self._buckets):
            each.clear()
        self.evicted.clear()

    def _counted(
        self, key: Hashable, occurrence: Occurrence, now: float, at: datetime
    ) -> EventEntry | None:
        entry = self._entries.get(key)
        if entry is not None:
            entry.add(occurrence, now, at)
        return entry

    def _buckets_of(self, occurrence: Occurrence, now: float) -> _Buckets:
        key = (occurrence.regarding, occurrence.type)
        found = self._buckets.get(key)
        if found is None:
            found = _Buckets(now)
            self._buckets.put(key, found)
        return found


def _similarity(occurrence: Occurrence) -> Hashable:
    """Return what similar occurrences have in common: everything but the message."""
    return (
        occurrence.regarding,
        occurrence.related,
        occurrence.type,
        occurrence.reason,
        occurrence.action,
    )


class _Recent(Generic[V]):
    """The most recently used values of a bounded number."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self.values = self._values.values
        self.clear = self._values.clear

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> V | None:
        found = self._values.get(key)
        if found is not None:
            self._values.move_to_end(key)
        return found

    def peek(self, key: Hashable) -> V | None:
        """Return a value without counting that as a use."""
        return self._values.get(key)

    def put(self, key: Hashable, value: V) -> list[V]:
        """Add a value; return those that had to go."""
        self._values[key] = value
        self._values.move_to_end(key)
        excess = len(self._values) - self._size
        return [self._values.popitem(last=False)[1] for _ in range(excess)]

    def remove(self, key: Hashable) -> None:
        self._values.pop(key, None)


class _Group:
    """The messages of similar occurrences."""

    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.last_seen = 0.0

    def observe(self, message: str, now: float) -> bool:
        """Note a message; return whether there are too many to have an event each."""
        self.last_seen = now
        if message not in self.messages:
            if len(self.messages) >= _DISTINCT_MESSAGES - 1:
                return True
            self.messages.add(message)
        return False


class _Buckets:
    """Limits the new events about one object."""

    def __init__(self, now: float) -> None:
        self.usual = _Bucket(_BURST, now)
        self.reserve = _Bucket(_RESERVE, now)


class _Bucket:
    """A token bucket that is refilled with one token every five minutes."""

    def __init__(self, burst: int, now: float) -> None:
        self._burst = burst
        self._tokens = float(burst)
        self._filled_at = now

    def take(self, now: float) -> bool:
        gained = max(0.0, now - self._filled_at) / _SECONDS_PER_TOKEN
        self._tokens = min(self._tokens + gained, self._burst)
        self._filled_at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
