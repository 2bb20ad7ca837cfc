"""Merge patches are the differences of two trees."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kinform.controllers.helpers._merge_patch import merge_patch
from kinform.testing.patches import apply_merge_patch as apply_patch

VALUES = st.one_of(st.integers(0, 3), st.text("ab", max_size=2), st.lists(st.integers(0, 3)))
TREES = st.recursive(
    st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from("abc"), st.one_of(inner, VALUES), max_size=3),
    max_leaves=12,
)


@given(before=TREES, after=TREES)
def test_patch_turns_one_tree_into_the_other(before: Any, after: Any) -> None:
    """20: and is empty if they are equal."""
    patch = merge_patch(before, after)
    assert apply_patch(before, patch) == after
    assert (patch == {}) == (before == after)


def test_only_differences_are_sent() -> None:
    """20: values of others are not repeated."""
    before = {"a": {"x": 1, "y": [1, 2]}, "b": 1, "c": 1}
    after = {"a": {"x": 2, "y": [1, 2]}, "c": 1, "d": {"z": 1}}
    assert merge_patch(before, after) == {"a": {"x": 2}, "b": None, "d": {"z": 1}}
