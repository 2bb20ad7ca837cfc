"""Our Go program in ``reflect/`` in, what it says of Go's types out.

It is built once, into the cache folder, with the Kubernetes that the servers of the tests have.
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
    """``packages``, ``kinds``, ``types`` and ``structs``, as `tools.schema.table` has them.

    Raises:
        CannotBuildError: The program is not there and cannot be built, or it failed.
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
        raise CannotBuildError(f"no {program}, and no `go` to build it with; install Go")
    program.parent.mkdir(parents=True, exist_ok=True)
    print(f"building {program}, once", file=sys.stderr, flush=True)
    # Under another name until it is whole.
    fresh = program.with_suffix(f".{os.getpid()}")
    _run(["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(fresh), "."], cwd=_SOURCES)
    fresh.rename(program)
    return program


def _check_versions() -> None:
    """One Kubernetes for the types and for the server, or the table would be of neither."""
    wanted = re.findall(
        r"^\s+(k8s\.io/\S+) (v0\.\d+\.\d+)$", (_SOURCES / "go.mod").read_text(), re.M
    )
    if odd := [f"{module} {version}" for module, version in wanted if version != _STAGING]:
        raise CannotBuildError(
            f"{_SOURCES / 'go.mod'} asks for {', '.join(odd)}, and tools/cluster_binaries.py for "
            f"Kubernetes {KUBERNETES}; let it ask for {_STAGING}, then run `go mod tidy` there"
        )


def _run(command: list[str], *, cwd: Path) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotBuildError(f"`{' '.join(command)}` failed:\n{done.stderr.strip()[-4000:]}")
    return done.stdout
