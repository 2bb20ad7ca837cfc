"""A store whose objects expire a fixed time after they were written."""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar, overload

from kinform.informers._changes import DeletedObject
from kinform.informers.store._entries import Entry, EntryAdapter, KeyFunc, choose_adapter
from kinform.objects import Handle

T = TypeVar("T")
H = TypeVar("H", bound=Handle)


class _Stamped(NamedTuple):
    entry: Entry
    at: float


class ExpiringStore(Generic[T]):
    """A store that drops objects ``ttl`` seconds after they were last written.

        tokens = ExpiringStore(key_func=lambda token: token.user, ttl=60.0)

    Nothing runs in the background: a read that finds an expired object removes it and treats it
    as absent. ``list_keys`` and ``len`` include expired objects that were not read since.

    Args:
        form: The class of handle that readers receive.
        key_func: Returns the key of an object, for objects that are not handles.
        ttl: Seconds from the last write of an object until it expires; zero or less disables
            expiry.
        clock: Returns the current time in seconds.
    """

    @overload
    def __init__(
        self: ExpiringStore[H], form: type[H], *, ttl: float, clock: Callable[[], float] = ...
    ) -> None: ...
    @overload
    def __init__(
        self, *, key_func: KeyFunc[T], ttl: float, clock: Callable[[], float] = ...
    ) -> None: ...

    def __init__(
        self,
        form: type[Any] | None = None,
        *,
        key_func: KeyFunc[Any] | None = None,
        ttl: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._adapter: EntryAdapter[T] = choose_adapter(form, key_func, None)
        self._ttl = ttl
        self._clock = clock
        self._lock = threading.Lock()
        self._items: dict[str, _Stamped] = {}

    def get_by_key(self, key: str) -> T | None:
        while (stamped := self._items.get(key)) is not None:
            if not self._is_old(stamped):
                return self._adapter.from_entry(stamped.entry)
            self._expire(key, stamped)
        return None

    def get(self, obj: T) -> T | None:
        return self.get_by_key(self._adapter.key(obj))

    def list_keys(self) -> builtins.list[str]:
        """Return all keys, including those of expired objects that were not read since."""
        return [*self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        """Always true, so that an empty store is not mistaken for a missing one."""
        return True

    def add(self, obj: T) -> None:
        """Add or replace the object under its key and restart its time to live."""
        key, stamped = self._stamped(obj)
        with self._lock:
            self._items[key] = stamped

    def update(self, obj: T) -> None:
        """Same as ``add``."""
        self.add(obj)

    def delete(self, obj: T | DeletedObject[T]) -> None:
        key = obj.key if isinstance(obj, DeletedObject) else self._adapter.key(obj)
        with self._lock:
            self._items.pop(key, None)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        """Replace the contents of the store. Each object's time to live starts now."""
        items = dict(map(self._stamped, objects))
        with self._lock:
            self._items = items

    def resync(self) -> None:
        """Do nothing: a store has no subscribers."""

    def list(self) -> builtins.list[T]:
        """Return all objects that have not expired."""
        found = (self.get_by_key(key) for key in self.list_keys())
        return [obj for obj in found if obj is not None]

    def _stamped(self, obj: T) -> tuple[str, _Stamped]:
        return self._adapter.key(obj), _Stamped(self._adapter.to_entry(obj), self._clock())

    def _is_old(self, stamped: _Stamped) -> bool:
        return self._ttl > 0 and self._clock() - stamped.at > self._ttl

    def _expire(self, key: str, stamped: _Stamped) -> None:
        """Remove this entry only: it may have been replaced by a new one since it was read."""
        with self._lock:
            if self._items.get(key) is stamped:
                del self._items[key]
