"""Objects in, by any writer; fresh objects out, to any reader on any thread."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

import msgspec

from kinform.errors import KeyFuncError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._entries import EntryAdapter, KeyFunc, choose_resting, version_of
from kinform.informers.store._snapshot import Snapshot
from kinform.informers.store._table import Table, TableWrite
from kinform.objects import Handle, Unstructured

T = TypeVar("T")
H = TypeVar("H", bound=Handle)


class Write(msgspec.Struct, Generic[T], frozen=True):
    """One step of ``Store.apply``: put the object, or delete it."""

    object: T | DeletedObject[T]
    delete: bool = False


class Store(Generic[T]):
    """Objects by key. Reads take no lock and see each change whole; a ``replace`` is one change.

        pods = Store()                                  # of Unstructured
        pods = Store(PartialObjectMetadata)
        jobs = Store(key_func=lambda job: job.name)     # of anything, kept as it is

    Kubernetes objects rest as bytes, and every read makes a handle of the reader's own. Absence is
    ``None``. Any thread may write, but what they write to one key is in no order then.

    Args:
        form: The handle that readers get.
        key_func: What an object is called, for a store of other objects.
        adapter: How objects rest, where neither will do.
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
        self._adapter: EntryAdapter[T] = choose_resting(form, key_func, adapter)
        self._table = Table(self._adapter)

    # -- reading -----------------------------------------------------------------------------

    def get_by_key(self, key: str) -> T | None:
        entry = self._table.get(key)
        return None if entry is None else self._adapter.from_entry(entry)

    def get(self, obj: T) -> T | None:
        """What the store has under the object's key. Raises KeyFuncError."""
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
        """Over what it holds at this moment; later changes do not show."""
        return map(self._adapter.from_entry, self._table.entries())

    def __bool__(self) -> bool:
        """An empty store is a store."""
        return True

    @property
    def resource_version(self) -> str:
        """Of the last thing applied: a write, a ``replace`` or a bookmark, if it had one."""
        return self._table.resource_version

    def snapshot(self) -> Snapshot[T]:
        """All of it, as it is at one resource version."""
        return Snapshot(*self._table.copy(), self._adapter)

    @property
    def memory(self) -> int:
        """Bytes of the objects at rest. Counted when asked for: some microseconds an object."""
        return self._table.memory

    @property
    def table(self) -> Table:
        """What rests below, for those who pass it on without waking it."""
        return self._table

    @property
    def adapter(self) -> EntryAdapter[T]:
        """How its objects rest, and wake."""
        return self._adapter

    # -- writing -----------------------------------------------------------------------------

    def add(self, obj: T) -> None:
        """Put the object in the place of whatever has its key.

        Raises:
            KeyFuncError: It has no key.
            CacheError: It is an object without a kind.
            EncodeError: It is an editable object that cannot be written down.
        """
        self._table.put(self._adapter.key(obj), self._adapter.to_entry(obj))

    def update(self, obj: T) -> None:
        """The same as ``add``."""
        self.add(obj)

    def delete(self, obj: T | DeletedObject[T]) -> None:
        """Remove what has the object's key, if anything has. Raises KeyFuncError."""
        self._table.remove(*self._deletion(obj))

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        """Hold exactly these from now on. Readers see the old set or the new one.

        Raises:
            KeyFuncError: One of them has no key. Nothing has changed then.
        """
        adapter = self._adapter
        put = {adapter.key(obj): adapter.to_entry(obj) for obj in objects}
        removed = [key for key in self.list_keys() if key not in put]
        self._table.swap(removed, put, resource_version)

    def apply(self, writes: Iterable[Write[T]]) -> dict[int, KeyFuncError]:
        """Apply many writes in order, and no snapshot sees only some of them.

        Returns:
            The writes that were left out, for their objects have no key, by their position; empty
            if all is well.
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
        """Note that nothing changed up to this version; an empty one says nothing."""
        self._table.bookmark(resource_version)

    def resync(self) -> None:
        """Nothing: a store has nobody to remind. Here so that a reflector can feed it."""

    def _step(self, write: Write[T]) -> TableWrite:
        if write.delete:
            key, version = self._deletion(write.object)
            return TableWrite(key, None, version)
        if isinstance(write.object, DeletedObject):
            raise KeyFuncError(
                f"{write.object.key!r} was deleted and cannot be put; write it with delete=True"
            )
        return TableWrite(self._adapter.key(write.object), self._adapter.to_entry(write.object))

    def _deletion(self, obj: T | DeletedObject[T]) -> tuple[str, str]:
        """The key, and the version of the deletion if this is the state that it left."""
        if not isinstance(obj, DeletedObject):
            return self._adapter.key(obj), version_of(obj)
        return obj.key, "" if obj.final_state_unknown else version_of(obj.object)

    def list(self) -> builtins.list[T]:
        return self._adapter.from_entries(self._table.entries())

    def __repr__(self) -> str:
        at = self.resource_version or "no version"
        return f"<{type(self).__name__} of {len(self)} objects at {at}>"
