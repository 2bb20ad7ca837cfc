"""JSON merge patches (RFC 7386)."""

from __future__ import annotations

from typing import Any


def apply_merge_patch(current: Any, patch: Any) -> Any:
    """Return the merged value. Inputs are not modified; unpatched parts are shared."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = apply_merge_patch(merged.get(key), value)
    return merged
