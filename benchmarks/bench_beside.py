"""Measures the CPU per event of this tree beside other checkouts, on the same events.

    python benchmarks/bench_beside.py OTHER [OTHER ...] [--form typed] [--rounds 4] [--seconds 15]
    python benchmarks/bench_beside.py OTHER [OTHER ...] --sync [--rounds 8]

On a shared machine, two consecutive runs may differ by a third for unrelated reasons. Programs that
run side by side are affected equally, so differences of a few per cent become visible. Each OTHER
is a folder with a checkout (``git worktree add``). Pass this folder itself to see the noise.
Requires the real server. Prints figures and asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.changes import CHANGED_PODS, RATE, compact, prepare_changes, writer
from benchmarks.servers import ROOT, Server, environment, real_server
from benchmarks.writer import STAMP

_REST = 2.0


class Figures(NamedTuple):
    """What a round measured of one tree: CPU, and a second figure."""

    cpu: float
    other: float


@contextmanager
def started(
    tree: Path, server: Server, form: str, objects: int, **more: object
) -> Iterator[subprocess.Popen[str]]:
    """Run an informer of a tree in a process of its own."""
    given = {
        "kubeconfig": str(server.kubeconfig),
        "objects": objects,
        "stamp": STAMP,
        "typed": form == "typed",
        "started": time.monotonic_ns(),
        **more,
    }
    with subprocess.Popen(
        [
            *(sys.executable, "-P", str(tree / "benchmarks" / "contenders" / "kinform_sync.py")),
            json.dumps(given),
        ],
        env={**environment(), "PYTHONPATH": f"{tree / 'src'}:{tree}"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def following(
    tree: Path, server: Server, form: str, objects: int
) -> Iterator[subprocess.Popen[str]]:
    """An informer of that tree which has synced, ready to receive ``go`` and ``stop``."""
    with started(tree, server, form, objects, mode="steady") as process:
        assert process.stdout is not None
        if process.stdout.readline() != "synced\n":
            raise SystemExit(
                f"the informer of {tree} did not sync; its output above has the reason"
            )
        yield process


def event_round(
    trees: Sequence[Path], server: Server, pods: Path, arguments: argparse.Namespace
) -> list[Figures]:
    """Microseconds of CPU per event, and the 99th percentile of delays in milliseconds."""
    assert server.cluster is not None
    etcd_url, events = server.cluster.etcd_url, RATE * arguments.seconds
    compact(etcd_url)
    with ExitStack() as stack:
        informers = [
            stack.enter_context(following(tree, server, arguments.form, arguments.objects))
            for tree in trees
        ]
        write = stack.enter_context(writer(etcd_url, pods, events=events, rate=RATE))
        time.sleep(_REST)
        for word in ("go", "stop"):
            for informer in informers:
                assert informer.stdin is not None
                informer.stdin.write(f"{word}\n")
                informer.stdin.flush()
            if word == "go":
                write()
                time.sleep(1)
        records = [json.loads(informer.communicate()[0]) for informer in informers]
    return [
        Figures(
            record["window_cpu"] / len(record["delays"]) * 1e6,
            statistics.quantiles(record["delays"], n=100)[98] / 1e3,
        )
        for record in records
    ]


def sync_round(
    trees: Sequence[Path], server: Server, _pods: Path, arguments: argparse.Namespace
) -> list[Figures]:
    """Seconds of CPU for a sync, and the memory afterwards in megabytes; one tree after another."""
    figures = []
    for tree in trees:
        with started(
            tree, server, arguments.form, arguments.objects, mode="sync", rest=1.0
        ) as informer:
            record = json.loads(informer.communicate()[0])
        figures.append(Figures(record["cpu"], record["rest"] / 1e6))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("others", nargs="+", type=Path, help="folders with other checkouts")
    parser.add_argument("--sync", action="store_true", help="measure initial syncs, not events")
    parser.add_argument("--form", choices=("typed", "dynamic"), default="typed")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--objects", type=int, default=20_000)
    arguments = parser.parse_args()
    trees = [ROOT, *(other.resolve() for other in arguments.others)]
    one_round, units = (
        (sync_round, ("s of CPU", "MB"))
        if arguments.sync
        else (event_round, ("µs of CPU", "ms p99"))
    )
    rounds: list[list[Figures]] = []
    with real_server(objects=arguments.objects) as server, tempfile.TemporaryDirectory() as folder:
        pods = Path(folder) / "pods"
        assert server.cluster is not None
        prepare_changes(server.cluster, min(CHANGED_PODS, arguments.objects), pods)
        for number in range(arguments.rounds):
            # Who starts first has no advantage twice.
            turn = 1 if number % 2 == 0 else -1
            rounds.append(one_round(trees[::turn], server, pods, arguments)[::turn])
            shown = (f"{each.cpu:.4g}/{each.other:.4g}" for each in rounds[-1])
            print(f"round {number + 1}:", *shown, flush=True)
    for place, tree in enumerate(trees):
        columns = []
        for figure, unit in enumerate(units):
            values = [each[place][figure] for each in rounds]
            ratios = [each[place][figure] / each[0][figure] for each in rounds]
            columns.append(
                f"{statistics.median(values):.4g} {unit}, {statistics.mean(ratios):.3f} of this "
                f"tree (median {statistics.median(ratios):.3f})"
            )
        print(f"{tree}: {'; '.join(columns)}")


if __name__ == "__main__":
    main()
