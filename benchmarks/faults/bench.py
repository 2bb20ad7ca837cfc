"""The faults benchmark as ``run.py`` offers it: options, runs, tables, a document to keep."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.faults.cluster import audited_cluster
from benchmarks.faults.experiment import Load, Run, run_scenario
from benchmarks.faults.lag import Lag
from benchmarks.faults.logs import Requests
from benchmarks.faults.report import Row, document, goals, rows, table
from benchmarks.faults.scenarios import FAULT_SCENARIOS
from benchmarks.faults.watchers import NAMESPACES, WATCHERS
from benchmarks.informer_scenarios import WrongServerError
from benchmarks.peer_programs import CLIENT_GO, available_peers
from benchmarks.servers import real_is_available

FAULTS = "faults"

_QUICK_SCENARIO = "resets-1s"
_QUICK_SECONDS = 3.0


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("faults", "client-go and kinform behind a faulty network")
    group.add_argument("--scenarios", help=f"with commas; of {', '.join(FAULT_SCENARIOS)}")
    group.add_argument("--watchers", help=f"with commas; of {', '.join(WATCHERS)}")
    group.add_argument("--seconds", type=float, help="how long each scenario lasts")
    group.add_argument("--seed", type=int, default=1, help="of faults and writes; default 1")
    group.add_argument("--rate", type=float, default=Load().rate, help="writes a second")
    group.add_argument("--size", type=int, default=Load().size, help="bytes of an object")


def check_options(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Split the lists; end with an error if one names what there is not."""
    every = _QUICK_SCENARIO if options.quick else ",".join(FAULT_SCENARIOS)
    options.scenarios = (options.scenarios or every).split(",")
    options.watchers = (options.watchers or ",".join(WATCHERS)).split(",")
    if options.quick and options.seconds is None:
        options.seconds = _QUICK_SECONDS
    for what, chosen, known in (
        ("fault scenario", options.scenarios, FAULT_SCENARIOS),
        ("watcher", options.watchers, WATCHERS),
    ):
        if unknown := set(chosen) - set(known):
            names = ", ".join(sorted(unknown))
            parser.error(f"no {what} {names}; there are {', '.join(known)}")


def run_faults(options: argparse.Namespace) -> dict[str, Mapping[str, Any]]:
    """Run the chosen scenarios and print each as it is done; what was measured, by scenario.

    Several rounds have seeds of their own; goals are judged by the medians.

    Raises:
        WrongServerError: There are no binaries of a real server.
        ContenderFailedError: A process failed.
    """
    if not real_is_available():
        raise WrongServerError("kube-apiserver is required; build it with `make test-cluster`")
    peers = available_peers([CLIENT_GO], install=not options.quick)
    watchers = [
        WATCHERS[name]
        for name in options.watchers
        if WATCHERS[name].program != CLIENT_GO or CLIENT_GO in peers
    ]
    load = Load(rate=options.rate, size=options.size)
    rounds = options.rounds or 1
    measured: dict[str, Mapping[str, Any]] = {}
    with audited_cluster(NAMESPACES) as cluster:
        for name in options.scenarios:
            results = []
            for number in range(rounds):
                print(f"faults: {name}, {number + 1} of {rounds}", file=sys.stderr, flush=True)
                run = run_scenario(
                    FAULT_SCENARIOS[name],
                    cluster,
                    peers,
                    watchers,
                    seed=options.seed + number,
                    seconds=options.seconds,
                    load=load,
                )
                results.append((run, rows(run)))
            measured[name] = _report(results)
    return measured


def _report(results: Sequence[tuple[Run, Sequence[Row]]]) -> Mapping[str, Any]:
    """Print the medians; everything goes into the document."""
    run, first = results[0]
    medians = [
        median_row([each[place] for _, each in results]) if len(results) > 1 else row
        for place, row in enumerate(first)
    ]
    judged = goals(run, medians)
    print(table(run, medians, judged), end="\n\n", flush=True)
    return {
        "rounds": [document(run, each, goals(run, each)) for run, each in results],
        "medians": document(run, medians, judged),
    }


def median_row(rounds: Sequence[Row]) -> Row:
    """One watcher's figures over several rounds; what went wrong in any of them is kept."""
    recoveries = [row.current_after for row in rounds if row.current_after is not None]
    return replace(
        rounds[0],
        events=_middle(row.events for row in rounds),
        lag=_median_lag([row.lag for row in rounds]),
        requests=Requests(*map(_middle, zip(*(row.requests for row in rounds), strict=True))),
        connections=_middle(row.connections for row in rounds),
        megabytes=statistics.median(row.megabytes for row in rounds),
        cpu=statistics.median(row.cpu for row in rounds),
        current_after=statistics.median(recoveries) if recoveries else None,
        is_current=all(row.is_current for row in rounds),
        wrong_cache=max(row.wrong_cache for row in rounds),
        contradictions=[each for row in rounds for each in row.contradictions],
    )


def _median_lag(rounds: Sequence[Lag]) -> Lag:
    return Lag(
        writes=_middle(lag.writes for lag in rounds),
        folded=_middle(lag.folded for lag in rounds),
        missing=max(lag.missing for lag in rounds),
        p50=statistics.median(lag.p50 for lag in rounds),
        p90=statistics.median(lag.p90 for lag in rounds),
        p99=statistics.median(lag.p99 for lag in rounds),
        max=statistics.median(lag.max for lag in rounds),
    )


def _middle(counts: Iterable[int]) -> int:
    return statistics.median_low(counts)
