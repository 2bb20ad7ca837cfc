"""Patches of JSON values: JSON patch, merge patch and strategic merge patch."""

from __future__ import annotations

from kinform.testing.patches._json_patch import apply_json_patch
from kinform.testing.patches._merge_patch import apply_merge_patch
from kinform.testing.patches._strategic_merge_patch import apply_strategic_patch

__all__ = [
    "apply_json_patch",
    "apply_merge_patch",
    "apply_strategic_patch",
]
