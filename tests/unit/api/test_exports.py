"""What a public module offers is in its ``__all__``, all of it, in order."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest

PUBLIC_MODULES = ["kinform.api", "kinform.errors", "kinform.objects"]


def offered(module: ModuleType) -> set[str]:
    """Public names that come from kinform itself."""
    return {
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and name != "annotations"
        and not isinstance(value, ModuleType)
        and (getattr(value, "__module__", "kinform") or "").startswith("kinform")
    }


def constants_classes_functions(name: str) -> tuple[int, str]:
    """The order that ruff keeps: constants, then classes, then the rest."""
    group = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return group, name


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_all_is_sorted(name: str) -> None:
    exported = importlib.import_module(name).__all__
    assert exported == sorted(exported, key=constants_classes_functions)


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_all_is_complete(name: str) -> None:
    module = importlib.import_module(name)
    # A type alias of the typing module does not say where it was defined.
    aliases = {name for name in module.__all__ if name not in offered(module)}
    assert aliases <= {"Always", "FieldsV1", "MicroTime", "Path", "ResourceVersionMatch"}
    assert set(module.__all__) == offered(module) | aliases
    assert all(hasattr(module, name) for name in module.__all__)
