"""The command line: what it says, and what it exits with."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kinform._native import IS_COMPILED
from kinform.cli import main
from kinform.errors import ConfigError


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    said = capsys.readouterr().out
    assert all(command in said for command in ("serve", "demo", "version"))


@pytest.mark.parametrize("command", ["serve", "demo", "version"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0

    assert f"usage: kinform {command}" in capsys.readouterr().out


def test_no_command_is_answered_with_the_help_and_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2

    assert "usage: kinform" in capsys.readouterr().err


@pytest.mark.parametrize("argument", ["version", "--version"])
def test_version_is_one_line_that_names_both_versions(
    argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """18.28: also as an option."""
    assert main([argument]) == 0

    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("kinform ")
    assert "Kubernetes v1." in line
    assert ("(compiled, Python 3" in line) is IS_COMPILED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["bake"], "invalid choice: 'bake'"),
        (["serve", "--port", "70000"], "70000 is not a port"),
        (["serve", "--port", "http"], "'http' is not a whole number"),
        (["serve", "--history", "0"], "0 is too few"),
        (["serve", "--load", "-3"], "-3 is too few"),
        (["serve", "--token", "two words"], "printable ASCII without spaces"),
        (["serve", "--token", ""], "printable ASCII without spaces"),
        (["serve", "--bogus"], "unrecognized arguments: --bogus"),
        (["demo", "--seconds", "soon"], "'soon' is not a number"),
        (["demo", "--seconds", "0"], "is not a number above 0"),
        (["demo", "--seconds", "nan"], "is not a number above 0"),
        (["demo", "--seed", "x"], "invalid int value: 'x'"),
        (["demo", "--once", "--plain"], "not allowed with argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_argument_is_named_and_exits_with_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    assert message in capsys.readouterr().err


def test_an_error_is_one_line_and_exits_with_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise ConfigError("no such thing; try another")

    monkeypatch.setattr("kinform.testing.ApiServer", fail)

    assert main(["serve"]) == 1
    assert capsys.readouterr().err == "kinform: no such thing; try another\n"


def test_it_runs_as_a_module_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kinform", "version"], capture_output=True, text=True, check=True
    )

    assert done.stdout.startswith("kinform ")


def test_help_does_not_load_the_server() -> None:
    script = (
        "import sys; from kinform.cli import main; main(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('aiohttp', 'kinform.testing._apiserver')))"
    )

    subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)
