"""Merges the deltas of sources that may have the same objects, such as of several selectors.

Each source is at a version of its own, and has the objects that match there. These always hold:

- An object is in the store only if a current source has it. It is missing although one has it only
  if it was removed in a newer state than that source has reached.
- The store has the newest state that was delivered, and never goes back to an older one.
- When a source leaves, an object stays only if another one has it in the stored state: it has
  reached that version, or its labels select that state. What only the leaving source had seen goes
  with it, even if that source has seen the object leave since, and another has an older state.

Therefore, once all sources have reached a version, the store is their union at that version; and
once the sources of an old scope are gone, every stored state is in the new scope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kinform.api import compare_resource_versions, is_comparable, is_older
from kinform.informers._changes import DeletedObject
from kinform.informers._source_state import SourceState
from kinform.informers.queue import Delta, Deltas, DeltasKind, DeltaType
from kinform.informers.store import Table


class OverlapMerger:
    """Reduces the deltas of one source to those that change the union of all sources.

    An object is in the store while at least one source has it. A version that another source has
    delivered before, or a newer one of which it has, is skipped. Versions that cannot be compared
    are applied as they arrive. The caller holds the lock.

    Args:
        table: The store, of records.
        sources: Returns the current sources. Those without a set of keys have no objects in common
            with others.
    """

    def __init__(self, table: Table, sources: Callable[[], Sequence[SourceState]]) -> None:
        self._table = table
        self._sources = sources
        # The versions of removed objects, until all sources have passed them: a source that is
        # behind must not bring an object back.
        self._removed: dict[str, str] = {}

    def merge(self, source: SourceState, deltas: Deltas[Any]) -> Deltas[Any]:
        """Return the deltas to apply, with the version that the source has reached."""
        assert source.keys is not None
        is_list = deltas.kind is DeltasKind.REPLACE
        version = deltas.resource_version
        if version:
            self._forget_passed_removals()
        # A server that was restored from a backup continues with older versions.
        is_back = is_list and is_older(version, source.resource_version)
        if is_back:
            self._removed.clear()
        merged: list[Delta[Any]] = []
        for delta in deltas:
            obj = delta.object
            if isinstance(obj, DeletedObject):
                own = _version_of_deletion(obj)
                keep = self._removal(source, delta, own)
            else:
                own = obj.head.resource_version
                source.keys.add(delta.key)
                is_known = not is_back and self._is_known(delta.key, own, is_list=is_list)
                keep = None if is_known else delta
                if not is_known:
                    self._removed.pop(delta.key, None)
            if not is_list:
                version = own or version
            if keep is not None:
                merged.append(keep)
        return Deltas.of(
            deltas.kind,
            merged,
            resource_version=version,
            is_in_initial_list=deltas.is_in_initial_list,
        )

    def release(self, source: SourceState) -> list[str]:
        """Return the keys to remove with this source, which is not a current one any more.

        A removed object that matches another source in a newer state is added when that source
        gets there.
        """
        # All of its namespace: the store may have a state from it of an object it no longer has.
        gone = [key for key in source.known.list_namespace() if not self._is_current(key)]
        if source.keys is not None:
            for key in gone:
                self._note_removal(key, "")
        return gone

    def _is_current(self, key: str) -> bool:
        """Whether a source has the object in the state that is in the store."""
        stored = self._table.get(key)
        return stored is not None and any(
            each.keys is not None
            and key in each.keys
            and (
                not is_older(each.resource_version, stored.head.resource_version)
                or each.selects_by_labels(stored)
            )
            for each in self._sources()
        )

    def _removal(self, source: SourceState, delta: Delta[Any], version: str) -> Delta[Any] | None:
        """Return the deletion to apply; ``None`` if the object stays or is not in the store."""
        assert source.keys is not None
        key = delta.key
        source.keys.discard(key)
        stored = self._table.get(key)
        if stored is None or self._is_elsewhere(key, source):
            return None
        self._note_removal(key, version)
        if not is_older(version, stored.head.resource_version):
            return delta
        # Another source delivered a newer state before; that is the last known one.
        unseen = DeletedObject[Any](key, None, final_state_unknown=True)
        return Delta(DeltaType.DELETED, unseen, key)

    def _is_known(self, key: str, version: str, *, is_list: bool) -> bool:
        """Whether the store has, or had, this version or a newer one."""
        stored = self._table.get(key)
        if stored is None:
            # The same version is not older: an object that leaves one selector and matches another.
            return is_older(version, self._removed.get(key, ""))
        if not version:
            return False
        order = compare_resource_versions(version, stored.head.resource_version)
        # A list may repeat a version, for handlers that want to receive unchanged objects.
        return order is not None and (order < 0 or (order == 0 and not is_list))

    def _is_elsewhere(self, key: str, source: SourceState) -> bool:
        return any(
            each is not source and each.keys is not None and key in each.keys
            for each in self._sources()
        )

    def _note_removal(self, key: str, version: str) -> None:
        stored = self._table.get(key)
        last = "" if stored is None else stored.head.resource_version
        newest = last if is_older(version, last) else version or last
        if is_comparable(newest):
            self._removed[key] = newest

    def _forget_passed_removals(self) -> None:
        if not self._removed:
            return
        reached = [
            each.resource_version
            for each in self._sources()
            if each.keys is not None and not each.is_retired
        ]
        self._removed = {
            key: version
            for key, version in self._removed.items()
            if not all(_has_passed(each, version) for each in reached)
        }


def _has_passed(reached: str, version: str) -> bool:
    order = compare_resource_versions(reached, version)
    return order is not None and order >= 0


def _version_of_deletion(gone: DeletedObject[Any]) -> str:
    """Return the version of a delete event; empty if it is not known."""
    if gone.object is None or gone.final_state_unknown:
        return ""
    version: str = gone.object.head.resource_version
    return version
