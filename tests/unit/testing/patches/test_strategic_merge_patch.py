"""Lists that are merged, united and replaced, and the directives that say how."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.errors import ServerError
from kinform.testing.patches import apply_strategic_patch

TWO = [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]


def _containers(patch: Any, current: Any = TWO) -> Any:
    return apply_strategic_patch({"containers": current}, {"containers": patch})["containers"]


def test_items_of_a_list_are_merged_by_their_key() -> None:
    assert _containers([{"name": "b", "tty": True}]) == [
        TWO[0],
        {"name": "b", "image": "1", "tty": True},
    ]


def test_an_item_with_a_new_key_is_added() -> None:
    assert _containers([{"name": "c"}]) == [*TWO, {"name": "c"}]


def test_an_item_can_be_deleted() -> None:
    assert _containers([{"name": "a", "$patch": "delete"}]) == [TWO[1]]
    assert _containers([{"name": "c", "$patch": "delete"}]) == TWO


def test_a_list_can_be_replaced_as_a_whole() -> None:
    assert _containers([{"$patch": "replace"}, {"name": "c"}]) == [{"name": "c"}]


def test_an_item_without_its_key_is_refused() -> None:
    with pytest.raises(ServerError, match="does not contain declared merge key: name"):
        _containers([{"image": "2"}])


def test_an_item_can_lose_a_member() -> None:
    assert _containers([{"name": "a", "image": None}])[0] == {"name": "a"}


@pytest.mark.parametrize(
    ("field", "key"),
    [
        ("ports", "containerPort"),
        ("ports", "port"),
        ("volumeMounts", "mountPath"),
        ("conditions", "type"),
        ("hostAliases", "ip"),
        ("ownerReferences", "uid"),
        ("imagePullSecrets", "name"),
    ],
)
def test_each_list_has_its_own_key(field: str, key: str) -> None:
    current = {field: [{key: 1, "x": 1}, {key: 2, "x": 1}]}

    merged = apply_strategic_patch(current, {field: [{key: 2, "x": 2}]})

    assert merged == {field: [{key: 1, "x": 1}, {key: 2, "x": 2}]}


def test_a_list_without_a_key_is_replaced() -> None:
    merged = apply_strategic_patch({"tolerations": [{"key": "a"}]}, {"tolerations": [{"key": "b"}]})

    assert merged == {"tolerations": [{"key": "b"}]}


def test_finalizers_are_a_set() -> None:
    merged = apply_strategic_patch({"finalizers": ["a", "b"]}, {"finalizers": ["b", "c"]})

    assert merged == {"finalizers": ["a", "b", "c"]}


def test_members_of_a_set_can_be_deleted() -> None:
    patch = {"$deleteFromPrimitiveList/finalizers": ["a"]}

    assert apply_strategic_patch({"finalizers": ["a", "b"]}, patch) == {"finalizers": ["b"]}


def test_the_order_of_a_list_can_be_set() -> None:
    patch = {
        "$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}],
        "containers": [{"name": "c"}],
    }

    merged = apply_strategic_patch({"containers": TWO}, patch)

    assert [item["name"] for item in merged["containers"]] == ["c", "b", "a"]


def test_an_object_can_be_told_which_members_to_keep() -> None:
    current = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}

    assert apply_strategic_patch(current, patch) == {"strategy": {"type": "Recreate"}}


def test_an_object_can_be_replaced_or_deleted() -> None:
    current = {"labels": {"a": "1", "b": "2"}, "other": 1}

    replaced = apply_strategic_patch(current, {"labels": {"$patch": "replace", "c": "3"}})
    deleted = apply_strategic_patch(current, {"labels": {"$patch": "delete"}})

    assert replaced == {"labels": {"c": "3"}, "other": 1}
    assert deleted == {"other": 1}


def test_an_unknown_directive_is_refused() -> None:
    with pytest.raises(ServerError, match="unknown patch type: bogus"):
        apply_strategic_patch({}, {"labels": {"$patch": "bogus"}})


def test_neither_the_object_nor_the_patch_is_changed() -> None:
    current = {"containers": [{"name": "a"}], "map": {"x": 1}}
    patch = {"containers": [{"name": "a", "image": "2"}], "map": {"y": 2}}

    apply_strategic_patch(current, patch)

    assert current == {"containers": [{"name": "a"}], "map": {"x": 1}}
    assert patch == {"containers": [{"name": "a", "image": "2"}], "map": {"y": 2}}
