"""The store: objects by key, with lock-free reads from any thread."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

import msgspec

from kinform.errors import KeyFuncError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._entries import EntryAdapter, KeyFunc, choose_adapter, version_of
from kinform.informers.store._snapshot import Snapshot
from kinform.informers.store._table import Table, TableWrite
from kinform.objects import Handle, Unstructured

T = TypeVar("T")
H = TypeVar("H", bound=Handle)


class StoreWrite(msgspec.Struct, Generic[T], frozen=True):
    """One step of ``Store.apply``: put or delete an object."""

    object: T | DeletedObject[T]
    delete: bool = False


class Store(Generic[T]):
    """Objects by key. Reads take no lock and never see a partial change, not even of ``replace``.

        pods = Store()                                  # of Unstructured
        pods = Store(PartialObjectMetadata)
        jobs = Store(key_func=lambda job: job.name)     # of any objects, stored unchanged

    Kubernetes objects are stored as bytes, and every read returns a new handle. A missing object
    is ``None``. Any thread may write, but concurrent writes to one key have no defined order.

    Args:
        form: The class of handle that readers receive.
        key_func: Returns the key of an object, for objects that are not handles.
        adapter: Converts objects to entries and back, if neither of the above fits.
    """

    @overload
    def __init__(self: Store[Unstructured]) -> None: ...
    @overload
    def __init__(self: Store[H], form: type[H]) -> None: ...
    @overload
    def __init__(self, *, key_func: KeyFunc[T]) -> None: ...
    @overload
    def __init__(self, *, adapter: EntryAdapter[T]) -> None: ...

    def __init__(
        self,
        form: type[Any] | None = None,
        *,
        key_func: KeyFunc[Any] | None = None,
        adapter: EntryAdapter[Any] | None = None,
    ) -> None:
        if form is None and key_func is None and adapter is None:
            form = Unstructured
        self._adapter: EntryAdapter[T] = choose_adapter(form, key_func, adapter)
        self._table = Table(self._adapter)

    # -- reading -----------------------------------------------------------------------------

    def get_by_key(self, key: str) -> T | None:
        entry = self._table.get(key)
        return None if entry is None else self._adapter.from_entry(entry)

    def get(self, obj: T) -> T | None:
        """Return the stored object with the same key, or ``None``. Raises KeyFuncError."""
        return self.get_by_key(self._adapter.key(obj))

    def list_keys(self) -> builtins.list[str]:
        return self._table.keys()

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, key_or_object: str | T) -> bool:
        if isinstance(key_or_object, str):
            return key_or_object in self._table
        return self._adapter.key(key_or_object) in self._table

    def __iter__(self) -> Iterator[T]:
        """Iterate over the current objects; later changes are not visible."""
        return map(self._adapter.from_entry, self._table.entries())

    def __bool__(self) -> bool:
        """Always true, so that an empty store is not mistaken for a missing one."""
        return True

    @property
    def resource_version(self) -> str:
        """The version of the last write, ``replace`` or bookmark that had one."""
        return self._table.resource_version

    def snapshot(self) -> Snapshot[T]:
        """Return an immutable copy of the store at one resource version."""
        return Snapshot(*self._table.copy(), self._adapter)

    @property
    def memory(self) -> int:
        """Size of the stored objects in bytes. Computed on access, in microseconds per object."""
        return self._table.memory

    @property
    def table(self) -> Table:
        """The underlying table, for code that passes entries on without decoding them."""
        return self._table

    @property
    def records(self) -> Table | None:
        """The table, if its entries are records; ``None`` for a store of other objects."""
        return self._table if self._adapter.keeps_records else None

    @property
    def adapter(self) -> EntryAdapter[T]:
        """Converts between objects and the entries of this store."""
        return self._adapter

    # -- writing -----------------------------------------------------------------------------

    def add(self, obj: T) -> None:
        """Add an object, replacing the one with the same key.

        Raises:
            KeyFuncError: The object has no key.
            CacheError: The object has no kind.
            EncodeError: An editable object cannot be encoded.
        """
        self._table.put(self._adapter.key(obj), self._adapter.to_entry(obj))

    def update(self, obj: T) -> None:
        """Same as ``add``."""
        self.add(obj)

    def delete(self, obj: T | DeletedObject[T]) -> None:
        """Remove the object with the same key, if any. Raises KeyFuncError."""
        self._table.remove(*self._deletion(obj))

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        """Replace the contents of the store atomically.

        Raises:
            KeyFuncError: An object has no key. The store is unchanged.
        """
        adapter = self._adapter
        put = {adapter.key(obj): adapter.to_entry(obj) for obj in objects}
        removed = [key for key in self.list_keys() if key not in put]
        self._table.swap(removed, put, resource_version)

    def apply(self, writes: Iterable[StoreWrite[T]]) -> dict[int, KeyFuncError]:
        """Apply writes in order. A snapshot contains either all of them or none.

        Returns:
            The errors of writes that were skipped because their object has no key, by position.
            Empty if all writes were applied.
        """
        steps: builtins.list[TableWrite] = []
        failures: dict[int, KeyFuncError] = {}
        for position, write in enumerate(writes):
            try:
                steps.append(self._step(write))
            except KeyFuncError as error:
                failures[position] = error
        self._table.write(steps)
        return failures

    def bookmark(self, resource_version: str) -> None:
        """Record that the store is current as of this version. An empty version is ignored."""
        self._table.bookmark(resource_version)

    def resync(self) -> None:
        """Do nothing: a store has no subscribers. Present so that a reflector can fill a store."""

    def _step(self, write: StoreWrite[T]) -> TableWrite:
        if write.delete:
            key, version = self._deletion(write.object)
            return TableWrite(key, None, version)
        if isinstance(write.object, DeletedObject):
            raise KeyFuncError(
                f"{write.object.key!r} was deleted and cannot be put; write it with delete=True"
            )
        return TableWrite(self._adapter.key(write.object), self._adapter.to_entry(write.object))

    def _deletion(self, obj: T | DeletedObject[T]) -> tuple[str, str]:
        """Return the key and, if the final state is known, the version of the deletion."""
        if not isinstance(obj, DeletedObject):
            return self._adapter.key(obj), version_of(obj)
        return obj.key, "" if obj.final_state_unknown else version_of(obj.object)

    def list(self) -> builtins.list[T]:
        return self._adapter.from_entries(self._table.entries())

    def __repr__(self) -> str:
        at = self.resource_version or "no version"
        return f"<{type(self).__name__} of {len(self)} objects at {at}>"
