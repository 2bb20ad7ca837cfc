"""A scenario in, what each contender took out: every one in a fresh process, in turns."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.servers import ROOT, environment

Record = Mapping[str, Any]
"""What a contender printed about one run of itself."""


class ContenderFailedError(Exception):
    """A contender ended badly, or was not given what the others were; says what it printed."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work.

    Attributes:
        name: What the table calls it.
        script: A file of ``contenders``.
        parameters: Given to the script: a text as it is, anything else as JSON.
        is_peer: Whether it runs in the peers' environment instead of ours.
    """

    name: str
    script: str
    parameters: str | Mapping[str, Any]
    is_peer: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """A column: how to read it from a record, and how many decimals say something."""

    label: str
    read: Callable[[Record], float]
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """What the first contender should reach: a bound, or a bound on its share of another's figure.

    Attributes:
        text: The promise, in words.
        metric: Which one.
        bound: At most this, or at least this if ``at_least``.
        of: Whose figure ours is divided by; ``None`` if the bound is absolute.
    """

    text: str
    metric: Metric
    bound: float
    at_least: bool = False
    of: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Contenders for the same work, the first of them ours.

    Attributes:
        repeats: How often each contender runs in one round.
    """

    name: str
    title: str
    contenders: Sequence[Contender]
    metrics: Sequence[Metric]
    targets: Sequence[Target]
    repeats: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """A scenario and the records of its contenders; those who could not run are not among them."""

    scenario: Scenario
    records: Mapping[str, Sequence[Record]]

    def median(self, contender: str, metric: Metric) -> float | None:
        records = self.records.get(contender)
        return statistics.median(map(metric.read, records)) if records else None

    def reached(self, target: Target) -> float | None:
        """Our figure, or our share of the other's; ``None`` if either was not measured."""
        ours = self.median(self.scenario.contenders[0].name, target.metric)
        if target.of is None or ours is None:
            return ours
        theirs = self.median(target.of, target.metric)
        return ours / theirs if theirs else None


def hold(scenario: Scenario, *, rounds: int, peers: Path | None) -> Outcome:
    """Let the contenders run, the order turned around from round to round.

    Raises:
        ContenderFailedError: One failed, or they did not all see the same objects.
    """
    able = [each for each in scenario.contenders if peers is not None or not each.is_peer]
    records: dict[str, list[Record]] = {each.name: [] for each in able}
    for number in range(rounds):
        for contender in reversed(able) if number % 2 else able:
            python = str(peers) if contender.is_peer else sys.executable
            print(
                f"{scenario.name}: round {number + 1} of {rounds}, {contender.name}",
                file=sys.stderr,
                flush=True,
            )
            for _ in range(scenario.repeats):
                records[contender.name].append(_run(contender, python))
    _check_same_work(scenario, records)
    return Outcome(scenario, records)


def _run(contender: Contender, python: str) -> Record:
    given = contender.parameters
    argument = given if isinstance(given, str) else json.dumps(given)
    script = ROOT / "benchmarks" / "contenders" / f"{contender.script}.py"
    done = subprocess.run(
        [python, "-P", script, argument],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ContenderFailedError(f"{contender.name} failed:\n{done.stderr.strip()[-2000:]}")
    record: Record = json.loads(done.stdout)
    return record


def _check_same_work(scenario: Scenario, records: Mapping[str, Sequence[Record]]) -> None:
    seen = {
        name: record["objects"]
        for name, runs in records.items()
        for record in runs
        if "objects" in record
    }
    if len(set(seen.values())) > 1:
        raise ContenderFailedError(f"{scenario.name}: not the same work: {seen}")
