"""Measures reads from ``kinform.Cache`` beside controller-runtime's cache, on the same pods.

    python benchmarks/bench_cache.py [--objects 20000] [--pod-size 13000] [--rounds 3]
    python benchmarks/bench_cache.py --sizes 1000,100000     # does the size of the cache matter?
    python benchmarks/bench_cache.py --idle-kinds 50         # CPU of kinds that do not change

Each round starts both programs, one after the other, in an order that is reversed from round to
round. Requires the real server, and Go for controller-runtime. Prints figures and asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.conversation import Record, questions
from benchmarks.peer_programs import CONTROLLER_RUNTIME, available_peers
from benchmarks.pods import POD_SIZE
from benchmarks.servers import ROOT, Server, real_server
from tests.support.cluster import RealCluster
from tests.support.definitions import definition

PODS_PER_NODE = 40
SMALL_POD = 2_500
"""Of a pod in bytes, where 100 000 of them have to fit into etcd."""
IDLE_SECONDS = 60
IDLE_GROUP = "idle.example.com"

_KINFORM = "kinform"
# Go collects garbage after some 35 000 copies of pods: each batch has to contain a collection.
_CALLS = {"batches": 5, "gets": 50_000, "lists_by_field": 1_000, "lists": 2}


@dataclass(frozen=True, slots=True)
class Row:
    """A question, by the names that it has in the records of both programs."""

    text: str
    name: str
    peer_name: str


ROWS = (
    Row("get", "get", "get"),
    Row("get, two fields read", "get_read", "get_read"),
    Row(f"list by field, {PODS_PER_NODE} pods", "by_field", "by_field"),
    Row("list by field, iterated", "by_field_iterated", "by_field"),
    Row("list by field, two fields of each read", "by_field_read", "by_field_read"),
    Row("list of all", "list", "list"),
    Row("list of all, iterated", "list_iterated", "list"),
    Row("list of all, two fields of each read", "list_read", "list_read"),
    Row("peek().get", "peek_get", "get"),
    Row("peek().list by field", "peek_by_field", "by_field"),
    Row("peek().list of all", "peek_list", "list"),
)
SIZES_ROWS = ("get", "get_read", "by_field", "by_field_read", "peek_get", "peek_by_field")


@dataclass(frozen=True, slots=True)
class Measured:
    """One program in one round: its records, in the order of the commands."""

    start: Record
    bench: Record
    no_copy: Record
    collected: Record


MEMORY: Mapping[str, Callable[[Measured], float]] = {
    "after the sync": lambda measured: measured.start["synced"],
    "at rest": lambda measured: measured.start["rest"],
    "after the reads": lambda measured: measured.bench["rest"],
    "after a collection": lambda measured: measured.collected["rest"],
}


def measure_kinform(server: Server, rest: float, **options: int) -> Measured:
    with questions(_KINFORM, _kinform_command()) as program:
        started = program.ask("start", kubeconfig=str(server.kubeconfig), rest=rest)
        bench = program.ask("bench", **_CALLS, **options)
        return Measured(started, bench, {}, program.ask("collect"))


def measure_peer(program: Path, server: Server, rest: float) -> Measured:
    pods = {"version": "v1", "kind": "Pod", "indexes": ["spec.nodeName"]}
    with questions(CONTROLLER_RUNTIME, [str(program)]) as peer:
        started = peer.ask("start", kubeconfig=str(server.kubeconfig), kinds=[pods], rest=rest)
        copied = peer.ask("bench", **_CALLS)
        shared = peer.ask("bench", no_copy=True, **_CALLS)
        return Measured(started, copied, shared, peer.ask("collect"))


def _kinform_command() -> list[str]:
    return [sys.executable, "-P", str(ROOT / "benchmarks" / "contenders" / "kinform_cache.py")]


def compare(arguments: argparse.Namespace) -> None:
    peer = available_peers([CONTROLLER_RUNTIME], install=True).get(CONTROLLER_RUNTIME)
    rounds: dict[str, list[Measured]] = {CONTROLLER_RUNTIME: [], _KINFORM: []}
    if peer is None or arguments.only == _KINFORM:
        del rounds[CONTROLLER_RUNTIME]
    if arguments.only == CONTROLLER_RUNTIME:
        del rounds[_KINFORM]
    with real_server(
        objects=arguments.objects, size=arguments.pod_size, nodes=_nodes(arguments.objects)
    ) as server:
        print(f"{arguments.objects} pods of {arguments.pod_size} bytes; {server.description}")
        for number in range(arguments.rounds):
            for name in list(rounds)[:: 1 if number % 2 == 0 else -1]:
                if name == _KINFORM:
                    measured = measure_kinform(server, arguments.rest)
                else:
                    assert peer is not None
                    measured = measure_peer(peer, server, arguments.rest)
                rounds[name].append(measured)
                print(f"round {number + 1}: {name}, synced in {measured.start['sync']:.1f} s")
    print_comparison(rounds.get(_KINFORM, []), rounds.get(CONTROLLER_RUNTIME, []))


def print_comparison(ours: Sequence[Measured], theirs: Sequence[Measured]) -> None:
    """Print the medians of both, and the median of the ratios of each round."""
    print()
    print("| | kinform | controller-runtime | ratio | ratio of CPU | without deep copies |")
    print("|---|---:|---:|---:|---:|---:|")
    for row in ROWS:
        mine = [each.bench[row.name] for each in ours]
        copied = [each.bench[row.peer_name] for each in theirs]
        shared = [each.no_copy[row.peer_name] for each in theirs]
        cells = (
            _time(_figures(mine, "wall")),
            _time(_figures(copied, "wall")),
            _ratio(_figures(mine, "wall"), _figures(copied, "wall")),
            _ratio(_figures(mine, "cpu"), _figures(copied, "cpu")),
            _time(_figures(shared, "wall")),
        )
        print(f"| {row.text} | {' | '.join(cells)} |")
    for text, read in MEMORY.items():
        sizes, others = list(map(read, ours)), list(map(read, theirs))
        memory = (_size(sizes), _size(others), _ratio(sizes, others))
        print(f"| memory {text} | {' | '.join(memory)} | | |")
    if ours:
        print(f"\n{_memory_parts(ours[-1].start)}")


def _memory_parts(start: Record) -> str:
    """What kinform's memory at rest consists of."""
    heads = start["records"] - start["payloads"]
    known = start["before"] + start["records"] + start["indices"]
    parts = {
        "payloads": start["payloads"],
        "heads and keys": heads,
        "indices": start["indices"],
        "before the sync": start["before"],
        "the rest": start["rest"] - known,
    }
    listed = ", ".join(f"{name} {size / 1e6:,.0f} MB" for name, size in parts.items())
    return f"kinform at rest: {listed}"


