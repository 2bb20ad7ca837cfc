"""The few fields of an object that every stage needs, decoded once when its bytes arrive."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

_NO_LABELS: Mapping[str, str] = MappingProxyType({})

# The decoder keeps one string for all equal keys up to this length; longer ones are each their own.
_SHARED_KEY_LENGTH = 32


class OwnerUid(msgspec.Struct, frozen=True, gc=False):
    """Who owns the object; the rest of the reference stays in the payload."""

    uid: str = ""
    controller: bool | None = None


class Head(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What keys, built-in indexes and label selectors need. Never changes.

    ``gc=False`` is safe, for a head refers to strings and flat containers only; it keeps the
    collector from walking every cached object (``benchmarks/bench_objects.py``).
    """

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    deletion_timestamp: str | None = None
    _labels: dict[str, str] | None = msgspec.field(default=None, name="labels")
    owners: tuple[OwnerUid, ...] | None = msgspec.field(default=None, name="ownerReferences")

    @property
    def key(self) -> str:
        # As ``namespace_key`` has it, without the call: this is asked often for each object.
        namespace = self.namespace
        return f"{namespace}/{self.name}" if namespace else self.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels; a view, for the dict behind it is everybody's."""
        return _NO_LABELS if self._labels is None else MappingProxyType(self._labels)

    @property
    def owner_uids(self) -> tuple[str, ...]:
        return tuple(owner.uid for owner in self.owners or ())

    @property
    def controller_uid(self) -> str | None:
        """The uid of the owner that manages the object, if one does."""
        return next((owner.uid for owner in self.owners or () if owner.controller), None)

    @property
    def memory(self) -> int:
        """Bytes held by the head: itself, its strings, its containers.

        What objects that came together have in common is counted with each of them.
        """
        size = sys.getsizeof
        texts = (self.name, self.namespace, self.uid, self.resource_version)
        total = size(self) + sum(size(text) for text in texts if text)
        if self.deletion_timestamp:
            total += size(self.deletion_timestamp)
        if self._labels is not None:
            total += size(self._labels) + sum(map(size, self._labels.values()))
            total += sum(size(key) for key in self._labels if len(key) > _SHARED_KEY_LENGTH)
        if self.owners:
            total += size(self.owners) + sum(size(owner) + size(owner.uid) for owner in self.owners)
        return total
