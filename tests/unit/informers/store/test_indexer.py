"""The indexer: values, unions, views, late indices, and index functions that fail."""

from __future__ import annotations

import gc
import logging
import weakref
from collections.abc import Iterable
from typing import Any

import pytest

from kinform.errors import CacheError, InvalidNameError, KeyFuncError, UnknownIndexError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._index_functions import (
    NAMESPACE_INDEX,
    field_index,
    label_index,
    namespace_index,
    owner_index,
)
from kinform.informers.store._indexer import Indexer
from kinform.informers.store._keys import (
    deletion_handling_key,
    deletion_handling_object_name,
    index_func_to_key_func,
)
from kinform.informers.store._store import StoreWrite
from kinform.objects import PartialObjectMetadata, Record, Unstructured
from tests.support.objects import CountingCodec, payload_of, pod_tree, record_of


def pod(name: str, node: str = "n1", *, namespace: str = "default", **labels: str) -> Unstructured:
    tree = pod_tree(name)
    tree["metadata"] |= {"namespace": namespace, "labels": labels}
    tree["spec"]["nodeName"] = node
    return Unstructured.over(record_of(tree))


def names(objects: Iterable[Any]) -> list[str]:
    return sorted(obj.name for obj in objects)


def words() -> Indexer[str]:
    """Words, found under each of their letters."""
    return Indexer(key_func=str, indexers={"letter": list})


@pytest.fixture
def pods() -> Indexer[Unstructured]:
    return Indexer(indexers={"node": field_index("spec.nodeName")})


@pytest.mark.parametrize(("before", "after"), [("", "n1"), ("n12", "n1"), ("n1", "n12"), ("a", "")])
@pytest.mark.parametrize("by", ["update", "replace", "write"])
def test_an_object_that_moves_is_found_in_one_place(before: str, after: str, by: str) -> None:
    """A pod that waits for its node is under none, which is a value like any other."""
    pods: Indexer[Unstructured] = Indexer(indexers={"node": lambda pod: pod["spec"]["nodeName"]})
    pods.add(pod("a", before))
    if by == "update":
        pods.update(pod("a", after))
    elif by == "replace":
        pods.replace([pod("a", after)])
    else:
        pods.apply([StoreWrite(pod("a", after))])
    assert pods.index_keys("node", before) == []
    assert pods.index_keys("node", after) == ["default/a"]
    pods.delete(pod("a", after))
    assert list(pods.index_values("node")) == []


def test_objects_are_found_under_their_values(pods: Indexer[Unstructured]) -> None:
    pods.add(pod("a", "n1"))
    pods.add(pod("b", "n2"))
    pods.add(pod("c", "n1"))
    assert names(pods.by_index("node", "n1")) == ["a", "c"]
    assert pods.index_keys("node", "n1") == ["default/a", "default/c"]
    assert sorted(pods.index_values("node")) == ["n1", "n2"]
    assert pods.by_index("node", "n3") == []
    assert pods.index_keys("node", "n3") == []


def test_an_update_moves_an_object_and_a_delete_removes_it(pods: Indexer[Unstructured]) -> None:
    pods.add(pod("a", "n1"))
    pods.update(pod("a", "n2"))
    assert pods.by_index("node", "n1") == []
    assert names(pods.by_index("node", "n2")) == ["a"]
    pods.delete(pod("a"))
    assert pods.by_index("node", "n2") == []


def test_a_lookup_finds_the_newest_state(pods: Indexer[Unstructured]) -> None:
    pods.add(pod("a", app="old"))
    pods.update(pod("a", app="new"))
    assert [found.labels for found in pods.by_index("node", "n1")] == [{"app": "new"}]


def test_values_that_nothing_has_any_more_are_gone(pods: Indexer[Unstructured]) -> None:
    pods.add(pod("a", "n1"))
    pods.update(pod("a", "n2"))
    assert pods.index_values("node") == ["n2"]
    pods.replace([pod("a", "n3")])
    assert pods.index_values("node") == ["n3"]
    pods.delete(pod("a"))
    assert pods.index_values("node") == []


def test_an_object_can_have_many_values_and_change_some_of_them() -> None:
    store: Indexer[Unstructured] = Indexer(indexers={"images": _images})
    store.add(_with_images("a", "x", "y"))
    store.add(_with_images("a", "y", "z"))
    assert sorted(store.index_values("images")) == ["y", "z"]
    assert names(store.by_index("images", "y")) == ["a"]


def _images(obj: Unstructured) -> list[str]:
    return [container["image"] for container in obj["spec"]["containers"]]


def _with_images(name: str, *images: str) -> Unstructured:
    tree = pod_tree(name)
    tree["spec"]["containers"] = [{"image": image} for image in images]
    return Unstructured(tree)


