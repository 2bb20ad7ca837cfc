"""An immutable snapshot of a store at one resource version."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import TypeVar

from kinform.informers.store._entries import Entry, EntryAdapter

T = TypeVar("T")


class Snapshot(Mapping[str, T]):
    """An immutable mapping of keys to objects, as of ``resource_version``.

    It holds the entries of the store; each read creates a new object from its entry.
    """

    def __init__(
        self, entries: Mapping[str, Entry], resource_version: str, adapter: EntryAdapter[T]
    ) -> None:
        self._entries = entries
        self._adapter = adapter
        self._resource_version = resource_version

    @property
    def resource_version(self) -> str:
        """The version of the last change, list or bookmark applied before the snapshot."""
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
        """Return the object with this key, or ``None``."""
        return self.get(key)

    def list_keys(self) -> builtins.list[str]:
        return [*self._entries]

    def list(self) -> builtins.list[T]:
        return self._adapter.from_entries(self._entries.values())

    def __repr__(self) -> str:
        return f"<Snapshot of {len(self)} objects at {self._resource_version or 'no version'}>"
