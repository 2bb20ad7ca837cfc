"""Entries by key, and their indices: what all typed doors to one store share.

One reference holds the whole state. A reader takes it and asks it, without a lock; a change to one
object is made in place under the lock; a relist builds the next state and swaps the reference, so
that readers see all of it, indices included, or nothing.

Index functions are the user's and never run under the lock: they are called first, with what is to
be put, and what they said is applied together with it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kinform.errors import CacheError, UnknownIndexError
from kinform.informers.store._entries import Entry, EntryAdapter
from kinform.informers.store._index import Buckets, Index, Reading


class TableWrite(NamedTuple):
    """One change: ``entry`` is put under ``key``; ``None`` removes what is there.

    The version is that of a removal, if it is known; an entry says its own.
    """

    key: str
    entry: Entry | None
    resource_version: str = ""


class _State:
    """What readers see. The dicts change in place; the two of them are only swapped together."""

    __slots__ = ("buckets", "items", "resource_version")

    def __init__(
        self, items: dict[str, Entry], buckets: dict[str, Buckets], resource_version: str
    ) -> None:
        self.items = items
        self.buckets = buckets
        self.resource_version = resource_version


class Table:
    """The untyped core of a store: any reader on any thread, writers one after the other.

    Args:
        adapter: Tells an entry's version and size; what it wakes to is the doors' business.
    """

    def __init__(self, adapter: EntryAdapter[Any]) -> None:
        self._adapter = adapter
        self._version = adapter.version
        self._lock = threading.Lock()
        self._state = _State({}, {}, "")
        # The indices that writers keep up to date: those that readers see, and those being built.
        self._tended: tuple[Index, ...] = ()

    # -- reading: no lock, unless several things must fit together ---------------------------

    @property
    def resource_version(self) -> str:
        """Of what was applied last; empty before anything was."""
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
        """All entries by key, as they were at one resource version, and that version."""
        with self._lock:
            return self._state.items.copy(), self._state.resource_version

    def bucket(self, name: str, value: str) -> list[Entry]:
        """The entries under one value of an index."""
        bucket = self.buckets(name).get(value)
        # list() of a dict's values is one step for other threads; a loop would not be.
        return [] if bucket is None else list(bucket.values())

    def union(self, name: str, values: Sequence[str]) -> list[Entry]:
        """The entries under any of the values, each once."""
        with self._lock:
            buckets = self.buckets(name)
            found = {
                key: entry for value in values for key, entry in buckets.get(value, {}).items()
            }
        return list(found.values())

    def buckets(self, name: str) -> Buckets:
        """What one index holds now. Read from it in single steps: it changes under the reader.

        Raises:
            UnknownIndexError: There is no such index.
        """
        try:
            return self._state.buckets[name]
        except KeyError:
            raise UnknownIndexError(self._unknown(name)) from None

    # -- writing -----------------------------------------------------------------------------

    def put(self, key: str, entry: Entry) -> Entry | None:
        """Add it or put it in the place of another one, which is returned."""
        while True:
            tended = self._tended
            readings: list[Reading] = []
            for index in tended:  # a comprehension would be one call more, once per event
                readings.append(index.read(key, entry))
            with self._lock:
                if tended is not self._tended:
                    continue  # an index came in between, and has not seen this entry
                return self._put(key, entry, readings)

    def remove(self, key: str, resource_version: str = "") -> Entry | None:
        """Remove what is there, and return it. The version is that of the removal, if known."""
        with self._lock:
            return self._remove(key, resource_version)

    def write(self, writes: Sequence[TableWrite]) -> None:
        """Apply them in order, and let nobody who takes the lock see only some of them."""
        while True:
            tended = self._tended
            readings = [
                [index.read(write.key, write.entry) for index in tended]
                if write.entry is not None
                else []
                for write in writes
            ]
            with self._lock:
                if tended is not self._tended:
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
        """A relist: all of it becomes visible at once. What is not named stays as it is.

        Entries that cannot change and rest here already are not indexed again. The dict is the
        table's from now on.
        """
        removed = [key for key in removed if key not in put]
        items = self._state.items
        if items and self._adapter.is_frozen:
            put = {key: entry for key, entry in put.items() if items.get(key) is not entry}
        while True:
            tended = self._tended
            readings = [index.read_all(put) for index in tended]
            with self._lock:
                if tended is not self._tended:
                    continue
                self._swap(removed, put, readings, resource_version)
                return

    def bookmark(self, resource_version: str) -> None:
        """Nothing changed up to this version."""
        if resource_version:
            with self._lock:
                self._state.resource_version = resource_version

    def _put(self, key: str, entry: Entry, readings: Sequence[Reading]) -> Entry | None:
        state = self._state
        old = state.items.get(key)
        state.items[key] = entry
        for index, reading in zip(self._tended, readings, strict=True):
            index.put(key, entry, reading)
        if version := self._version(entry):
            state.resource_version = version
        return old

    def _remove(self, key: str, resource_version: str) -> Entry | None:
        state = self._state
        old = state.items.pop(key, None)
        for index in self._tended:
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
        for index, read in zip(self._tended, readings, strict=True):
            index.turn(removed, put, read)
        buckets = {
            index.name: index.buckets for index in self._tended if index.name in state.buckets
        }
        self._state = _State(items, buckets, resource_version or state.resource_version)

    # -- indices -----------------------------------------------------------------------------

    @property
    def indices(self) -> Mapping[str, Index]:
        """Those that can be read, by name."""
        visible = self._state.buckets
        return {index.name: index for index in self._tended if index.name in visible}

    @property
    def index_errors(self) -> dict[tuple[str, str], Exception]:
        """What index functions raised: by index and key, for the objects that are there now."""
        with self._lock:
            return {
                (index.name, key): error
                for index in self._tended
                for key, error in index.errors.items()
            }

    def add_indices(self, indices: Sequence[Index]) -> None:
        """Index all that is here under these too: readers see them when they are complete.

        Any thread may do this while another one writes. From the first step on the writer serves
        the new indices as well, so only entries that it did not touch are left to fill in.

        Raises:
            CacheError: A name is taken. None of them is added.
        """
        with self._lock:
            taken = {index.name for index in self._tended}
            for index in indices:
                if index.name in taken:
                    raise CacheError(
                        f"there is an index {index.name!r} already; give the new one another name"
                    )
            self._tended += tuple(indices)
            known = self._state.items.copy()
        try:
            readings = [index.read_all(known) for index in indices]
        except BaseException:
            with self._lock:
                self._tended = tuple(index for index in self._tended if index not in indices)
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
        known = ", ".join(sorted(map(repr, self._state.buckets))) or "none yet"
        return f"no index {name!r}, known: {known}; add it with add_indexers"

    # -- memory ------------------------------------------------------------------------------

    @property
    def memory(self) -> int:
        """Bytes of the entries, added up on demand: to keep count would double what a put costs
        ("bytes of one entry" in benchmarks/bench_store.py)."""
        return sum(map(self._adapter.memory, self.entries()))

    @property
    def index_memory(self) -> dict[str, int]:
        """Bytes of each index, beside the entries that it refers to."""
        with self._lock:
            return {name: index.memory for name, index in self.indices.items()}