def test_index_is_the_union_over_the_values_of_an_object_each_found_once() -> None:
    store = words()
    store.replace(["tea", "ten", "ant", "oil"])
    assert sorted(store.index("letter", "ta")) == ["ant", "tea", "ten"]
    assert store.index("letter", "") == []


def test_a_single_string_is_one_value_and_not_its_letters() -> None:
    store: Indexer[str] = Indexer(key_func=str, indexers={"first": lambda word: word[0] * 2})
    store.add("tea")
    assert store.index_values("first") == ["tt"]


def test_none_means_no_values_and_duplicates_count_once() -> None:
    store: Indexer[str] = Indexer(
        key_func=str, indexers={"none": lambda word: None, "twice": lambda word: [word, word]}
    )
    store.add("tea")
    assert store.index_values("none") == []
    assert store.by_index("twice", "tea") == ["tea"]
    assert store.index_errors == {}


def test_a_generator_can_be_an_index_function() -> None:
    store: Indexer[str] = Indexer(key_func=str, indexers={"letter": lambda word: iter(word)})
    store.add("tea")
    assert sorted(store.index_values("letter")) == ["a", "e", "t"]


def test_an_object_that_was_edited_in_place_leaves_its_old_values_behind() -> None:
    store: Indexer[dict[str, str]] = Indexer(
        key_func=lambda obj: obj["key"], indexers={"color": lambda obj: obj["color"]}
    )
    obj = {"key": "a", "color": "red"}
    store.add(obj)
    obj["color"] = "blue"
    store.update(obj)
    assert store.index_values("color") == ["blue"]
    obj["color"] = "green"
    store.replace([obj])
    assert store.index_values("color") == ["green"]


def test_a_batch_is_indexed() -> None:
    store = words()
    store.apply([StoreWrite("tea"), StoreWrite("ten"), StoreWrite("tea", delete=True)])
    assert sorted(store.index_values("letter")) == ["e", "n", "t"]


# -- names -----------------------------------------------------------------------------------


def test_an_unknown_index_is_an_error_that_names_the_known_ones(
    pods: Indexer[Unstructured],
) -> None:
    pods.add_indexers({"app": label_index("app")})
    for ask in (
        lambda: pods.by_index("nodes", "n1"),
        lambda: pods.index("nodes", pod("a")),
        lambda: pods.index_keys("nodes", "n1"),
        lambda: pods.index_values("nodes"),
    ):
        with pytest.raises(UnknownIndexError, match=r"'nodes'.*'app', 'node'.*add_indexers"):
            ask()


def test_a_store_without_indices_says_so() -> None:
    with pytest.raises(UnknownIndexError, match="known: none"):
        Indexer().by_index("node", "n1")


def test_a_name_that_is_taken_adds_none_of_the_new_ones(pods: Indexer[Unstructured]) -> None:
    pods.add(pod("a"))
    with pytest.raises(CacheError, match="index named 'node' exists already"):
        pods.add_indexers({"namespace": namespace_index, "node": namespace_index})
    assert [*pods.indexers] == ["node"]
    pods.add_indexers({"namespace": namespace_index})
    assert names(pods.by_index("namespace", "default")) == ["a"]


def test_indexers_shows_the_functions_that_were_given() -> None:
    assert Indexer(indexers={"namespace": namespace_index}).indexers == {
        "namespace": namespace_index
    }


def test_a_late_index_finds_what_was_there_before(pods: Indexer[Unstructured]) -> None:
    pods.replace([pod("a", app="web"), pod("b", app="db")])
    pods.add_indexers({"app": label_index("app")})
    assert names(pods.by_index("app", "web")) == ["a"]
    pods.update(pod("a", app="db"))
    assert names(pods.by_index("app", "db")) == ["a", "b"]
    assert pods.index_values("app") == ["db"]


def test_an_index_that_was_interrupted_while_it_was_built_is_not_there() -> None:
    store = words()
    store.add("tea")

    def interrupted(word: str) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.add_indexers({"late": interrupted})
    store.add("ten")
    assert [*store.indexers] == ["letter"]
    store.add_indexers({"late": lambda word: word})
    assert sorted(store.index_values("late")) == ["tea", "ten"]


# -- relists ---------------------------------------------------------------------------------


def test_a_relist_does_not_index_again_what_stayed_the_same() -> None:
    asked: list[str] = []

    def watched(obj: Unstructured) -> str:
        asked.append(obj.name)
        return "all"

    store = Indexer(indexers={"all": watched})
    same, gone = pod("same"), pod("gone")
    store.replace([same, gone], "1")
    asked.clear()
    store.replace([same, pod("new")], "2")
    assert asked == ["new"]
    assert names(store.by_index("all", "all")) == ["new", "same"]


