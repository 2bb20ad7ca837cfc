"""Builds or installs the peers that kinform is compared with, and keeps them in the cache.

Our programs that use them are in ``peers/``; the libraries come from the registries. A peer without
its toolchain is skipped with a message.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tools import go_programs
from tools.go import CannotBuildError, cache_root

OFFICIAL = "official"
CLIENT_GO = "client-go"
CONTROLLER_RUNTIME = "controller-runtime"
KUBE_RS = "kube-rs"

REQUIREMENTS = ("kubernetes==37.0.2",)

Peers = Mapping[str, Path]
"""What to start for each peer: an interpreter that has it, or a program."""

_SOURCES = Path(__file__).resolve().parent / "peers"


class NoPeerError(Exception):
    """A peer is not there, and could not or should not be had; says why."""


def available_peers(needed: Sequence[str], *, install: bool) -> Peers:
    """Those of the needed ones that can be had; a line about each other one goes to stderr."""
    found: dict[str, Path] = {}
    for name in needed:
        try:
            found[name] = _PEERS[name](install)
        except NoPeerError as problem:
            print(f"without peers: {problem}", file=sys.stderr, flush=True)
    return found


def _official(install: bool) -> Path:
    """The interpreter that has the official Python client."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = cache_root() / "peers" / "-".join((*REQUIREMENTS, version)).replace("==", "-")
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if ready.exists():
        return python
    wanted = ", ".join(REQUIREMENTS)
    _refuse_unless(install, f"{wanted} is not installed yet; run without --quick")
    print(f"installing {wanted} into {folder}", file=sys.stderr, flush=True)
    venv.create(folder, clear=True, with_pip=True)
    _run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], cwd=folder)
    ready.touch()
    return python


def _client_go(install: bool) -> Path:
    return _go_program(CLIENT_GO, go_programs.CLIENT_GO, install)


def _controller_runtime(install: bool) -> Path:
    return _go_program(CONTROLLER_RUNTIME, go_programs.CONTROLLER_RUNTIME, install)


def _go_program(name: str, program: go_programs.GoProgram, install: bool) -> Path:
    """A Go program of ours, built with the versions that its go.mod names."""
    if not program.path.exists():
        _require_tool(name, "go", install)
        try:
            program.build()
        except CannotBuildError as problem:
            raise NoPeerError(str(problem)) from problem
    return program.path


def _kube_rs(install: bool) -> Path:
    """Our Rust program, built with the versions that its Cargo.lock names."""
    sources = _SOURCES / "kube_rs"
    folder = cache_root() / "peers"
    program = folder / f"{KUBE_RS}-{go_programs.sources_digest(sources)}"
    if not program.exists():
        _require_tool(KUBE_RS, "cargo", install)
        folder.mkdir(parents=True, exist_ok=True)
        print(f"building {KUBE_RS} into {folder}, once", file=sys.stderr, flush=True)
        target = folder / "kube-rs-target"
        command = ["cargo", "build", "--quiet", "--release", "--locked"]
        _run([*command, f"--target-dir={target}"], sources)
        fresh = program.with_suffix(".new")
        shutil.copy(target / "release" / "kube-rs-informer", fresh)
        fresh.rename(program)
    return program


_PEERS: dict[str, Callable[[bool], Path]] = {
    OFFICIAL: _official,
    CLIENT_GO: _client_go,
    CONTROLLER_RUNTIME: _controller_runtime,
    KUBE_RS: _kube_rs,
}


def _require_tool(name: str, tool: str, install: bool) -> None:
    _refuse_unless(install, f"{name} is not built yet; run without --quick")
    _refuse_unless(
        shutil.which(tool) is not None, f"{name} requires `{tool}`, which is not installed"
    )


def _refuse_unless(condition: bool, why: str) -> None:
    if not condition:
        raise NoPeerError(why)


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoPeerError(f"`{' '.join(command[:3])}` failed: {done.stderr.strip()[-500:]}")
