"""A tree and a path in; the value there read, set or removed."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from kinform.errors import InvalidNameError

Path = str | Sequence[str | int]
"""``"spec.replicas"``; a number indexes a list: ``"spec.containers.0.image"``.

A key that has dots itself needs a sequence: ``("metadata", "labels", "a.b/c")``.
"""

_INDEX = re.compile(r"-?[0-9]+")


def split_path(path: Path) -> list[str | int]:
    """The steps of a path.

    Raises:
        InvalidNameError: It is no path, is empty, or has an empty step.
    """
    try:
        steps: list[str | int] = [*path.split(".")] if isinstance(path, str) else [*path]
    except TypeError:
        raise InvalidNameError(f"{path!r} is no path; write it as 'spec.replicas'") from None
    if not steps or "" in steps:
        raise InvalidNameError(f"path {path!r} has an empty step; write it as 'spec.replicas'")
    return steps


def read_path(tree: Any, path: Path, default: Any = None) -> Any:
    """What is at ``path``, or ``default`` if any step of it is absent."""
    try:
        return step_into(tree, split_path(path))
    except LookupError:
        return default


def step_into(tree: Any, steps: Sequence[str | int]) -> Any:
    """What these steps lead to. Raises LookupError if any of them is absent."""
    for step in steps:
        tree = _step(tree, step)
    return tree


def write_path(tree: Any, path: Path, value: Any) -> None:
    """Put ``value`` at ``path``, making the dicts on the way; a list does not grow.

    Raises:
        InvalidNameError: A step leads through something that is neither mapping nor list, or
            beyond the end of a list.
    """
    *parents, last = split_path(path)
    for step in parents:
        if isinstance(tree, MutableMapping) and tree.get(step) is None:
            tree[step] = {}
        tree = _existing(tree, step, path)
    if not isinstance(tree, MutableMapping):
        _existing(tree, last, path)
        tree[int(last)] = value
    else:
        tree[last] = value


def remove_path(tree: Any, path: Path) -> bool:
    """Remove what is at ``path``; whether there was anything."""
    *parents, last = split_path(path)
    try:
        for step in parents:
            tree = _step(tree, step)
        _step(tree, last)
    except LookupError:
        return False
    del tree[int(last) if isinstance(tree, list) else last]
    return True


def _step(tree: Any, step: str | int) -> Any:
    """One step down. Raises LookupError if there is nothing, or nothing to step into."""
    if isinstance(tree, Mapping):
        return tree[step]
    if isinstance(tree, list) and _INDEX.fullmatch(str(step)):
        return tree[int(step)]
    raise LookupError(step)


def _existing(tree: Any, step: str | int, path: Path) -> Any:
    try:
        return _step(tree, step)
    except LookupError:
        where = f"a list of {len(tree)}" if isinstance(tree, list) else f"a {type(tree).__name__}"
        raise InvalidNameError(f"path {path!r}: {where} has no {step!r} to go to") from None
