"""18.1: all forms of the same object compare as equal, with both operators, in both orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kinform.models.core.v1 import Pod
from kinform.objects import JSON, Record, Unstructured
from kinform.protobuf import codec_for

TREE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a",
        "namespace": "default",
        "labels": {"app": "web"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"}],
    },
    "spec": {
        "nodeName": "n1",
        "containers": [
            {
                "name": "main",
                "image": "web:1",
                "resources": {"limits": {"cpu": "1"}},
                "ports": [{"containerPort": 80}],
            }
        ],
    },
    "status": {"phase": "Running"},
}
DIFFERENT: dict[str, Any] = {
    **TREE,
    "metadata": {**TREE["metadata"], "labels": {"app": "other"}},
    "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "web:2"}]},
    "status": {"phase": "Failed"},
}


def _protobuf_record(tree: dict[str, Any]) -> Record:
    codec = codec_for(Pod.class_gvk)
    assert codec is not None
    return Record.read(codec.encode(tree), codec)


def _json_record(tree: dict[str, Any]) -> Record:
    return Record.read(JSON.encode(tree), JSON)


TYPED: dict[str, Callable[[dict[str, Any]], Pod]] = {
    "JSON": lambda tree: Pod.over(_json_record(tree)),
    "protobuf": lambda tree: Pod.over(_protobuf_record(tree)),
    "copy of JSON": lambda tree: Pod.over(_json_record(tree)).copy(),
    "copy of protobuf": lambda tree: Pod.over(_protobuf_record(tree)).copy(),
    "created": Pod.from_dict,
}
UNTYPED: dict[str, Callable[[dict[str, Any]], Unstructured]] = {
    "untyped JSON": lambda tree: Unstructured.over(_json_record(tree)),
    "untyped protobuf": lambda tree: Unstructured.over(_protobuf_record(tree)),
    "untyped copy": lambda tree: Unstructured.over(_json_record(tree)).copy(),
    "untyped created": Unstructured,
}
FORMS: dict[str, Callable[[dict[str, Any]], Any]] = {**TYPED, **UNTYPED}
PARTS: dict[str, Callable[[Any], Any]] = {
    "metadata": lambda pod: pod.metadata,
    "owner references": lambda pod: pod.metadata.owner_references,
    "labels": lambda pod: pod.labels,
    "spec": lambda pod: pod.spec,
    "containers": lambda pod: pod.spec.containers,
    "container": lambda pod: pod.spec.containers[0],
    "resources": lambda pod: pod.spec.containers[0].resources,
    "status": lambda pod: pod.status,
}

pytestmark = pytest.mark.usefixtures("either_way")


def check(one: Any, other: Any, *, same: bool) -> None:
    assert (one == other) is same
    assert (other == one) is same
    assert (one != other) is not same
    assert (other != one) is not same


@pytest.mark.parametrize("one", TYPED)
@pytest.mark.parametrize("other", TYPED)
def test_parts_of_all_forms_compare_by_content(one: str, other: str) -> None:
    """18.1: "update if changed" depends on both operators."""
    for name, part in PARTS.items():
        mine = part(TYPED[one](TREE))
        check(mine, part(TYPED[other](TREE)), same=True)
        if name != "owner references":
            check(mine, part(TYPED[other](DIFFERENT)), same=False)


@pytest.mark.parametrize("one", FORMS)
@pytest.mark.parametrize("other", FORMS)
def test_objects_of_all_forms_compare_by_content(one: str, other: str) -> None:
    """18.1: typed or untyped, read-only or editable, from either format."""
    # A decoder of protobuf adds the fields that a server always sends.
    tree = FORMS["untyped protobuf"](TREE).to_dict()
    check(FORMS[one](tree), FORMS[other](tree), same=True)
    check(FORMS[one](tree), FORMS[other](DIFFERENT), same=False)
    check(FORMS[one](tree), tree, same=True)


@pytest.mark.parametrize("one", UNTYPED)
@pytest.mark.parametrize("other", UNTYPED)
def test_trees_of_all_forms_compare_by_content(one: str, other: str) -> None:
    """18.1: also the mappings and lists inside untyped objects."""
    tree = UNTYPED["untyped protobuf"](TREE).to_dict()
    for path in ("metadata", "metadata.labels", "spec", "spec.containers", "status"):
        mine = UNTYPED[one](tree).get_path(path)
        check(mine, UNTYPED[other](tree).get_path(path), same=True)
        check(mine, UNTYPED[other](DIFFERENT).get_path(path), same=False)


@pytest.mark.parametrize("form", FORMS)
def test_neither_objects_nor_parts_are_hashable(form: str) -> None:
    """18.1: equal ones could be edited separately, so none offers a hash."""
    obj = FORMS[form](TREE)
    values = [obj, *(part(obj) for part in PARTS.values())] if form in TYPED else [obj, obj["spec"]]
    for value in values:
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)


@pytest.mark.parametrize("form", TYPED)
def test_a_part_does_not_equal_other_things(form: str) -> None:
    """18.1: models of other kinds, trees and None are unequal, and nothing raises."""
    pod = TYPED[form](TREE)
    for other in (pod.status, pod.spec.to_dict(), None, 1):
        check(pod.spec, other, same=False)