def test_an_index_function_can_read_the_store_it_serves() -> None:
    store: Indexer[str] = Indexer(key_func=str)
    store.add_indexers({"count": lambda word: str(len(store.snapshot()))})
    store.add("tea")
    store.replace(["tea", "ten"])
    store.apply([StoreWrite("ant")])
    store.add_indexers({"count too": lambda word: str(len(store.snapshot()))})
    assert store.by_index("count", "0") == []
    assert sorted(store.index_values("count too")) == ["3"]


# -- failures --------------------------------------------------------------------------------


def _no_vowels(word: str) -> str:
    if set(word) & set("aeiou"):
        raise LookupError(f"vowels in {word}")
    return word


def test_a_function_that_raises_leaves_the_object_out_of_its_index_alone() -> None:
    store: Indexer[str] = Indexer(key_func=str, indexers={"plain": _no_vowels, "letter": list})
    store.add("tea")
    store.add("hmm")
    assert store.list() == ["tea", "hmm"]
    assert store.index_values("plain") == ["hmm"]
    assert store.by_index("letter", "t") == ["tea"]
    assert [*store.index_errors] == [("plain", "tea")]
    assert isinstance(store.index_errors["plain", "tea"], LookupError)


def test_an_object_that_begins_to_fail_leaves_the_index_and_comes_back_when_it_is_well(
    pods: Indexer[Unstructured],
) -> None:
    broken = pod_tree("a")
    broken["spec"]["nodeName"] = {"not": "a value"}
    pods.add(pod("a"))
    pods.update(Unstructured(broken))
    assert pods.by_index("node", "n1") == []
    assert [*pods.index_errors] == [("node", "default/a")]
    pods.update(pod("a"))
    assert names(pods.by_index("node", "n1")) == ["a"]
    assert pods.index_errors == {}


@pytest.mark.parametrize("end", ["delete", "replace"])
def test_the_error_goes_with_the_object(end: str) -> None:
    store: Indexer[str] = Indexer(key_func=str, indexers={"plain": _no_vowels})
    store.add("tea")
    if end == "delete":
        store.delete("tea")
    else:
        store.replace(["hmm"])
    assert store.index_errors == {}


def test_a_relist_and_a_late_index_record_errors_too() -> None:
    store: Indexer[str] = Indexer(key_func=str, indexers={"plain": _no_vowels})
    store.replace(["tea", "hmm"])
    store.add_indexers({"late": _no_vowels})
    assert sorted(store.index_errors) == [("late", "tea"), ("plain", "tea")]
    assert store.index_values("late") == ["hmm"]


def test_values_that_are_not_strings_are_an_error_of_the_function() -> None:
    function: Any = lambda word: [1, 2]  # noqa: E731
    store: Indexer[str] = Indexer(key_func=str, indexers={"length": function})
    store.add("tea")
    assert "'length' returned a int" in str(store.index_errors["length", "tea"])


def test_a_failing_function_is_logged_once_with_the_key_and_not_the_contents(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store: Indexer[str] = Indexer(
        key_func=lambda word: f"key-of-{len(word)}", indexers={"plain": _no_vowels}
    )
    with caplog.at_level(logging.WARNING, "kinform.store"):
        store.add("tea")
        store.add("oils")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "'plain' raised LookupError on key-of-3" in caplog.text
    assert "tea" not in caplog.text


def test_a_recorded_error_does_not_keep_the_object_alive() -> None:
    seen: list[weakref.ref[object]] = []

    class Loaded:
        pass

    def failing(word: str) -> str:
        loaded = Loaded()
        seen.append(weakref.ref(loaded))
        try:
            raise KeyError(word)
        except KeyError as error:
            raise LookupError(word) from error

    store: Indexer[str] = Indexer(key_func=str, indexers={"failing": failing})
    store.add("tea")
    gc.collect()
    assert [ref() for ref in seen] == [None]


def test_index_propagates_exceptions_of_the_index_function() -> None:
    store: Indexer[str] = Indexer(key_func=str, indexers={"plain": _no_vowels})
    with pytest.raises(LookupError, match="vowels in tea"):
        store.index("plain", "tea")


# -- the functions everybody needs -----------------------------------------------------------


@pytest.mark.parametrize("editable", [False, True])
def test_namespace_labels_and_owners_are_read_from_objects_of_either_sort(editable: bool) -> None:
    obj = pod("a", app="web")
    obj = obj.copy() if editable else obj
    assert [*namespace_index(obj)] == ["default"]
    assert [*label_index("app")(obj)] == ["web"]
    assert [*label_index("tier")(obj)] == []
    assert [*owner_index(obj)] == ["u-rs", "u-j"]


def test_indices_by_head_decode_nothing() -> None:
    codec = CountingCodec()
    store: Indexer[Unstructured] = Indexer(
        indexers={
            NAMESPACE_INDEX: namespace_index,
            "app": label_index("app"),
            "owner": owner_index,
        }
    )
    store.add(Unstructured.over(Record.read(payload_of(pod_tree()), codec)))
    assert names(store.by_index(NAMESPACE_INDEX, "default")) == ["web-1"]
    assert names(store.by_index("app", "web")) == ["web-1"]
    assert names(store.by_index("owner", "u-j")) == ["web-1"]
    assert codec.calls == ["head"]


def test_cluster_scoped_objects_are_under_the_empty_namespace() -> None:
    store = Indexer(indexers={NAMESPACE_INDEX: namespace_index})
    store.add(pod("a", namespace=""))
    assert store.index_keys(NAMESPACE_INDEX, "") == ["a"]


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("spec.nodeName", ["node-1"]),
        ("spec.priority", []),
        ("spec.nothing.here", []),
        ("metadata.finalizers", ["example.com/guard"]),
        ("metadata.generation", ["3"]),
        ("metadata.futureMember.kept", ["true"]),
        (("metadata", "labels", "app.kubernetes.io/part-of"), ["shop"]),
    ],
)
def test_a_field_index_reads_values_and_lists_of_them(path: Any, values: list[str]) -> None:
    assert [*(field_index(path)(Unstructured(pod_tree())) or ())] == values


