"""Mailboxes: the pending changes of one registration.

One thread puts (the event loop's, except for the replay before the mailbox is shared) and one
consumer takes. ``clear``, ``close`` and the properties are thread-safe. All mailboxes share the
changes, so a pending change costs one slot in a deque; it keeps the versions it refers to alive.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final, Literal

from kinform._runtime import Latch
from kinform.informers._changes import Change, ChangeSource, ChangeType

# The number of changes to estimate the size of a mailbox from.
_SAMPLE = 1000

Policy = Literal["unbounded", "block", "coalesce"]


class Marker(Enum):
    """Items of a mailbox that are not changes."""

    SYNCED = "synced"


SYNCED: Final = Marker.SYNCED

Item = Change | Literal[Marker.SYNCED]


def mailbox_for(policy: Policy, capacity: int) -> Mailbox:
    """Return a mailbox that implements ``policy``."""
    if policy == "coalesce":
        return CoalescingMailbox()
    return BlockingMailbox(capacity) if policy == "block" else UnboundedMailbox()


class Mailbox(ABC):
    """Base class of the mailboxes.

    Attributes:
        is_closed: Whether ``close`` was called; later changes are dropped.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._awaits_synced = False

    @property
    def awaits_synced(self) -> bool:
        """Whether the mailbox contains the sync marker."""
        return self._awaits_synced

    @property
    @abstractmethod
    def depth(self) -> int:
        """The number of pending changes."""

    @property
    def age(self) -> float:
        """Age of the oldest pending change in seconds; 0 if there is none."""
        oldest = next((item for item in self._head(2) if item is not SYNCED), None)
        return 0.0 if oldest is None else max(0.0, time.monotonic() - oldest.at)

    @property
    def bytes(self) -> int:
        """Payload bytes of the pending objects, without duplicates. Iterates over all changes."""
        return _payload_bytes(self._changes())

    @property
    def estimated_bytes(self) -> int:
        """Like ``bytes``, but extrapolated from the oldest changes, in constant time."""
        sample = [item for item in self._head(_SAMPLE) if item is not SYNCED]
        return _payload_bytes(sample) * self.depth // len(sample) if sample else 0

    @property
    def next_is_synced(self) -> bool:
        """Whether the next item is the sync marker."""
        return next(iter(self._head(1)), None) is SYNCED

    @abstractmethod
    def __bool__(self) -> bool:
        """Whether there is an item to take."""

    @abstractmethod
    def put(self, changes: Sequence[Change]) -> None:
        """Append changes. Does nothing once the mailbox is closed."""

    @abstractmethod
    def put_synced(self) -> None:
        """Append the sync marker, after all changes of the first complete list or the replay."""

    @abstractmethod
    def take(self) -> Item | None:
        """Remove and return the next item; ``None`` if there is none. Never blocks."""

    @abstractmethod
    def clear(self) -> None:
        """Discard all pending items, including the sync marker."""

    def wait_for_capacity(self) -> Latch | None:
        """Return a latch to wait for before the next put; ``None`` if there is capacity."""
        return None

    def close(self) -> None:
        """Discard all pending items and drop later ones.

        Must not deadlock: the garbage collector may call it at any point.
        """
        self.is_closed = True
        self.clear()

    @abstractmethod
    def _head(self, count: int) -> Sequence[Item]:
        """Return the first items; at most one of them is the sync marker."""

    @abstractmethod
    def _changes(self) -> Iterable[Change]:
        """Return a consistent copy of all pending changes."""


class UnboundedMailbox(Mailbox):
    """Keeps all changes in order. Needs no lock: deque operations are atomic."""

    def __init__(self) -> None:
        super().__init__()
        self._items: deque[Item] = deque()

    @property
    def depth(self) -> int:
        return max(0, len(self._items) - self._awaits_synced)

    def __bool__(self) -> bool:
        return bool(self._items)

    def put(self, changes: Sequence[Change]) -> None:
        # If closed concurrently, the changes go into a deque that is no longer used.
        items = self._items
        if not self.is_closed:
            items.extend(changes)

    def put_synced(self) -> None:
        items = self._items
        if not self.is_closed:
            self._awaits_synced = True
            items.append(SYNCED)

    def take(self) -> Item | None:
        try:
            item = self._items.popleft()
        except IndexError:
            return None
        if item is SYNCED:
            self._awaits_synced = False
        return item

    def clear(self) -> None:
        self._items = deque()
        self._awaits_synced = False

    def _head(self, count: int) -> Sequence[Item]:
        items = self._items
        head: list[Item] = []
        try:
            for position in range(min(count, len(items))):
                head.append(items[position])
        except IndexError:
            pass  # the consumer took items meanwhile
        return head

    def _changes(self) -> Iterable[Change]:
        while True:
            try:
                return [item for item in list(self._items) if item is not SYNCED]
            except RuntimeError:
                # The consumer took an item during the copy.
                continue


