"""RFC 6902, operation by operation, and what does not apply."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.errors import BadRequestError, InvalidError
from kinform.testing.patches import apply_json_patch

DOCUMENT = {"a": {"b": 1, "x/y": 2, "m~n": 3}, "list": [1, 2, 3]}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/a/c", "value": 9}, {"a": {**DOCUMENT["a"], "c": 9}}),  # type: ignore[dict-item] # of one shape
        ({"op": "add", "path": "/list/1", "value": 9}, {"list": [1, 9, 2, 3]}),
        ({"op": "add", "path": "/list/-", "value": 9}, {"list": [1, 2, 3, 9]}),
        ({"op": "add", "path": "/list/3", "value": 9}, {"list": [1, 2, 3, 9]}),
        ({"op": "remove", "path": "/list/0"}, {"list": [2, 3]}),
        ({"op": "remove", "path": "/list/-1"}, {"list": [1, 2]}),
        ({"op": "remove", "path": "/a/x~1y"}, {"a": {"b": 1, "m~n": 3}}),
        ({"op": "remove", "path": "/a/m~0n"}, {"a": {"b": 1, "x/y": 2}}),
        ({"op": "replace", "path": "/list/1", "value": None}, {"list": [1, None, 3]}),
        # Not by the RFC, but as the server does it: what is not there is added.
        ({"op": "replace", "path": "/new", "value": 1}, {"new": 1}),
        ({"op": "copy", "from": "/list/0", "path": "/first"}, {"first": 1}),
        ({"op": "move", "from": "/list/0", "path": "/list/-"}, {"list": [2, 3, 1]}),
        ({"op": "test", "path": "/a/b", "value": 1}, {}),
        ({"op": "test", "path": "/absent", "value": None}, {}),
        ({"op": "replace", "path": "/a", "value": "whole"}, {"a": "whole"}),
    ],
    ids=lambda value: f"{value['op']} {value['path']}" if "op" in value else "",
)
def test_an_operation_changes_what_it_names(
    operation: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert apply_json_patch(DOCUMENT, [operation]) == {**DOCUMENT, **expected}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a/b", "value": 2},
        {"op": "remove", "path": "/absent"},
        {"op": "remove", "path": ""},
        {"op": "add", "path": "/absent/deep", "value": 1},
        {"op": "add", "path": "/list/4", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/a/b/c", "value": 1},
        {"op": "add", "path": "no-slash", "value": 1},
        {"op": "add", "path": "/no-value"},
        {"op": "replace", "path": "/list/9", "value": 1},
        {"op": "move", "from": "/absent", "path": "/a"},
        {"op": "copy", "path": "/a"},
        {"op": "bogus", "path": "/a"},
        {"path": "/a"},
        {"op": "add", "value": 1},
    ],
    ids=str,
)
def test_what_does_not_apply_is_refused(operation: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="the server rejected our request"):
        apply_json_patch(DOCUMENT, [operation])


def test_an_operation_must_be_an_object() -> None:
    with pytest.raises(BadRequestError):
        apply_json_patch(DOCUMENT, [1])


def test_operations_build_on_each_other_and_leave_the_original_alone() -> None:
    original = {"a": [{"n": 1}]}

    changed = apply_json_patch(
        original,
        [
            {"op": "copy", "from": "/a/0", "path": "/a/-"},
            {"op": "replace", "path": "/a/1/n", "value": 2},
        ],
    )

    assert changed == {"a": [{"n": 1}, {"n": 2}]}
    assert original == {"a": [{"n": 1}]}


def test_the_empty_pointer_is_the_whole_document() -> None:
    replaced = apply_json_patch({"a": 1}, [{"op": "replace", "path": "", "value": {"b": 2}}])

    assert replaced == {"b": 2}
