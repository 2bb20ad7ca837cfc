"""18.2: edits of an incomplete copy, applied to the complete object, erase nothing in it."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.objects._merge_edits import merge_edits

Tree = dict[str, Any]


def known(tree: Any) -> Any:
    """The tree without the fields that are newer."""
    if isinstance(tree, dict):
        return {name: known(value) for name, value in tree.items() if name != "newer"}
    return [known(each) for each in tree] if isinstance(tree, list) else tree


def merged(field: str, current: list[Any], now: list[Any]) -> Any:
    """The list after an edit of what is known of it to ``now``."""
    tree = {field: current, "newer": 0}
    return merge_edits(known(tree), {field: now}, tree)[field]


KEYED: dict[str, tuple[Tree, Tree, Tree]] = {
    "conditions": ({"type": "A"}, {"type": "B"}, {"type": "C"}),
    "nodeAllocatableResourceClaimStatuses": (
        {"resourceClaimName": "a"},
        {"resourceClaimName": "b"},
        {"resourceClaimName": "c"},
    ),
    "volumeClaimTemplates": (
        {"metadata": {"name": "a"}},
        {"metadata": {"name": "b"}},
        {"metadata": {"name": "c"}},
    ),
    "containers": ({"name": "a"}, {"name": "b"}, {"name": "c"}),
    "ports": (
        {"containerPort": 53, "protocol": "TCP", "name": "x"},
        {"containerPort": 53, "protocol": "UDP", "name": "x"},
        {"containerPort": 80, "protocol": "TCP", "name": "x"},
    ),
    "ownerReferences": (
        {"uid": "a", "name": "x"},
        {"uid": "b", "name": "x"},
        {"uid": "c", "name": "x"},
    ),
    "volumeMounts": (
        {"mountPath": "/a", "name": "x"},
        {"mountPath": "/b", "name": "x"},
        {"mountPath": "/c", "name": "x"},
    ),
    "x-kubernetes-validations": ({"rule": "a"}, {"rule": "b"}, {"rule": "c"}),
}


@pytest.mark.parametrize("field", KEYED)
def test_an_edited_element_of_a_list_with_a_key_keeps_its_own_fields(field: str) -> None:
    """18.2: also if the list changes its length or order at the same time."""
    first, second, third = KEYED[field]
    current = [{**first, "newer": 1}, {**second, "newer": 2}]
    edited: Tree = {**second, "value": "x"}
    complete = {**edited, "newer": 2}
    assert merged(field, current, [first, edited]) == [{**first, "newer": 1}, complete]
    assert merged(field, current, [edited]) == [complete]
    assert merged(field, current, [third, edited]) == [third, complete]
    assert merged(field, current, [edited, third]) == [complete, third]
    assert merged(field, current, [third, first, edited]) == [
        third,
        {**first, "newer": 1},
        complete,
    ]
    assert merged(field, current, [edited, first]) == [complete, {**first, "newer": 1}]
    assert merged(field, current, [third]) == [third]
    assert merged(field, current, []) == []


def test_elements_without_a_key_are_matched_by_content_position_and_likeness() -> None:
    """18.2: what an element loses or receives from another one would be data loss."""
    current = [
        {"cidr": "a", "except": [], "newer": 1},
        {"cidr": "b", "except": [], "newer": 2},
    ]
    one, two = known(current)
    changed = {"cidr": "b", "except": ["c"]}
    fresh = {"to": "d"}
    assert merged("from", current, [one, changed]) == [current[0], {**changed, "newer": 2}]
    assert merged("from", current, [changed]) == [{**changed, "newer": 2}]
    assert merged("from", current, [fresh, one, two]) == [fresh, *current]
    assert merged("from", current, [two, one]) == [current[1], current[0]]
    assert merged("from", current, [fresh, two, fresh]) == [fresh, current[1], fresh]


def test_equal_elements_are_matched_in_order() -> None:
    current = [{"a": 1, "newer": 1}, {"a": 1, "newer": 2}]
    assert merged("list", current, [{"a": 1}, {"a": 1}, {"a": 2}]) == [*current, {"a": 2}]
    assert merged("list", current, [{"a": 1}]) == [{"a": 1, "newer": 1}]


def test_scalars_are_taken_from_the_edit() -> None:
    assert merged("args", ["a", "b"], ["b", "c", "a"]) == ["b", "c", "a"]
    assert merged("args", ["a", "b"], []) == []


def test_fields_are_added_changed_and_removed() -> None:
    current = {"a": 1, "b": {"c": 2, "newer": 3}, "d": 4, "newer": {"e": 5}, "empty": None}
    before = {"a": 1, "b": {"c": 2}, "d": 4, "added": ""}
    now = {"a": 6, "b": {"f": 7}, "g": 8, "added": ""}
    expected = {"a": 6, "b": {"f": 7, "newer": 3}, "newer": {"e": 5}, "empty": None, "g": 8}
    assert merge_edits(before, now, current) == expected
    assert merge_edits({"a": 1}, {"a": True}, {"a": 1})["a"] is True


def test_a_list_that_is_complete_in_another_length_becomes_the_edited_one() -> None:
    assert merge_edits([1, 2], [1, 3], [1]) == [1, 3]
    assert merge_edits([1, 2], [1, 2], [1]) == [1]
