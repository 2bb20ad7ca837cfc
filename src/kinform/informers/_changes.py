"""What happened to the store, once per change and shared by all who hear of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec

from kinform.api import split_namespace_key

T = TypeVar("T")


class ChangeType(StrEnum):
    """How the store differs from what it was. A resync is an update to the same."""

    ADDED = "ADDED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"


class ChangeSource(StrEnum):
    """Why a handler hears of a change."""

    INITIAL = "initial"  # the first complete list
    WATCH = "watch"  # an event of the server
    RELIST = "relist"  # found by comparing a later list with the store
    RESYNC = "resync"  # nothing happened; the handler asked to be reminded
    REPLAY = "replay"  # the store as a late handler found it


class Change(msgspec.Struct, frozen=True, gc=False):
    """One change, holding what rests in the store (entries, not handles): all mailboxes share it.

    ``gc=False`` is safe: entries are records, which refer to nothing that refers back.

    Attributes:
        type: What happened.
        key: Whose object it is.
        source: Why it is told.
        old: What rested in the store before; ``None`` for an addition, or if it was unknown.
        new: What rests there now; for a deletion the state the server sent with it, if it did.
        at: ``time.monotonic()`` when it was applied.
    """

    type: ChangeType
    key: str
    source: ChangeSource
    old: Any = None
    new: Any = None
    at: float = 0.0


class DeletedObject(msgspec.Struct, Generic[T], frozen=True):
    """What a handler gets of a deletion, however it was noticed.

    Attributes:
        key: ``namespace/name``; always there.
        object: The last state that is known; ``None`` if there never was one.
        final_state_unknown: The deletion was noticed by a list, or by another object of the same
            name: ``object`` is what the store had, and more may have happened to it.
    """

    key: str
    object: T | None
    final_state_unknown: bool = False

    @property
    def name(self) -> str:
        return split_namespace_key(self.key).name

    @property
    def namespace(self) -> str:
        return split_namespace_key(self.key).namespace
