"""The delta queue: takes events, lists and bookmarks, and returns deltas in the same order.

Any thread may add, and adding never blocks; a producer that can wait awaits ``wait_for_capacity``
first. There is one consumer, on one event loop.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from inspect import isawaitable
from typing import Any, Generic, TypeVar, cast, overload

import msgspec

from kinform._checks import check_callable
from kinform._runtime import Latch, wake
from kinform.api import Named, namespace_key
from kinform.errors import ConfigError, KeyFuncError, QueueClosedError
from kinform.informers._changes import DeletedObject
from kinform.informers.queue._deltas import Delta, Deltas, DeltasKind, DeltaType
from kinform.informers.queue._known_objects import KnownObjects, RememberedObjects
from kinform.objects import Handle

T = TypeVar("T")
R = TypeVar("R")


class _Replace(msgspec.Struct, Generic[T], frozen=True):
    objects: dict[str, T]
    resource_version: str
    is_initial: bool


class _Resync(msgspec.Struct, frozen=True):
    pass


class _Resume(msgspec.Struct, frozen=True):
    resource_version: str
    is_initial: bool


class _Bookmark(msgspec.Struct, frozen=True):
    resource_version: str


class DeltaFIFO(Generic[T]):
    """A queue of all changes to the objects of one resource.

    Each event is one entry, and entries are taken in the order they were put, across all keys;
    nothing is merged or dropped. A list is one entry, as is a resync. Their deltas are computed
    when they are taken, by comparison with the objects known then, after all earlier events.

    Args:
        key_func: Returns the key of an object; defaults to ``namespace/name``.
        known_objects: The objects the consumer has. By default, the queue remembers the objects
            it has returned.
        capacity: The number of entries at which ``wait_for_capacity`` starts to wait.
        name: The name used in errors.

    Attributes:
        has_synced: Set when the consumer has processed the list or the resume that the queue
            started with, or immediately if it started with an event.
    """

    def __init__(
        self,
        *,
        key_func: Callable[[T], str] | None = None,
        known_objects: KnownObjects[T] | None = None,
        capacity: int = 2000,
        name: str = "",
    ) -> None:
        if capacity < 1:
            raise ConfigError(f"capacity must be at least 1, not {capacity}")
        if key_func is not None:
            check_callable("key_func", key_func)
        self.name = name
        self.capacity = capacity
        self.has_synced = Latch(f"{name or 'a queue'} has synced")
        self._has_own_keys = key_func is not None
        self._key_func = key_func or cast(Callable[[T], str], _named_key)
        self._remembered: RememberedObjects[T] | None = None
        if known_objects is None:
            known_objects = self._remembered = RememberedObjects()
        self._known = known_objects
        self._entries: deque[Any] = deque()
        self._populated = False
        self._closed = False
        # Held for each put and for closing, so that no entry is added after the close.
        self._lock = threading.Lock()
        self._popping = asyncio.Lock()
        # Not implied by the lock, which a ``pop`` also holds while it waits for an entry.
        self._is_processing = False
        self._consumer: asyncio.Future[None] | None = None
        self._producers: list[asyncio.Future[None]] = []

    # -- put: any thread, never blocks -------------------------------------------------------

    def add(self, obj: T) -> None:
        """Add a new object."""
        self._put((Delta(DeltaType.ADDED, obj, self._key_of(obj)),))

    def update(self, obj: T) -> None:
        """Add a new state of an object."""
        self._put((Delta(DeltaType.UPDATED, obj, self._key_of(obj)),))

    def delete(self, obj: T | DeletedObject[T]) -> None:
        """Add a deletion; ``obj`` is the last state. The object need not be known."""
        gone = obj if isinstance(obj, DeletedObject) else DeletedObject(self._key_of(obj), obj)
        self._put((Delta(DeltaType.DELETED, gone, gone.key),))

    def put_all(self, deltas: Sequence[Delta[T]]) -> None:
        """Add changes in order. A queue with a ``key_func`` recomputes their keys."""
        self._put([self._keyed(delta) for delta in deltas] if self._has_own_keys else deltas)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        """Add a complete list. Of several objects with one key, the last is used."""
        key_of = self._key_of
        self._replace({key_of(obj): obj for obj in objects}, resource_version)

    def replace_keyed(self, objects: dict[str, T], resource_version: str = "") -> None:
        """Add a complete list by ``namespace/name``. The queue takes ownership of the dict.

        Reflectors add their lists with this method. A queue with a ``key_func`` recomputes the
        keys.
        """
        if self._has_own_keys:
            self.replace(objects.values(), resource_version)
        else:
            self._replace(objects, resource_version)

    def resync(self) -> None:
        """Add a resync, which returns all objects that are known when it is taken."""
        with self._lock:
            self._append(_Resync())

    def resume(self, resource_version: str) -> None:
        """Record that the known objects are a complete state, to which changes are added.

        Instead of a first list, if the consumer's store was filled elsewhere. Pass that store as
        ``known_objects``, so that a later list finds the objects that were deleted.
        """
        with self._lock:
            self._append(_Resume(resource_version, is_initial=not self._populated))
            self._populated = True

    def bookmark(self, resource_version: str) -> None:
        """Record that everything up to this version has been added."""
        with self._lock:
            self._append(_Bookmark(resource_version))

    async def wait_for_capacity(self) -> None:
        """Wait until there are fewer than ``capacity`` entries.

        Raises:
            QueueClosedError: The queue is closed.
        """
        await self._wait_until_fewer_than(self.capacity)

    async def wait_until_empty(self) -> None:
        """Wait until the queue is empty. Raises QueueClosedError."""
        await self._wait_until_fewer_than(1)

    def close(self) -> None:
        """Reject further entries. Queued ones can still be popped. Idempotent and thread-safe."""
        with self._lock:
            self._closed = True
            self._wake_consumer()
        self._wake_producers()

    # -- pop: one event loop -----------------------------------------------------------------

    @overload
    async def pop(self, process: Callable[[Deltas[T]], Awaitable[R]], *, limit: int = 1) -> R: ...
    @overload
    async def pop(self, process: Callable[[Deltas[T]], R], *, limit: int = 1) -> R: ...
    async def pop(self, process: Callable[[Deltas[T]], Any], *, limit: int = 1) -> Any:
        """Wait for an entry, pass it to ``process``, and return the result.

        Up to ``limit`` events are passed together, at most one per key; a list, a resync and a
        bookmark are passed alone. Exceptions of ``process`` propagate, and the entry is consumed.

        Raises:
            QueueClosedError: The queue is closed and empty.
        """
        if limit < 1:
            raise ConfigError(f"limit must be at least 1, not {limit}")
        async with self._popping:
            while not self._entries:
                await self._wait_for_entry()
            first = self._entries[0]
            is_change = type(first) is Delta
            self._is_processing = True
            try:
                result = process(self._take_changes(limit) if is_change else self._take_one())
                return await result if isawaitable(result) else result
            finally:
                self._is_processing = False
                if not is_change and isinstance(first, _Replace | _Resume) and first.is_initial:
                    self.has_synced.set()

    def pop_changes(self, limit: int) -> Deltas[T] | None:
        """Return the next events without waiting; ``None`` if the next entry is not an event.

        Also returns ``None`` while the ``process`` of a ``pop`` is running.
        """
        if not self._entries or type(self._entries[0]) is not Delta or self._is_processing:
            return None
        return self._take_changes(limit)

    def __len__(self) -> int:
        """The number of entries; a list counts as one."""
        return len(self._entries)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        closed = " closed" if self._closed else ""
        return f"<DeltaFIFO {self.name!r} depth={len(self)}{closed}>"

    # -- private: entries --------------------------------------------------------------------

    def _key_of(self, obj: T) -> str:
        try:
            key = self._key_func(obj)
        except KeyFuncError:
            raise
        except Exception as error:  # user code
            raise KeyFuncError(
                f"{self._label()}: the key function failed on a {type(obj).__name__}: {error!r}"
            ) from error
        if not key:
            raise KeyFuncError(
                f"{self._label()}: the key function returned no key for a {type(obj).__name__}"
            )
        return key

    def _put(self, deltas: Sequence[Delta[T]]) -> None:
        if not deltas:
            return
        with self._lock:
            if self._closed:
                self._require_open()
            self._entries.extend(deltas)
            if self._consumer is not None:
                self._wake_consumer()
            if self._populated:
                return
            self._populated = True
        self.has_synced.set()

    def _replace(self, objects: dict[str, T], resource_version: str) -> None:
        with self._lock:
            self._append(_Replace(objects, resource_version, is_initial=not self._populated))
            self._populated = True

    def _keyed(self, delta: Delta[T]) -> Delta[T]:
        """Return the delta with this queue's key; a deletion without a state is left unchanged."""
        obj = delta.object
        if not isinstance(obj, DeletedObject):
            return Delta(delta.type, obj, self._key_of(obj))
        if obj.object is None:
            return delta
        key = self._key_of(obj.object)
        return Delta(delta.type, DeletedObject(key, obj.object, obj.final_state_unknown), key)

    def _append(self, entry: _Replace[T] | _Resume | _Resync | _Bookmark) -> None:
        """Append an entry. Requires the lock."""
        self._require_open()
        self._entries.append(entry)
        if self._consumer is not None:
            self._wake_consumer()

    def _take_changes(self, limit: int) -> Deltas[T]:
        entries = self._entries
        batch: dict[str, Delta[T]] = {}
        while entries and len(batch) < limit:
            entry = entries[0]
            if type(entry) is not Delta or entry.key in batch:
                break
            batch[entry.key] = entries.popleft()
        deltas = Deltas(batch.values())
        if self._remembered is not None or self._producers:
            self._note_taken(deltas)
        return deltas

    def _take_one(self) -> Deltas[T]:
        entry = self._entries.popleft()
        if isinstance(entry, _Bookmark):
            mark = Deltas[T].of(DeltasKind.BOOKMARK, (), resource_version=entry.resource_version)
            return self._note_taken(mark)
        if isinstance(entry, _Resume):
            mark = Deltas[T].of(DeltasKind.RESUME, (), resource_version=entry.resource_version)
            return self._note_taken(mark)
        if isinstance(entry, _Resync):
            return self._note_taken(Deltas.of(DeltasKind.RESYNC, self._resync_deltas()))
        replace: _Replace[T] = entry
        listed = replace.objects
        deltas = self._missing_from(listed)
        deltas += [Delta(DeltaType.REPLACED, obj, key) for key, obj in listed.items()]
        return self._note_taken(
            Deltas.of(
                DeltasKind.REPLACE,
                deltas,
                resource_version=replace.resource_version,
                is_in_initial_list=replace.is_initial,
            )
        )

    def _resync_deltas(self) -> list[Delta[T]]:
        known = ((key, self._known.get_by_key(key)) for key in self._known.list_keys())
        return [Delta(DeltaType.SYNC, obj, key) for key, obj in known if obj is not None]

    def _missing_from(self, listed: Collection[str]) -> list[Delta[T]]:
        """Return deletions for known objects missing from a list: their events were missed."""
        gone = [
            DeletedObject(key, self._known.get_by_key(key), final_state_unknown=True)
            for key in self._known.list_keys()
            if key not in listed
        ]
        return [Delta(DeltaType.DELETED, tombstone, tombstone.key) for tombstone in gone]

    def _note_taken(self, deltas: Deltas[T]) -> Deltas[T]:
        if self._remembered is not None:
            self._remembered.note(deltas)
        if self._producers and len(self._entries) < self.capacity:
            self._wake_producers()
        return deltas

    # -- private: waiting and waking ---------------------------------------------------------

    async def _wait_for_entry(self) -> None:
        with self._lock:
            if self._entries:
                return
            self._require_open()
            woken = self._consumer = asyncio.get_running_loop().create_future()
        try:
            await woken
        finally:
            self._consumer = None

    async def _wait_until_fewer_than(self, entries: int) -> None:
        while self._closed or len(self._entries) >= entries:
            woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            with self._lock:
                self._require_open()
                self._producers.append(woken)
            try:
                # Check again: the consumer may have taken entries before it could see this future.
                if len(self._entries) >= entries:
                    await woken
            finally:
                self._forget_producer(woken)

    def _wake_consumer(self) -> None:
        """Wake the consumer, once for many entries: it takes all of them. Requires the lock."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            wake(consumer)

    def _wake_producers(self) -> None:
        with self._lock:
            producers, self._producers = self._producers, []
        for producer in producers:
            wake(producer)

    def _forget_producer(self, producer: asyncio.Future[None]) -> None:
        with self._lock:
            if producer in self._producers:
                self._producers.remove(producer)

    def _require_open(self) -> None:
        if self._closed:
            raise QueueClosedError(f"{self._label()} is closed")

    def _label(self) -> str:
        return f"queue {self.name!r}" if self.name else "the queue"


def _named_key(obj: Named) -> str:
    record = obj.record if isinstance(obj, Handle) else None
    key = namespace_key(obj) if record is None else record.head.key
    if not key or key[-1] == "/":
        raise KeyFuncError(f"a {type(obj).__name__} has no key; set its name")
    return key
