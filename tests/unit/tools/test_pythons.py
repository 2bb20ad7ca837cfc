"""The Pythons that `make test-all` runs the suite on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import pythons

OURS = f"{sys.version_info[0]}.{sys.version_info[1]}"


def _put(program: Path, script: str) -> str:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing but this folder has any Python."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path / "here" / "3.11.1"))
    return tmp_path


def test_those_on_the_path_and_those_of_pyenv_are_found(folder: Path) -> None:
    """18.29: pyenv's are installed, though not on the PATH."""
    on_path = _put(folder / "bin" / "python3.11", "echo 3.11")
    _put(folder / "pyenv" / "versions" / "3.11.9" / "bin" / "python", "echo 3.11")
    _put(folder / "pyenv" / "versions" / "3.13.9" / "bin" / "python", "echo 3.13")
    newest = _put(folder / "pyenv" / "versions" / "3.13.10" / "bin" / "python", "echo 3.13")
    _put(folder / "pyenv" / "versions" / "3.9.1" / "bin" / "python", "echo 3.9")

    assert pythons.installed() == {"3.11": on_path, "3.13": newest}


def test_a_shim_that_starts_nothing_is_passed_over(folder: Path) -> None:
    """18.29: pyenv puts a shim on the PATH for versions that are not selected as well."""
    _put(folder / "bin" / "python3.12", "echo not found >&2; exit 127")
    assert pythons.installed() == {}
    behind = _put(folder / "pyenv" / "versions" / "3.12.1" / "bin" / "python", "echo 3.12")
    assert pythons.installed() == {"3.12": behind}


def test_neighbours_of_this_one_are_found_without_a_home(folder: Path) -> None:
    """18.29: an empty home folder has no pyenv, but this interpreter is one of its versions."""
    neighbour = _put(folder / "here" / "3.13.1" / "bin" / "python", "echo 3.13")
    assert pythons.installed() == {"3.13": neighbour}


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [([], ["3.11=a", "3.12=b", "3.13=c"]), (["--newest-but", "3.13"], ["3.12=b"])],
)
def test_the_newest_other_one_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    lines: list[str],
) -> None:
    """18.29: the default Python has been tested already."""
    monkeypatch.setattr(pythons, "installed", lambda: {"3.11": "a", "3.12": "b", "3.13": "c"})
    monkeypatch.setattr(sys, "argv", ["pythons.py", *arguments])
    assert pythons.main() == 0
    assert capsys.readouterr().out.split() == lines


def test_this_one_is_supported() -> None:
    assert OURS in pythons.SUPPORTED
