"""Measures ``kinform.controllers`` beside controller-runtime, with the same pods.

    python benchmarks/bench_controllers.py [--objects 20000] [--workers 4] [--rounds 3]
    python benchmarks/bench_controllers.py --only reconcile          # or delays, or backoff

- reconcile: from the start of the process until each pod has been reconciled. The reconciler does
  nothing, reads its pod from the cache, or reads the pod and two of its fields.
- delays: from a change until the start of its reconcile. Both programs run at the same time and
  follow the same changes.
- backoff: the CPU of both programs while nothing changes, without and with failed keys that wait.

Programs that are not measured at the same time alternate, in an order that is reversed from round
to round. Requires the real server, and Go for controller-runtime. Prints figures and asserts
nothing.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.changes import compact, prepare_changes, writer
from benchmarks.conversation import Questions, Record, questions
from benchmarks.peer_programs import CONTROLLER_RUNTIME, available_peers
from benchmarks.pods import POD_SIZE
from benchmarks.servers import ROOT, Server, real_server

KINFORM = "kinform"
READS = {"nothing": "", "its pod": "pod", "its pod and two fields": "fields"}
"""What a reconcile reads, and the option of the programs for it."""
CHANGED_PODS = 1000
"""The number of pods that are changed in turns."""

_SETTLE_SECONDS = 3.0

Programs = Mapping[str, list[str]]
"""The command of each program by name."""
Rounds = Mapping[str, Sequence[Record]]
"""The records of each program, one for each round."""


class Run:
    """Measures programs.

    Args:
        server: The server with the pods.
        programs: The programs to compare.
        objects: The number of pods.
        workers: The number of reconciles at a time.
        rounds: How often everything is measured.
    """

    def __init__(
        self, server: Server, programs: Programs, *, objects: int, workers: int, rounds: int
    ) -> None:
        self._server = server
        self._programs = programs
        self._objects = objects
        self._workers = workers
        self._rounds = rounds

    def rounds(self) -> Iterator[tuple[int, list[str]]]:
        """Number each round, and give the order of its programs."""
        for number in range(self._rounds):
            yield number + 1, list(self._programs)[:: 1 if number % 2 == 0 else -1]

    def start(
        self, stack: ExitStack, name: str, *, reads: str = "", fails: int = 0, stamps: bool = False
    ) -> tuple[Questions, Record]:
        """Start a program; its record when each pod has been reconciled."""
        started = time.monotonic_ns()
        program = stack.enter_context(questions(name, self._programs[name]))
        return program, program.ask(
            "reconcile",
            kubeconfig=str(self._server.kubeconfig),
            started=started,
            objects=self._objects,
            workers=self._workers,
            reads=reads,
            fails=fails,
            stamps=stamps,
        )

    def reconcile(self) -> Mapping[str, Rounds]:
        """The records by what is read."""
        measured = {text: self._no_records() for text in READS}
        for number, order in self.rounds():
            for text, reads in READS.items():
                for name in order:
                    with ExitStack() as stack:
                        _, record = self.start(stack, name, reads=reads)
                    measured[text][name].append(record)
                    _say(f"round {number}, reads {text}: {name} {_summary(record)}")
        return measured

    def delays(self, rate: int, seconds: int) -> Rounds:
        """The records of a number of changes per second."""
        cluster = self._server.cluster
        assert cluster is not None
        measured = self._no_records()
        with tempfile.TemporaryDirectory() as folder:
            pods = Path(folder) / "pods"
            prepare_changes(cluster, min(CHANGED_PODS, self._objects), pods)
            for number, order in self.rounds():
                compact(cluster.etcd_url)
                with ExitStack() as stack:
                    running = {name: self.start(stack, name, stamps=True)[0] for name in order}
                    write = stack.enter_context(
                        writer(cluster.etcd_url, pods, events=rate * seconds, rate=rate)
                    )
                    time.sleep(_SETTLE_SECONDS)
                    for program in running.values():
                        program.ask("open")
                    write()
                    for name, program in running.items():
                        record = delays_record(program.ask("close", changes=rate * seconds))
                        measured[name].append(record)
                        _say(f"round {number}, delays: {name} {_summary(record)}")
        return measured

    def backoff(self, failed: int, seconds: float) -> Mapping[str, Rounds]:
        """The records by the number of failed keys."""
        measured = {str(fails): self._no_records() for fails in (0, failed)}
        for number, order in self.rounds():
            for fails, records in measured.items():
                with ExitStack() as stack:
                    running = {name: self.start(stack, name, fails=int(fails))[0] for name in order}
                    time.sleep(_SETTLE_SECONDS)
                    for name, program in running.items():
                        record = program.ask("idle", seconds=seconds)
                        records[name].append(record)
                        _say(f"round {number}, {fails} failed keys: {name} {_summary(record)}")
        return measured

    def _no_records(self) -> dict[str, list[Record]]:
        return {name: [] for name in self._programs}


def delays_record(closed: Record) -> Record:
    """Percentiles, in milliseconds, of the delays in microseconds that a program has measured."""
    record: dict[str, float] = {"changes": len(closed["event"]), "cpu": closed["cpu"]}
    for since in ("written", "event"):
        delays = sorted(closed[since])
        for percent in (50, 99):
            place = min(len(delays) * percent // 100, len(delays) - 1)
            record[f"{since}_p{percent}"] = delays[place] / 1000 if delays else float("nan")
    return record


# -- tables --------------------------------------------------------------------------------------


def table(title: str, rows: Sequence[tuple[str, Rounds, str, str]]) -> str:
    """Medians of both programs and the median of the ratios of each round.

    Args:
        rows: Text, records, the name of the figure, and how to print it.
    """
    lines = [f"| {title} | {KINFORM} | {CONTROLLER_RUNTIME} | ratio |", "|---|---:|---:|---:|"]
    for text, rounds, figure, form in rows:
        ours, theirs = (
            [record[figure] for record in rounds.get(name, ())]
            for name in (KINFORM, CONTROLLER_RUNTIME)
        )
        cells = (_median(ours, form), _median(theirs, form), _ratio(ours, theirs))
        lines.append(f"| {text} | {' | '.join(cells)} |")
    return "\n".join(lines)


def reconcile_table(measured: Mapping[str, Rounds]) -> str:
    figures = (("CPU", "cpu", "s"), ("wall time", "wall", "s"), ("peak memory", "peak", "MB"))
    return table(
        "each reconcile reads",
        [
            (f"{text}: {figure}", rounds, name, form)
            for text, rounds in measured.items()
            for figure, name, form in figures
        ],
    )


def delays_table(rounds: Rounds) -> str:
    return table(
        "from a change to its reconcile",
        [
            *(
                (f"after the {event}, p{percent}", rounds, f"{since}_p{percent}", "ms")
                for since, event in (("written", "write"), ("event", "event"))
                for percent in (50, 99)
            ),
            ("CPU", rounds, "cpu", "s"),
            ("changes measured", rounds, "changes", ""),
        ],
    )


def backoff_table(measured: Mapping[str, Rounds]) -> str:
    return table(
        "at rest",
        [
            (f"{fails} failed keys: {figure}", rounds, name, form)
            for fails, rounds in measured.items()
            for figure, name, form in (("CPU", "cpu", "ms of CPU"), ("memory", "rest", "MB"))
        ],
    )


_FORMS: Mapping[str, Callable[[float], str]] = {
    "s": lambda value: f"{value:.2f} s",
    "ms": lambda value: f"{value:.2f} ms",
    "ms of CPU": lambda value: f"{value * 1e3:.0f} ms",
    "MB": lambda value: f"{value / 1e6:,.0f} MB",
    "": lambda value: f"{value:,.0f}",
}


def _median(values: Sequence[float], form: str) -> str:
    return _FORMS[form](statistics.median(values)) if values else "-"


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=False) if other]
    return f"{statistics.median(ratios):.2f}" if ratios else "-"


def _summary(record: Record) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in record.items())


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# -- the command line ------------------------------------------------------------------------------


def kinform_program() -> dict[str, list[str]]:
    script = ROOT / "benchmarks" / "contenders" / "kinform_controller.py"
    return {KINFORM: [sys.executable, "-P", str(script)]}


def peer_program() -> dict[str, list[str]]:
    """The program of controller-runtime; none if it is not there and cannot be built."""
    peers = available_peers([CONTROLLER_RUNTIME], install=True)
    return {name: [str(path)] for name, path in peers.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--pod-size", type=int, default=POD_SIZE, help="in bytes")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=200, help="changes per second")
    parser.add_argument("--seconds", type=int, default=15, help="of changes")
    parser.add_argument("--failed", type=int, default=10_000, help="the number of failed keys")
    parser.add_argument("--idle-seconds", type=float, default=10.0)
    parser.add_argument("--only", choices=("reconcile", "delays", "backoff"))
    parser.add_argument("--alone", action="store_true", help="without controller-runtime")
    arguments = parser.parse_args()
    programs = kinform_program()
    if not arguments.alone:
        programs |= peer_program()
    with real_server(objects=arguments.objects, size=arguments.pod_size) as server:
        print(
            f"{arguments.objects} pods of {arguments.pod_size} bytes, {arguments.workers} workers; "
            f"{server.description}"
        )
        run = Run(
            server,
            programs,
            objects=arguments.objects,
            workers=arguments.workers,
            rounds=arguments.rounds,
        )
        if arguments.only in (None, "reconcile"):
            print(f"\n{reconcile_table(run.reconcile())}", flush=True)
        if arguments.only in (None, "delays"):
            delays = run.delays(arguments.rate, arguments.seconds)
            print(f"\n{delays_table(delays)}", flush=True)
        if arguments.only in (None, "backoff"):
            backoff = run.backoff(arguments.failed, arguments.idle_seconds)
            print(f"\n{backoff_table(backoff)}", flush=True)


if __name__ == "__main__":
    main()