def test_a_field_index_refuses_objects_as_values_and_invalid_paths() -> None:
    with pytest.raises(TypeError, match=r"'spec' is a FrozenDict"):
        field_index("spec")(pod("a"))
    with pytest.raises(InvalidNameError, match="empty step"):
        field_index("spec..nodeName")


# -- views -----------------------------------------------------------------------------------


def test_a_view_shows_the_same_objects_in_another_form(pods: Indexer[Unstructured]) -> None:
    heads = pods.view(PartialObjectMetadata)
    pods.add(pod("a"))
    assert [type(found) for found in heads.by_index("node", "n1")] == [PartialObjectMetadata]
    assert heads.list_keys() == pods.list_keys()
    heads.delete(PartialObjectMetadata.over(record_of(pod_tree("a"))))
    assert len(pods) == 0


def test_an_index_added_through_a_view_gets_its_form_and_serves_all(
    pods: Indexer[Unstructured],
) -> None:
    heads = pods.view(PartialObjectMetadata)
    forms: set[type] = set()

    def form(obj: PartialObjectMetadata) -> str:
        forms.add(type(obj))
        return obj.name

    heads.add_indexers({"form": form})
    pods.add(pod("a"))
    assert forms == {PartialObjectMetadata}
    assert names(pods.by_index("form", "a")) == ["a"]
    assert names(pods.index("form", pod("a"))) == ["a"]
    assert [*heads.indexers] == [*pods.indexers] == ["node", "form"]
    with pytest.raises(CacheError, match="'node' exists already"):
        heads.add_indexers({"node": namespace_index})


def test_only_a_store_of_handles_has_views() -> None:
    with pytest.raises(CacheError, match="only a store of Kubernetes objects has views"):
        words().view(Unstructured)


# -- memory ----------------------------------------------------------------------------------


def test_index_memory_has_the_bytes_of_each_index() -> None:
    store = words()
    empty = store.index_memory["letter"]
    store.replace([f"word-{number}" for number in range(100)])
    full = store.index_memory["letter"]
    assert full > empty + 100 * 8
    store.add_indexers({"none": lambda word: None})
    assert store.index_memory["none"] < full
    assert [*store.index_memory] == ["letter", "none"]


# -- keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "obj", [pod("a"), DeletedObject("default/a", None, final_state_unknown=True), "default/a"]
)
def test_a_key_is_had_of_an_object_of_a_deleted_one_and_of_a_key(obj: Any) -> None:
    assert deletion_handling_key(obj) == "default/a"
    assert deletion_handling_object_name(obj) == ("default", "a")


def test_what_has_no_name_has_no_key() -> None:
    nothing: Any = object()
    for obj in (Unstructured(), nothing):
        with pytest.raises(KeyFuncError, match=f"a {type(obj).__name__} has no key"):
            deletion_handling_key(obj)


def test_an_index_function_with_one_value_serves_as_a_key() -> None:
    by_namespace: Indexer[Unstructured] = Indexer(key_func=index_func_to_key_func(namespace_index))
    by_namespace.add(pod("a"))
    assert by_namespace.list_keys() == ["default"]
    as_text = index_func_to_key_func(lambda word: word)
    assert as_text("tea") == "tea"


@pytest.mark.parametrize(("values", "count"), [([], 0), (None, 0), (["a", "b"], 2)])
def test_an_index_function_with_none_or_many_values_gives_no_key(values: Any, count: int) -> None:
    key_func = index_func_to_key_func(lambda obj: values)
    with pytest.raises(KeyFuncError, match=f"one value per object; for a str it returned {count}"):
        key_func("tea")
