"""A run's figures: a table to read, the goals, and a document to keep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.faults.experiment import Run
from benchmarks.faults.histories import contradictions, without_repeats
from benchmarks.faults.lag import Lag, Timeline, current_after, lags, targets
from benchmarks.faults.logs import Requests

ADDED_LAG = 0.05
"""Seconds that a watcher may lag more than the one of client-go beside it."""
CURRENT_WITHIN = 2.0
"""Seconds from the end of an outage until a watcher should be current."""

_FIGURES = ("p50", "p90", "p99", "max")


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one watcher.

    Attributes:
        events: Handler calls since the writing began, without updates to the same version.
        current_after: The longest time from the end of an outage until it was current; ``None``
            if there was no outage, infinite if it never was.
        cpu: Seconds that the process used after its initial sync.
        wrong_cache: How many keys of its final cache differ from what the server holds.
        contradictions: Handler calls that no history of the objects explains.
    """

    name: str
    events: int
    lag: Lag
    requests: Requests
    connections: int
    megabytes: float
    cpu: float
    current_after: float | None
    is_current: bool
    wrong_cache: int
    contradictions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound and whether it holds."""

    text: str
    holds: bool


def rows(run: Run) -> list[Row]:
    written = targets(run.writes)
    timelines = {
        name: Timeline(observed.calls, written) for name, observed in run.observations.items()
    }
    lag = lags(timelines, written, start=run.start, end=run.end)
    made = []
    for name, observed in run.observations.items():
        recoveries = [
            current_after(timelines[name], written, back=back, start=run.start)
            for back in run.outages
        ]
        wrong = {
            key
            for key in {*run.truth, *observed.cache}
            if run.truth.get(key) != observed.cache.get(key)
        }
        made.append(
            Row(
                name=name,
                events=sum(call.at >= run.start for call in without_repeats(observed.calls)),
                lag=lag[name],
                requests=observed.requests,
                connections=observed.network["connections"],
                megabytes=observed.network["to_client"] / 1e6,
                cpu=observed.cpu,
                current_after=max(
                    (float("inf") if each is None else each for each in recoveries), default=None
                ),
                is_current=observed.is_current,
                wrong_cache=len(wrong),
                contradictions=contradictions(observed.calls, run.writes),
            )
        )
    return made


def goals(run: Run, measured: Sequence[Row]) -> list[Goal]:
    """What is promised of each watcher of kinform, beside the one of client-go."""
    by_name = {row.name: row for row in measured}
    found = []
    for watcher in run.watchers:
        ours, theirs = by_name[watcher.name], by_name.get(watcher.beside or "")
        if watcher.beside is None:
            continue
        if theirs is not None:
            found.append(_lag_goal(ours, theirs))
        if run.outages and run.scenario.judges_recovery:
            assert ours.current_after is not None
            found.append(
                Goal(
                    f"{ours.name}: current {ours.current_after:.1f} s after the server is back; "
                    f"goal {CURRENT_WITHIN:g} s",
                    ours.current_after <= CURRENT_WITHIN,
                )
            )
    return found


def _lag_goal(ours: Row, theirs: Row) -> Goal:
    late = [
        f"{figure} {getattr(ours.lag, figure):.3f} s beside {getattr(theirs.lag, figure):.3f} s"
        for figure in _FIGURES
        if getattr(ours.lag, figure) > getattr(theirs.lag, figure) + ADDED_LAG
    ]
    text = f"{ours.name}: lag at most {theirs.name}'s + {ADDED_LAG * 1000:.0f} ms"
    return Goal("; ".join((text, *late)), not late)


def table(run: Run, measured: Sequence[Row], judged: Sequence[Goal]) -> str:
    """A row per watcher and a line per goal."""
    header = (
        *("", "events", "folded", *_FIGURES, "lists", "watches", "other", "conns", "MB", "CPU s"),
        *("current s", "state"),
    )
    cells = [header, *(_cells(row) for row in measured)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    writes = measured[0].lag.writes + measured[0].lag.folded if measured else 0
    lines = [
        f"{run.scenario.name}: {run.scenario.title}; {run.seconds:g} s of {run.scenario.resource}, "
        f"seed {run.seed}, {writes} writes; lag in s behind the first watcher"
    ]
    for first, *others in cells:
        aligned = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join((f"  {first.ljust(widths[0])}", *aligned)).rstrip())
    lines += [f"  goal {'met' if goal.holds else 'NOT MET'}: {goal.text}" for goal in judged]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    problems = []
    if not row.is_current:
        problems.append("NOT CURRENT")
    if row.lag.missing:
        problems.append(f"{row.lag.missing} missing")
    if row.wrong_cache:
        problems.append(f"{row.wrong_cache} wrong in cache")
    if row.contradictions:
        problems.append(f"{len(row.contradictions)} impossible, e.g. {row.contradictions[0]}")
    return (
        row.name,
        str(row.events),
        str(row.lag.folded),
        *(f"{getattr(row.lag, figure):.4f}" for figure in _FIGURES),
        *map(str, row.requests),
        str(row.connections),
        f"{row.megabytes:.1f}",
        f"{row.cpu:.2f}",
        "-" if row.current_after is None else f"{row.current_after:.2f}",
        ", ".join(problems) or "ok",
    )


def document(run: Run, measured: Sequence[Row], judged: Sequence[Goal]) -> Mapping[str, Any]:
    """Everything that the table says, and when the outages were.

    A watcher that has not recovered has no ``current_after``: JSON knows no infinity.
    """
    return {
        "title": run.scenario.title,
        "resource": run.scenario.resource,
        "seed": run.seed,
        "seconds": run.seconds,
        "outages_ended": [(at - run.start) / 1e9 for at in run.outages],
        "watchers": [_figures(row) for row in measured],
        "goals": [asdict(goal) for goal in judged],
    }


def _figures(row: Row) -> Mapping[str, Any]:
    recovered = row.current_after is None or math.isfinite(row.current_after)
    return {
        **asdict(row),
        "requests": row.requests._asdict(),
        "recovered": recovered,
        "current_after": row.current_after if recovered else None,
    }
