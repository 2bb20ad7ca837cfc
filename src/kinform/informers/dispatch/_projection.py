"""Projects changes of the store to the events of one registration, with its handles and filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from kinform.api import LabelSelector
from kinform.informers._changes import Change, ChangeType

T = TypeVar("T")

Filter = Callable[[T], object] | LabelSelector


class HandlerEvent(msgspec.Struct, Generic[T], frozen=True):
    """One change as delivered to a registration.

    Attributes:
        type: The type after filtering: an object that starts to match is added, one that stops
            matching is deleted.
        object: The current state; for a deletion, the last known state.
        old: The previous state, for an update.
        final_state_unknown: Whether events before a deletion may be missing.
    """

    type: ChangeType
    object: T | None
    old: T | None = None
    final_state_unknown: bool = False


class EventProjection(Generic[T]):
    """Creates new handles for each change, so that handlers cannot see each other's edits.

    Runs where the registration's consumer runs, because the filter is user code.
    """

    __slots__ = ("_from_entry", "_passes")

    def __init__(self, from_entry: Callable[[Any], T], filter: Filter[T] | None = None) -> None:
        self._from_entry = from_entry
        self._passes = _predicate(filter)

    def project(self, change: Change) -> HandlerEvent[T] | None:
        """Return the event, or ``None`` if the filter rejects it. Filter exceptions propagate."""
        if change.type is ChangeType.DELETED:
            return self._project_deletion(change)
        new = self._from_entry(change.new)
        passes = self._passes
        if change.type is ChangeType.ADDED or change.old is None:
            return HandlerEvent(ChangeType.ADDED, new) if passes is None or passes(new) else None
        old = self._from_entry(change.old)
        if passes is None:
            return HandlerEvent(ChangeType.UPDATED, new, old)
        return _crossing(old, new, was_in=bool(passes(old)), is_in=bool(passes(new)))

    def _project_deletion(self, change: Change) -> HandlerEvent[T] | None:
        last = change.old if change.new is None else change.new
        gone = None if last is None else self._from_entry(last)
        # A delete must follow a delivered add, so filter by the delivered state, not by the last.
        delivered = change.new if change.old is None else change.old
        if (
            self._passes is not None
            and delivered is not None
            and not self._passes(self._from_entry(delivered))
        ):
            return None
        return HandlerEvent(ChangeType.DELETED, gone, final_state_unknown=change.new is None)


def _crossing(old: T, new: T, *, was_in: bool, is_in: bool) -> HandlerEvent[T] | None:
    if was_in and is_in:
        return HandlerEvent(ChangeType.UPDATED, new, old)
    if is_in:
        return HandlerEvent(ChangeType.ADDED, new)
    # The last state that matched the filter, as in client-go.
    return HandlerEvent(ChangeType.DELETED, old) if was_in else None


def _predicate(filter: Filter[T] | None) -> Callable[[T], object] | None:
    if not isinstance(filter, LabelSelector):
        return filter

    def has_labels(obj: Any) -> bool:
        return filter.matches(obj.labels)

    return has_labels
