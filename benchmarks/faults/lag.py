"""How late each watcher was: when it first had a version of an object, or a newer one.

A watcher that lists again may get several changes of an object as one, so calls cannot be compared
one by one. Instead every acknowledged write is looked up in every watcher: it *has* the write from
the first handler call on that shows this version of the object or a newer one. The lag of a write
is that moment minus the earliest one of all watchers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.faults.logs import DELETED, DELETED_UNSEEN, UNKNOWN, Call, Write

SECOND = 1_000_000_000

SETTLE = 0.5
"""Seconds after an outage; what was written until then counts for ``current_after``.

Long enough that each of 20 namespaces has changed, so that each of 20 informers has to be back.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A write that every watcher should have.

    Attributes:
        version: Of the object; a deletion, whose version nobody is told, is half a step above the
            last one.
    """

    sent: int
    answered: int
    key: str
    version: float
    is_deletion: bool = False


def targets(writes: Iterable[Write]) -> list[Target]:
    """The acknowledged writes with a version of their own.

    A deletion after a write of unknown outcome is left out: its version might be anything.
    """
    last: dict[str, int | None] = {}
    found = []
    for write in writes:
        if write.version is not None:
            last[write.key] = write.version
            found.append(Target(write.sent, write.answered, write.key, write.version))
        elif write.kind == UNKNOWN:
            last[write.key] = None
        elif write.kind == DELETED and (known := last.get(write.key)) is not None:
            found.append(Target(write.sent, write.answered, write.key, known + 0.5, True))
    return found


class Timeline:
    """When a watcher first had each version of each object."""

    def __init__(self, calls: Iterable[Call], written: Iterable[Target] = ()) -> None:
        deletions: dict[str, list[Target]] = defaultdict(list)
        for target in written:
            if target.is_deletion:
                deletions[target.key].append(target)
        by_key: dict[str, list[Call]] = defaultdict(list)
        for call in calls:
            by_key[call.key].append(call)
        self._times: dict[str, tuple[list[float], list[int]]] = {
            key: _first_times(of_key, deletions[key]) for key, of_key in by_key.items()
        }

    def first_had(self, key: str, version: float) -> int | None:
        """When (ns) it had that version or a newer one; ``None`` if it never did."""
        versions, times = self._times.get(key, ([], []))
        place = bisect_left(versions, version)
        return times[place] if place < len(versions) else None


def _first_times(calls: list[Call], deletions: list[Target]) -> tuple[list[float], list[int]]:
    """Growing versions and when each was reached."""
    versions: list[float] = []
    times: list[int] = []
    newest = 0.0
    for place, call in enumerate(calls):
        version: float = call.version
        if call.kind == DELETED_UNSEEN:
            following = calls[place + 1].version if place + 1 < len(calls) else float("inf")
            version = _unseen_deletion(call, deletions, following)
        if version > newest:
            newest = version
            versions.append(version)
            times.append(call.at)
    return versions, times


def _unseen_deletion(call: Call, deletions: list[Target], following: float) -> float:
    """The latest deletion that the list can have noticed: after the last version, before the next."""
    known = call.version + 0.5
    possible = (each.version for each in deletions if each.sent <= call.at)
    return max((each for each in possible if known <= each < following), default=known)


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds behind the first watcher, over all writes; ``missing`` is how many never came.

    A write that never came counts as late until the end of the run.
    """

    writes: int
    missing: int
    p50: float
    p90: float
    p99: float
    max: float


def lags(
    timelines: Mapping[str, Timeline], written: Sequence[Target], *, start: int, end: int
) -> dict[str, Lag]:
    """The lag of each watcher over the writes that were sent between ``start`` and ``end``."""
    behind: dict[str, list[float]] = {name: [] for name in timelines}
    missing = dict.fromkeys(timelines, 0)
    for target in written:
        if not start <= target.sent <= end:
            continue
        had = {name: each.first_had(target.key, target.version) for name, each in timelines.items()}
        seen = [at for at in had.values() if at is not None]
        if not seen:
            continue
        first = min(seen)
        for name, at in had.items():
            missing[name] += at is None
            behind[name].append(((end if at is None else at) - first) / SECOND)
    return {name: _summed(behind[name], missing[name]) for name in timelines}


def current_after(
    timeline: Timeline, written: Sequence[Target], *, back: int, start: int
) -> float | None:
    """Seconds from ``back``, when the server could be reached again, until the watcher is current.

    Current means that it has every write that was answered until ``SETTLE`` seconds after
    ``back``; so the best possible result is about ``SETTLE``. ``None`` if it never was.
    """
    until = back + int(SETTLE * SECOND)
    latest = back
    for target in written:
        if start <= target.sent and target.answered <= until:
            at = timeline.first_had(target.key, target.version)
            if at is None:
                return None
            latest = max(latest, at)
    return (latest - back) / SECOND


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest rank; 0 of nothing."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def _summed(behind: list[float], missing: int) -> Lag:
    ordered = sorted(behind)
    p50, p90, p99 = (percentile(ordered, percent) for percent in (50, 90, 99))
    return Lag(len(ordered), missing, p50, p90, p99, percentile(ordered, 100))