class BlockingMailbox(UnboundedMailbox):
    """Keeps all changes in order; the producer waits while it is full."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self._capacity = capacity
        self._has_capacity: Latch | None = None
        # Reentrant, because the garbage collector may close a mailbox at any point.
        self._latch_lock = threading.RLock()

    def take(self) -> Item | None:
        item = super().take()
        if self._has_capacity is not None and self.depth < self._capacity:
            self._set_capacity_latch()
        return item

    def clear(self) -> None:
        super().clear()
        self._set_capacity_latch()

    def wait_for_capacity(self) -> Latch | None:
        if self.is_closed or self.depth < self._capacity:
            return None
        with self._latch_lock:
            has_capacity = self._has_capacity
            if has_capacity is None:
                has_capacity = self._has_capacity = Latch("a mailbox has capacity")
        # Check again now that the consumer can see the latch: an earlier take did not set it.
        if self.depth < self._capacity:
            self._set_capacity_latch()
        return has_capacity

    def _set_capacity_latch(self) -> None:
        with self._latch_lock:
            has_capacity, self._has_capacity = self._has_capacity, None
        if has_capacity is not None:
            has_capacity.set()


def _payload_bytes(changes: Iterable[Change]) -> int:
    entries = {
        id(entry): entry
        for change in changes
        for entry in (change.old, change.new)
        if entry is not None
    }
    return sum(len(getattr(entry, "payload", b"")) for entry in entries.values())


Slot = Change | tuple[Change, Change]


class CoalescingMailbox(Mailbox):
    """Merges the pending changes of each key, at the position of the first one.

    A deletion followed by an add is kept as two changes: these are two objects of one name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        # The marker has a key that no object can have.
        self._slots: OrderedDict[str | Marker, Slot | None] = OrderedDict()

    @property
    def depth(self) -> int:
        return max(0, len(self._slots) - self._awaits_synced)

    def __bool__(self) -> bool:
        return bool(self._slots)

    def put(self, changes: Sequence[Change]) -> None:
        slots = self._slots
        if self.is_closed:
            return
        with self._lock:
            for change in changes:
                pending = slots.get(change.key)
                if pending is None:
                    slots[change.key] = change
                    continue
                outcome = _fold(pending, change)
                if outcome is None:
                    del slots[change.key]
                else:
                    slots[change.key] = outcome

    def put_synced(self) -> None:
        slots = self._slots
        if not self.is_closed:
            with self._lock:
                self._awaits_synced = True
                slots[SYNCED] = None

    def take(self) -> Item | None:
        slots = self._slots
        with self._lock:
            if not slots:
                return None
            key, slot = slots.popitem(last=False)
            if slot is None:
                self._awaits_synced = False
                return SYNCED
            if isinstance(slot, Change):
                return slot
            slots[key] = slot[1]
            slots.move_to_end(key, last=False)
            return slot[0]

    def clear(self) -> None:
        self._slots = OrderedDict()
        self._awaits_synced = False

    def _head(self, count: int) -> Sequence[Item]:
        slots = self._slots
        with self._lock:
            return [
                SYNCED if slot is None else slot if isinstance(slot, Change) else slot[0]
                for slot, _ in zip(slots.values(), range(count), strict=False)
            ]

    def _changes(self) -> Iterable[Change]:
        slots = self._slots
        with self._lock:
            waiting = list(slots.values())
        for slot in waiting:
            if isinstance(slot, Change):
                yield slot
            elif slot is not None:
                yield from slot


def _fold(pending: Slot, change: Change) -> Slot | None:
    """Return the changes that remain for a key after ``change``; ``None`` if they cancel out."""
    if isinstance(pending, Change):
        return _merge(pending, change)
    gone, back = pending
    outcome = _merge(back, change)
    # The second change is an add, and merging into an add never yields two changes.
    return (gone, outcome) if isinstance(outcome, Change) else gone


def _merge(first: Change, later: Change) -> Slot | None:
    if first.type is ChangeType.DELETED:
        return first if later.type is ChangeType.DELETED else (first, _as_addition(later))
    if later.type is ChangeType.DELETED:
        if first.type is ChangeType.ADDED:
            return None
        # ``old`` remains the last delivered state: a filter decides by it whether to deliver.
        return Change(ChangeType.DELETED, first.key, later.source, first.old, later.new, first.at)
    keeps_source = first.type is ChangeType.ADDED or later.source is ChangeSource.RESYNC
    source = first.source if keeps_source else later.source
    return Change(first.type, first.key, source, first.old, later.new, first.at)


def _as_addition(change: Change) -> Change:
    if change.type is ChangeType.ADDED:
        return change
    return Change(ChangeType.ADDED, change.key, change.source, None, change.new, change.at)
