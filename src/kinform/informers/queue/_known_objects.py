"""What the consumer of a queue has already: its store, or what the queue itself remembers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Generic, Protocol, TypeVar

from kinform.informers._changes import DeletedObject
from kinform.informers.queue._deltas import Deltas

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class KnownObjects(Protocol[T_co]):
    """What the consumer of a queue has already: a store, say."""

    def list_keys(self) -> Collection[str]: ...

    def get_by_key(self, key: str, /) -> T_co | None: ...


class RememberedObjects(Generic[T]):
    """The last state of everything that was handed out, for who keeps no store."""

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
