"""Snapshots: all of a store at one version, whatever happens to it later."""

from __future__ import annotations

import pytest

from kinform.informers.store._store import Store
from kinform.objects import Unstructured
from tests.support.objects import pod_tree, record_of


def pod(name: str, version: str = "1") -> Unstructured:
    tree = pod_tree(name)
    tree["metadata"]["resourceVersion"] = version
    return Unstructured.over(record_of(tree))


@pytest.fixture
def store() -> Store[Unstructured]:
    store = Store()
    store.replace([pod("a"), pod("b")], "5")
    return store


def test_a_snapshot_is_a_mapping_of_keys_to_objects(store: Store[Unstructured]) -> None:
    snapshot = store.snapshot()
    assert dict(snapshot) == {"default/a": pod("a"), "default/b": pod("b")}
    assert snapshot["default/a"] == pod("a")
    assert "default/a" in snapshot
    assert "default/c" not in snapshot
    assert len(snapshot) == 2
    assert snapshot.list() == [pod("a"), pod("b")]
    assert snapshot.list_keys() == ["default/a", "default/b"]


def test_absence_is_none_as_in_the_store_and_a_key_error_as_in_a_mapping(
    store: Store[Unstructured],
) -> None:
    snapshot = store.snapshot()
    assert snapshot.get_by_key("default/c") is None
    assert snapshot.get_by_key("default/a") == pod("a")
    with pytest.raises(KeyError):
        snapshot["default/c"]


def test_a_snapshot_stands_still(store: Store[Unstructured]) -> None:
    snapshot = store.snapshot()
    store.add(pod("c", "6"))
    store.delete(pod("a", "7"))
    store.replace([], "8")
    assert snapshot.list_keys() == ["default/a", "default/b"]
    assert (snapshot.resource_version, store.resource_version) == ("5", "8")


def test_each_read_of_a_snapshot_is_a_fresh_handle(store: Store[Unstructured]) -> None:
    snapshot = store.snapshot()
    assert snapshot["default/a"] is not snapshot["default/a"]


def test_a_snapshot_shows_how_much_it_holds_and_when(store: Store[Unstructured]) -> None:
    assert repr(store.snapshot()) == "<Snapshot of 2 objects at 5>"
    assert repr(Store().snapshot()) == "<Snapshot of 0 objects at no version>"
