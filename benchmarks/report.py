"""Formats outcomes as a table and as a JSON document."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.contest import Contender, Metric, Outcome, Target
from kinform._native import IS_COMPILED

_ABSENT = "-"
_SMALL = 0.15


def table(outcome: Outcome) -> str:
    """A row per contender with the median and its ratio to ours, and a line per target."""
    scenario = outcome.scenario
    header = ["", *(cell for metric in scenario.metrics for cell in (metric.label, "ratio"))]
    rows = [header, *(_row(outcome, contender) for contender in scenario.contenders)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rounds = max(map(len, outcome.records.values()), default=0) // scenario.repeats
    lines = [f"{scenario.name}: {scenario.title}; rounds: {rounds}"]
    for first, *cells in rows:
        aligned = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines.append("  ".join((f"  {first.ljust(widths[0])}", *aligned)))
    lines += [f"  target: {_verdict(outcome, target)}" for target in scenario.targets]
    return "\n".join(line.rstrip() for line in lines)


def document(outcomes: Sequence[Outcome], *, options: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was measured, run by run."""
    return {
        "options": dict(options),
        "machine": {
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            "compiled": IS_COMPILED,
        },
        "scenarios": {outcome.scenario.name: _measured(outcome) for outcome in outcomes},
    }


def _row(outcome: Outcome, contender: Contender) -> list[str]:
    cells = [contender.name]
    ours = outcome.scenario.contenders[0].name
    for metric in outcome.scenario.metrics:
        median = outcome.median(contender.name, metric)
        base = outcome.median(ours, metric)
        ratio = median / base if median is not None and base else None
        cells += [_ABSENT if median is None else _figure(median, metric)]
        cells += [_ABSENT if ratio is None else f"{ratio:.2f}"]
    return cells


def _figure(value: float, metric: Metric) -> str:
    return f"{value:,.{metric.decimals}f}".replace(",", " ")


def _verdict(outcome: Outcome, target: Target) -> str:
    reached = outcome.reached(target)
    if reached is None:
        return f"{target.text}; not measured"
    met = reached >= target.bound if target.at_least else reached <= target.bound
    shown = _figure(reached, target.metric) if target.of is None else _share(reached)
    return f"{target.text}; reached {shown}: {'met' if met else 'NOT MET'}"


def _share(share: float) -> str:
    """As a fraction if it is a small one."""
    return f"1/{1 / share:.1f}" if share < _SMALL else f"{share:.2f}"


def _measured(outcome: Outcome) -> dict[str, Any]:
    return {
        "title": outcome.scenario.title,
        "contenders": {name: list(records) for name, records in outcome.records.items()},
        "targets": [
            {"text": target.text, "bound": target.bound, "reached": outcome.reached(target)}
            for target in outcome.scenario.targets
        ],
    }
