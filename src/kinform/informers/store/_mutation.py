"""Your own writes and a store that will hear of them later in; the newer of the two out."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from kinform.api import compare_resource_versions
from kinform.errors import CacheError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._entries import Entry
from kinform.informers.store._index import each_value
from kinform.informers.store._indexer import Indexer
from kinform.informers.store._store import Store

T = TypeVar("T")
V = TypeVar("V")


class _Tombstone(NamedTuple):
    uid: str
    resource_version: str


class MutationCache(Generic[T]):
    """A store as it will be once it has heard of your own writes.

        written = MutationCache(informer.indexer)
        written.mutation(await client.update(pod))
        written.get_by_key(pod.key)                   # what was written, or something newer

    An own write is shown until the store has it or something newer, for ``ttl`` seconds at most.
    Versions that have no order are not compared: then the store is believed. Any thread may use it.

    Args:
        store: What lies below; an ``Indexer`` for ``by_index``.
        include_adds: Also show written objects that the store does not have. Let ``on_delete``
            hear of deletions then, or one of them may come back until its time is over.
        size: How many own writes are remembered at most.
        ttl: For how many seconds.
        clock: What time it is, in seconds.
    """

    def __init__(
        self,
        store: Store[T],
        *,
        include_adds: bool = False,
        size: int = 100,
        ttl: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._adapter = store.adapter
        self._include_adds = include_adds
        self._lock = threading.Lock()
        self._written: _Recent[Entry] = _Recent(size, ttl, clock)
        self._deleted: _Recent[_Tombstone] = _Recent(size, ttl, clock)

    # -- reading -----------------------------------------------------------------------------

    def get_by_key(self, key: str) -> T | None:
        """The newer of what the store has and what was written."""
        entry = self._newer(key, self._store.table.get(key))
        return None if entry is None else self._adapter.from_entry(entry)

    def by_index(self, name: str, value: str) -> list[T]:
        """What is under this value by its newer state; own additions too if they are included.

        Raises:
            UnknownIndexError: There is no such index.
            CacheError: The store below is no ``Indexer``.
        """
        if not isinstance(self._store, Indexer):
            raise CacheError("by_index needs an Indexer below; this cache was made over a Store")
        table = self._store.table
        # A copy is one step for other threads; a loop would not be.
        stored = table.buckets(name).get(value, {}).copy()
        with self._lock:
            own = self._written.oldest_first()
        entries = []
        for key in dict.fromkeys([*stored, *own]):
            known = stored[key] if key in stored else table.get(key)
            entry = self._newer(key, known)
            # An own write may have moved; of what the store has, its index knows.
            if key in stored if entry is known else value in self._values(name, key, entry):
                entries.append(entry)
        return self._adapter.from_entries(entries)

    def _values(self, name: str, key: str, entry: Entry) -> tuple[str, ...]:
        reading = self._store.table.indices[name].read(key, entry)
        return () if isinstance(reading, Exception) else each_value(reading)

    def _newer(self, key: str, known: Entry | None) -> Entry | None:
        with self._lock:
            written = self._written.get(key)
            if written is None:
                return known
            if known is None:
                return written if self._include_adds else None
            if self._is_newer(written, known):
                return written
            self._written.pop(key)
            return known

    # -- hearing -----------------------------------------------------------------------------

    def mutation(self, obj: T) -> None:
        """Remember what a write of yours returned, unless something newer is known already.

        Raises:
            KeyFuncError: It has no key.
        """
        key, entry = self._adapter.key(obj), self._adapter.to_entry(obj)
        with self._lock:
            if self._is_buried(key, entry):
                return
            earlier = self._written.get(key)
            if earlier is None or not self._is_newer(earlier, entry):
                self._written.put(key, entry)

    def on_add_or_update(self, obj: T) -> None:
        """The store has this now: forget an own write that is not newer."""
        key, entry = self._adapter.key(obj), self._adapter.to_entry(obj)
        with self._lock:
            written = self._written.get(key)
            if written is not None and not self._is_newer(written, entry):
                self._written.pop(key)
            if not self._is_buried(key, entry):
                self._deleted.pop(key)

    def on_delete(self, deleted: DeletedObject[T] | T) -> None:
        """This is gone: forget own writes to it, also those that are told of later."""
        if isinstance(deleted, DeletedObject):
            key, obj = deleted.key, deleted.object
        else:
            key, obj = self._adapter.key(deleted), deleted
        entry = None if obj is None else self._adapter.to_entry(obj)
        with self._lock:
            if entry is None:
                self._written.pop(key)
                return
            uid, version = self._adapter.uid(entry), self._adapter.version(entry)
            self._deleted.put(key, _Tombstone(uid, version))
            written = self._written.get(key)
            if written is not None and self._is_buried(key, written):
                self._written.pop(key)

    def _is_newer(self, entry: Entry, other: Entry) -> bool:
        versions = self._adapter.version(entry), self._adapter.version(other)
        return (compare_resource_versions(*versions) or 0) > 0

    def _is_buried(self, key: str, entry: Entry) -> bool:
        """Whether this is what was deleted last under this key, or something older."""
        tombstone = self._deleted.get(key)
        if tombstone is None:
            return False
        uid, version = self._adapter.uid(entry), self._adapter.version(entry)
        if uid and uid == tombstone.uid:
            return True
        order = compare_resource_versions(version, tombstone.resource_version)
        return order is not None and order <= 0


class _Recent(Generic[V]):
    """The values last put or read, up to a number and an age. The cache locks around it."""

    def __init__(self, size: int, ttl: float, clock: Callable[[], float]) -> None:
        self._size = size
        self._ttl = ttl
        self._clock = clock
        self._items: OrderedDict[str, tuple[V, float]] = OrderedDict()

    def get(self, key: str) -> V | None:
        found = self._items.get(key)
        if found is None:
            return None
        value, expires = found
        if self._clock() >= expires:
            del self._items[key]
            return None
        self._items.move_to_end(key)
        return value

    def put(self, key: str, value: V) -> None:
        self._items[key] = value, self._clock() + self._ttl
        self._items.move_to_end(key)
        if len(self._items) > self._size:
            self._items.popitem(last=False)

    def pop(self, key: str) -> None:
        self._items.pop(key, None)

    def oldest_first(self) -> list[str]:
        """The keys; that which was not used for longest comes first."""
        return [*self._items]
