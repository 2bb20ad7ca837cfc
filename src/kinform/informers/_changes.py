"""Changes of a store, shared by all subscribers."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec

from kinform.api import split_namespace_key

T = TypeVar("T")


class ChangeType(StrEnum):
    """The type of a change. A resync is an update with the same object."""

    ADDED = "ADDED"
    UPDATED = "UPDATED"
    DELETED = "DELETED"


class ChangeSource(StrEnum):
    """The cause of an event."""

    INITIAL = "initial"  # the first complete list
    WATCH = "watch"  # a watch event of the server
    RELIST = "relist"  # a difference between a later list and the store
    RESYNC = "resync"  # no change; a periodic delivery that the handler requested
    REPLAY = "replay"  # the current objects, for a handler registered after start
    SCOPE = "scope"  # namespaces or selectors of the informer changed


class Change(msgspec.Struct, frozen=True, gc=False):
    """One change, with entries of the store instead of handles, so that all mailboxes share it.

    ``gc=False`` is safe: entries are records, which cannot form reference cycles.

    Attributes:
        type: The type of the change.
        key: The key of the object.
        source: The cause of the change.
        old: The previous entry; ``None`` for an add, or if it is unknown.
        new: The current entry; for a deletion, the final state if the server sent it.
        at: ``time.monotonic()`` when the change was applied.
    """

    type: ChangeType
    key: str
    source: ChangeSource
    old: Any = None
    new: Any = None
    at: float = 0.0


class DeletedObject(msgspec.Struct, Generic[T], frozen=True):
    """A deletion, as passed to ``on_delete``.

    Attributes:
        key: ``namespace/name``; always set.
        object: The last known state; ``None`` if there is none.
        final_state_unknown: The deletion was detected by a list or by a new object of the same
            name. ``object`` is the last stored state, and events after it may be missing.
        out_of_scope: The scope of the informer changed and does not include the object any more.
            It may still exist.
    """

    key: str
    object: T | None
    final_state_unknown: bool = False
    out_of_scope: bool = False

    @property
    def name(self) -> str:
        return split_namespace_key(self.key).name

    @property
    def namespace(self) -> str:
        return split_namespace_key(self.key).namespace
