"""The untyped table behind a store: entries by key, and their indices.

A single reference holds the whole state. Readers use it without a lock. A change to one object
happens in place, under the lock. A relist builds the next state and swaps the reference, so readers
see all of it, including indices, or none of it.

Index functions are user code and never run under the lock: they run first, and their results are
applied together with the entries.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kinform.errors import CacheError, UnknownIndexError
from kinform.informers.store._entries import Entry, EntryAdapter
from kinform.informers.store._index import Buckets, Index, Reading, each_value


class TableWrite(NamedTuple):
    """One change: put ``entry`` under ``key``, or remove the key if ``entry`` is ``None``.

    ``resource_version`` is the version of a removal, if known; an entry contains its own version.
    """

    key: str
    entry: Entry | None
    resource_version: str = ""


class IndexCondition(NamedTuple):
    """Selects entries with one of the values in an index, or, if negated, with none of them."""

    name: str
    values: frozenset[str]
    negated: bool = False

    def admits(self, values: Iterable[str]) -> bool:
        return self.values.isdisjoint(values) is self.negated


class _State:
    """The state readers see. The dicts change in place, but are replaced only together."""

    __slots__ = ("buckets", "items", "resource_version")

    def __init__(
        self, items: dict[str, Entry], buckets: dict[str, Buckets], resource_version: str
    ) -> None:
        self.items = items
        self.buckets = buckets
        self.resource_version = resource_version


class Table:
    """The untyped core of a store. Any thread may read; writers are serialised.

    Args:
        adapter: Returns the version and size of an entry. Typed views decode entries themselves.
    """

    def __init__(self, adapter: EntryAdapter[Any]) -> None:
        self._adapter = adapter
        self._version = adapter.version
        self._lock = threading.Lock()
        self._state = _State({}, {}, "")
        # All indices that writers update: the visible ones, and those still being built.
        self._maintained: tuple[Index, ...] = ()

    # -- reading: without the lock, unless several values must be consistent -----------------

    @property
    def resource_version(self) -> str:
        """The version of the last change; empty before the first one."""
        return self._state.resource_version

    def get(self, key: str) -> Entry | None:
        return self._state.items.get(key)

    def entries(self) -> list[Entry]:
        return list(self._state.items.values())

    def keys(self) -> list[str]:
        return list(self._state.items)

    def __len__(self) -> int:
        return len(self._state.items)

    def __contains__(self, key: str) -> bool:
        return key in self._state.items

    def copy(self) -> tuple[dict[str, Entry], str]:
        """Return a consistent copy of all entries by key, and its resource version."""
        with self._lock:
            return self._state.items.copy(), self._state.resource_version

    def bucket(self, name: str, value: str) -> list[Entry]:
        """Return the entries with one index value."""
        bucket = self.buckets(name).get(value)
        # list() of a dict's values is atomic with respect to other threads, iteration is not.
        return [] if bucket is None else list(bucket.values())

    def union(self, name: str, values: Sequence[str]) -> list[Entry]:
        """Return the entries with any of the index values, without duplicates."""
        with self._lock:
            return list(self._union(IndexCondition(name, frozenset(values))).values())

    def select(self, conditions: Sequence[IndexCondition] = ()) -> tuple[dict[str, Entry], str]:
        """Return the entries that fulfil all conditions by key, and the version they are of.

        Raises:
            UnknownIndexError: An index does not exist.
        """
        with self._lock:
            state = self._state
            wanted = [each for each in conditions if not each.negated]
            if wanted:
                first = min(wanted, key=self._count)
                found = self._union(first)
            else:
                first, found = None, state.items.copy()
            for condition in conditions:
                if condition is not first:
                    values_of = self.indices[condition.name].values_of
                    found = {
                        key: entry
                        for key, entry in found.items()
                        if condition.admits(each_value(values_of(key)))
                    }
            return found, state.resource_version

    def _count(self, condition: IndexCondition) -> int:
        """Return how many entries a condition admits, at most."""
        buckets = self.buckets(condition.name)
        return sum(len(buckets.get(value, ())) for value in condition.values)

    def _union(self, condition: IndexCondition) -> dict[str, Entry]:
        buckets = self.buckets(condition.name)
        found: dict[str, Entry] = {}
        for value in condition.values:
            found.update(buckets.get(value, {}))
        return found

    def buckets(self, name: str) -> Buckets:
        """Return the live buckets of an index. They may change between two operations on them.

        Raises:
            UnknownIndexError: The index does not exist.
        """
        try:
            return self._state.buckets[name]
        except KeyError:
            raise UnknownIndexError(self._unknown(name)) from None

    # -- writing -----------------------------------------------------------------------------

    def put(self, key: str, entry: Entry) -> Entry | None:
        """Add or replace an entry and return the previous one."""
        while True:
            maintained = self._maintained
            readings: list[Reading] = []
            for index in maintained:  # a comprehension would cost one more call per event
                readings.append(index.read(key, entry))
            with self._lock:
                if maintained is not self._maintained:
                    continue  # an index was added in the meantime and has not read this entry
                return self._put(key, entry, readings)

    def remove(self, key: str, resource_version: str = "") -> Entry | None:
        """Remove and return an entry. ``resource_version`` is that of the removal, if known."""
        with self._lock:
            return self._remove(key, resource_version)

    def write(self, writes: Sequence[TableWrite]) -> None:
        """Apply changes in order. Readers that take the lock see all of them or none."""
        while True:
            maintained = self._maintained
            readings = [
                [index.read(write.key, write.entry) for index in maintained]
                if write.entry is not None
                else []
                for write in writes
            ]
            with self._lock:
                if maintained is not self._maintained:
                    continue
                for write, read in zip(writes, readings, strict=True):
                    if write.entry is None:
                        self._remove(write.key, write.resource_version)
                        continue
                    self._put(write.key, write.entry, read)
                return

    def swap(
        self, removed: Iterable[str], put: dict[str, Entry], resource_version: str = ""
    ) -> None:
        """Apply a relist atomically. Keys in neither argument keep their entries.

        Immutable entries that are already stored are not indexed again. The table takes ownership
        of the dict.
        """
        removed = [key for key in removed if key not in put]
        items = self._state.items
        if items and self._adapter.is_frozen:
            put = {key: entry for key, entry in put.items() if items.get(key) is not entry}
        while True:
            maintained = self._maintained
            readings = [index.read_all(put) for index in maintained]
            with self._lock:
                if maintained is not self._maintained:
                    continue
                self._swap(removed, put, readings, resource_version)
                return

    def bookmark(self, resource_version: str) -> None:
        """Record that the table is current as of this version."""
        if resource_version:
            with self._lock:
                self._state.resource_version = resource_version

    def _put(self, key: str, entry: Entry, readings: Sequence[Reading]) -> Entry | None:
        state = self._state
        old = state.items.get(key)
        state.items[key] = entry
        for index, reading in zip(self._maintained, readings, strict=True):
            index.put(key, entry, reading)
        if version := self._version(entry):
            state.resource_version = version
        return old

    def _remove(self, key: str, resource_version: str) -> Entry | None:
        state = self._state
        old = state.items.pop(key, None)
        for index in self._maintained:
            index.remove(key)
        if resource_version:
            state.resource_version = resource_version
        return old

    def _swap(
        self,
        removed: Sequence[str],
        put: dict[str, Entry],
        readings: Sequence[Sequence[Reading]],
        resource_version: str,
    ) -> None:
        state = self._state
        if not removed and not put:
            state.resource_version = resource_version or state.resource_version
            return
        items = put
        if state.items:
            items = state.items.copy()
            for key in removed:
                items.pop(key, None)
            items.update(put)
        for index, read in zip(self._maintained, readings, strict=True):
            index.swap(removed, put, read)
        buckets = {
            index.name: index.buckets for index in self._maintained if index.name in state.buckets
        }
        self._state = _State(items, buckets, resource_version or state.resource_version)

    # -- indices -----------------------------------------------------------------------------

    @property
    def indices(self) -> Mapping[str, Index]:
        """All visible indices by name."""
        visible = self._state.buckets
        return {index.name: index for index in self._maintained if index.name in visible}

    @property
    def index_errors(self) -> dict[tuple[str, str], Exception]:
        """Exceptions of index functions for the current entries, by index name and key."""
        with self._lock:
            return {
                (index.name, key): error
                for index in self._maintained
                for key, error in index.errors.items()
            }

    def add_indices(self, indices: Sequence[Index]) -> None:
        """Add indices over all entries; they become visible when they are complete.

        Any thread may call this while another one writes. Writers update the new indices from the
        start, so only entries that were not written in the meantime remain to be added.

        Raises:
            CacheError: A name is taken. No index is added.
        """
        with self._lock:
            taken = {index.name for index in self._maintained}
            for index in indices:
                if index.name in taken:
                    raise CacheError(
                        f"an index named {index.name!r} exists already; choose another name"
                    )
            self._maintained += tuple(indices)
            known = self._state.items.copy()
        try:
            readings = [index.read_all(known) for index in indices]
        except BaseException:
            with self._lock:
                self._maintained = tuple(
                    index for index in self._maintained if index not in indices
                )
            raise
        with self._lock:
            items = self._state.items
            for index, read in zip(indices, readings, strict=True):
                for (key, entry), reading in zip(known.items(), read, strict=True):
                    if items.get(key) is entry and key not in index:
                        index.put(key, entry, reading)
            added = {index.name: index.buckets for index in indices}
            self._state.buckets = self._state.buckets | added

    def _unknown(self, name: str) -> str:
        known = ", ".join(sorted(map(repr, self._state.buckets))) or "none"
        return f"there is no index {name!r} (known: {known}); add it with add_indexers"

    # -- memory ------------------------------------------------------------------------------

    @property
    def memory(self) -> int:
        """Size of the entries in bytes, computed on access: a running total would double the cost
        of a put ("bytes of one entry" in benchmarks/bench_store.py)."""
        return sum(map(self._adapter.memory, self.entries()))

    @property
    def index_memory(self) -> dict[str, int]:
        """Size of each index in bytes, without its entries."""
        with self._lock:
            return {name: index.memory for name, index in self.indices.items()}
