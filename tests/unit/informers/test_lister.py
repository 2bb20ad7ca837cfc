"""Listers: gets and lists from memory, in the order of keys, by index where there is one."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import LabelSelector, ObjectName
from kinform.errors import NotFoundError, SelectorError
from kinform.informers import (
    NAMESPACE_INDEX,
    Indexer,
    Lister,
    label_index,
    namespace_index,
)
from kinform.objects import Unstructured


def obj(name: str, namespace: str = "", **labels: str) -> Unstructured:
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    if namespace:
        metadata["namespace"] = namespace
    return Unstructured({"apiVersion": "v1", "kind": "Thing", "metadata": metadata})


def lister_of(*objects: Unstructured, **indexers: Any) -> Lister[Unstructured]:
    indexer: Indexer[Unstructured] = Indexer(
        Unstructured, indexers={NAMESPACE_INDEX: namespace_index, **indexers}
    )
    for each in objects:
        indexer.add(each)
    return Lister(indexer, Unstructured, "things")


def keys(found: list[Unstructured]) -> list[str]:
    return [each.key for each in found]


@pytest.fixture
def things() -> Lister[Unstructured]:
    return lister_of(
        obj("z", "b", app="web"),
        obj("y", "a", app="web", tier="front"),
        obj("x", "b", app="db"),
        obj("w", "a"),
    )


# -- get -------------------------------------------------------------------------------------


def test_an_object_is_had_by_its_key(things: Lister[Unstructured]) -> None:
    assert things.get("a/y").labels["tier"] == "front"
    assert things.get(ObjectName("b", "z")).key == "b/z"
    assert things.namespace("b").get("x").key == "b/x"


def test_what_is_not_there_is_an_error_like_the_servers(things: Lister[Unstructured]) -> None:
    with pytest.raises(NotFoundError, match='things "a/none" not found in the cache') as caught:
        things.get("a/none")
    assert (caught.value.code, caught.value.reason) == (404, "NotFound")
    assert caught.value.details == {"name": "none", "kind": "things"}
    with pytest.raises(NotFoundError, match='"b/y"'):
        things.namespace("b").get("y")


def test_objects_of_the_cluster_go_by_their_name_alone() -> None:
    nodes = lister_of(obj("n2", zone="1"), obj("n1", zone="2"))

    assert nodes.get("n1").labels == {"zone": "2"}
    assert nodes.get(ObjectName("", "n2")).key == "n2"
    assert keys(nodes.list()) == ["n1", "n2"]
    assert keys(nodes.list("zone=1")) == ["n2"]
    assert nodes.namespace("").get("n1").key == "n1"


def test_every_reader_has_an_object_of_its_own(things: Lister[Unstructured]) -> None:
    first, second = things.get("a/y"), things.get("a/y")
    assert first == second
    assert first is not second


# -- list ------------------------------------------------------------------------------------


def test_lists_are_ordered_by_key(things: Lister[Unstructured]) -> None:
    assert keys(things.list()) == ["a/w", "a/y", "b/x", "b/z"]
    assert keys(list(things)) == keys(things.list())
    assert keys(things.namespace("b").list()) == ["b/x", "b/z"]
    assert keys(list(things.namespace("a"))) == ["a/w", "a/y"]
    assert len(things) == 4


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app=web", ["a/y", "b/z"]),
        ({"app": "web", "tier": "front"}, ["a/y"]),
        (LabelSelector.parse("app in (web, db)"), ["a/y", "b/x", "b/z"]),
        ("!app", ["a/w"]),
        ("app!=web", ["a/w", "b/x"]),
        ("app notin (db)", ["a/w", "a/y", "b/z"]),
        ("app=none", []),
        ("", ["a/w", "a/y", "b/x", "b/z"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("indexed", [False, True], ids=["scan", "index"])
def test_selectors_find_the_same_with_an_index_and_without(
    things: Lister[Unstructured], selector: Any, expected: list[str], indexed: bool
) -> None:
    if indexed:
        things = lister_of(*things.list(), by_app=label_index("app"), by_tier=label_index("tier"))
    assert keys(things.list(selector)) == expected
    in_b = [key for key in expected if key.startswith("b/")]
    assert keys(things.namespace("b").list(selector)) == in_b


def test_a_namespace_that_is_not_there_is_empty(things: Lister[Unstructured]) -> None:
    assert things.namespace("c").list() == []
    assert keys(things.namespace("").list()) == keys(things.list())


def test_what_is_no_selector_is_refused(things: Lister[Unstructured]) -> None:
    with pytest.raises(SelectorError):
        things.list("a b c")


# -- by index --------------------------------------------------------------------------------


@pytest.fixture
def matched(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The labels that selectors were asked about."""
    asked: list[object] = []
    matches = LabelSelector.matches

    def noting(self: LabelSelector, labels: Any) -> bool:
        asked.append(labels)
        return matches(self, labels)

    monkeypatch.setattr(LabelSelector, "matches", noting)
    return asked


MANY = [
    obj(f"n{number}", f"ns{number % 10}", app=f"app{number % 100}", tier=f"tier{number % 2}")
    for number in range(1000)
]


def test_without_an_index_every_object_is_looked_at(matched: list[object]) -> None:
    assert len(lister_of(*MANY).list("app=app7")) == 10
    assert len(matched) == 1000


@pytest.mark.parametrize(
    ("selector", "looked_at"),
    [
        ("app=app7", 10),
        ("app in (app7, app8)", 20),
        ("app=app7,tier=tier1", 10),
        ("tier=tier1,app=app7", 10),
        ("app=none", 0),
        # These say what a label is not, and no index knows that.
        ("app!=app7", 1000),
        ("!app", 1000),
    ],
)
def test_a_label_index_narrows_it_down_as_far_as_it_can(
    matched: list[object], selector: str, looked_at: int
) -> None:
    things = lister_of(*MANY, by_app=label_index("app"), by_tier=label_index("tier"))
    things.list(selector)
    assert len(matched) == looked_at


def test_of_a_namespace_and_a_label_the_smaller_one_is_taken(matched: list[object]) -> None:
    by_app = lister_of(*MANY, by_app=label_index("app"))
    assert len(by_app.namespace("ns7").list("app=app7")) == 10
    assert len(matched) == 10

    matched.clear()
    by_tier = lister_of(*MANY, by_tier=label_index("tier"))
    assert len(by_tier.namespace("ns7").list("tier=tier1")) == 100
    # Half of all are of the tier, and a tenth are of the namespace.
    assert len(matched) == 100


def test_an_index_of_that_name_that_is_another_is_not_trusted() -> None:
    indexer: Indexer[Unstructured] = Indexer(
        Unstructured, indexers={NAMESPACE_INDEX: lambda each: ["nonsense"]}
    )
    indexer.add(obj("x", "a"))
    assert keys(Lister(indexer, Unstructured, "things").namespace("a").list()) == ["a/x"]


def test_an_index_that_is_added_later_is_used_from_then_on(matched: list[object]) -> None:
    indexer: Indexer[Unstructured] = Indexer(Unstructured, indexers={})
    for each in MANY:
        indexer.add(each)
    things = Lister(indexer, Unstructured, "things")
    things.list("app=app7")
    assert len(matched) == 1000
    indexer.add_indexers({"by_app": label_index("app")})
    matched.clear()
    assert len(things.list("app=app7")) == len(matched) == 10


def test_it_says_what_it_is(things: Lister[Unstructured]) -> None:
    assert repr(things) == "<Lister of 4 things>"
    assert "'b'" in repr(things.namespace("b"))
