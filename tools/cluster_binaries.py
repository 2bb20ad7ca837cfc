"""Builds kube-apiserver, kubectl and etcd for the tests.

The binaries are built from the Go module registry, once, into a cache folder outside the
repository. If ``KUBEBUILDER_ASSETS`` names a folder with the binaries, that one is used.

    python tools/cluster_binaries.py          # builds the missing ones, prints the folder
    python tools/cluster_binaries.py --where  # prints the folder; builds nothing
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
    """The binaries are missing and cannot be built; the message has the reason."""


def cache_root() -> Path:
    """Return the folder for files that take long to build and can be built again."""
    if chosen := os.environ.get("KINFORM_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kinform"


def assets_folder() -> Path:
    """Return the folder of the binaries, which may not exist yet."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(given)
    return cache_root() / f"kubernetes-{KUBERNETES}-etcd-{ETCD}"


def missing(folder: Path) -> list[str]:
    return [name for name in BINARIES if not os.access(folder / name, os.X_OK)]


def ensure() -> Path:
    """Return the folder with all three binaries, building them if necessary.

    Raises:
        CannotBuildError: They are missing and cannot be built.
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
    """Hold the lock of the folder: concurrent calls build only once."""
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
    # It requires its staging modules as v0.0.0, which exist only in its own tree; they are
    # published as v0.<minor>.<patch>.
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
            # Copied, then renamed: other processes never see an incomplete binary.
            shutil.copy2(made, folder / f".{name}")
            (folder / f".{name}").rename(folder / name)


def _go(*arguments: str, cwd: Path) -> str:
    # Without CGO, the build needs no C compiler.
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
