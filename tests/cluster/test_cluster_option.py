"""``--cluster`` chooses which tests run, and a missing cluster is skipped or fatal as asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONE_OF_EACH = (
    "tests/cluster/test_real_cluster.py::test_it_is_the_pinned_version",
    "tests/cluster/test_cluster_process.py::test_a_free_port_can_be_listened_on",
)


def _pytest(*arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, *ONE_OF_EACH],
        cwd=ROOT,
        env={**os.environ, "KINFORM_REQUIRE_CLUSTER": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_without_it_tests_that_need_a_cluster_are_left_out() -> None:
    code, said = _pytest()

    assert code == 0
    assert "1 passed, 1 deselected" in said


def test_with_it_a_cluster_that_cannot_be_had_is_a_skip_that_says_why(tmp_path: Path) -> None:
    code, said = _pytest("--cluster", KUBEBUILDER_ASSETS=str(tmp_path))

    assert code == 0
    assert "1 skipped, 1 deselected" in said
    assert f"KUBEBUILDER_ASSETS={tmp_path} lacks kube-apiserver" in said


def test_a_cluster_that_is_required_and_cannot_be_had_is_an_error(tmp_path: Path) -> None:
    code, said = _pytest("--cluster", KUBEBUILDER_ASSETS=str(tmp_path), KINFORM_REQUIRE_CLUSTER="1")

    assert code == 1
    assert "1 error" in said
    assert f"KUBEBUILDER_ASSETS={tmp_path} lacks kube-apiserver" in said
