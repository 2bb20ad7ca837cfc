"""The Python in the guides runs against a real API server, as it does against the embedded one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kinform import blocking
from tests.support.cluster import RealCluster
from tests.unit.test_snippets import OBJECTS, PAGES, run, write_files

# The README has a program that watches until the server ends the watch, minutes later.
GUIDES = [page for page in PAGES if page.name != "README.md"]

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def kubeconfig(real_cluster: RealCluster) -> Iterator[Path]:
    """A cluster of their own: the pages create and evict objects in the default namespace."""
    with RealCluster() as cluster:
        with blocking.Client.from_kubeconfig(cluster.kubeconfig) as client:
            for each in OBJECTS:
                client.create(each)
        yield cluster.kubeconfig


@pytest.mark.parametrize("page", GUIDES, ids=[page.stem for page in GUIDES])
def test_python_of_guide_runs(page: Path, kubeconfig: Path, tmp_path: Path) -> None:
    """18.25: the guides ask for nothing that only the embedded server accepts."""
    write_files(tmp_path, kubeconfig)

    done = run(page, kubeconfig, tmp_path)

    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout}\n{done.stderr}"
