"""Measures kinform and its peers in one run, each in a new process, and prints tables.

    python benchmarks/run.py                           # everything
    python benchmarks/run.py --only list --server=static --objects 5000
    python benchmarks/run.py --only faults --scenarios resets-3s,cut-64kB --seconds 20
    python benchmarks/run.py --quick                   # a few seconds; the figures mean little

The figures of earlier runs are in benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.contest import Outcome, UnequalWorkError, hold
from benchmarks.conversation import ContenderFailedError
from benchmarks.faults.bench import FAULTS, add_options, check_options, run_faults
from benchmarks.informer_scenarios import WrongServerError
from benchmarks.peer_programs import available_peers
from benchmarks.report import document, table
from benchmarks.scenarios import SCENARIOS
from benchmarks.servers import SERVERS, real_is_available
from benchmarks.sizes import Sizes
from kinform._native import IS_COMPILED

_NAMES = (*SCENARIOS, FAULTS)
_RESULTS = Path(__file__).resolve().parent / "results"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(_NAMES), help="scenarios, with commas")
    parser.add_argument("--rounds", type=int, help="default 3, of initial syncs 5; 1 with --quick")
    parser.add_argument("--objects", type=int, help="pods to list; default 20000")
    parser.add_argument("--events", type=int, help="events to watch and decode; default 20000")
    parser.add_argument(
        "--server",
        choices=tuple(SERVERS),
        help="the server to list from; default real if its binaries exist",
    )
    parser.add_argument(
        "--quick", action="store_true", help="small and once; installs no peers that are missing"
    )
    parser.add_argument("--results", type=Path, default=_RESULTS, help="where to keep figures")
    add_options(parser)
    options = parser.parse_args(arguments)
    options.only = options.only.split(",")
    if unknown := set(options.only) - set(_NAMES):
        parser.error(f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(_NAMES)}")
    check_options(parser, options)
    options.rounds = options.rounds or (1 if options.quick else None)
    options.objects = options.objects or (1000 if options.quick else 20_000)
    options.events = options.events or (500 if options.quick else 20_000)
    options.server = options.server or ("real" if real_is_available() else "static")
    return options


def run(options: argparse.Namespace) -> list[Outcome]:
    """Hold the chosen scenarios one after the other, and print each as it is done."""
    sizes = Sizes(
        server=options.server,
        objects=options.objects,
        events=options.events,
        repeats=1 if options.quick else 5,
        seconds=2 if options.quick else 20,
        rest=0.5 if options.quick else 5.0,
    )
    outcomes = []
    for name in options.only:
        if name == FAULTS:
            continue  # all of its contenders run at once
        try:
            with SCENARIOS[name](sizes) as scenario:
                peers = available_peers(scenario.peers, install=not options.quick)
                outcomes.append(hold(scenario, rounds=options.rounds, peers=peers))
        except WrongServerError as problem:
            print(f"without {name}: {problem}", file=sys.stderr, flush=True)
            continue
        print(table(outcomes[-1]), end="\n\n", flush=True)
    return outcomes


def _run_faults(options: argparse.Namespace) -> Mapping[str, Any]:
    if FAULTS not in options.only:
        return {}
    try:
        return run_faults(options)
    except WrongServerError as problem:
        print(f"without {FAULTS}: {problem}", file=sys.stderr, flush=True)
        return {}


def main() -> int:
    options = parse(sys.argv[1:])
    if not IS_COMPILED:
        print("the C code of kinform is not compiled, so it is slower; is a C compiler installed?")
    try:
        outcomes = run(options)
        faults = _run_faults(options)
    except (ContenderFailedError, UnequalWorkError) as problem:
        print(problem, file=sys.stderr)
        return 1
    options.results.mkdir(parents=True, exist_ok=True)
    kept = options.results / time.strftime("%Y%m%dT%H%M%SZ.json", time.gmtime())
    measured = {**document(outcomes, options=vars(options)), FAULTS: faults}
    kept.write_text(json.dumps(measured, indent=1, default=str))
    print(f"medians; ratios are to the first row; kept in {kept}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
