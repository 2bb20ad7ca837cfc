"""The objects of one resource: the current state, past states, and the changes between them."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from kinform.testing import api_errors
from kinform.testing.resources import FieldReader, StoredKind
from kinform.testing.storage._object_document import EncodedObject
from kinform.testing.storage._stored_object import StoredChange, StoredObject

if TYPE_CHECKING:
    from kinform.testing.storage._storage import Storage

# For lists whose pages are read while objects change; each is a list of references.
_SNAPSHOTS_KEPT = 4


class _Snapshot(msgspec.Struct, frozen=True, gc=False):
    """All objects at one version, in the order of their keys."""

    keys: list[str]
    objects: list[StoredObject]

    def select(self, prefix: str, start: str) -> list[StoredObject]:
        low, high = _bounds(self.keys, prefix, start)
        return self.objects[low:high]


class ChangeSubscriber(Protocol):
    """Receives changes. ``notify`` must not block."""

    def notify(self, change: StoredChange) -> None: ...

    def close(self) -> None:
        """Called when the collection is dropped and no more changes follow."""
        ...


class Collection:
    """All objects of one resource, current and in the history."""

    def __init__(self, kind: StoredKind, storage: Storage) -> None:
        self.kind = kind
        self.reader = FieldReader(kind.fields)
        self.objects: dict[str, StoredObject] = {}
        # A custom kind has no history from before its definition.
        self.oldest = storage.resource_version if kind.custom else storage.compacted
        self._storage = storage
        self._log: deque[StoredChange] = deque()
        self._keys: list[str] | None = []
        self._snapshots: OrderedDict[int, _Snapshot] = OrderedDict()
        self._subscribers: dict[ChangeSubscriber, None] = {}

    def change_kind(self, kind: StoredKind) -> None:
        """Change the storage version, or the selectable fields, of the objects."""
        self.kind = kind
        self.reader = FieldReader(kind.fields)
        self._snapshots.clear()

        def reread(stored: StoredObject) -> StoredObject:
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
        encoded: EncodedObject,
        labels: dict[str, str],
        fields: tuple[str, ...] | None = None,
    ) -> StoredObject:
        """Return a version of an object without storing it. ``fields`` are read if not given."""
        return StoredObject(
            key,
            version,
            encoded.body,
            encoded.type_end,
            encoded.metadata_start,
            encoded.metadata_end,
            labels,
            self.reader.read(encoded.body) if fields is None else fields,
        )

    def put(self, stored: StoredObject) -> None:
        """Store this as the latest version of its object; it must have the next version."""
        old = self.objects.get(stored.key)
        self.objects[stored.key] = stored
        if old is None:
            self._keys = None
        self._record(StoredChange(stored.resource_version, stored, old, deleted=False))

    def remove(self, last: StoredObject) -> None:
        """Remove an object; ``last`` is its last state, with the storage's next version."""
        old = self.objects.pop(last.key)
        self._keys = None
        self._record(StoredChange(last.resource_version, last, old, deleted=True))

    def _record(self, change: StoredChange) -> None:
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

    def select(self, prefix: str, start: str = "") -> list[StoredObject]:
        """Return the current objects whose key starts with ``prefix``, from ``start``, in order."""
        keys = self.keys()
        low, high = _bounds(keys, prefix, start)
        objects = self.objects
        return [objects[key] for key in keys[low:high]]

    def select_at(self, version: int, prefix: str, start: str = "") -> list[StoredObject]:
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
            raise api_errors.expired("list")
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

    def changes_since(self, version: int) -> Sequence[StoredChange]:
        """Return the changes after ``version``, oldest first.

        Raises:
            ExpiredError: The version is no longer in the history.
        """
        if version < self.oldest:
            raise api_errors.too_old(version, self.oldest)
        since: list[StoredChange] = []
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

    def restore(self, version: int, objects: Sequence[StoredObject]) -> None:
        """Go back to the objects of an earlier version, and end all watches."""
        self.objects = {stored.key: stored for stored in objects}
        self._keys = None
        while self._log and self._log[-1].resource_version > version:
            self._log.pop()
        for kept in [kept for kept in self._snapshots if kept > version]:
            del self._snapshots[kept]
        self.close()
        self._subscribers.clear()

    # Watching

    def subscribe(self, subscriber: ChangeSubscriber) -> None:
        self._subscribers[subscriber] = None

    def unsubscribe(self, subscriber: ChangeSubscriber) -> None:
        self._subscribers.pop(subscriber, None)

    def close(self) -> None:
        """Notify the subscribers that no more changes follow."""
        for subscriber in list(self._subscribers):
            subscriber.close()


def _bounds(keys: list[str], prefix: str, start: str) -> tuple[int, int]:
    low = bisect_left(keys, max(prefix, start))
    if not prefix:
        return low, len(keys)
    # The first text that is greater than all texts with the prefix.
    beyond = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return low, bisect_left(keys, beyond, low)
