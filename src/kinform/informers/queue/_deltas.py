"""What a queue hands out: a delta for each thing that happened, and which belong together."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Generic, Self, TypeVar

import msgspec

from kinform.informers._changes import DeletedObject

T = TypeVar("T")


class DeltaType(StrEnum):
    """What is known to have happened to an object."""

    ADDED = "ADDED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"
    REPLACED = "REPLACED"  # it is in a list; whether it is new or changed, the store knows
    SYNC = "SYNC"  # nothing happened; a resync says it again


class Delta(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """One thing that happened to one object.

    ``gc=False`` is safe, for no object refers to a delta of itself.

    Attributes:
        type: What happened.
        object: The object as it is now; for a deletion always a ``DeletedObject``.
        key: Whose object it is.
    """

    type: DeltaType
    object: T | DeletedObject[T]
    key: str


class DeltasKind(StrEnum):
    """Why some deltas are handed out together."""

    CHANGES = "CHANGES"  # what happened, in order, each key once
    REPLACE = "REPLACE"  # a list: what is gone, then everything there is
    RESYNC = "RESYNC"  # everything that is known, once more
    BOOKMARK = "BOOKMARK"  # no deltas; all up to a resource version has been handed out


class Deltas(list[Delta[T]]):
    """What one pop hands out, to be applied in one step.

    Attributes:
        kind: Why they belong together.
        resource_version: What a replace or a bookmark is as of; empty for the others.
        is_in_initial_list: They are the list that the queue began with.
    """

    # Set on the few that are something else than changes, so that the many cost no call.
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
        """Deltas that belong together for another reason than that they happened."""
        made = cls(deltas)
        made.kind = kind
        made.resource_version = resource_version
        made.is_in_initial_list = is_in_initial_list
        return made

    def __repr__(self) -> str:
        version = f" rv={self.resource_version}" if self.resource_version else ""
        initial = " initial" if self.is_in_initial_list else ""
        return f"<Deltas {self.kind} of {len(self)}{version}{initial}>"
