"""Runs a scenario and measures each contender, in turns, each time in a new process."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.conversation import Conversation, Record, run_to_end, talk
from benchmarks.peer_programs import Peers
from benchmarks.servers import ROOT

# Seconds of CPU in a second that mean nothing; and seconds to wait for that.
_REST = 0.05
_LONGEST_UNREST = 15

# Of so many figures none can be spared.
_FEW = 3


class UnequalWorkError(Exception):
    """The contenders were not all given the same objects."""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do the work.

    Attributes:
        name: What the table calls it.
        script: A file of ``contenders`` or ``peers``; ``None`` if the peer is a program itself.
        parameters: Given to it: a text as it is, anything else as JSON.
        peer: Whose program or interpreter to start instead of ours.
        at_most_rounds: For one that takes too long to run in every round.
    """

    name: str
    script: str | None
    parameters: str | Mapping[str, object]
    peer: str | None = None
    at_most_rounds: int | None = None

    def command(self, peers: Peers) -> list[str]:
        if self.script is None:
            assert self.peer is not None
            return [str(peers[self.peer])]
        python = sys.executable if self.peer is None else str(peers[self.peer])
        folders = (ROOT / "benchmarks" / name for name in ("contenders", "peers"))
        files = (folder / f"{self.script}.py" for folder in folders)
        return [python, "-P", str(next(file for file in files if file.exists()))]


@dataclass(frozen=True, slots=True)
class Metric:
    """A column: how to read it from a record, and how many decimals say something."""

    label: str
    read: Callable[[Record], float]
    decimals: int = 0


@dataclass(frozen=True, slots=True)
class Target:
    """What a contender of ours should reach: a bound on its figure, alone or beside another's.

    Attributes:
        text: The promise, in words.
        metric: Which one.
        bound: At most this, or at least this if ``at_least``.
        of: Whose figure ours is divided by.
        whose: Which contender it is for; left out, the first.

    Several names stand for the mean of all that these did but the highest and the lowest: for what
    does not depend on which of them it was, and jumps too much for the rounds of one to say.
    """

    text: str
    metric: Metric
    bound: float
    at_least: bool = False
    of: str | tuple[str, ...] | None = None
    whose: str | tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Contenders for the same work, the first of them ours.

    Attributes:
        repeats: How often each contender runs in one round.
        drive: Leads each contender through its phases; ``None`` if it only has to end.
        server_cpu: How much CPU the server has used so far, if that is to be known.
        rounds: How many, unless somebody says otherwise.
    """

    name: str
    title: str
    contenders: Sequence[Contender]
    metrics: Sequence[Metric]
    targets: Sequence[Target]
    repeats: int = 1
    drive: Callable[[Conversation], None] | None = None
    server_cpu: Callable[[], float] | None = None
    rounds: int = 3

    @property
    def peers(self) -> Sequence[str]:
        """Whom its contenders need, each once."""
        needed = (each.peer for each in self.contenders)
        return list(dict.fromkeys(peer for peer in needed if peer is not None))


@dataclass(frozen=True, slots=True)
class Outcome:
    """A scenario and the records of its contenders; those who could not run are not among them."""

    scenario: Scenario
    records: Mapping[str, Sequence[Record]]

    def median(self, contender: str, metric: Metric) -> float | None:
        figures = self._figures(contender, metric)
        return statistics.median(figures) if figures else None

    def reached(self, target: Target) -> float | None:
        """Our figure, or how it stands to the other's; ``None`` if either was not measured."""
        ours = self._figure(target.whose or self.scenario.contenders[0].name, target.metric)
        if target.of is None or ours is None:
            return ours
        theirs = self._figure(target.of, target.metric)
        return ours / theirs if theirs else None

    def _figure(self, whose: str | tuple[str, ...], metric: Metric) -> float | None:
        if isinstance(whose, str):
            return self.median(whose, metric)
        figures = [figure for name in whose for figure in self._figures(name, metric)]
        return statistics.mean(_without_extremes(figures)) if figures else None

    def _figures(self, contender: str, metric: Metric) -> list[float]:
        try:
            return [metric.read(record) for record in self.records.get(contender, ())]
        except KeyError:
            return []  # this contender does not measure it


def _without_extremes(figures: list[float]) -> list[float]:
    """All but the highest and the lowest, if enough are left: one of many is an accident."""
    return sorted(figures)[1:-1] if len(figures) > _FEW else figures


def hold(scenario: Scenario, *, rounds: int | None = None, peers: Peers) -> Outcome:
    """Let the contenders run, the order turned around from round to round.

    So many rounds, or as many as the scenario has.

    Raises:
        ContenderFailedError: One failed.
        UnequalWorkError: They did not all see the same objects.
    """
    able = [each for each in scenario.contenders if each.peer is None or each.peer in peers]
    records: dict[str, list[Record]] = {each.name: [] for each in able}
    rounds = scenario.rounds if rounds is None else rounds
    for number in range(rounds):
        for contender in reversed(able) if number % 2 else able:
            if contender.at_most_rounds is not None and number >= contender.at_most_rounds:
                continue
            print(
                f"{scenario.name}: round {number + 1} of {rounds}, {contender.name}",
                file=sys.stderr,
                flush=True,
            )
            for _ in range(scenario.repeats):
                records[contender.name].append(_run(scenario, contender, peers))
    _check_same_work(scenario, records)
    return Outcome(scenario, records)


def _run(scenario: Scenario, contender: Contender, peers: Peers) -> Record:
    if scenario.server_cpu is None:
        return _run_alone(scenario, contender, peers)
    before = _when_quiet(scenario.server_cpu)
    record = _run_alone(scenario, contender, peers)
    return {**record, "server_cpu": scenario.server_cpu() - before}


def _when_quiet(server_cpu: Callable[[], float]) -> float:
    """What the server has used once it rests: the last one's leftovers are not the next one's."""
    used = server_cpu()
    for _ in range(_LONGEST_UNREST):
        time.sleep(1)
        before, used = used, server_cpu()
        if used - before < _REST:
            break
    return used


def _run_alone(scenario: Scenario, contender: Contender, peers: Peers) -> Record:
    command = contender.command(peers)
    if scenario.drive is None:
        return run_to_end(contender.name, command, contender.parameters)
    return talk(contender.name, command, contender.parameters, scenario.drive)


def _check_same_work(scenario: Scenario, records: Mapping[str, Sequence[Record]]) -> None:
    seen = {
        name: record["objects"]
        for name, runs in records.items()
        for record in runs
        if "objects" in record
    }
    if len(set(seen.values())) > 1:
        raise UnequalWorkError(f"{scenario.name}: the contenders did not do the same work: {seen}")
