"""The packages of the embedded server: how they import each other, and how their tests lie."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from kinform import testing

SOURCE = Path(testing.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


def _imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_package_does_not_import_private_modules_of_another(path: Path) -> None:
    own = ".".join(("kinform.testing", *path.parent.relative_to(SOURCE).parts))
    foreign = [
        module
        for module in _imported_modules(path)
        if module.startswith("kinform.testing.")
        and "._" in module
        and not module.startswith(f"{own}.")
    ]

    assert foreign == []


def test_every_folder_of_tests_is_named_after_a_package() -> None:
    folders = {path.parent.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py")}
    packages = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("__init__.py")}

    assert folders - packages == set()
