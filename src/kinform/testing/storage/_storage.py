"""Stores encoded objects: the current state, past states, and a stream of changes.

One counter provides all resource versions. Objects are encoded once and stored as the bytes
that are sent, for all reads, lists and watches.
Runs on one thread and never blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from kinform.testing.resources import StoredKind
from kinform.testing.storage._collection import Collection

_last_first_version = 0


def new_first_version() -> int:
    """Return a version above all versions of earlier servers: microseconds since the epoch.

    A server writes less than once per microsecond, so its versions stay behind the clock. They
    stay below 2^53, so that JSON parsers with floating-point numbers keep them exactly.
    """
    global _last_first_version
    # The clock may be set back, or be too coarse for two servers in a row.
    _last_first_version = max(time.time_ns() // 1000, _last_first_version + 1)
    return _last_first_version


class Storage:
    """All collections, with one counter of resource versions.

    ``history`` is the number of changes to keep per resource.
    """

    def __init__(self, *, history: int) -> None:
        self.history = history
        # Versions of an earlier server count as compacted: a watch that resumes there gets a 410.
        self.resource_version = self.compacted = new_first_version()
        self._waiting: list[tuple[int, Callable[[], None]]] = []
        self._collections: dict[str, Collection] = {}

    @property
    def next_version(self) -> int:
        """The version for the next write."""
        return self.resource_version + 1

    def advance(self, version: int) -> None:
        self.resource_version = version
        if self._waiting:
            for waiter in [waiter for waiter in self._waiting if waiter[0] <= version]:
                self._waiting.remove(waiter)
                waiter[1]()

    def when_reached(self, version: int, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` once this version is reached. Return a function that cancels it."""
        waiter = (version, callback)
        self._waiting.append(waiter)

        def cancel() -> None:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

        return cancel

    def collection(self, kind: StoredKind) -> Collection:
        """Return the collection of this kind."""
        name = str(kind.resource)
        found = self._collections.get(name)
        if found is None:
            found = self._collections[name] = Collection(kind, self)
        return found

    def drop(self, kind: StoredKind) -> None:
        """Discard a collection and its history."""
        found = self._collections.pop(str(kind.resource), None)
        if found is not None:
            found.close()

    def collections(self) -> Iterator[Collection]:
        yield from self._collections.values()

    def restore(self, version: int) -> None:
        """Go back to the state at an earlier version, and end all watches.

        Raises:
            ExpiredError: The version is no longer in the history.
        """
        collections = self._collections.values()
        past = [collection.select_at(version, "") for collection in collections]
        for collection, objects in zip(collections, past, strict=True):
            collection.restore(version, objects)
        self.resource_version = version

    def compact(self, version: int | None = None) -> None:
        """Discard the history up to ``version``, or all of it."""
        limit = self.resource_version if version is None else min(version, self.resource_version)
        self.compacted = max(self.compacted, limit)
        for collection in self._collections.values():
            collection.compact(limit)
