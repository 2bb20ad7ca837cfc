"""One look at an informer: what it has, how fresh that is, and why it is not if it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kinform.errors import KinformError
from kinform.informers.dispatch._registration import HandlerStats
from kinform.informers.reflector._state import Phase, ReflectorStatus, SyncMode

# Whose state speaks for all parts of an informer: the one that is furthest from watching.
_WORST_FIRST = (
    Phase.STOPPED,
    Phase.WAITING,
    Phase.NEW,
    Phase.STREAMING,
    Phase.LISTING,
    Phase.POLLING,
    Phase.WATCHING,
)


class SyncStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an informer has synced, and if not, why not.

    Attributes:
        synced: Whether the store has had a complete list.
        phase: What it is doing.
        error: What went wrong last; ``None`` if nothing did, or if it is over.
        attempts: Failures in a row.
        waiting: Seconds since it was started.
    """

    synced: bool
    phase: Phase
    error: KinformError | None
    attempts: int
    waiting: float

    def __bool__(self) -> bool:
        return self.synced

    def __str__(self) -> str:
        if self.synced:
            return "synced"
        if self.phase is Phase.NEW:
            return "not started"
        why = f": {self.error}" if self.error is not None else ""
        tried = f" after {self.attempts} attempts" if self.attempts else ""
        return f"not synced for {self.waiting:.1f} s, {self.phase.value}{tried}{why}"


class InformerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Everything there is to know of an informer, at one moment.

    Attributes:
        name: What it is called.
        sync: Whether it has synced, and why not.
        is_running: Between start and stop.
        mode: How the last complete state was fetched: streamed or listed.
        objects: How many rest in the store.
        bytes: What they hold there.
        index_bytes: What each index holds beside them.
        resource_version: How far the store has come.
        queue_depth: What was received and is not in the store yet.
        quarantined: Objects that could not be read.
        parts: One list and watch each: one in all, or one for each namespace.
        handlers: By name, what each has been told and what waits for it.
    """

    name: str
    sync: SyncStatus
    is_running: bool
    mode: SyncMode | None
    objects: int
    bytes: int
    index_bytes: Mapping[str, int]
    resource_version: str
    queue_depth: int
    quarantined: int
    parts: Mapping[str, ReflectorStatus]
    handlers: Mapping[str, HandlerStats]

    @property
    def phase(self) -> Phase:
        return self.sync.phase

    @property
    def last_error(self) -> KinformError | None:
        """The latest of all parts."""
        failed = [part for part in self.parts.values() if part.last_error is not None]
        if not failed:
            return None
        return min(failed, key=lambda part: part.error_age or 0.0).last_error

    @property
    def relists(self) -> Mapping[str, int]:
        """How often everything was fetched again, by reason."""
        return _added_up([part.relists for part in self.parts.values()])

    @property
    def errors(self) -> Mapping[str, int]:
        """How often something went wrong, by kind."""
        return _added_up([part.errors for part in self.parts.values()])

    @property
    def watch_opens(self) -> int:
        return sum(part.watch_opens for part in self.parts.values())

    @property
    def event_age(self) -> float | None:
        """Seconds since the last event of any part; ``None`` if there was none."""
        return _least([part.event_age for part in self.parts.values()])

    @property
    def bookmark_age(self) -> float | None:
        """Seconds since a bookmark: of the part that has waited longest."""
        return _most([part.bookmark_age for part in self.parts.values()])

    @property
    def list_age(self) -> float | None:
        """Seconds since a complete list: of the part that has waited longest."""
        return _most([part.list_age for part in self.parts.values()])

    @property
    def staleness(self) -> float | None:
        """Seconds since it was last known to be current; ``None`` before the first list.

        While a watch is open: since its last event or bookmark. Of several namespaces: the one
        that has waited longest.
        """
        return _most([part.staleness for part in self.parts.values()])

    @property
    def contact_age(self) -> float | None:
        """Seconds since the server gave a sign: of the part that has waited longest."""
        return _most([part.contact_age for part in self.parts.values()])


def worst(parts: Sequence[ReflectorStatus]) -> ReflectorStatus:
    """The part that keeps the others from being called synced, or fresh."""
    return min(parts, key=lambda part: (part.synced, _WORST_FIRST.index(part.phase)))


def _added_up(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for name, number in count.items():
            total[name] = total.get(name, 0) + number
    return total


def _least(ages: Sequence[float | None]) -> float | None:
    return min((age for age in ages if age is not None), default=None)


def _most(ages: Sequence[float | None]) -> float | None:
    """``None`` counts as for ever."""
    return None if not ages or None in ages else max(age for age in ages if age is not None)
