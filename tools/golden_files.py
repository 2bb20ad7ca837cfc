"""Finds Kubernetes' golden files: an object of every kind, with every field set, in both formats.

They are in the module ``k8s.io/api``: in ``testdata/HEAD`` those of its own release, and in
``testdata/v1.N.0`` those of the releases before it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tools.cluster_binaries import STAGING
from tools.go import CannotBuildError, NotBuiltError, go, progress, say

_MODULE = f"k8s.io/api@{STAGING}"
_LIMIT = 600.0


def modules() -> list[Path]:
    """Return the folders of all versions of the module that are in Go's module cache.

    Raises:
        NotBuiltError: The version of the test servers is not among them, or there is no Go.
    """
    try:
        cache = _module_cache()
    except CannotBuildError as error:
        raise NotBuiltError(f"no golden files of Kubernetes: {error}") from error
    if not (cache / _MODULE).is_dir():
        raise NotBuiltError(f"no golden files of Kubernetes: {_MODULE} is not in {cache}")
    return sorted(cache.glob("k8s.io/api@v*"))


def newest_release() -> Path:
    """Return the folder of the golden files of the test servers' release.

    Raises:
        NotBuiltError: It is not in Go's module cache, or there is no Go.
    """
    return next(each for each in modules() if each.name == Path(_MODULE).name) / "testdata" / "HEAD"


def releases() -> dict[str, Path]:
    """Return the folders of golden files of all releases that are in Go's module cache.

    Raises:
        NotBuiltError: As `modules`.
    """
    found = {}
    for module in modules():
        for folder in sorted((module / "testdata").iterdir()):
            if folder.is_dir():
                # The files of a release are the same in all later modules.
                name = module.name if folder.name == "HEAD" else folder.name
                found[name] = folder
    return found


def download() -> None:
    """Download the version of the test servers unless it is in Go's module cache.

    Raises:
        CannotBuildError: There is no Go, or it failed.
    """
    cache = _module_cache()
    if (cache / _MODULE).is_dir():
        say(f"golden files of Kubernetes: cached in {cache}")
        return
    with (
        progress(f"downloading {_MODULE} into {cache}"),
        tempfile.TemporaryDirectory() as scratch,
    ):
        go("mod", "download", _MODULE, cwd=Path(scratch), limit=_LIMIT)


def _module_cache() -> Path:
    return Path(go("env", "GOMODCACHE", cwd=Path.cwd(), limit=60).strip())
