"""One index of a table: groups entries by the values of an index function. Not thread-safe."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kinform.informers.store._entries import Entry

Buckets = dict[str, dict[str, Entry]]
"""Entries by index value and key. Buckets are never empty."""

Values = str | tuple[str, ...]
"""The index values of an entry: usually a single string, otherwise a tuple of any length."""

Reading = Values | Exception
"""The values returned by an index function, or the exception it raised."""

_logger = logging.getLogger("kinform.store")


class Index:
    """One index. ``read`` calls the user's function without the lock; all else requires the lock.

    The values of each key are stored, so an entry is always removed from the buckets it was put
    into, even if the function would return other values now.

    Args:
        name: The name of the index.
        function: The user's index function, for display.
        reader: The same function, adapted to accept entries.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Any], Iterable[str] | None],
        reader: Callable[[Entry], Iterable[str] | None],
    ) -> None:
        self.name = name
        self.function = function
        self.buckets: Buckets = {}
        self.errors: dict[str, Exception] = {}
        self._reader = reader
        self._values: dict[str, Values] = {}
        self._has_warned = False

    def values(self, entry: Entry) -> tuple[str, ...]:
        """Return the distinct values of an entry. Exceptions of the function propagate."""
        return self._checked(self._reader(entry))

    def _checked(self, found: Iterable[str] | None) -> tuple[str, ...]:
        if found is None:
            return ()
        if isinstance(found, str):
            return (found,)
        values = tuple(dict.fromkeys(found))
        for value in values:
            if not isinstance(value, str):
                raise TypeError(
                    f"index function {self.name!r} returned a {type(value).__name__} as a value; "
                    "values are strings"
                )
        return values

    def read(self, key: str, entry: Entry) -> Reading:
        """Like ``values``, but return the exception if the function raises one."""
        try:
            found = self._reader(entry)
            # Common results need no further call ("put, 3 indices" in benchmarks/bench_store.py).
            if type(found) is str:
                return found
            if type(found) is tuple and len(found) == 1 and type(found[0]) is str:
                return found[0]
            values = self._checked(found)
            return values[0] if len(values) == 1 else values
        except Exception as error:
            if not self._has_warned:
                self._has_warned = True
                _logger.warning(
                    "index function %r raised %s on %s, which is omitted from the index; "
                    "see index_errors for this and further errors",
                    self.name,
                    type(error).__name__,
                    key,
                )
            return _without_frames(error)

    def read_all(self, entries: Mapping[str, Entry]) -> list[Reading]:
        """Read all entries, in order."""
        read = self.read
        return [read(key, entry) for key, entry in entries.items()]

    def values_of(self, key: str) -> Values:
        """Return the values that a key is indexed under."""
        return self._values.get(key, ())

    def __contains__(self, key: str) -> bool:
        """Whether this key was read, successfully or not."""
        return key in self._values

    def put(self, key: str, entry: Entry, reading: Reading) -> None:
        # Fast path without errors to clear: this runs once per event and index.
        if type(reading) is str and not self.errors:
            values: Values = reading
        else:
            values = self._accept(key, reading)
        buckets = self.buckets
        old = self._values.get(key)
        self._values[key] = values
        if old is not None and old != values:
            self._remove_from_buckets(buckets, key, _without(old, values))
        for value in (values,) if type(values) is str else values:
            bucket = buckets.get(value)
            if bucket is None:
                buckets[value] = {key: entry}
            else:
                bucket[key] = entry

    def remove(self, key: str) -> None:
        self.errors.pop(key, None)
        values = self._values.pop(key, ())
        self._remove_from_buckets(self.buckets, key, (values,) if type(values) is str else values)

    def swap(
        self, removed: Iterable[str], put: Mapping[str, Entry], readings: Iterable[Reading]
    ) -> None:
        """Apply many changes to a copy of the buckets, then make it the new ``buckets``.

        Buckets without changes are shared with the previous copy.
        """
        buckets = self.buckets.copy()
        own: set[str] = set()

        def bucket_of(value: str) -> dict[str, Entry]:
            if value not in own:
                own.add(value)
                buckets[value] = buckets.get(value, {}).copy()
            return buckets[value]

        for key in removed:
            self.errors.pop(key, None)
            for value in each_value(self._values.pop(key, ())):
                del bucket_of(value)[key]
        for (key, entry), reading in zip(put.items(), readings, strict=True):
            values = self._accept(key, reading)
            old = self._values.get(key)
            if old is not None and old != values:
                for value in _without(old, values):
                    del bucket_of(value)[key]
            for value in (values,) if type(values) is str else values:
                bucket_of(value)[key] = entry
            self._values[key] = values
        for value in own:
            if not buckets[value]:
                del buckets[value]
        self.buckets = buckets

    def _accept(self, key: str, reading: Reading) -> Values:
        if isinstance(reading, Exception):
            self.errors[key] = reading
            return ()
        if self.errors:
            self.errors.pop(key, None)
        return reading

    @staticmethod
    def _remove_from_buckets(buckets: Buckets, key: str, values: Iterable[str]) -> None:
        for value in values:
            bucket = buckets[value]
            del bucket[key]
            if not bucket:
                del buckets[value]

    @property
    def memory(self) -> int:
        """Size in bytes of buckets and stored values, without keys and entries."""
        size = sys.getsizeof
        buckets = size(self.buckets) + sum(map(size, self.buckets))
        buckets += sum(map(size, self.buckets.values()))
        several = sum(size(values) for values in self._values.values() if type(values) is tuple)
        return buckets + size(self._values) + several


def each_value(values: Values) -> tuple[str, ...]:
    """Return the values as a tuple, so that ``in`` does not match substrings of a single one."""
    return (values,) if isinstance(values, str) else values


def _without(old: Values, new: Values) -> list[str]:
    kept = each_value(new)
    return [value for value in each_value(old) if value not in kept]


def _without_frames(error: Exception) -> Exception:
    """Drop tracebacks, including those of causes: their frames would keep the object alive."""
    step: BaseException | None = error
    while step is not None and step.__traceback__ is not None:
        step.__traceback__ = None
        step = step.__cause__ or step.__context__
    return error
