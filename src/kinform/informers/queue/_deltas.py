"""Deltas: the items of a queue, one per change, and how they belong together."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Generic, Self, TypeVar

import msgspec

from kinform.informers._changes import DeletedObject

T = TypeVar("T")


class DeltaType(StrEnum):
    """The type of a change to an object."""

    ADDED = "ADDED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    REPLACED = "REPLACED"  # contained in a list; the store knows whether it is new or changed
    SYNC = "SYNC"  # no change; repeated by a resync


class Delta(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One change of one object.

    ``gc=False`` is safe because objects never refer to their deltas.

    Attributes:
        type: The type of the change.
        object: The current object; for a deletion, always a ``DeletedObject``.
        key: The key of the object.
    """

    type: DeltaType
    object: T | DeletedObject[T]
    key: str


class DeltasKind(StrEnum):
    """The reason why deltas are returned together."""

    CHANGES = "CHANGES"  # events in order, at most one per key
    REPLACE = "REPLACE"  # a list: deletions first, then all objects
    RESYNC = "RESYNC"  # all known objects again
    RESUME = "RESUME"  # no deltas; the known objects are a complete state as of a resource version
    BOOKMARK = "BOOKMARK"  # no deltas; everything up to a resource version was returned


class Deltas(list[Delta[T]]):
    """The result of one pop, to be applied in one step.

    Attributes:
        kind: Why the deltas belong together.
        resource_version: The version of a replace, a resume or a bookmark; otherwise empty.
        is_in_initial_list: Whether this is the list the queue started with.
    """

    # Class attributes, so that the frequent CHANGES are created without extra calls.
    kind: DeltasKind = DeltasKind.CHANGES
    resource_version: str = ""
    is_in_initial_list: bool = False

    @classmethod
    def of(
        cls,
        kind: DeltasKind,
        deltas: Iterable[Delta[T]],
        *,
        resource_version: str = "",
        is_in_initial_list: bool = False,
    ) -> Self:
        """Create deltas of a kind other than CHANGES."""
        made = cls(deltas)
        made.kind = kind
        made.resource_version = resource_version
        made.is_in_initial_list = is_in_initial_list
        return made

    def __repr__(self) -> str:
        version = f" rv={self.resource_version}" if self.resource_version else ""
        initial = " initial" if self.is_in_initial_list else ""
        return f"<Deltas {self.kind} of {len(self)}{version}{initial}>"
