"""The undelta store: the whole list after every write."""

from __future__ import annotations

import pytest

from kinform.informers._changes import DeletedObject
from kinform.informers.store._store import StoreWrite
from kinform.informers.store._undelta_store import UndeltaStore
from kinform.objects import Unstructured
from tests.support.objects import pod_tree, record_of


def test_every_write_pushes_the_whole_list() -> None:
    pushed: list[list[str]] = []
    store: UndeltaStore[str] = UndeltaStore(
        lambda objects: pushed.append(sorted(objects)), key_func=str
    )
    store.add("a")
    store.update("b")
    store.delete("a")
    store.delete(DeletedObject("nobody", None))
    store.replace(["c", "d"], "5")
    store.apply([StoreWrite("c", delete=True), StoreWrite("e")])
    assert pushed == [["a"], ["a", "b"], ["b"], ["b"], ["c", "d"], ["d", "e"]]


def test_calls_without_a_change_push_nothing() -> None:
    pushed: list[list[str]] = []
    store: UndeltaStore[str] = UndeltaStore(pushed.append, key_func=str)
    store.bookmark("7")
    store.resync()
    store.list()
    assert pushed == []
    assert store.resource_version == "7"


def test_handles_are_pushed_in_the_form_of_the_store() -> None:
    pushed: list[list[Unstructured]] = []
    store = UndeltaStore(pushed.append)
    store.add(Unstructured.over(record_of(pod_tree())))
    assert [[handle.key for handle in handles] for handles in pushed] == [["default/web-1"]]


def test_a_push_that_raises_reaches_the_writer_and_the_write_stands() -> None:
    def push(objects: list[str]) -> None:
        raise RuntimeError("full")

    store: UndeltaStore[str] = UndeltaStore(push, key_func=str)
    with pytest.raises(RuntimeError, match="full"):
        store.add("a")
    assert store.list() == ["a"]
