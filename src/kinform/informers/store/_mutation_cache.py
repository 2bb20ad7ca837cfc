"""A mutation cache: combines a store with the results of the caller's own recent writes."""

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
    """A view of a store that includes your own writes before the store receives them.

        written = MutationCache(informer.indexer)
        written.mutation(await client.update(pod))
        written.get_by_key(pod.key)                   # the written state or a newer one

    A write is visible until the store has the same or a newer version, for at most ``ttl``
    seconds. If two versions cannot be compared, the store wins. Thread-safe.

    Args:
        store: The underlying store; ``by_index`` requires an ``Indexer``.
        include_adds: Also return written objects that are not in the store. Then pass deletions
            to ``on_delete``; otherwise a deleted object may reappear until its ``ttl`` is over.
        size: The maximum number of writes to remember.
        ttl: The number of seconds to remember a write.
        clock: Returns the current time in seconds.
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
        """Return the newer of the stored and the written state."""
        entry = self._newer(key, self._store.table.get(key))
        return None if entry is None else self._adapter.from_entry(entry)

    def by_index(self, name: str, value: str) -> list[T]:
        """Return the objects whose newer state has this value, own adds included if enabled.

        Raises:
            UnknownIndexError: The index does not exist.
            CacheError: The underlying store is not an ``Indexer``.
        """
        if not isinstance(self._store, Indexer):
            raise CacheError("by_index requires a cache over an Indexer, not over a Store")
        table = self._store.table
        # A copy is atomic with respect to other threads, iteration is not.
        stored = table.buckets(name).get(value, {}).copy()
        with self._lock:
            own = self._written.oldest_first()
        entries = []
        for key in dict.fromkeys([*stored, *own]):
            known = stored[key] if key in stored else table.get(key)
            entry = self._newer(key, known)
            # A write may have changed the value; for stored state the index is authoritative.
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

    # -- updates -----------------------------------------------------------------------------

    def mutation(self, obj: T) -> None:
        """Remember the result of a write, unless a newer state is known.

        Raises:
            KeyFuncError: The object has no key.
        """
        key, entry = self._adapter.key(obj), self._adapter.to_entry(obj)
        with self._lock:
            if self._is_deleted(key, entry):
                return
            earlier = self._written.get(key)
            if earlier is None or not self._is_newer(earlier, entry):
                self._written.put(key, entry)

    def on_add_or_update(self, obj: T) -> None:
        """Note that the store has this state: drop a remembered write that is not newer."""
        key, entry = self._adapter.key(obj), self._adapter.to_entry(obj)
        with self._lock:
            written = self._written.get(key)
            if written is not None and not self._is_newer(written, entry):
                self._written.pop(key)
            if not self._is_deleted(key, entry):
                self._deleted.pop(key)

    def on_delete(self, deleted: DeletedObject[T] | T) -> None:
        """Note a deletion: drop writes of this object, including those reported later."""
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
            if written is not None and self._is_deleted(key, written):
                self._written.pop(key)

    def _is_newer(self, entry: Entry, other: Entry) -> bool:
        versions = self._adapter.version(entry), self._adapter.version(other)
        return (compare_resource_versions(*versions) or 0) > 0

    def _is_deleted(self, key: str, entry: Entry) -> bool:
        """Whether this is the object last deleted under this key, or an older one."""
        tombstone = self._deleted.get(key)
        if tombstone is None:
            return False
        uid, version = self._adapter.uid(entry), self._adapter.version(entry)
        if uid and uid == tombstone.uid:
            return True
        order = compare_resource_versions(version, tombstone.resource_version)
        return order is not None and order <= 0


class _Recent(Generic[V]):
    """The most recently used values, limited by number and age. Not thread-safe."""

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
        """Return the keys, least recently used first."""
        return [*self._items]
