"""How late each watcher was: when it first had a version of an object, or a newer one.

A watcher that lists again may get several changes of an object as one, so calls cannot be compared
one by one. Instead every acknowledged write is looked up in every watcher: it *has* the write from
the first handler call on that shows this version of the object or a newer one. The lag of a write
is that moment minus the earliest one of all watchers.

An object that was created and deleted between two lists of a watcher is *folded* away: that watcher
never gets it, and has no lag for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from benchmarks.faults.logs import ADDED, DELETED, DELETED_UNSEEN, UNKNOWN, Call, Write

SECOND = 1_000_000_000

SETTLE = 0.5
"""Seconds after an outage; what was written until then counts for ``current_after``.

Long enough that each of 20 namespaces has changed, so that each of 20 informers has to be back.
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A write that every watcher should have.

    Attributes:
        version: Of the object; a deletion, whose version its writer does not learn, is half a step
            above the last one.
        gone: The version from which on this object does not exist any more, though another one of
            the same name may; ``None`` if it still exists at the end.
    """

    sent: int
    answered: int
    key: str
    version: float
    is_deletion: bool = False
    gone: float | None = None


def targets(writes: Iterable[Write]) -> list[Target]:
    """The acknowledged writes, in order.

    A deletion after a write of unknown outcome is left out: its version might be anything.
    """
    last: dict[str, int | None] = {}
    alive: dict[str, list[int]] = defaultdict(list)
    found: list[Target] = []

    def end_life(key: str, version: float) -> None:
        for place in alive.pop(key, ()):
            found[place] = replace(found[place], gone=version)

    for write in writes:
        key = write.key
        if write.version is not None:
            if write.kind == ADDED:
                end_life(key, write.version)
            last[key] = write.version
            alive[key].append(len(found))
            found.append(Target(write.sent, write.answered, key, write.version))
        elif write.kind == UNKNOWN:
            last[key] = None
        elif write.kind == DELETED and (known := last.get(key)) is not None:
            version = known + 0.5
            alive[key].append(len(found))
            found.append(Target(write.sent, write.answered, key, version, True))
            end_life(key, version)
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
        self._histories = {
            key: _KeyHistory(of_key, deletions[key]) for key, of_key in by_key.items()
        }

    def first_had(self, target: Target) -> int | None:
        """When (ns) it had the write or a newer one; ``None`` if it never did."""
        history = self._histories.get(target.key, _NO_HISTORY)
        place = history.place(target)
        return history.times[place] if place < len(history.times) else None

    def folded(self, target: Target) -> bool:
        """The object was gone again before the watcher could get it."""
        if target.gone is None:
            return False
        history = self._histories.get(target.key, _NO_HISTORY)
        place = history.place(target)
        if place == len(history.times):
            return not history.exists_at_end
        return history.is_new[place] and history.versions[place] > target.gone


class _KeyHistory:
    """The calls about one key: growing versions, when each came, and which began an object."""

    def __init__(self, calls: list[Call], deletions: list[Target]) -> None:
        self.versions: list[float] = []
        self.times: list[int] = []
        self.is_new: list[bool] = []
        self.exists_at_end = False
        for place, call in enumerate(calls):
            version: float = call.version
            if call.kind == DELETED_UNSEEN:
                following = calls[place + 1].version if place + 1 < len(calls) else float("inf")
                version = _unseen_deletion(call, deletions, following)
            if version > (self.versions[-1] if self.versions else 0):
                self.versions.append(version)
                self.times.append(call.at)
                self.is_new.append(not self.exists_at_end)
            self.exists_at_end = call.kind not in (DELETED, DELETED_UNSEEN)

    def place(self, target: Target) -> int:
        return bisect_left(self.versions, target.version)


_NO_HISTORY = _KeyHistory([], [])


def _unseen_deletion(call: Call, deletions: list[Target], following: float) -> float:
    """The latest deletion that the list can have noticed, before the next version that it saw."""
    known = call.version + 0.5
    possible = (each.version for each in deletions if each.sent <= call.at)
    return max((each for each in possible if known <= each < following), default=known)


@dataclass(frozen=True, slots=True)
class Lag:
    """Seconds behind the first watcher, over all writes but those that were folded.

    ``missing`` is how many never came; each counts as late until the end of the run.
    """

    writes: int
    folded: int
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
    folded, missing = dict.fromkeys(timelines, 0), dict.fromkeys(timelines, 0)
    for target in written:
        if not start <= target.sent <= end:
            continue
        had: dict[str, int | None] = {}
        for name, timeline in timelines.items():
            if timeline.folded(target):
                folded[name] += 1
            else:
                had[name] = timeline.first_had(target)
        first = min((at for at in had.values() if at is not None), default=end)
        for name, at in had.items():
            missing[name] += at is None
            behind[name].append(((end if at is None else at) - first) / SECOND)
    return {name: _summed(behind[name], folded[name], missing[name]) for name in timelines}


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
        if start <= target.sent and target.answered <= until and not timeline.folded(target):
            at = timeline.first_had(target)
            if at is None:
                return None
            latest = max(latest, at)
    return (latest - back) / SECOND


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The nearest rank; 0 of nothing."""
    if not ordered:
        return 0.0
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def _summed(behind: list[float], folded: int, missing: int) -> Lag:
    ordered = sorted(behind)
    p50, p90, p99 = (percentile(ordered, percent) for percent in (50, 90, 99))
    return Lag(len(ordered), folded, missing, p50, p90, p99, percentile(ordered, 100))
