"""The Python in the documents runs, against an embedded server. CONTRIBUTING.md has the rules."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kinform.cli import main
from kinform.testing import BlockingApiServer
from kinform.testing.verbs import _watch
from tests.support import run_page
from tests.support.custom_kinds import CRON_TAB

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
IDS = [str(document.relative_to(ROOT)) for document in DOCUMENTS]
# The recipes have tests of their own; the API reference has signatures, not programs.
OTHERS = {ROOT / "docs/api", ROOT / "docs/recipes"}
PAGES = [each for each in DOCUMENTS if each.parent not in OTHERS and run_page.blocks(each)]
# Lines that a page prints, at least.
PRINTED = {
    "blocking.md": [
        "web-0",
        "ADDED default/web-0",
        "a",
        "on node-1: shop/web-0",
        "shop/settings",
        "health: ok",
    ],
    "leader-election.md": ["leading, term 0", "replica-1 leads, term 2"],
    "client.md": [
        "default/defaults",
        "failed: update v1/configmaps default/flags update v1/configmaps default/flags: "
        "this replica is not the leader",
    ],
}


# The objects that pages read.
OBJECTS = list(
    yaml.safe_load_all(
        """
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: blog}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: staging}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, labels: {app: web}}
spec: {nodeName: node-1, containers: [{name: main, image: nginx}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop, labels: {app: web}}
spec: {nodeName: node-1, containers: [{name: main, image: nginx}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: nginx}]}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: robot}}
---
"""
        + CRON_TAB
    )
)


@pytest.fixture
def cluster(kinform_server: BlockingApiServer, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kubeconfig of a server with the objects that the pages name."""
    # Servers end watches after some minutes; this one after one to two seconds.
    monkeypatch.setattr(_watch, "_MIN_TIMEOUT", 1.0)
    for each in OBJECTS:
        kinform_server.create(each)
    return kinform_server.kubeconfig()


def write_files(folder: Path, cluster: Path) -> None:
    """Write the files that pages read: another kubeconfig, and a generated package."""
    other = yaml.safe_load(cluster.read_text("utf-8"))
    other["contexts"] = [{**other["contexts"][0], "name": "staging"}]
    (folder / "other.yaml").write_text(yaml.safe_dump(other), "utf-8")
    (folder / "crontab.yaml").write_text(CRON_TAB, "utf-8")
    main(["generate", "--crd", str(folder / "crontab.yaml"), "--out", str(folder / "mypkg")])


def run(page: Path, cluster: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "KUBECONFIG": str(cluster), "PYTHONPATH": str(folder)}
    environment.pop("KUBERNETES_SERVICE_HOST", None)
    return subprocess.run(
        [sys.executable, "-W", "error", run_page.__file__, str(page)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_python_of_page_runs(page: Path, cluster: Path, tmp_path: Path) -> None:
    """18.25: every snippet is complete."""
    write_files(tmp_path, cluster)

    done = run(page, cluster, tmp_path)

    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout}\n{done.stderr}"
    printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert [line for line in PRINTED.get(page.name, []) if line not in printed] == []


@pytest.mark.parametrize(
    "page",
    [
        "```python\nGVR('', 'v1', 'pods')\n```\n",
        "```python\ndef never_called():\n    return GVR('', 'v1', 'pods')\n```\n",
        "```python\nGVR\n```\n\n```python\nfrom kinform import GVR\n```\n",
        "```python\nimport asyncio\n\nasyncio.run(GVR())\n```\n",
        "```python\ndef test_it(kinform_server):\n    kinform_server.list(GVR)\n```\n",
        "In `python -m asyncio`:\n```python\nimport asyncio\nawait asyncio.sleep(0)\nGVR\n```\n",
    ],
    ids=["block", "function", "order", "program", "test module", "asyncio"],
)
def test_missing_import_is_found(page: str, tmp_path: Path) -> None:
    """18.25: the check of the snippets sees what a reader would stumble over."""
    file = tmp_path / "page.md"
    file.write_text(page, "utf-8")

    done = run(file, tmp_path / "no-kubeconfig", tmp_path)

    assert done.returncode != 0
    assert "name 'GVR' is not defined" in done.stdout + done.stderr


def test_page_that_awaits_has_to_say_so(tmp_path: Path) -> None:
    """18.25: without it, a reader pastes the page into a Python that cannot run it."""
    file = tmp_path / "page.md"
    file.write_text("```python\nimport asyncio\nawait asyncio.sleep(0)\n```\n", "utf-8")

    done = run(file, tmp_path / "no-kubeconfig", tmp_path)

    assert done.returncode != 0
    assert "`python -m asyncio`" in done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=IDS)
def test_no_python_is_marked_in_a_way_that_is_not_run(document: Path) -> None:
    """18.25: ``python`` at the start of the line is run; ``pycon`` and ``text`` are not."""
    fences = re.findall(r"^[ >]*(?:```|~~~).*py.*$", document.read_text("utf-8"), re.M | re.I)

    assert set(fences) <= {"```python", "```pycon"}
