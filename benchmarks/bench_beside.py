"""Measures the CPU per event of this tree beside other checkouts, on the same events.

    python benchmarks/bench_beside.py OTHER [OTHER ...] [--form typed] [--rounds 4] [--seconds 15]

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

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.changes import CHANGED_PODS, RATE, compact, prepare_changes, writer
from benchmarks.servers import ROOT, Server, environment, real_server
from benchmarks.writer import STAMP

_REST = 2.0


@contextmanager
def following(
    tree: Path, server: Server, form: str, objects: int
) -> Iterator[subprocess.Popen[str]]:
    """An informer of that tree which has synced, ready to hear ``go`` and ``stop``."""
    given = {
        "kubeconfig": str(server.kubeconfig),
        "objects": objects,
        "stamp": STAMP,
        "mode": "steady",
        "typed": form == "typed",
        "started": time.monotonic_ns(),
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
            assert process.stdout is not None
            if process.stdout.readline() != "synced\n":
                raise SystemExit(
                    f"the informer of {tree} did not sync; its output above has the reason"
                )
            yield process
        finally:
            process.terminate()


def one_round(
    trees: Sequence[Path], server: Server, pods: Path, arguments: argparse.Namespace
) -> list[float]:
    """Microseconds of CPU an event, of each tree."""
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
    return [record["window_cpu"] / len(record["delays"]) * 1e6 for record in records]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("others", nargs="+", type=Path, help="folders with other checkouts")
    parser.add_argument("--form", choices=("typed", "dynamic"), default="typed")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--objects", type=int, default=20_000)
    arguments = parser.parse_args()
    trees = [ROOT, *(other.resolve() for other in arguments.others)]
    costs: list[list[float]] = []
    with real_server(objects=arguments.objects) as server, tempfile.TemporaryDirectory() as folder:
        pods = Path(folder) / "pods"
        assert server.cluster is not None
        prepare_changes(server.cluster, min(CHANGED_PODS, arguments.objects), pods)
        for number in range(arguments.rounds):
            # Who starts first has no advantage twice.
            turn = 1 if number % 2 == 0 else -1
            costs.append(one_round(trees[::turn], server, pods, arguments)[::turn])
            print(f"round {number + 1}:", *(f"{cost:4.0f}" for cost in costs[-1]), flush=True)
    for place, tree in enumerate(trees):
        mean = statistics.mean(cost[place] for cost in costs)
        ratio = statistics.mean(cost[place] / cost[0] for cost in costs)
        print(f"{mean:5.0f} µs per event, {ratio:.3f} of this tree: {tree}")


if __name__ == "__main__":
    main()
