"""Validation of trees that are to be encoded as JSON."""

from __future__ import annotations

from math import isfinite
from typing import Any

from kinform.errors import EncodeError

_PLAIN = frozenset({str, int, bool, type(None)})


def require_json(tree: Any) -> None:
    """Reject values that JSON cannot represent exactly.

    An encoder that writes a set as a list, a datetime as text and NaN as null would hide a mistake
    until the server finds it, if at all.

    Raises:
        EncodeError: A value is not a dict, list, string, finite number, bool or ``None``.
    """
    try:
        _check(tree)
    except _MisfitError as type_error:
        place = ".".join(map(str, reversed(type_error.path))) or "the object"
        raise EncodeError(f"{place} {type_error}") from None
    except RecursionError as error:
        raise EncodeError("it contains itself, or is nested too deep") from error


class _MisfitError(Exception):
    """Collects the path while it propagates, so that valid trees cost nothing."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.path: list[str | int] = []


def _check(value: Any) -> None:
    if isinstance(value, dict):
        for key, child in dict.items(value):
            if type(key) is not str:
                raise _MisfitError(f"has the key {key!r}; in JSON all keys are strings")
            if type(child) not in _PLAIN:
                _check_child(child, key)
    elif isinstance(value, (list, tuple)):  # a union is several times slower
        for index, child in enumerate(value):
            if type(child) not in _PLAIN:
                _check_child(child, index)
    elif isinstance(value, float):
        if not isfinite(value):
            raise _MisfitError(f"is {value}; JSON has no such number")
    elif not isinstance(value, str | int | None):
        raise _MisfitError(
            f"is a {type(value).__name__}, which JSON does not have; "
            "make it a string, a number, a list or a dict"
        )


def _check_child(child: Any, step: str | int) -> None:
    try:
        _check(child)
    except _MisfitError as type_error:
        type_error.path.append(step)
        raise
