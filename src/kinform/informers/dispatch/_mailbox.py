"""Changes in, one at a time out: what a registration has not been told yet.

One thread puts (the event loop's, but for the replay before anybody else knows the mailbox), one
consumer takes; ``clear``, ``close`` and the readings may come from any thread. Changes are shared
by all mailboxes, so a pending one costs its place in a deque.
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

Policy = Literal["unbounded", "block", "coalesce"]


class Marker(Enum):
    """What lies in a mailbox and is no change."""

    SYNCED = "synced"


SYNCED: Final = Marker.SYNCED

Item = Change | Literal[Marker.SYNCED]


def mailbox_for(policy: Policy, capacity: int) -> Mailbox:
    """The mailbox that behaves as ``policy`` says when its consumer falls behind."""
    if policy == "coalesce":
        return CoalescingMailbox()
    return BlockingMailbox(capacity) if policy == "block" else UnboundedMailbox()


class Mailbox(ABC):
    """What every policy has in common: the readings, and the end.

    Attributes:
        is_closed: Nothing goes in any more. ``close`` alone sets it.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self._awaits_synced = False

    @property
    def awaits_synced(self) -> bool:
        """Whether the marker lies in it."""
        return self._awaits_synced

    @property
    @abstractmethod
    def depth(self) -> int:
        """How many changes wait."""

    @property
    def age(self) -> float:
        """Seconds that the oldest change has waited; 0 if there is none."""
        oldest = next((item for item in self._first() if item is not SYNCED), None)
        return 0.0 if oldest is None else max(0.0, time.monotonic() - oldest.at)

    @property
    def bytes(self) -> int:
        """Payload bytes of the objects that wait, each once; walks over all of them."""
        entries = {
            id(entry): entry
            for change in self._changes()
            for entry in (change.old, change.new)
            if entry is not None
        }
        return sum(len(getattr(entry, "payload", b"")) for entry in entries.values())

    @property
    def next_is_synced(self) -> bool:
        """Whether nothing but the marker is to be taken next."""
        return next(iter(self._first()), None) is SYNCED

    @abstractmethod
    def __bool__(self) -> bool:
        """Whether there is something to take."""

    @abstractmethod
    def put(self, changes: Sequence[Change]) -> None:
        """Add to the end; nothing happens once it is closed."""

    @abstractmethod
    def put_synced(self) -> None:
        """All changes of the first complete list, or of the replay, have been put before this."""

    @abstractmethod
    def take(self) -> Item | None:
        """The next item; ``None`` if there is none. Never blocks."""

    @abstractmethod
    def clear(self) -> None:
        """Forget what waits, the marker included."""

    def wait_for_capacity(self) -> Latch | None:
        """What to wait for before more is put; ``None`` if there is room, or no limit."""
        return None

    def close(self) -> None:
        """Forget what waits, and take nothing more in.

        Takes no lock, so that it may run wherever the garbage collector does.
        """
        self.is_closed = True
        self.clear()

    @abstractmethod
    def _first(self) -> Sequence[Item]:
        """The first two items, or as many as there are: one of them is a change."""

    @abstractmethod
    def _changes(self) -> Iterable[Change]:
        """All that waits, as it was at one moment."""


class UnboundedMailbox(Mailbox):
    """Keeps everything, in order. Without locks: appending to a deque and popping are atomic."""

    def __init__(self) -> None:
        super().__init__()
        self._items: deque[Item] = deque()

    @property
    def depth(self) -> int:
        return max(0, len(self._items) - self._awaits_synced)

    def __bool__(self) -> bool:
        return bool(self._items)

    def put(self, changes: Sequence[Change]) -> None:
        # If it is closed in between, these go into a deque that nobody has any more.
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

    def _first(self) -> Sequence[Item]:
        items = self._items
        try:
            return (items[0], items[1]) if len(items) > 1 else (items[0],)
        except IndexError:
            return ()

    def _changes(self) -> Iterable[Change]:
        while True:
            try:
                return [item for item in list(self._items) if item is not SYNCED]
            except RuntimeError:
                # The consumer took one while they were being copied.
                continue


class BlockingMailbox(UnboundedMailbox):
    """Keeps everything, in order, and says when its producer should wait."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self._capacity = capacity
        self._room: Latch | None = None
        # Reentrant, for the garbage collector may close a mailbox at any line.
        self._gate = threading.RLock()

    def take(self) -> Item | None:
        item = super().take()
        if self._room is not None and self.depth < self._capacity:
            self._open()
        return item

    def clear(self) -> None:
        super().clear()
        self._open()

    def wait_for_capacity(self) -> Latch | None:
        if self.is_closed or self.depth < self._capacity:
            return None
        with self._gate:
            room = self._room
            if room is None:
                room = self._room = Latch("room in a mailbox")
        # Asked again after the consumer can see the latch: what it took before that opened nothing.
        if self.depth < self._capacity:
            self._open()
        return room

    def _open(self) -> None:
        with self._gate:
            room, self._room = self._room, None
        if room is not None:
            room.set()


Slot = Change | tuple[Change, Change]


class CoalescingMailbox(Mailbox):
    """Keeps one outcome for each key, at the place of the key's first pending change.

    A deletion and the addition after it are both kept: those are two objects of one name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        # The marker lies under the one key that no object has.
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

    def _first(self) -> Sequence[Item]:
        slots = self._slots
        with self._lock:
            return [
                SYNCED if slot is None else slot if isinstance(slot, Change) else slot[0]
                for slot, _ in zip(slots.values(), range(2), strict=False)
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
    """What is left to be told of a key when ``change`` comes on top of what is pending."""
    if isinstance(pending, Change):
        return _merge(pending, change)
    gone, back = pending
    outcome = _merge(back, change)
    # What is back is an addition, and with that nothing merges into two.
    return (gone, outcome) if isinstance(outcome, Change) else gone


def _merge(first: Change, later: Change) -> Slot | None:
    if first.type is ChangeType.DELETED:
        return first if later.type is ChangeType.DELETED else (first, _as_addition(later))
    if later.type is ChangeType.DELETED:
        if first.type is ChangeType.ADDED:
            return None
        # ``old`` stays what the handler was told last: a filter must know whether it was told.
        return Change(ChangeType.DELETED, first.key, later.source, first.old, later.new, first.at)
    told_why = first.type is ChangeType.ADDED or later.source is ChangeSource.RESYNC
    source = first.source if told_why else later.source
    return Change(first.type, first.key, source, first.old, later.new, first.at)


def _as_addition(change: Change) -> Change:
    if change.type is ChangeType.ADDED:
        return change
    return Change(ChangeType.ADDED, change.key, change.source, None, change.new, change.at)
