"""Builds or installs the peers that kinform is compared with, and keeps them in the cache.

Our programs that use them are in ``peers/``; the libraries come from the registries. A peer without
its toolchain is skipped with a message.

    python -m benchmarks.peer_programs client-go      # builds it unless it exists
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tools.cluster_binaries import cache_root

OFFICIAL = "official"
CLIENT_GO = "client-go"
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
    """Our Go program, built with the versions that its go.mod names."""
    sources = _SOURCES / "client_go"
    program = _built(sources, CLIENT_GO)
    if not program.exists():
        _announce(CLIENT_GO, "go", install)
        # Under another name until it is whole.
        fresh = program.with_suffix(".new")
        _run(["go", "build", "-mod=readonly", "-buildvcs=false", "-o", str(fresh), "."], sources)
        fresh.rename(program)
    return program


def _kube_rs(install: bool) -> Path:
    """Our Rust program, built with the versions that its Cargo.lock names."""
    sources = _SOURCES / "kube_rs"
    program = _built(sources, KUBE_RS)
    if not program.exists():
        _announce(KUBE_RS, "cargo", install)
        target = cache_root() / "peers" / "kube-rs-target"
        command = ["cargo", "build", "--quiet", "--release", "--locked"]
        _run([*command, f"--target-dir={target}"], sources)
        fresh = program.with_suffix(".new")
        shutil.copy(target / "release" / "kube-rs-informer", fresh)
        fresh.rename(program)
    return program


_PEERS: dict[str, Callable[[bool], Path]] = {
    OFFICIAL: _official,
    CLIENT_GO: _client_go,
    KUBE_RS: _kube_rs,
}


def _built(sources: Path, name: str) -> Path:
    """Where the program is or will be: another one whenever its sources change."""
    content = hashlib.sha256()
    for file in sorted(each for each in sources.rglob("*") if each.is_file()):
        content.update(file.read_bytes())
    return cache_root() / "peers" / f"{name}-{content.hexdigest()[:12]}"


def _announce(name: str, tool: str, install: bool) -> None:
    _refuse_unless(install, f"{name} is not built yet; run without --quick")
    _refuse_unless(
        shutil.which(tool) is not None, f"{name} requires `{tool}`, which is not installed"
    )
    folder = cache_root() / "peers"
    folder.mkdir(parents=True, exist_ok=True)
    print(f"building {name} into {folder}, once", file=sys.stderr, flush=True)


def _refuse_unless(condition: bool, why: str) -> None:
    if not condition:
        raise NoPeerError(why)


def _run(command: list[str], cwd: Path) -> None:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NoPeerError(f"`{' '.join(command[:3])}` failed: {done.stderr.strip()[-500:]}")


if __name__ == "__main__":
    available_peers(sys.argv[1:], install=True)
