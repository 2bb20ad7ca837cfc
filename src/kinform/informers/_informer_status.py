"""The status of an informer: its contents, how current they are, and its last error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from kinform.errors import KinformError
from kinform.informers.dispatch import HandlerStats
from kinform.informers.reflector import (
    PastError,
    Phase,
    ReflectorState,
    ReflectorStatus,
    SyncMode,
)

# From furthest from watching to nearest: the worst source determines an informer's phase.
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
    """Whether an informer has synced, and the reason if it has not or is not updated any more.

    Attributes:
        synced: Whether the store has received a complete list.
        phase: The current phase.
        error: The last error; ``None`` if there is none, or if it has been resolved.
        attempts: The number of consecutive failures.
        waiting: Seconds since the informer was started.
        staleness: Seconds since the store was last known to be current; ``None`` if it never was.
    """

    synced: bool
    phase: Phase
    error: KinformError | None
    attempts: int
    waiting: float
    staleness: float | None = None

    def __bool__(self) -> bool:
        return self.synced

    def __str__(self) -> str:
        if self.synced and self.error is None:
            return "synced"
        if self.synced:
            since = "" if self.staleness is None else f" for {self.staleness:.0f} s"
            return f"synced, but not updated{since}: {self.error}"
        if self.phase is Phase.NEW:
            return "not started"
        why = f": {self.error}" if self.error is not None else ""
        tried = f" after {self.attempts} attempts" if self.attempts else ""
        return f"not synced for {self.waiting:.1f} s, {self.phase.value}{tried}{why}"


class InformerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of the state of an informer.

    Attributes:
        name: The name of the informer.
        sync: Whether it has synced, and the reason if it has not.
        is_running: Whether it has been started and not stopped.
        mode: How the last complete state was fetched: streamed or listed.
        objects: The number of objects in the store.
        bytes: Their size in bytes.
        index_bytes: The size of each index in bytes, without the objects.
        resource_version: The resource version of the store.
        queue_depth: The number of received changes that are not in the store yet.
        quarantined: The number of objects that could not be decoded or transformed.
        sources: The status of each list and watch, by namespace.
        handlers: The delivery statistics of each handler, by name.
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
    sources: Mapping[str, ReflectorStatus]
    handlers: Mapping[str, HandlerStats]

    @property
    def phase(self) -> Phase:
        return self.sync.phase

    @property
    def last_error(self) -> KinformError | None:
        """The most recent error of the sources whose last attempt failed."""
        failed = [each for each in self.sources.values() if each.last_error is not None]
        if not failed:
            return None
        return min(failed, key=lambda each: each.error_age or 0.0).last_error

    @property
    def recent_errors(self) -> tuple[PastError, ...]:
        """The last errors of all sources, the newest last; kept after recovery."""
        errors = [error for each in self.sources.values() for error in each.recent_errors]
        return tuple(sorted(errors, key=lambda each: -each.age))

    @property
    def relists(self) -> Mapping[str, int]:
        """The number of relists, by reason."""
        return _added_up([each.relists for each in self.sources.values()])

    @property
    def errors(self) -> Mapping[str, int]:
        """The number of errors, by kind."""
        return _added_up([each.errors for each in self.sources.values()])

    @property
    def watch_opens(self) -> int:
        return sum(each.watch_opens for each in self.sources.values())

    @property
    def event_age(self) -> float | None:
        """Seconds since the last event of any source; ``None`` if there was none."""
        return _least([each.event_age for each in self.sources.values()])

    @property
    def bookmark_age(self) -> float | None:
        """Seconds since the last bookmark, of the source with the oldest one."""
        return _most([each.bookmark_age for each in self.sources.values()])

    @property
    def list_age(self) -> float | None:
        """Seconds since the last complete list, of the source with the oldest one."""
        return _most([each.list_age for each in self.sources.values()])

    @property
    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` before the first list.

        While a watch is open, this is the time since its last event or bookmark. With several
        namespaces, it is the largest value of all.
        """
        return _most([each.staleness for each in self.sources.values()])

    @property
    def contact_age(self) -> float | None:
        """Seconds since the server last responded, of the source with the largest value."""
        return _most([each.contact_age for each in self.sources.values()])


def worst(sources: Sequence[ReflectorStatus]) -> ReflectorStatus:
    """Return the source that is furthest from being synced and current."""
    return min(
        sources,
        key=lambda each: (each.synced, _WORST_FIRST.index(each.phase)),
        default=ReflectorState().status(),
    )


def _added_up(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for count in counts:
        for name, number in count.items():
            total[name] = total.get(name, 0) + number
    return total


def _least(ages: Sequence[float | None]) -> float | None:
    return min((age for age in ages if age is not None), default=None)


def _most(ages: Sequence[float | None]) -> float | None:
    """Return the maximum; ``None`` counts as infinite."""
    return None if not ages or None in ages else max(age for age in ages if age is not None)
