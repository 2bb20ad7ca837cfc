"""Runs the Go program in ``reflect/``, which describes Go's types of the Kubernetes API.

It is built once, into the cache folder, with the same Kubernetes version as the test servers.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.cluster_binaries import KUBERNETES, CannotBuildError, cache_root

_SOURCES = Path(__file__).parent / "reflect"
# Staging modules are published as v0.<minor>.<patch>.
_STAGING = "v0." + KUBERNETES.split(".", 1)[1]


def reflect() -> Any:
    """Return ``packages``, ``kinds``, ``types`` and ``structs`` as in `tools.schema.table`.

    Raises:
        CannotBuildError: The program cannot be built, or it failed.
    """
    return json.loads(_run([str(_program())], cwd=_SOURCES))


def _program() -> Path:
    _check_versions()
    content = hashlib.sha256()
    for file in sorted(each for each in _SOURCES.iterdir() if each.is_file()):
        content.update(file.read_bytes())
    program = cache_root() / "schema" / f"reflect-{content.hexdigest()[:12]}"
    if program.exists():
        return program
    if shutil.which("go") is None:
        raise CannotBuildError(f"{program} is missing and there is no `go` to build it; install Go")
    program.parent.mkdir(parents=True, exist_ok=True)
    print(f"building {program}, once", file=sys.stderr, flush=True)
    # Renamed when complete.
    fresh = program.with_suffix(f".{os.getpid()}")
    _run(["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(fresh), "."], cwd=_SOURCES)
    fresh.rename(program)
    return program


def _check_versions() -> None:
    """Check that the types and the server are of the same Kubernetes version."""
    wanted = re.findall(
        r"^\s+(k8s\.io/\S+) (v0\.\d+\.\d+)$", (_SOURCES / "go.mod").read_text(), re.M
    )
    if odd := [f"{module} {version}" for module, version in wanted if version != _STAGING]:
        raise CannotBuildError(
            f"{_SOURCES / 'go.mod'} requires {', '.join(odd)}, but tools/cluster_binaries.py "
            f"builds Kubernetes {KUBERNETES}; require {_STAGING}, then run `go mod tidy` there"
        )


def _run(command: list[str], *, cwd: Path) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotBuildError(f"`{' '.join(command)}` failed:\n{done.stderr.strip()[-4000:]}")
    return done.stdout