def _figures(records: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [each[name] for each in records]


def _time(nanoseconds: Sequence[float]) -> str:
    if not nanoseconds:
        return "-"
    return f"{statistics.median(nanoseconds) / 1e3:,.2f} µs"


def _size(sizes: Sequence[float]) -> str:
    if not sizes:
        return "-"
    return f"{statistics.median(sizes) / 1e6:,.0f} MB"


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=False)]
    return f"{statistics.median(ratios):.3f}" if ratios else "-"


def compare_sizes(arguments: argparse.Namespace) -> None:
    """Print the time of reads whose answers are equally long, by the number of cached pods.

    Reads are of as many different objects in each cache. Otherwise the processor's caches, which
    hold the smallest cache as a whole, would be measured.
    """
    sizes: list[int] = arguments.sizes
    measured: dict[int, list[Record]] = {objects: [] for objects in sizes}
    with ExitStack() as stack:
        servers = {
            objects: stack.enter_context(
                real_server(objects=objects, size=SMALL_POD, nodes=_nodes(objects))
            )
            for objects in sizes
        }
        for number in range(arguments.rounds):
            for objects in sizes[:: 1 if number % 2 == 0 else -1]:
                record = measure_kinform(servers[objects], 0.0, sample=min(sizes)).bench
                measured[objects].append(record)
                print(f"round {number + 1}: {objects} pods of {SMALL_POD} bytes", flush=True)
    print()
    columns = " | ".join(f"{objects:,} pods" for objects in sizes)
    print(f"| | {columns} | last to first | of CPU |")
    print(f"|---|{'---:|' * (len(sizes) + 2)}")
    for name in SIZES_ROWS:
        walls, cpus = (
            [[each[name][figure] for each in measured[objects]] for objects in sizes]
            for figure in ("wall", "cpu")
        )
        ratios = (_ratio(walls[-1], walls[0]), _ratio(cpus[-1], cpus[0]))
        print(f"| {name} | {' | '.join((*map(_time, walls), *ratios))} |")


def _nodes(objects: int) -> int:
    return max(1, objects // PODS_PER_NODE)


def measure_idle(arguments: argparse.Namespace) -> None:
    """Print the share of a core that kinds take which are cached and do not change."""
    names = [f"Idle{number}" for number in range(arguments.idle_kinds)]
    definitions = [definition(f"{name.lower()}s", name, IDLE_GROUP) for name in names]
    with RealCluster() as cluster:
        listed = {"apiVersion": "v1", "kind": "List", "items": definitions}
        cluster.kubectl("create", "-f", "-", stdin=json.dumps(listed))
        cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
        kinds = [
            {"group": IDLE_GROUP, "version": "v1", "resource": f"{name.lower()}s"} for name in names
        ]
        with questions(_KINFORM, _kinform_command()) as program:
            record = program.ask(
                "idle", kubeconfig=str(cluster.kubeconfig), kinds=kinds, seconds=IDLE_SECONDS
            )
    print(
        f"{len(kinds)} kinds, idle for {IDLE_SECONDS} s: {record['share']:.2%} of a core, "
        f"{record['rest'] / 1e6:.0f} MB"
    )


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--pod-size", type=int, default=POD_SIZE, help="in bytes")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--rest", type=float, default=5.0, help="seconds from the sync until memory is read"
    )
    parser.add_argument("--only", choices=(_KINFORM, CONTROLLER_RUNTIME))
    parser.add_argument("--sizes", type=_numbers, help="numbers of pods, such as 1000,100000")
    parser.add_argument("--idle-kinds", type=int, help="how many kinds to cache")
    arguments = parser.parse_args()
    if arguments.sizes:
        compare_sizes(arguments)
    elif arguments.idle_kinds:
        measure_idle(arguments)
    else:
        compare(arguments)


if __name__ == "__main__":
    main()
