"""JSON merge patches: the difference of two versions of an object."""

from __future__ import annotations

from typing import Any


def merge_patch(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the merge patch that turns one tree into the other; empty if they are equal.

    Lists are replaced as a whole. A value that is removed is ``None`` in the patch.
    """
    patch: dict[str, Any] = {}
    for name in before.keys() | after.keys():
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            patch[name] = merge_patch(old, new)
        else:
            patch[name] = new
    return patch
