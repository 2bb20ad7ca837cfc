"""A store that passes its whole contents to a callback after each write."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, overload

from kinform.errors import KeyFuncError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._entries import EntryAdapter, KeyFunc
from kinform.informers.store._store import Store, StoreWrite
from kinform.objects import Handle, Unstructured

T = TypeVar("T")
H = TypeVar("H", bound=Handle)


class UndeltaStore(Store[T]):
    """A store for consumers that need the current set of objects instead of single changes.

    Args:
        push: Called with all objects after each write, on the writer's thread; the set may be
            unchanged. Its exceptions propagate to the writer, but the write is kept.
        form: The class of handle that ``push`` receives.
        key_func: Returns the key of an object, for objects that are not handles.
        adapter: Converts objects to entries and back, if neither of the above fits.
    """

    @overload
    def __init__(
        self: UndeltaStore[Unstructured], push: Callable[[builtins.list[Unstructured]], object]
    ) -> None: ...
    @overload
    def __init__(
        self: UndeltaStore[H], push: Callable[[builtins.list[H]], object], form: type[H]
    ) -> None: ...
    @overload
    def __init__(
        self, push: Callable[[builtins.list[T]], object], *, key_func: KeyFunc[T]
    ) -> None: ...
    @overload
    def __init__(
        self, push: Callable[[builtins.list[T]], object], *, adapter: EntryAdapter[T]
    ) -> None: ...

    def __init__(
        self,
        push: Callable[[builtins.list[Any]], object],
        form: type[Any] | None = None,
        *,
        key_func: KeyFunc[Any] | None = None,
        adapter: EntryAdapter[Any] | None = None,
    ) -> None:
        super().__init__(form, key_func=key_func, adapter=adapter)  # type: ignore[call-overload]  # the same overloads
        self._push = push

    def add(self, obj: T) -> None:
        super().add(obj)
        self._push(self.list())

    def delete(self, obj: T | DeletedObject[T]) -> None:
        super().delete(obj)
        self._push(self.list())

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        super().replace(objects, resource_version)
        self._push(self.list())

    def apply(self, writes: Iterable[StoreWrite[T]]) -> dict[int, KeyFuncError]:
        failures = super().apply(writes)
        self._push(self.list())
        return failures
