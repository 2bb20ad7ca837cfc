"""Our own Go programs, built once for each version of their sources."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from tools.go import NotBuiltError, cache_root, go, progress, say

_ROOT = Path(__file__).resolve().parent.parent
_LIMIT = 1200.0


def sources_digest(sources: Path) -> str:
    """Return a text that differs whenever a file of the folder differs."""
    content = hashlib.sha256()
    for file in sorted(each for each in sources.rglob("*") if each.is_file()):
        content.update(file.read_bytes())
    return content.hexdigest()[:12]


class GoProgram(NamedTuple):
    """A program in Go, with its sources in a folder of the repository."""

    name: str
    sources: Path

    @property
    def path(self) -> Path:
        """Where the program is or will be."""
        return cache_root() / "programs" / f"{self.name}-{sources_digest(self.sources)}"

    def built(self) -> Path:
        """Return the program, which is never built here.

        Raises:
            NotBuiltError: It has not been built yet.
        """
        if not self.path.exists():
            raise NotBuiltError(f"{self.name} is not in {self.path.parent}")
        return self.path

    def build(self) -> None:
        """Build the program unless it exists.

        Raises:
            CannotBuildError: There is no Go, or it failed.
        """
        path = self.path
        if path.exists():
            say(f"{self.name}: cached in {path.parent}")
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with progress(f"building {self.name} into {path.parent}"):
            # Under a name of its own until it is complete.
            fresh = path.with_suffix(f".{os.getpid()}")
            options = ("-mod=readonly", "-buildvcs=false", "-o", str(fresh))
            go("build", *options, ".", cwd=self.sources, limit=_LIMIT)
            fresh.rename(path)


CLIENT_GO = GoProgram("client-go", _ROOT / "benchmarks" / "peers" / "client_go")
"""An informer of client-go."""
CONTROLLER_RUNTIME = GoProgram(
    "controller-runtime", _ROOT / "benchmarks" / "peers" / "controller_runtime"
)
"""A cache of controller-runtime."""
ELECTOR = GoProgram("elector", _ROOT / "tests" / "cluster" / "elector")
"""A candidate of client-go's leader election."""
FILL = GoProgram("fill", _ROOT / "tests" / "cluster" / "fill")
"""Fills objects of every kind at random."""
REFLECT = GoProgram("reflect", _ROOT / "tools" / "schema" / "reflect")
"""Describes Go's types of the Kubernetes API."""

PROGRAMS = (CLIENT_GO, CONTROLLER_RUNTIME, ELECTOR, FILL, REFLECT)
