"""Runs Go, with a time limit and without the settings of the caller that would change the result.

Everything that Go builds for the tests is kept in `cache_root`, outside of the repository.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STEP = "make programs"
"""The command that builds whatever the tests use."""


class CannotBuildError(Exception):
    """A program is missing and cannot be built; the message has the reason."""


class NotBuiltError(Exception):
    """A program was asked for before the step that builds it; the message names the step."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; run `{STEP}`")


def cache_root() -> Path:
    """Return the folder for files that take long to build and can be built again."""
    if chosen := os.environ.get("KINFORM_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kinform"


def go(*arguments: str, cwd: Path, limit: float) -> str:
    """Return the output of a ``go`` command.

    Raises:
        CannotBuildError: There is no Go, it failed, or it took more than ``limit`` seconds.
    """
    if shutil.which("go") is None:
        raise CannotBuildError("there is no `go` on the PATH; install Go")
    command = f"go {' '.join(arguments[:2])}"
    # Without CGO, the build needs no C compiler.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    try:
        done = subprocess.run(
            ["go", *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=limit,
        )
    except subprocess.TimeoutExpired as error:
        raise CannotBuildError(
            f"`{command}` took longer than {limit:.0f} s; what it has built is in Go's cache, "
            "so run it again"
        ) from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-4000:]
        raise CannotBuildError(f"`{command}` failed:\n{said}")
    return done.stdout


@contextmanager
def progress(doing: str) -> Iterator[None]:
    """Print a line before and a line after."""
    say(f"{doing} …")
    started = time.monotonic()
    yield
    say(f"{doing}: done in {time.monotonic() - started:.0f} s")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
