"""The objects that the consumer of a queue already has."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, Protocol, TypeVar

from kinform.informers._changes import DeletedObject
from kinform.informers.queue._deltas import Deltas

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class KnownObjects(Protocol[T_co]):
    """The objects that the consumer of a queue already has, such as its store."""

    def list_keys(self) -> Collection[str]: ...

    def get_by_key(self, key: str, /) -> T_co | None: ...


class RememberedObjects(Generic[T]):
    """The last state of all objects returned by the queue, for consumers without a store."""

    def __init__(self) -> None:
        self._objects: dict[str, T] = {}

    def list_keys(self) -> Collection[str]:
        return tuple(self._objects)

    def get_by_key(self, key: str, /) -> T | None:
        return self._objects.get(key)

    def note(self, deltas: Deltas[T]) -> None:
        for delta in deltas:
            if isinstance(delta.object, DeletedObject):
                self._objects.pop(delta.key, None)
            else:
                self._objects[delta.key] = delta.object
