"""What people import, and what importing it costs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

import kinform

ROOMS = [
    "kinform",
    *(
        f"kinform.{module.name}"
        for module in pkgutil.iter_modules(kinform.__path__)
        if not module.name.startswith("_")
    ),
]


_NAMES = re.compile(r"\bkinform(?:\.[a-z0-9_]+)*\.[A-Z][A-Za-z0-9]+")


@pytest.fixture(params=ROOMS)
def room(request: pytest.FixtureRequest) -> ModuleType:
    return importlib.import_module(request.param)


def test_every_stage_that_is_built_has_a_room() -> None:
    assert {"kinform.api", "kinform.client", "kinform.errors", "kinform.testing"} < set(ROOMS)


def test_the_front_door_is_one_page() -> None:
    assert len(kinform.__all__) <= 50


def test_all_is_sorted_and_says_each_name_once(room: ModuleType) -> None:
    def rank(name: str) -> tuple[int, str]:
        # CONSTANTS, then Classes, then functions: as the linter sorts them.
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert sorted(room.__all__, key=rank) == list(room.__all__)
    assert len(set(room.__all__)) == len(room.__all__)


def test_every_name_in_all_is_there(room: ModuleType) -> None:
    assert [name for name in room.__all__ if not hasattr(room, name)] == []
    assert [name for name in room.__all__ if name.startswith("_")] == []


def test_all_is_complete(room: ModuleType) -> None:
    """What a room holds of its own, other than modules, is public; so it stands in ``__all__``."""
    own = {
        name
        for name, value in vars(room).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and getattr(value, "__module__", "").startswith("kinform")
    }
    assert own <= set(room.__all__)


def test_every_struct_can_be_asked_for_its_signature(room: ModuleType) -> None:
    """As ``help`` does. Its annotations are evaluated for it, and so must stand at run time."""
    for name in room.__all__:
        value = getattr(room, name)
        if isinstance(value, type) and issubclass(value, msgspec.Struct):
            assert inspect.signature(value).parameters.keys() == set(value.__struct_fields__)


def test_importing_kinform_does_not_import_what_is_heavy() -> None:
    code = "import sys, kinform; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.split()
    assert "kinform.client" in loaded
    assert not {"aiohttp", "yaml", "trustme", "pytest", "cryptography"}.intersection(loaded)
    # Of the standard library, what only a refusal, a page of HTML or an exec plugin needs.
    assert not {"email", "html", "http", "json"}.intersection(loaded)


def test_the_front_door_says_what_flows_through_it() -> None:
    assert kinform.__doc__ is not None
    assert "server" in kinform.__doc__


def test_every_name_that_is_pointed_to_is_there() -> None:
    """In errors and docstrings: who is sent somewhere must not find nothing."""
    source = Path(kinform.__file__).parent
    texts = (file.read_text("utf-8") for file in source.rglob("*.py"))
    pointed_to = {name for text in texts for name in _NAMES.findall(text)}
    missing = []
    for name in pointed_to:
        module, _, wanted = name.rpartition(".")
        if not hasattr(importlib.import_module(module), wanted):
            missing.append(name)
    assert len(pointed_to) > 10
    assert missing == []
