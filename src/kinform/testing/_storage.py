"""Encoded objects in; the newest state, states of the past, and a stream of changes out.

One counter of resource versions for everything. Objects are kept as the bytes that are
sent: whoever reads, lists or watches an object gets the same bytes, encoded once.
Runs on one thread; never waits.
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

# As on a server that has run for a little while: "1" is a version of the distant past.
FIRST_VERSION = 1000
# Lists whose pages are being read while objects change; each is a list of references.
_SNAPSHOTS_KEPT = 4


class Stored(msgspec.Struct, frozen=True, gc=False):
    """One version of one object: its JSON, and what selectors ask of it.

    ``type_end`` is where in the JSON its kind and apiVersion end, which come first.
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
        """The object, to be taken apart and changed."""
        encoded = Encoded(self.body, self.type_end, self.metadata_start, self.metadata_end)
        return Document.from_encoded(encoded)

    def metadata(self) -> dict[str, Any]:
        """The metadata, decoded afresh; ``managedFields`` stay bytes."""
        return decode_metadata(self.metadata_json)


class Change(msgspec.Struct, frozen=True, gc=False):
    """One step of history.

    ``new`` is the state after it; after a deletion the last state, with the version of
    the deletion. ``old`` is the state before, ``None`` if there was none.
    """

    resource_version: int
    new: Stored
    old: Stored | None
    deleted: bool


class _Snapshot(msgspec.Struct, frozen=True, gc=False):
    """All objects at one moment, in the order of their keys."""

    keys: list[str]
    objects: list[Stored]

    def select(self, prefix: str, start: str) -> list[Stored]:
        low, high = _bounds(self.keys, prefix, start)
        return self.objects[low:high]


class Subscriber(Protocol):
    """Somebody who is told of changes. ``notify`` must return at once."""

    def notify(self, change: Change) -> None: ...

    def close(self) -> None:
        """The collection is gone: there will be no more changes."""
        ...


class Collection:
    """All objects of one resource, now and as far back as history goes."""

    def __init__(self, kind: StoredKind, storage: Storage) -> None:
        self.kind = kind
        self.reader = FieldReader(kind.fields)
        self.objects: dict[str, Stored] = {}
        # Of a custom kind nothing is known from before it was defined.
        self.oldest = storage.resource_version if kind.custom else storage.compacted
        self._storage = storage
        self._log: deque[Change] = deque()
        self._keys: list[str] | None = []
        self._snapshots: OrderedDict[int, _Snapshot] = OrderedDict()
        self._subscribers: dict[Subscriber, None] = {}

    def rekind(self, kind: StoredKind) -> None:
        """Write objects in another version, or read other fields of them, from now on."""
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
        """That of the whole server: there is nothing here that is newer."""
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
        """One version of an object, not yet put anywhere. ``fields`` are read if not given."""
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
        """Make this the newest version of its object. It bears the storage's next version."""
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
        """All keys in order. The list is never changed afterwards."""
        if self._keys is None:
            self._keys = sorted(self.objects)
        return self._keys

    def select(self, prefix: str, start: str = "") -> list[Stored]:
        """The newest objects whose key begins with ``prefix``, from ``start`` on, in order."""
        keys = self.keys()
        low, high = _bounds(keys, prefix, start)
        objects = self.objects
        return [objects[key] for key in keys[low:high]]

    def select_at(self, version: int, prefix: str, start: str = "") -> list[Stored]:
        """As ``select``, of the past.

        Raises:
            ExpiredError: History does not go back that far.
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
        """Remember the newest state, for as long as somebody may be reading pages of it."""
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
        """What happened after ``version``, oldest first.

        Raises:
            ExpiredError: History does not go back that far.
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
        """Forget what led to the state at ``version``, and states before it."""
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
        """Tell those who watch that nothing will come any more."""
        for subscriber in list(self._subscribers):
            subscriber.close()


class Storage:
    """All collections, under one counter of resource versions.

    ``history`` is how many changes of each resource are kept.
    """

    def __init__(self, *, history: int) -> None:
        self.history = history
        self.resource_version = FIRST_VERSION
        self.compacted = FIRST_VERSION
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._collections: dict[str, Collection] = {}

    @property
    def next_version(self) -> int:
        """The version that the next write has to bear."""
        return self.resource_version + 1

    def advance(self, version: int) -> None:
        self.resource_version = version
        if self._waiting:
            for waiter in [waiter for waiter in self._waiting if waiter[0] <= version]:
                self._waiting.remove(waiter)
                waiter[1]()

    def when_reached(self, version: int, tell: Callable[[], None]) -> Callable[[], None]:
        """Call ``tell`` once, as soon as there is this version. The answer stops the waiting."""
        waiter = (version, tell)
        self._waiting.append(waiter)

        def forget() -> None:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

        return forget

    def collection(self, kind: StoredKind) -> Collection:
        """Where objects of this kind are kept."""
        name = str(kind.resource)
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(kind, self)
        return found

    def drop(self, kind: StoredKind) -> None:
        """Forget a collection and its history."""
        found = self._collections.pop(str(kind.resource), None)
        if found is not None:
            found.close()

    def collections(self) -> Iterator[Collection]:
        yield from self._collections.values()

    def compact(self, version: int | None = None) -> None:
        """Forget the history up to ``version``, or all of it."""
        limit = self.resource_version if version is None else min(version, self.resource_version)
        self.compacted = max(self.compacted, limit)
        for collection in self._collections.values():
            collection.compact(limit)


def _bounds(keys: list[str], prefix: str, start: str) -> tuple[int, int]:
    low = bisect_left(keys, max(prefix, start))
    if not prefix:
        return low, len(keys)
    # The first text that is greater than everything that begins with the prefix.
    beyond = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return low, bisect_left(keys, beyond, low)
