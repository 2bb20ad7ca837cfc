"""Builds kube-apiserver, kubectl, etcd and kube-controller-manager for the tests, and finds them.

The binaries are built from the Go module registry, once, into a cache folder outside the
repository. If ``KUBEBUILDER_ASSETS`` names a folder with the binaries, that one is used.
kube-controller-manager is not in such a folder, and is always built.
`tools.build_programs` is the step that builds them.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.go import CannotBuildError, NotBuiltError, cache_root, go, progress, say

KUBERNETES = "v1.37.1"
ETCD = "v3.6.16"
BINARIES = ("kube-apiserver", "kubectl", "etcd")
CONTROLLER_MANAGER = "kube-controller-manager"
STAGING = "v0." + KUBERNETES.split(".", 1)[1]
"""The version of the modules that are published from the tree of Kubernetes."""

_LIMIT = 3600.0


def assets_folder() -> Path:
    """Return the folder of the binaries, which may not exist yet."""
    if given := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(given)
    return _own_folder()


def missing(folder: Path) -> list[str]:
    return [name for name in BINARIES if not _is_built(folder / name)]


def _is_built(program: Path) -> bool:
    return os.access(program, os.X_OK)


def _own_folder() -> Path:
    return cache_root() / f"kubernetes-{KUBERNETES}-etcd-{ETCD}"


def controller_manager() -> Path:
    """Return the path of kube-controller-manager, which is never built here.

    Raises:
        NotBuiltError: It has not been built yet.
    """
    program = _own_folder() / CONTROLLER_MANAGER
    if not _is_built(program):
        raise NotBuiltError(f"{program} has not been built")
    return program


def build_controller_manager() -> None:
    """Build kube-controller-manager if it is missing.

    Raises:
        CannotBuildError: There is no Go, or it failed.
    """
    folder = _own_folder()
    if _is_built(folder / CONTROLLER_MANAGER):
        say(f"{CONTROLLER_MANAGER}: cached in {folder}")
        return
    if shutil.which("go") is None:
        raise CannotBuildError(
            f"no {CONTROLLER_MANAGER} in {folder}, and no `go` to build it with; install Go"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusively(folder):
        _build_kubernetes(folder, (CONTROLLER_MANAGER,))


def built() -> Path:
    """Return the folder with all three binaries, which are never built here.

    Raises:
        NotBuiltError: One of them has not been built yet.
    """
    folder = assets_folder()
    if absent := missing(folder):
        given = "KUBEBUILDER_ASSETS=" if "KUBEBUILDER_ASSETS" in os.environ else ""
        raise NotBuiltError(f"{given}{folder} lacks {', '.join(absent)}")
    return folder


def build() -> None:
    """Build those of the binaries that are missing.

    Raises:
        CannotBuildError: There is no Go, or it failed.
    """
    folder = assets_folder()
    if not missing(folder):
        say(f"{', '.join(BINARIES)}: cached in {folder}")
        return
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
            _build_kubernetes(folder, ("kubectl", "kube-apiserver"))


@contextmanager
def _exclusively(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder: concurrent calls build only once."""
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build_etcd(folder: Path) -> None:
    module = f"module kinform.test/etcd\n\ngo 1.24\n\nrequire go.etcd.io/etcd/server/v3 {ETCD}\n"
    _build(folder, module, {"etcd": "go.etcd.io/etcd/server/v3"}, ldflags="-s -w")


def _build_kubernetes(folder: Path, programs: tuple[str, ...]) -> None:
    with progress(f"downloading k8s.io/kubernetes {KUBERNETES}"):
        wanted = f"k8s.io/kubernetes@{KUBERNETES}"
        info = go("mod", "download", "-json", wanted, cwd=folder, limit=_LIMIT)
    go_mod = go("mod", "edit", "-json", json.loads(info)["GoMod"], cwd=folder, limit=_LIMIT)
    parsed = json.loads(go_mod)
    # It requires its staging modules as v0.0.0, which exist only in its own tree.
    replaces = "\n".join(
        f"replace {needed['Path']} => {needed['Path']} {STAGING}"
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
    commands = {name: f"k8s.io/kubernetes/cmd/{name}" for name in programs}
    _build(folder, module, commands, ldflags=stamp)


def _build(folder: Path, go_mod: str, commands: dict[str, str], *, ldflags: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "go.mod").write_text(go_mod)
        for name, package in commands.items():
            if _is_built(folder / name):
                continue
            with progress(f"building {name} into {folder}"):
                made = Path(scratch) / name
                options = ("-mod=mod", "-trimpath", "-buildvcs=false", "-ldflags", ldflags)
                arguments = ("build", *options, "-o", str(made), package)
                go(*arguments, cwd=Path(scratch), limit=_LIMIT)
            # Copied, then renamed: other processes never see an incomplete binary.
            shutil.copy2(made, folder / f".{name}")
            (folder / f".{name}").rename(folder / name)
