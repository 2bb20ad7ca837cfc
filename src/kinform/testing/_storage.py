"""Stores encoded objects: the current state, past states, and a stream of changes.

One counter provides all resource versions. Objects are encoded once and stored as the bytes
that are sent, for all reads, lists and watches.
Runs on one thread and never blocks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import msgspec

from kinform.testing import _status
from kinform.testing._documents import Document, Encoded, decode_metadata
from kinform.testing._fields import FieldReader
from kinform.testing._resources import StoredKind

# As on a server that has run for a while: "1" is an expired version.
FIRST_VERSION = 1000
# For lists whose pages are read while objects change; each is a list of references.
_SNAPSHOTS_KEPT = 4


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of one object: its JSON and the values for selectors.

    ``type_end`` is the end of kind and apiVersion, which come first in the JSON.
    """

    key: str
    resource_version: int
    body: bytes
    type_end: int
    metadata_start: int
    metadata_end: int
    labels: dict[str, str]
    fields: tuple[str, ...]

    @property
    def metadata_json(self) -> bytes:
        return self.body[self.metadata_start : self.metadata_end]

    def document(self) -> Document:
        """Return the object for editing."""
        encoded = Encoded(self.body, self.type_end, self.metadata_start, self.metadata_end)
        return Document.from_encoded(encoded)

    def metadata(self) -> dict[str, Any]:
        """Decode and return the metadata; ``managedFields`` stay bytes."""
        return decode_metadata(self.metadata_json)


class Change(msgspec.Struct, frozen=True, gc=False):
    """One change in the history.

    ``new`` is the state after it; for a deletion the last state, with the version of the
    deletion. ``old`` is the state before, or ``None``.
    """

    resource_version: int
    new: Stored
    old: Stored | None
    deleted: bool


class _Snapshot(msgspec.Struct, frozen=True, gc=False):
    """All objects at one version, in the order of their keys."""

    keys: list[str]
    objects: list[Stored]

    def select(self, prefix: str, start: str) -> list[Stored]:
        low, high = _bounds(self.keys, prefix, start)
        return self.objects[low:high]


class Subscriber(Protocol):
    """Receives changes. ``notify`` must not block."""

    def notify(self, change: Change) -> None: ...

    def close(self) -> None:
        """Called when the collection is dropped and no more changes follow."""
        ...


