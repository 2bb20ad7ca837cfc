"""Events, lists and bookmarks in, from any thread; deltas out, in the order they came.

Adding never blocks; a producer that can wait awaits ``wait_for_capacity`` first. One consumer, on
one event loop, takes deltas out.
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


class _Bookmark(msgspec.Struct, frozen=True):
    resource_version: str


class DeltaFIFO(Generic[T]):
    """A queue of everything that happens to the objects of one resource.

    Every event is an entry of its own and they come out as they went in, across all keys; nothing
    is merged or left out. A list is one entry, and so is a resync. What they mean is worked out
    when they are taken out, against what is known by then: every event before them included.

    Args:
        key_func: The key of an object; ``namespace/name`` unless said otherwise.
        known_objects: What the consumer has; without it the queue remembers what it handed out.
        capacity: How many entries may wait before ``wait_for_capacity`` makes producers wait.
        name: What it is called in errors.

    Attributes:
        has_synced: Set when the consumer is done with the list that the queue began with, or at
            once if it began with an event.
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
            raise ConfigError(f"a queue of capacity {capacity} holds nothing; let it be 1 or more")
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
        # Held to put one entry in and to close, so that no entry slips in behind the closing.
        self._lock = threading.Lock()
        self._popping = asyncio.Lock()
        # Not the same: a ``pop`` that waits for an entry holds the lock too.
        self._is_processing = False
        self._consumer: asyncio.Future[None] | None = None
        self._producers: list[asyncio.Future[None]] = []

    # -- putting in: any thread, never blocks ------------------------------------------------

    def add(self, obj: T) -> None:
        """The object is new."""
        self._put((Delta(DeltaType.ADDED, obj, self._key_of(obj)),))

    def update(self, obj: T) -> None:
        """The object has changed."""
        self._put((Delta(DeltaType.UPDATED, obj, self._key_of(obj)),))

    def delete(self, obj: T | DeletedObject[T]) -> None:
        """The object is gone; ``obj`` is its last state. It need not be known."""
        gone = obj if isinstance(obj, DeletedObject) else DeletedObject(self._key_of(obj), obj)
        self._put((Delta(DeltaType.DELETED, gone, gone.key),))

    def put_all(self, deltas: Sequence[Delta[T]]) -> None:
        """What happened to some objects, in its order. A queue with a ``key_func`` asks that."""
        self._put([self._keyed(delta) for delta in deltas] if self._has_own_keys else deltas)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        """These objects, and no others, are there. Of several with one key the last counts."""
        key_of = self._key_of
        self._replace({key_of(obj): obj for obj in objects}, resource_version)

    def replace_keyed(self, objects: dict[str, T], resource_version: str = "") -> None:
        """The same, by namespace and name, in a dict that is the queue's from now on.

        A queue with a ``key_func`` asks that, and one with a ``replace`` of its own goes by it.
        """
        if self._has_own_keys or type(self).replace is not DeltaFIFO.replace:
            self.replace(objects.values(), resource_version)
        else:
            self._replace(objects, resource_version)

    def resync(self) -> None:
        """Hand out once more what is known when this comes to its turn."""
        with self._lock:
            self._append(_Resync())

    def bookmark(self, resource_version: str) -> None:
        """Everything up to this version has been put in."""
        with self._lock:
            self._append(_Bookmark(resource_version))

    async def wait_for_capacity(self) -> None:
        """Return when fewer than ``capacity`` entries wait.

        Raises:
            QueueClosedError: Nothing can be put in any more.
        """
        await self._until_fewer_than(self.capacity)

    async def wait_until_empty(self) -> None:
        """Return when no entry waits. Raises as ``wait_for_capacity`` does."""
        await self._until_fewer_than(1)

    def close(self) -> None:
        """Take nothing in any more. What is queued can still be popped. Idempotent; any thread."""
        with self._lock:
            self._closed = True
            self._wake_consumer()
        self._wake_producers()

    # -- taking out: one loop ----------------------------------------------------------------

    @overload
    async def pop(self, process: Callable[[Deltas[T]], Awaitable[R]], *, limit: int = 1) -> R: ...
    @overload
    async def pop(self, process: Callable[[Deltas[T]], R], *, limit: int = 1) -> R: ...
    async def pop(self, process: Callable[[Deltas[T]], Any], *, limit: int = 1) -> Any:
        """Wait for an entry, hand it to ``process``, and return what that returns.

        Up to ``limit`` events come together, no two of one key; a list, a resync and a bookmark
        come alone. What ``process`` raises is raised here, and the entry is gone all the same.

        Raises:
            QueueClosedError: The queue is closed, and empty.
        """
        if limit < 1:
            raise ConfigError(f"a pop of {limit} events hands out nothing; let it be 1 or more")
        async with self._popping:
            while not self._entries:
                await self._wait_for_entry()
            first = self._entries[0]
            self._is_processing = True
            try:
                is_change = type(first) is Delta
                result = process(self._take_changes(limit) if is_change else self._take_one())
                return await result if isawaitable(result) else result
            finally:
                self._is_processing = False
                if type(first) is _Replace and first.is_initial:
                    self.has_synced.set()

    def pop_changes(self, limit: int) -> Deltas[T] | None:
        """What ``pop`` would hand out if that is events, without waiting; else ``None``.

        ``None`` too while the ``process`` of a ``pop`` is not done.
        """
        if not self._entries or type(self._entries[0]) is not Delta or self._is_processing:
            return None
        return self._take_changes(limit)

    def __len__(self) -> int:
        """How many entries wait; a list counts as one."""
        return len(self._entries)

    @property
    def is_closed(self) -> bool:
        return self._closed

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        closed = " closed" if self._closed else ""
        return f"<DeltaFIFO {self.name!r} depth={len(self)}{closed}>"

    # -- inside: entries ---------------------------------------------------------------------

    def _key_of(self, obj: T) -> str:
        try:
            key = self._key_func(obj)
        except KeyFuncError:
            raise
        except Exception as error:  # whatever a caller's function may raise
            raise KeyFuncError(
                f"{self._called()}: the key function fails on a {type(obj).__name__}: {error!r}"
            ) from error
        if not key:
            raise KeyFuncError(
                f"{self._called()}: the key function gives no key for a {type(obj).__name__}"
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
        """The same by this queue's keys; a deletion of nobody knows what stays as it is."""
        obj = delta.object
        if not isinstance(obj, DeletedObject):
            return Delta(delta.type, obj, self._key_of(obj))
        if obj.object is None:
            return delta
        key = self._key_of(obj.object)
        return Delta(delta.type, DeletedObject(key, obj.object, obj.final_state_unknown), key)

    def _append(self, entry: _Replace[T] | _Resync | _Bookmark) -> None:
        """With the lock held."""
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
            self._handing_out(deltas)
        return deltas

    def _take_one(self) -> Deltas[T]:
        entry = self._entries.popleft()
        if isinstance(entry, _Bookmark):
            told = Deltas[T].of(DeltasKind.BOOKMARK, (), resource_version=entry.resource_version)
            return self._handing_out(told)
        if isinstance(entry, _Resync):
            return self._handing_out(Deltas.of(DeltasKind.RESYNC, self._everything_known()))
        replace: _Replace[T] = entry
        listed = replace.objects
        deltas = self._known_but_not(listed)
        deltas += [Delta(DeltaType.REPLACED, obj, key) for key, obj in listed.items()]
        return self._handing_out(
            Deltas.of(
                DeltasKind.REPLACE,
                deltas,
                resource_version=replace.resource_version,
                is_in_initial_list=replace.is_initial,
            )
        )

    def _everything_known(self) -> list[Delta[T]]:
        known = ((key, self._known.get_by_key(key)) for key in self._known.list_keys())
        return [Delta(DeltaType.SYNC, obj, key) for key, obj in known if obj is not None]

    def _known_but_not(self, listed: Collection[str]) -> list[Delta[T]]:
        """Deletions of what a list does not have any more. Nobody saw them happen."""
        gone = [
            DeletedObject(key, self._known.get_by_key(key), final_state_unknown=True)
            for key in self._known.list_keys()
            if key not in listed
        ]
        return [Delta(DeltaType.DELETED, tombstone, tombstone.key) for tombstone in gone]

    def _handing_out(self, deltas: Deltas[T]) -> Deltas[T]:
        if self._remembered is not None:
            self._remembered.note(deltas)
        if self._producers and len(self._entries) < self.capacity:
            self._wake_producers()
        return deltas

    # -- inside: waiting and waking ----------------------------------------------------------

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

    async def _until_fewer_than(self, entries: int) -> None:
        while self._closed or len(self._entries) >= entries:
            woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            with self._lock:
                self._require_open()
                self._producers.append(woken)
            try:
                # Looked at again, for the consumer may have made room before it could know of us.
                if len(self._entries) >= entries:
                    await woken
            finally:
                self._forget_producer(woken)

    def _wake_consumer(self) -> None:
        """With the lock held. Once for many entries: it takes all there are."""
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
            raise QueueClosedError(f"{self._called()} is closed")

    def _called(self) -> str:
        return f"queue {self.name!r}" if self.name else "the queue"


def _named_key(obj: Named) -> str:
    record = obj.record if isinstance(obj, Handle) else None
    key = namespace_key(obj) if record is None else record.head.key
    if not key or key[-1] == "/":
        raise KeyFuncError(f"a {type(obj).__name__} has no key; give it a name")
    return key
