"""``--cluster`` chooses which tests run, and what is missing is skipped or fatal as asked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONE_OF_EACH = (
    "tests/cluster/test_real_cluster.py::test_it_is_the_pinned_version",
    "tests/cluster/test_cluster_process.py::test_a_free_port_can_be_listened_on",
)
# Whole files, for without their samples some tests cannot even be named; then one test of each.
WITH_PROGRAMS = tuple(
    f"tests/cluster/test_{each}.py" for each in ("client_go", "models", "protobuf", "schema")
)
ONE_TEST_OF_EACH = "client_go_reads or sample_goes_back or cannot_agree or collecting_again"


def _pytest(
    *arguments: str, tests: Sequence[str] = ONE_OF_EACH, **environment: str
) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, *tests],
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


def _pytest_with_nothing_built(folder: Path, **environment: str) -> tuple[int, str]:
    """There is a `go`, which notes that it was told to build, and nothing that it built before."""
    (folder / "go").write_text(
        f'#!/bin/sh\n[ "$1" = env ] && echo {folder} && exit\n: > {folder}/told-to-build\nexit 1\n'
    )
    (folder / "go").chmod(0o755)
    return _pytest(
        "--cluster",
        "--continue-on-collection-errors",
        "-k",
        ONE_TEST_OF_EACH,
        tests=WITH_PROGRAMS,
        PATH=str(folder),
        KINFORM_CACHE=str(folder),
        **environment,
    )


def test_tests_build_nothing_and_name_the_step_that_does(tmp_path: Path) -> None:
    """18.30: a build may take longer than a test."""
    code, said = _pytest_with_nothing_built(tmp_path)

    assert code == 0
    assert "= 4 skipped," in said
    assert len(re.findall(r"^SKIPPED .*run `make programs`$", said, re.M)) == 4
    assert not (tmp_path / "told-to-build").exists()


def test_what_is_required_and_not_built_is_an_error_that_names_the_step(tmp_path: Path) -> None:
    """18.30: so that no run passes by accident."""
    code, said = _pytest_with_nothing_built(tmp_path, KINFORM_REQUIRE_CLUSTER="1")

    assert code == 1
    assert "skipped" not in said
    for file in WITH_PROGRAMS:
        assert re.search(rf"^(FAILED|ERROR) {file}", said, re.M)
    assert "run `make programs`" in said
    assert not (tmp_path / "told-to-build").exists()