class Collection:
    """All objects of one resource, current and in the history."""

    def __init__(self, kind: StoredKind, storage: Storage) -> None:
        self.kind = kind
        self.reader = FieldReader(kind.fields)
        self.objects: dict[str, Stored] = {}
        # A custom kind has no history from before its definition.
        self.oldest = storage.resource_version if kind.custom else storage.compacted
        self._storage = storage
        self._log: deque[Change] = deque()
        self._keys: list[str] | None = []
        self._snapshots: OrderedDict[int, _Snapshot] = OrderedDict()
        self._subscribers: dict[Subscriber, None] = {}

    def rekind(self, kind: StoredKind) -> None:
        """Change the storage version, or the selectable fields, of the objects."""
        self.kind = kind
        self.reader = FieldReader(kind.fields)
        self._snapshots.clear()

        def reread(stored: Stored) -> Stored:
            return msgspec.structs.replace(stored, fields=self.reader.read(stored.body))

        self.objects = {key: reread(stored) for key, stored in self.objects.items()}
        self._log = deque(
            msgspec.structs.replace(
                change,
                new=reread(change.new),
                old=None if change.old is None else reread(change.old),
            )
            for change in self._log
        )

    @property
    def newest_version(self) -> int:
        """The latest version of the whole server, which is never behind this collection."""
        return self._storage.resource_version

    # Writing

    def stored(
        self,
        key: str,
        version: int,
        encoded: Encoded,
        labels: dict[str, str],
        fields: tuple[str, ...] | None = None,
    ) -> Stored:
        """Return a version of an object without storing it. ``fields`` are read if not given."""
        return Stored(
            key,
            version,
            encoded.body,
            encoded.type_end,
            encoded.metadata_start,
            encoded.metadata_end,
            labels,
            self.reader.read(encoded.body) if fields is None else fields,
        )

    def put(self, stored: Stored) -> None:
        """Store this as the latest version of its object; it must have the next version."""
        old = self.objects.get(stored.key)
        self.objects[stored.key] = stored
        if old is None:
            self._keys = None
        self._record(Change(stored.resource_version, stored, old, deleted=False))

    def remove(self, last: Stored) -> None:
        """Remove an object; ``last`` is its last state, with the storage's next version."""
        old = self.objects.pop(last.key)
        self._keys = None
        self._record(Change(last.resource_version, last, old, deleted=True))

    def _record(self, change: Change) -> None:
        self._storage.advance(change.resource_version)
        log = self._log
        log.append(change)
        if len(log) > self._storage.history:
            self.oldest = log.popleft().resource_version
        for subscriber in self._subscribers:
            subscriber.notify(change)

    # Reading

    def keys(self) -> list[str]:
        """Return all keys in order. The list is never modified afterwards."""
        if self._keys is None:
            self._keys = sorted(self.objects)
        return self._keys

    def select(self, prefix: str, start: str = "") -> list[Stored]:
        """Return the current objects whose key starts with ``prefix``, from ``start``, in order."""
        keys = self.keys()
        low, high = _bounds(keys, prefix, start)
        objects = self.objects
        return [objects[key] for key in keys[low:high]]

    def select_at(self, version: int, prefix: str, start: str = "") -> list[Stored]:
        """Like ``select``, for a past version.

        Raises:
            ExpiredError: The version is no longer in the history.
        """
        if version >= self.oldest and (not self._log or self._log[-1].resource_version <= version):
            return self.select(prefix, start)
        snapshot = self._snapshots.get(version)
        if snapshot is None:
            snapshot = self._reconstruct(version)
            self._keep(version, snapshot)
        else:
            self._snapshots.move_to_end(version)
        return snapshot.select(prefix, start)

    def keep_snapshot(self) -> None:
        """Keep the current state for clients that read it page by page."""
        version = self._storage.resource_version
        if version not in self._snapshots:
            self._keep(version, _Snapshot(self.keys(), self.select("")))

    def _keep(self, version: int, snapshot: _Snapshot) -> None:
        self._snapshots[version] = snapshot
        if len(self._snapshots) > _SNAPSHOTS_KEPT:
            self._snapshots.popitem(last=False)

    def _reconstruct(self, version: int) -> _Snapshot:
        if version < self.oldest:
            raise _status.expired("list")
        past = dict(self.objects)
        for change in reversed(self._log):
            if change.resource_version <= version:
                break
            if change.old is None:
                past.pop(change.new.key, None)
            else:
                past[change.new.key] = change.old
        keys = sorted(past)
        return _Snapshot(keys, [past[key] for key in keys])

    # History

    def changes_since(self, version: int) -> Sequence[Change]:
        """Return the changes after ``version``, oldest first.

        Raises:
            ExpiredError: The version is no longer in the history.
        """
        if version < self.oldest:
            raise _status.too_old(version, self.oldest)
        since: list[Change] = []
        for change in reversed(self._log):
            if change.resource_version <= version:
                break
            since.append(change)
        since.reverse()
        return since

    def compact(self, version: int) -> None:
        """Discard the changes up to ``version``, and the states before it."""
        self.oldest = max(self.oldest, version)
        while self._log and self._log[0].resource_version <= version:
            self._log.popleft()
        for kept in [kept for kept in self._snapshots if kept < version]:
            del self._snapshots[kept]

    # Watching

    def subscribe(self, subscriber: Subscriber) -> None:
        self._subscribers[subscriber] = None

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self._subscribers.pop(subscriber, None)

    def close(self) -> None:
        """Notify the subscribers that no more changes follow."""
        for subscriber in list(self._subscribers):
            subscriber.close()


class Storage:
    """All collections, with one counter of resource versions.

    ``history`` is the number of changes to keep per resource.
    """

    def __init__(self, *, history: int) -> None:
        self.history = history
        self.resource_version = FIRST_VERSION
        self.compacted = FIRST_VERSION
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._collections: dict[str, Collection] = {}

    @property
    def next_version(self) -> int:
        """The version for the next write."""
        return self.resource_version + 1

    def advance(self, version: int) -> None:
        self.resource_version = version
        if self._waiting:
            for waiter in [waiter for waiter in self._waiting if waiter[0] <= version]:
                self._waiting.remove(waiter)
                waiter[1]()

    def when_reached(self, version: int, tell: Callable[[], None]) -> Callable[[], None]:
        """Call ``tell`` once this version is reached. Return a function that cancels it."""
        waiter = (version, tell)
        self._waiting.append(waiter)

        def forget() -> None:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

        return forget

    def collection(self, kind: StoredKind) -> Collection:
        """Return the collection of this kind."""
        name = str(kind.resource)
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(kind, self)
        return found

    def drop(self, kind: StoredKind) -> None:
        """Discard a collection and its history."""
        found = self._collections.pop(str(kind.resource), None)
        if found is not None:
            found.close()

    def collections(self) -> Iterator[Collection]:
        yield from self._collections.values()

    def compact(self, version: int | None = None) -> None:
        """Discard the history up to ``version``, or all of it."""
        limit = self.resource_version if version is None else min(version, self.resource_version)
        self.compacted = max(self.compacted, limit)
        for collection in self._collections.values():
            collection.compact(limit)


def _bounds(keys: list[str], prefix: str, start: str) -> tuple[int, int]:
    low = bisect_left(keys, max(prefix, start))
    if not prefix:
        return low, len(keys)
    # The first text that is greater than all texts with the prefix.
    beyond = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return low, bisect_left(keys, beyond, low)
