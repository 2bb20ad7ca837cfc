"""Targets: what a reflector can fill, and adapters for queues and stores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar, cast

from kinform._runtime import Demand
from kinform.errors import CacheError, ConfigError
from kinform.informers._changes import DeletedObject
from kinform.informers.queue import Delta, DeltaFIFO, DeltaType
from kinform.informers.store import Store
from kinform.objects import Record

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class TargetFailedError(Exception):
    """Raised by a target to end its reflector; ``Reflector.run`` raises its cause."""


class KnownRecords(Protocol):
    """The records that a target already has."""

    def get(self, key: str) -> Record | None: ...


class ReflectorTarget(ABC, Generic[T]):
    """Receives the objects of a reflector. All methods are called on the reflector's event loop.

    An exception in a method is reported as a ``CacheError`` and leads to a relist; a
    ``TargetFailedError`` ends the reflector.
    """

    @abstractmethod
    def put(self, deltas: list[Delta[T]]) -> Demand:
        """Apply the changes of one batch of the watch, keyed by ``namespace/name``.

        Returns:
            ``Demand.MORE`` if the next batch may follow immediately; after ``Demand.STOP``,
            ``wait_for_capacity`` is awaited first.
        """

    @abstractmethod
    def replace(self, objects: dict[str, T], resource_version: str) -> None:
        """Apply a complete list, keyed likewise. The target takes ownership of the dict."""

    @abstractmethod
    def resync(self) -> None:
        """Deliver all objects to consumers again; called once per resync period."""

    def bookmark(self, resource_version: str) -> None:
        """Record that the watch reached this version without a change."""

    def resume(self, resource_version: str) -> None:
        """Record that the objects already in the target are a complete state.

        Called once instead of ``replace`` if the reflector resumes a target that was filled
        elsewhere: the server continues from its version. Some of the later changes may have been
        put already.
        """

    def known_records(self) -> KnownRecords | None:
        """Return the records in the target, so that known versions are not transformed again.

        ``None`` if the target does not keep records.
        """
        return None

    async def wait_for_capacity(self) -> None:
        """Wait until more may be put; awaited after lists, resyncs, and batches that request it."""

    async def wait_until_empty(self) -> None:
        """Wait until everything has been processed; awaited before a new list."""


class PlainStore(Protocol[T_contra]):
    """The five store methods that a reflector calls, as in client-go."""

    def add(self, obj: T_contra, /) -> object: ...
    def update(self, obj: T_contra, /) -> object: ...
    def delete(self, obj: T_contra | DeletedObject[T_contra], /) -> object: ...
    def replace(self, objects: Sequence[T_contra], resource_version: str, /) -> object: ...
    def resync(self) -> object: ...


class PlainStoreTarget(ReflectorTarget[T]):
    """Fills any store, object by object.

    Attributes:
        store: The store.
    """

    def __init__(self, store: PlainStore[T]) -> None:
        self.store = store

    def put(self, deltas: list[Delta[T]]) -> Demand:
        for delta in deltas:
            try:
                self._put_one(delta)
            except Exception as error:  # the store may be user code
                raise CacheError(f"the store failed on {delta.key!r}: {error}") from error
        return Demand.MORE

    def _put_one(self, delta: Delta[T]) -> None:
        if isinstance(delta.object, DeletedObject):
            gone = delta.object
            self.store.delete(gone if gone.object is None else gone.object)
        elif delta.type is DeltaType.ADDED:
            self.store.add(delta.object)
        else:
            self.store.update(delta.object)

    def replace(self, objects: dict[str, T], resource_version: str) -> None:
        self.store.replace(list(objects.values()), resource_version)

    def resync(self) -> None:
        self.store.resync()


class StoreTarget(PlainStoreTarget[T]):
    """Fills a ``Store``, which also keeps the version that the reflector has reached."""

    store: Store[T]

    def __init__(self, store: Store[T]) -> None:
        super().__init__(store)

    def bookmark(self, resource_version: str) -> None:
        self.store.bookmark(resource_version)

    def resume(self, resource_version: str) -> None:
        self.store.bookmark(resource_version)

    def known_records(self) -> KnownRecords | None:
        return self.store.records


class QueueTarget(ReflectorTarget[T]):
    """Fills a queue that another consumer empties."""

    def __init__(self, queue: DeltaFIFO[T]) -> None:
        self._queue = queue

    def put(self, deltas: list[Delta[T]]) -> Demand:
        self._queue.put_all(deltas)
        return Demand.STOP

    def replace(self, objects: dict[str, T], resource_version: str) -> None:
        self._queue.replace_keyed(objects, resource_version)

    def resync(self) -> None:
        self._queue.resync()

    def bookmark(self, resource_version: str) -> None:
        self._queue.bookmark(resource_version)

    def resume(self, resource_version: str) -> None:
        self._queue.resume(resource_version)

    async def wait_for_capacity(self) -> None:
        await self._queue.wait_for_capacity()

    async def wait_until_empty(self) -> None:
        await self._queue.wait_until_empty()


_METHODS = ("add", "update", "delete", "replace", "resync")


def target_for(store: ReflectorTarget[T] | DeltaFIFO[T] | PlainStore[T]) -> ReflectorTarget[T]:
    """Return a target that fills ``store``.

    Raises:
        ConfigError: A method is missing; the message names it.
    """
    if isinstance(store, ReflectorTarget):
        return store
    if isinstance(store, DeltaFIFO):
        return QueueTarget(store)
    if isinstance(store, Store):
        return StoreTarget(store)
    for method in _METHODS:
        if not callable(getattr(cast(Any, store), method, None)):
            raise ConfigError(
                "a reflector takes a Store, a DeltaFIFO, a ReflectorTarget, or an object with the "
                f"methods of a store; a {type(store).__name__} has no {method}()"
            )
    return PlainStoreTarget(store)
