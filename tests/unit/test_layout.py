"""The layout of the source tree: private modules stay private, and tests are laid out like it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kinform

SOURCE = Path(kinform.__file__).parent
TESTS = Path(__file__).parent
MODULES = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if not {"models", "tables"} & set(path.relative_to(SOURCE).parts)
]
# Tests of what is beside the package.
OTHER_TESTS = {".", "benchmarks", "tools"}


def _imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _is_private_to(module: str) -> str | None:
    """Return the package that a module is private to, if any."""
    package, dot, _ = module.partition("._")
    # Private packages at the top are for all of kinform.
    return package if dot and package != "kinform" else None


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_package_imports_private_modules_of_another(path: Path) -> None:
    own = ".".join(("kinform", *path.parent.relative_to(SOURCE).parts))
    foreign = [
        module
        for module in _imported_modules(path)
        if module.startswith("kinform.")
        and (owner := _is_private_to(module)) is not None
        and not f"{own}.".startswith(f"{owner}.")
    ]

    assert foreign == []


def test_every_folder_of_tests_is_named_after_a_package() -> None:
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    packages = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")}

    assert folders - packages - OTHER_TESTS == set()
