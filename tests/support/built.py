"""What `tools.build_programs` has built or downloaded; tests never build anything themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

from tools import golden_files
from tools.go import NotBuiltError

T = TypeVar("T")


def is_required() -> bool:
    """Whether what is missing is an error and not a skip."""
    return os.environ.get("KINFORM_REQUIRE_CLUSTER") == "1"


def built_or_skip(find: Callable[[], T]) -> T:
    """Return what ``find`` finds. Without it the test is skipped, or fails where it is required."""
    try:
        return find()
    except NotBuiltError as problem:
        if is_required():
            raise
        pytest.skip(str(problem))


def parametrize_samples(metafunc: pytest.Metafunc, suffix: str) -> None:
    """One test for each golden file of the newest release."""
    _parametrize(
        metafunc,
        "sample",
        lambda: {file.stem: file.stem for file in golden_files.newest_release().glob(f"*{suffix}")},
    )


def parametrize_releases(metafunc: pytest.Metafunc) -> None:
    """One test for each release that has golden files."""
    _parametrize(metafunc, "release", golden_files.releases)


def _parametrize(
    metafunc: pytest.Metafunc, argument: str, find: Callable[[], Mapping[str, object]]
) -> None:
    """Values are looked up only if the tests will run."""
    if argument not in metafunc.fixturenames:
        return
    found: Mapping[str, object] = {}
    if metafunc.config.getoption("--cluster"):
        try:
            found = find()
        except NotBuiltError as problem:
            if is_required():
                raise
            skipped = pytest.param(None, marks=pytest.mark.skip(str(problem)), id="none")
            metafunc.parametrize(argument, [skipped])
            return
    names = sorted(found)
    metafunc.parametrize(argument, [found[name] for name in names], ids=names)
