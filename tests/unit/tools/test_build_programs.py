"""The step that compiles whatever the tests use: a line for each program, limits, a cache."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tools import build_programs, cluster_binaries, go_programs
from tools.go import CannotBuildError, NotBuiltError, go
from tools.go_programs import FILL, REFLECT, GoProgram, sources_digest


def _fake_go(folder: Path, script: str) -> None:
    """Put a `go` on the PATH, alone, that is a Python script."""
    program = folder / "go"
    program.write_text(f"#!{sys.executable}\nimport pathlib, sys, time\n{script}\n")
    program.chmod(0o755)


# Writes the file after `-o`, and notes each build.
_BUILDS = """
if sys.argv[1] == "env":
    print(pathlib.Path(__file__).parent)
elif sys.argv[1] == "build":
    pathlib.Path(sys.argv[sys.argv.index("-o") + 1]).write_text("built")
    with (pathlib.Path(__file__).parent / "builds").open("a") as builds:
        builds.write("build\\n")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and the only folder of the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("KINFORM_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.delenv("KINFORM_REQUIRE_CLUSTER", raising=False)
    return tmp_path


@pytest.fixture
def program(tmp_path: Path) -> GoProgram:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "main.go").write_text("package main")
    return GoProgram("sample", sources)


def test_a_program_is_built_once_and_each_time_there_is_a_line(
    folder: Path, program: GoProgram, capsys: pytest.CaptureFixture[str]
) -> None:
    """18.30: whoever waits sees what for."""
    _fake_go(folder, _BUILDS)

    program.build()
    program.build()

    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"building sample into .* …", lines[0])
    assert re.fullmatch(r"building sample into .*: done in \d+ s", lines[1])
    assert re.fullmatch(r"sample: cached in .*", lines[2])
    assert (folder / "builds").read_text() == "build\n"
    assert program.built().read_text() == "built"


def test_other_sources_are_another_program(folder: Path, program: GoProgram) -> None:
    _fake_go(folder, _BUILDS)
    program.build()
    (program.sources / "main.go").write_text("package other")

    with pytest.raises(NotBuiltError, match="sample is not in"):
        program.built()


def test_what_is_not_built_names_the_step(folder: Path, program: GoProgram) -> None:
    """18.30: tests build nothing themselves."""
    with pytest.raises(NotBuiltError, match=r"sample is not in .*; run `make programs`"):
        program.built()
    with pytest.raises(NotBuiltError, match=r"lacks kube-apiserver.*; run `make programs`"):
        cluster_binaries.built()


def test_a_build_that_takes_too_long_is_ended(folder: Path) -> None:
    """18.30: the step has limits of its own."""
    _fake_go(folder, "time.sleep(600)")
    with pytest.raises(CannotBuildError, match=r"`go build x` took longer than 1 s"):
        go("build", "x", cwd=folder, limit=1)


def test_a_build_that_fails_is_quoted(folder: Path, program: GoProgram) -> None:
    _fake_go(folder, "sys.exit('no such module')")
    with pytest.raises(CannotBuildError, match=r"`go build -mod=readonly` failed:\nno such module"):
        program.build()


@pytest.mark.parametrize(("required", "status"), [("", 0), ("1", 1)])
def test_what_cannot_be_built_is_told_and_fails_if_it_is_required(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    required: str,
    status: int,
) -> None:
    """18.30: without Go, the tests that need it are skipped, unless they are demanded."""
    monkeypatch.setenv("KINFORM_REQUIRE_CLUSTER", required)
    assert build_programs.main() == status
    said = capsys.readouterr().err
    assert said.count("cannot build: ") == 3 + len(go_programs.PROGRAMS)
    assert "install Go" in said


@pytest.mark.parametrize("program", [FILL, REFLECT], ids=lambda each: each.name)
def test_a_program_is_of_the_same_kubernetes_as_the_servers(program: GoProgram) -> None:
    text = (program.sources / "go.mod").read_text()
    versions = set(re.findall(r"^\s+k8s\.io/\S+ (v0\.\d+\.\d+)$", text, re.M))
    assert versions == {cluster_binaries.STAGING}, "require it, then run `go mod tidy` there"


def test_a_digest_depends_on_the_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    one = sources_digest(tmp_path)
    (tmp_path / "a").write_text("2")
    assert sources_digest(tmp_path) != one
