"""Every example runs, on its own, without a cluster, and says what it promises.

``tests/cluster/test_examples.py`` runs those on informers against a real server.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinform.cli import main

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
IPAM_BLOCKS = [
    "Created IPAMBlock default/informer-dynamic-simple-",
    "Informer event: ADDED default/informer-dynamic-simple-",
    "Informer event: UPDATED default/informer-dynamic-simple-",
    "Deleted IPAMBlock default/informer-dynamic-simple-",
    "Informer event: DELETED default/informer-dynamic-simple-",
]
STATEFUL_SETS = [
    "add a stateful set: web",
    "1 -->> web",
    "update: 1 -> 3\ndelete a stateful set: web",
]
SAID = {
    "cache_namespaces": [
        "entered: of-red\nentered: of-blue\nleft the scope: of-red",
        "by hand: of-red\none more: of-blue of-red\none less: of-blue",
        "of-red is out of scope",
    ],
    "cache_web_service": [
        "ready: 3 pods",
        "on node-0: web-0 web-2\nweb-1 is on node-1\ngone: 404",
    ],
    "custom_source": ["ADDED db", "UPDATED web", "front: {'web': 8080}", "left: ['web']"],
    "first_steps": ["DELETED default/web"],
    "ipam_blocks": IPAM_BLOCKS,
    "ipam_blocks_blocking": IPAM_BLOCKS,
    "late_handler": [
        "the informer has synced: True - late: False",
        "late: a was there\nlate: b was there\nlate has been told of all that was there",
        "late: new is new",
        "late was told 3 events, and failed on 0",
    ],
    "metadata_only": ["metadata only:"],
    "metadata_watch": [
        "in the cache they are smaller than one of them: True",
        "ADDED default/big-3 {'team': 'blue'}",
        "UPDATED default/big-3 {'team': 'blue', 'tier': 'db'}\nDELETED default/big-0",
        "left: big-1 big-2 big-3",
    ],
    "node_informer": [
        "one informer for all who ask: True",
        "example-0 ready for pods\nexample-1 ready for pods\nexample-2 cordoned",
        "in zone a: example-0 example-2",
    ],
    "own_kind": [
        "nightly: at 0 3 * * *\n",
        "nightly: 1 -> 3 replicas",
        "concurrency_policy='Forbid', cron_spec='0 3 * * *', replicas=3",
    ],
    "pod_informer": [
        "added web-0 nginx:1.27\nadded web-1 nginx:1.28\nadded web-2 nginx:1.28",
        "web-0 is Pending and has app",
        "on nginx:1.28: default/web-1 default/web-2",
        "indices: image namespace",
    ],
    "pods_by_node": [
        "node-0: web-0 web-2\nnode-1: web-1 web-3",
        "node-1 now: default/web-1 default/web-3 default/web-4",
        "with nginx: 5",
    ],
    "pods_on_node": [
        "node-0: web-0 web-2\nnode-1: web-1 web-3",
        "nginx on node-1: web-1\nfirst elsewhere: web-0\nnow: node-0",
    ],
    "stateful_sets": STATEFUL_SETS,
    "stateful_sets_blocking": STATEFUL_SETS,
    "survive_an_expired_watch": ["forgotten where we were: Expired"],
    "write_then_read": ["counted to 3\npatched to 10\ndeleted: counter\ncaught up: other"],
}


@pytest.fixture(scope="module")
def runs() -> Iterator[dict[str, subprocess.Popen[str]]]:
    """All at once: some of them wait for seconds, and none needs another."""
    begun = {
        example.stem: subprocess.Popen(
            [sys.executable, "-W", "error", str(example)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for example in EXAMPLES
    }
    yield begun
    for run in begun.values():
        run.kill()
        run.communicate()


@pytest.mark.parametrize("example", [example.stem for example in EXAMPLES])
def test_an_example_runs_and_says_what_it_promises(
    runs: dict[str, subprocess.Popen[str]], example: str
) -> None:
    said, complained = runs[example].communicate(timeout=50)

    assert (runs[example].returncode, complained) == (0, "")
    assert [words for words in SAID[example] if words not in said] == []


@pytest.mark.parametrize(
    ("crd", "package"),
    [("crontab.yaml", "crontabs"), ("sample_controller/foo.yaml", "sample_controller/foos")],
)
def test_generated_example_is_what_the_generator_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], crd: str, package: str
) -> None:
    examples = Path(__file__).parents[2] / "examples"
    definition, out = str(examples / crd), str(tmp_path / "written")
    assert main(["generate", "--crd", definition, "--out", out]) == 0

    def written(folder: Path) -> dict[str, str]:
        return {str(each.relative_to(folder)): each.read_text() for each in folder.rglob("*.py")}

    assert written(examples / package) == written(tmp_path / "written")
    assert capsys.readouterr().err == ""


def test_the_first_program_of_the_readme_runs_without_a_cluster(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    program = readme.split("```python\n")[1].split("```")[0]
    script = tmp_path / "first.py"
    script.write_text(program, "utf-8")

    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=50
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["added node-1", "cached ['node-1']"]
