"""Reading, setting and removing the values at paths in trees."""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

from kinform.errors import InvalidNameError

Path = str | Sequence[str | int]
"""``"spec.replicas"``; a number indexes a list: ``"spec.containers.0.image"``.

A key that contains dots requires a sequence: ``("metadata", "labels", "a.b/c")``.
"""

_INDEX = re.compile(r"-?[0-9]+")


def split_path(path: Path) -> list[str | int]:
    """Split a path into its steps.

    Raises:
        InvalidNameError: The path is empty, has an empty step, or is not a path.
    """
    try:
        steps: list[str | int] = [*path.split(".")] if isinstance(path, str) else [*path]
    except TypeError:
        raise InvalidNameError(f"{path!r} is not a path; write it as 'spec.replicas'") from None
    if not steps or "" in steps:
        raise InvalidNameError(f"path {path!r} has an empty step; write it as 'spec.replicas'")
    return steps


def read_path(tree: Any, path: Path, default: Any = None) -> Any:
    """Return the value at ``path``, or ``default`` if any step is absent."""
    try:
        return step_into(tree, split_path(path))
    except LookupError:
        return default


def step_into(tree: Any, steps: Sequence[str | int]) -> Any:
    """Return the value at these steps. Raises LookupError if any of them is absent."""
    for step in steps:
        tree = _step(tree, step)
    return tree


def write_path(tree: Any, path: Path, value: Any) -> None:
    """Set the value at ``path`` and create missing dicts; lists are not extended.

    Raises:
        InvalidNameError: A step leads through a value that is neither a mapping nor a list, or
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
    """Remove the value at ``path``; report whether it existed."""
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
    """Take one step. Raises LookupError if the child, or a container to step into, is missing."""
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
