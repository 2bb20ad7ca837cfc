"""Objects in; the same objects out for a while, and then no more."""

from __future__ import annotations

import builtins
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar, overload

from kinform.informers._changes import DeletedObject
from kinform.informers.store._entries import Entry, EntryAdapter, KeyFunc, choose_resting
from kinform.objects import Handle

T = TypeVar("T")
H = TypeVar("H", bound=Handle)


class _Stamped(NamedTuple):
    entry: Entry
    at: float


class ExpiringStore(Generic[T]):
    """A store that forgets what was not written for ``ttl`` seconds.

        tokens = ExpiringStore(key_func=lambda token: token.user, ttl=60.0)

    Nothing runs in the background: a read that finds an object too old removes it and says that
    there is none. ``list_keys`` and ``len`` do not look at the age.

    Args:
        form: The handle that readers get.
        key_func: What an object is called, for a store of other objects.
        ttl: Seconds from the last write of an object to its end; zero or less is never.
        clock: What time it is, in seconds.
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
        self._adapter: EntryAdapter[T] = choose_resting(form, key_func, None)
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
        """All keys, also of objects that are too old and that nobody has asked for since."""
        return [*self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __bool__(self) -> bool:
        """An empty store is a store."""
        return True

    def add(self, obj: T) -> None:
        """Put the object in the place of whatever has its key. Its time begins anew."""
        key, stamped = self._stamped(obj)
        with self._lock:
            self._items[key] = stamped

    def update(self, obj: T) -> None:
        """The same as ``add``."""
        self.add(obj)

    def delete(self, obj: T | DeletedObject[T]) -> None:
        key = obj.key if isinstance(obj, DeletedObject) else self._adapter.key(obj)
        with self._lock:
            self._items.pop(key, None)

    def replace(self, objects: Iterable[T], resource_version: str = "") -> None:
        """Hold exactly these from now on, each for its full time."""
        items = dict(map(self._stamped, objects))
        with self._lock:
            self._items = items

    def resync(self) -> None:
        """Nothing: a store has nobody to remind."""

    def list(self) -> builtins.list[T]:
        """All that are not too old."""
        found = (self.get_by_key(key) for key in self.list_keys())
        return [obj for obj in found if obj is not None]

    def _stamped(self, obj: T) -> tuple[str, _Stamped]:
        return self._adapter.key(obj), _Stamped(self._adapter.to_entry(obj), self._clock())

    def _is_old(self, stamped: _Stamped) -> bool:
        return self._ttl > 0 and self._clock() - stamped.at > self._ttl

    def _expire(self, key: str, stamped: _Stamped) -> None:
        """Remove exactly this one: a fresh one may have come since it was looked at."""
        with self._lock:
            if self._items.get(key) is stamped:
                del self._items[key]
