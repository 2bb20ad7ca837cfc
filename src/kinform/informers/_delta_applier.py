"""Applies deltas to the store and returns the resulting changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from kinform.informers._changes import Change, ChangeSource, ChangeType, DeletedObject
from kinform.informers.queue import Deltas, DeltasKind
from kinform.informers.store import Entry, EntryAdapter, Table

T = TypeVar("T")

# A global is one lookup, an enum member two; this runs once per event.
_UPDATED, _WATCH = ChangeType.UPDATED, ChangeSource.WATCH


class DeltaApplier(Generic[T]):
    """Applies the items of a queue to a table. The caller ensures that there is one writer.

    The contents of the table determine the change: an update of an unknown object is an add. A
    new object under a known name is a deletion and an add.

    Attributes:
        resource_version: The version after the last deltas; empty if they had none.
    """

    def __init__(self, table: Table, adapter: EntryAdapter[T]) -> None:
        self._table = table
        self._to_entry = adapter.to_entry
        self._uid = adapter.uid
        self._version = adapter.version
        self._keeps_records = adapter.keeps_records
        self.resource_version = ""

    def apply(
        self,
        deltas: Deltas[T],
        *,
        list_source: ChangeSource,
        unchanged: bool,
        selects: Callable[[Entry], bool] | None = None,
        went_back: bool = False,
    ) -> list[Change]:
        """Apply one item of the queue and return the changes, in order of delivery.

        Args:
            deltas: One item of the queue.
            list_source: The cause of the changes, if this is a list.
            selects: Whether an object fits the selectors of the list, if this is the first list of
                its source: what is missing was in the list of a source with other selectors.
            unchanged: Whether to include objects that a list found unchanged.
            went_back: Whether the server's versions went back: then the same version may be
                another state.
        """
        self.resource_version = deltas.resource_version
        if deltas.kind is DeltasKind.REPLACE:
            return self._replace(deltas, list_source, unchanged, selects, went_back)
        if deltas.kind in (DeltasKind.BOOKMARK, DeltasKind.RESUME):
            self._table.bookmark(deltas.resource_version)
            return []
        if deltas.kind is DeltasKind.RESYNC:
            return resync_changes(self._table)
        return self._change(deltas)

    def _change(self, deltas: Deltas[T]) -> list[Change]:
        now = time.monotonic()
        changes: list[Change] = []
        table = self._table
        for delta in deltas:
            obj = delta.object
            if isinstance(obj, DeletedObject):
                gone = self._delete(delta.key, obj, ChangeSource.WATCH, now)
                if gone is not None:
                    changes.append(gone)
                continue
            entry = self._to_entry(obj)
            self.resource_version = self._version(entry) or self.resource_version
            old = table.put(delta.key, entry)
            if old is not None and self._uid(old) == self._uid(entry):
                changes.append(Change(_UPDATED, delta.key, _WATCH, old, entry, now))
                continue
            self._append_put(changes.append, delta.key, old, entry, _WATCH, now)
        return changes

    def _delete(
        self, key: str, gone: DeletedObject[T], source: ChangeSource, now: float
    ) -> Change | None:
        final = None
        version = ""
        if gone.object is not None and not gone.final_state_unknown:
            final = self._to_entry(gone.object)
            version = self._version(final)
            self.resource_version = version or self.resource_version
        old = self._table.remove(key, version)
        if old is None and final is None:
            if gone.object is None:
                # The object was never readable, so no add was delivered.
                return None
            old = self._to_entry(gone.object)
        return Change(ChangeType.DELETED, key, source, old, final, now)

    def _replace(
        self,
        deltas: Deltas[T],
        source: ChangeSource,
        unchanged: bool,
        selects: Callable[[Entry], bool] | None,
        went_back: bool,
    ) -> list[Change]:
        now = time.monotonic()
        changes: list[Change] = []
        removed: list[str] = []
        put: dict[str, Entry] = {}
        get = self._table.get
        for delta in deltas:
            key = delta.key
            old = get(key)
            if isinstance(delta.object, DeletedObject):
                removed.append(key)
                cause = source if selects is None else _cause(old, selects)
                changes.append(Change(ChangeType.DELETED, key, cause, old, None, now))
                continue
            entry = put[key] = self._to_entry(delta.object)
            if old is None or unchanged or not self._is_same(old, entry, went_back):
                self._append_put(changes.append, key, old, entry, source, now)
        self._table.swap(removed, put, deltas.resource_version)
        return changes

    def _append_put(
        self,
        append: Callable[[Change], None],
        key: str,
        old: Entry | None,
        new: Entry,
        source: ChangeSource,
        now: float,
    ) -> None:
        if old is None:
            append(Change(ChangeType.ADDED, key, source, None, new, now))
        elif self._is_other_object(old, new):
            # Its deletion was missed; the stored state is the last known one. It is deleted on the
            # server, so a new scope is not the cause.
            cause = ChangeSource.RELIST if source is ChangeSource.SCOPE else source
            append(Change(ChangeType.DELETED, key, cause, old, None, now))
            append(Change(ChangeType.ADDED, key, source, None, new, now))
        else:
            append(Change(ChangeType.UPDATED, key, source, old, new, now))

    def _is_other_object(self, old: Entry, new: Entry) -> bool:
        before, after = self._uid(old), self._uid(new)
        return before != after and bool(before) and bool(after)

    def _is_same(self, old: Entry, new: Entry, went_back: bool) -> bool:
        if old is new:
            return True
        version = self._version(old)
        if version != self._version(new) or self._is_other_object(old, new):
            return False
        # Without versions that can be trusted, objects are equal if their bytes are.
        if version and not went_back:
            return True
        return bool(old.payload == new.payload if self._keeps_records else old == new)


def _cause(gone: Entry | None, selects: Callable[[Entry], bool]) -> ChangeSource:
    """Return why an object is missing from a list with new selectors."""
    is_deleted = gone is not None and selects(gone)
    return ChangeSource.RELIST if is_deleted else ChangeSource.SCOPE


def resync_changes(table: Table) -> list[Change]:
    """Return all objects of the table as updates without a difference."""
    now = time.monotonic()
    items, _ = table.copy()
    return [
        Change(ChangeType.UPDATED, key, ChangeSource.RESYNC, entry, entry, now)
        for key, entry in items.items()
    ]


def removal_changes(table: Table, keys: Iterable[str]) -> list[Change]:
    """Remove objects that are no longer in the scope, and return their deletions."""
    now = time.monotonic()
    removed = [(key, table.remove(key)) for key in keys]
    return [
        Change(ChangeType.DELETED, key, ChangeSource.SCOPE, entry, None, now)
        for key, entry in removed
        if entry is not None
    ]


def replay_changes(table: Table) -> list[Change]:
    """Return all objects of the table as adds, for a handler registered after start."""
    now = time.monotonic()
    items, _ = table.copy()
    return [
        Change(ChangeType.ADDED, key, ChangeSource.REPLAY, None, entry, now)
        for key, entry in items.items()
    ]
