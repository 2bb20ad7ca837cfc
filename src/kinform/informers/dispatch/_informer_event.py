"""The event that subscribers receive: one change, with its cause."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from kinform.informers._changes import Change, ChangeSource, ChangeType, DeletedObject
from kinform.informers.dispatch._projection import HandlerEvent

T = TypeVar("T")

INITIAL_SOURCES = (ChangeSource.INITIAL, ChangeSource.REPLAY)
"""The causes of adds of objects that existed when the subscriber registered."""


class InformerEvent(msgspec.Struct, Generic[T], frozen=True):
    """One change of the cache.

    Attributes:
        type: The type of change. A resync is an update with the same object.
        key: ``namespace/name``.
        object: The current state. For a deletion, the last known state, or ``None``.
        old: The previous state, for an update.
        source: What caused the event.
        is_in_initial_list: Whether this is an add of an object that existed when the stream was
            opened.
        final_state_unknown: Whether a deletion was detected late, so that events before it may
            be missing.
    """

    type: ChangeType
    key: str
    object: T | None
    old: T | None
    source: ChangeSource
    is_in_initial_list: bool = False
    final_state_unknown: bool = False

    @property
    def deleted(self) -> DeletedObject[T] | None:
        """The argument of a handler's ``on_delete``; ``None`` if this is not a deletion."""
        if self.type is not ChangeType.DELETED:
            return None
        return DeletedObject(
            self.key, self.object, self.final_state_unknown, self.source is ChangeSource.SCOPE
        )


def informer_event(change: Change, event: HandlerEvent[T]) -> InformerEvent[T]:
    """Return the event of a change, as projected for one subscriber."""
    return InformerEvent(
        type=event.type,
        key=change.key,
        object=event.object,
        old=event.old,
        source=change.source,
        is_in_initial_list=event.type is ChangeType.ADDED and change.source in INITIAL_SOURCES,
        final_state_unknown=event.final_state_unknown,
    )
