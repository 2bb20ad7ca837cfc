"""Versions in, a folder with kube-apiserver, kubectl and etcd out.

The binaries are built from the Go module registry, once, into a cache folder outside the
repository. ``KUBEBUILDER_ASSETS`` names a folder that has them already, and wins.

    python tools/cluster_binaries.py          # builds what is missing, prints the folder
    python tools/cluster_binaries.py --where  # prints where they would be; builds nothing
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KUBERNETES = "v1.37.1"
ETCD = "v3.6.16"
BINARIES = ("kube-apiserver", "kubectl", "etcd")


class CannotBuildError(Exception):
    """The binaries are not there and cannot be had here; the message says why."""


def cache_root() -> Path:
    """Where everything lives that is costly to make and can be made again."""
    if chosen := os.environ.get("KINFORM_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kinform"


def assets_folder() -> Path:
    """The folder that has, or will have, the binaries."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(given)
    return cache_root() / f"kubernetes-{KUBERNETES}-etcd-{ETCD}"


def missing(folder: Path) -> list[str]:
    return [name for name in BINARIES if not os.access(folder / name, os.X_OK)]


def ensure() -> Path:
    """The folder with all three binaries, built first if need be.

    Raises:
        CannotBuildError: They are missing and there is no way to build them.
    """
    folder = assets_folder()
    if not missing(folder):
        return folder
    if "KUBEBUILDER_ASSETS" in os.environ:
        raise CannotBuildError(
            f"KUBEBUILDER_ASSETS={folder} lacks {', '.join(missing(folder))}; "
            "complete it, or unset it to build them from the Go module registry"
        )
    if shutil.which("go") is None:
        raise CannotBuildError(
            f"no {', '.join(missing(folder))} in {folder}, and no `go` to build them with; "
            "install Go, or point KUBEBUILDER_ASSETS at a folder that has them"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusively(folder):
        if "etcd" in missing(folder):
            _build_etcd(folder)
        if missing(folder):
            _build_kubernetes(folder)
    return folder


@contextmanager
def _exclusively(folder: Path) -> Iterator[None]:
    """One builder at a time; the second one finds the work done."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_etcd(folder: Path) -> None:
    module = f"module kinform.test/etcd\n\ngo 1.24\n\nrequire go.etcd.io/etcd/server/v3 {ETCD}\n"
    _build(folder, module, {"etcd": "go.etcd.io/etcd/server/v3"}, ldflags="-s -w")


def _build_kubernetes(folder: Path) -> None:
    info = _go("mod", "download", "-json", f"k8s.io/kubernetes@{KUBERNETES}", cwd=folder)
    go_mod = _go("mod", "edit", "-json", json.loads(info)["GoMod"], cwd=folder)
    parsed = json.loads(go_mod)
    # Its staging modules are required as v0.0.0 and live in its own tree; outside of it
    # each one is published as v0.<minor>.<patch>.
    staging = "v0." + KUBERNETES.split(".", 1)[1]
    replaces = "\n".join(
        f"replace {needed['Path']} => {needed['Path']} {staging}"
        for needed in parsed["Require"]
        if needed["Version"] == "v0.0.0"
    )
    module = (
        f"module kinform.test/kubernetes\n\ngo {parsed['Go']}\n\n"
        f"require k8s.io/kubernetes {KUBERNETES}\n\n{replaces}\n"
    )
    version = "k8s.io/component-base/version"
    major, minor, _ = KUBERNETES.removeprefix("v").split(".")
    stamp = (
        f"-s -w -X {version}.gitVersion={KUBERNETES} "
        f"-X {version}.gitMajor={major} -X {version}.gitMinor={minor}"
    )
    commands = {name: f"k8s.io/kubernetes/cmd/{name}" for name in ("kubectl", "kube-apiserver")}
    _build(folder, module, commands, ldflags=stamp)


def _build(folder: Path, go_mod: str, commands: dict[str, str], *, ldflags: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "go.mod").write_text(go_mod)
        for name, package in commands.items():
            if name not in missing(folder):
                continue
            print(f"building {name} (minutes, once) into {folder}", file=sys.stderr, flush=True)
            made = Path(scratch) / name
            _go("build", "-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags", ldflags,
                "-o", str(made), package, cwd=Path(scratch))  # fmt: skip
            # A copy beside its final place, then a rename: never half a binary.
            shutil.copy2(made, folder / f".{name}")
            (folder / f".{name}").rename(folder / name)


def _go(*arguments: str, cwd: Path) -> str:
    # A tool chain newer than the installed one is a download of its own; build with what is here.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    done = subprocess.run(
        ["go", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CannotBuildError(f"go {' '.join(arguments)} failed:\n{done.stderr.strip()[-4000:]}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--where", action="store_true", help="print the folder, build nothing")
    if parser.parse_args().where:
        print(assets_folder())
        return 0
    try:
        print(ensure())
    except CannotBuildError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
