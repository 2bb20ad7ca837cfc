"""The fields of an object that are decoded on arrival."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

_NO_LABELS: Mapping[str, str] = MappingProxyType({})

# The decoder shares equal keys up to this length; longer keys are separate strings.
_SHARED_KEY_LENGTH = 32


class OwnerUid(msgspec.Struct, frozen=True, gc=False):
    """The owner of an object; the rest of the reference stays in the payload."""

    uid: str = ""
    controller: bool | None = None


class Head(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields that keys, built-in indexes and label selectors need. Immutable.

    ``gc=False`` is safe, because a head contains only strings and flat containers. The garbage
    collector then skips all cached objects (``benchmarks/bench_objects.py``).
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
        # Inlines ``namespace_key``, because the key is read often for each object.
        namespace = self.namespace
        return f"{namespace}/{self.name}" if namespace else self.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels, as a read-only view because the dict is shared."""
        return _NO_LABELS if self._labels is None else MappingProxyType(self._labels)

    @property
    def owner_uids(self) -> tuple[str, ...]:
        return tuple(owner.uid for owner in self.owners or ())

    @property
    def controller_uid(self) -> str | None:
        """The uid of the controller that owns the object, if any."""
        return next((owner.uid for owner in self.owners or () if owner.controller), None)

    @property
    def memory(self) -> int:
        """Bytes of memory of the head, its strings and its containers.

        Values shared between objects are counted for each of them.
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
