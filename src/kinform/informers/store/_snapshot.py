"""All that a store held at one resource version, for a reader who needs it to stand still."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import TypeVar

from kinform.informers.store._entries import Entry, EntryAdapter

T = TypeVar("T")


class Snapshot(Mapping[str, T]):
    """Objects by key, as they were at ``resource_version``. It never changes.

    It holds what rests in the store; objects are made when they are read, a fresh one each time.
    """

    def __init__(
        self, entries: Mapping[str, Entry], resource_version: str, adapter: EntryAdapter[T]
    ) -> None:
        self._entries = entries
        self._adapter = adapter
        self._resource_version = resource_version

    @property
    def resource_version(self) -> str:
        """Of the change, list or bookmark that was applied last before it was taken."""
        return self._resource_version

    def __getitem__(self, key: str) -> T:
        return self._adapter.from_entry(self._entries[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def get_by_key(self, key: str) -> T | None:
        """The object of this key; ``None`` if there was none."""
        return self.get(key)

    def list_keys(self) -> builtins.list[str]:
        return [*self._entries]

    def list(self) -> builtins.list[T]:
        return self._adapter.from_entries(self._entries.values())

    def __repr__(self) -> str:
        return f"<Snapshot of {len(self)} objects at {self._resource_version or 'no version'}>"
