"""Fields by path, and the conditions of a query."""

from __future__ import annotations

import pytest

from kinform.cache._field_index import BUILT_IN, PathIndex, field_conditions, index_name
from kinform.errors import InvalidNameError, SelectorError
from kinform.objects import Unstructured
from tests.support.answers import pod
from tests.support.objects import record_of


def made(**more: object) -> Unstructured:
    tree = pod("a")
    return Unstructured.over(record_of({**tree, "spec": more}))


def test_path_index_has_the_value_or_the_empty_one() -> None:
    index = PathIndex("spec.nodeName")
    assert list(index(made(nodeName="n1"))) == ["n1"]
    assert list(index(made())) == [""]


def test_path_indexes_of_one_path_are_equal() -> None:
    assert PathIndex("spec.a") == PathIndex("spec.a")
    assert hash(PathIndex("spec.a")) == hash(PathIndex("spec.a"))
    assert PathIndex("spec.a") != PathIndex("spec.b")
    assert PathIndex("spec.a") != "spec.a"
    assert index_name("spec.a") != index_name("spec.b")


def test_invalid_path() -> None:
    with pytest.raises(InvalidNameError):
        PathIndex("spec..a")


def test_built_in_fields() -> None:
    obj = made()
    assert list(BUILT_IN["metadata.name"](obj) or ()) == [obj.name]
    assert list(BUILT_IN["metadata.namespace"](obj) or ()) == [obj.namespace]
    assert list(BUILT_IN["metadata.ownerReferences.uid"](obj) or ()) == []


@pytest.mark.parametrize("query", ["a=1,b!=2", {"a": "1"}, {"a": ["1", "2"]}, {"a": {"1"}}, ""])
def test_conditions(query: object) -> None:
    expected: dict[str, list[tuple[str, frozenset[str], bool]]] = {
        "a=1,b!=2": [("a", frozenset("1"), False), ("b", frozenset("2"), True)],
        "{'a': '1'}": [("a", frozenset("1"), False)],
        "{'a': ['1', '2']}": [("a", frozenset("12"), False)],
        "{'a': {'1'}}": [("a", frozenset("1"), False)],
        "": [],
    }
    assert field_conditions(query) == expected[str(query)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"a": 3}, "'a': pass a string or a list of strings, not 3"),
        ({"a": [3]}, "'a': value 3 must be a string"),
        ({"a": [True]}, "as the server writes it"),
        ("a", "a"),
    ],
)
def test_invalid_queries(query: object, message: str) -> None:
    with pytest.raises(SelectorError, match=message):
        field_conditions(query)  # type: ignore[arg-type]
