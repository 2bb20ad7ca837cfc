"""The store: upserts, deletes, relists and batches; versions; objects of any kind."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from typing import Any

import pytest

from kinform.errors import CacheError, KeyFuncError, ReadOnlyError
from kinform.informers._changes import DeletedObject
from kinform.informers.store._entries import PlainAdapter
from kinform.informers.store._store import Store, StoreWrite
from kinform.objects import PartialObjectMetadata, Unstructured
from tests.support.objects import pod_tree, record_of


def pod(name: str = "web-1", version: str = "1", **spec: Any) -> Unstructured:
    tree = pod_tree(name)
    tree["metadata"]["resourceVersion"] = version
    tree["spec"] |= spec
    return Unstructured.over(record_of(tree))


@dataclass
class Job:
    name: str
    size: int = 0
    resource_version: str = ""


def jobs(*names: str) -> Store[Job]:
    store: Store[Job] = Store(key_func=lambda job: job.name)
    for name in names:
        store.add(Job(name))
    return store


def test_what_was_added_is_found_by_key_and_by_object() -> None:
    store = Store()
    store.add(pod())
    assert store.get_by_key("default/web-1") == pod()
    assert store.get(pod(version="other")) == pod()
    assert (store.list(), store.list_keys()) == ([pod()], ["default/web-1"])
    assert [*store] == [pod()]
    assert len(store) == 1


def test_what_is_absent_is_none() -> None:
    store = Store()
    assert store.get_by_key("default/web-1") is None
    assert store.get(pod()) is None
    assert store.list() == []


def test_an_empty_store_is_true_for_it_is_a_store() -> None:
    assert Store()


def test_a_key_or_an_object_can_be_in_a_store() -> None:
    store = Store()
    store.add(pod())
    assert "default/web-1" in store
    assert pod() in store
    assert "default/web-2" not in store
    assert pod("web-2") not in store


@pytest.mark.parametrize("verb", ["add", "update"])
def test_add_and_update_both_put_the_object_in_the_place_of_the_old_one(verb: str) -> None:
    store = Store()
    getattr(store, verb)(pod(version="1"))
    getattr(store, verb)(pod(version="2"))
    assert [found.resource_version for found in store] == ["2"]


def test_a_delete_removes_and_of_an_unknown_object_is_fine() -> None:
    store = Store()
    store.add(pod())
    store.delete(pod("web-2"))
    assert len(store) == 1
    store.delete(pod(version="9"))
    assert len(store) == 0


def test_a_deleted_object_is_removed_by_its_key_whatever_is_known_of_it() -> None:
    store = Store()
    store.replace([pod("a"), pod("b")])
    store.delete(DeletedObject("default/a", None, final_state_unknown=True))
    store.delete(DeletedObject("default/b", pod("b")))
    assert len(store) == 0


def test_replace_leaves_exactly_the_new_set() -> None:
    store = Store()
    store.replace([pod("a"), pod("b")], "5")
    store.replace([pod("b", "6"), pod("c")], "7")
    assert sorted(store.list_keys()) == ["default/b", "default/c"]
    assert store.get_by_key("default/b") == pod("b", "6")
    assert store.resource_version == "7"


def test_a_replace_with_an_object_that_has_no_key_changes_nothing() -> None:
    store = Store()
    store.replace([pod("a")], "5")
    with pytest.raises(KeyFuncError):
        store.replace([pod("b"), Unstructured()], "6")
    assert (store.list_keys(), store.resource_version) == (["default/a"], "5")


def test_every_read_gives_a_handle_of_the_readers_own() -> None:
    store = Store()
    store.add(pod())
    first, second = store.get_by_key("default/web-1"), store.get_by_key("default/web-1")
    assert first is not None
    assert second is not None
    assert first is not second
    assert first["spec"] is not second["spec"]
    with pytest.raises(ReadOnlyError):
        first["spec"]["nodeName"] = "elsewhere"


def test_handles_of_a_list_decode_on_touch_like_any_other() -> None:
    store = Store()
    store.replace([pod("a", nodeName="n1"), pod("b", nodeName="n2")])
    found = {handle.name: handle for handle in store.list()}
    assert found["a"]["spec"]["nodeName"] == "n1"
    assert found["a"]["spec"] is found["a"]["spec"]
    assert "nothing" not in found["a"]
    assert dict(found["b"]) == found["b"].to_dict()
    with pytest.raises(KeyError):
        found["b"]["nothing"]


def test_an_editable_object_is_kept_as_it_was_when_it_was_added() -> None:
    store = Store()
    editable = pod().copy()
    store.add(editable)
    editable.labels["app"] = "changed"
    found = store.get_by_key("default/web-1")
    assert found is not None
    assert found.labels["app"] == "web"
    assert found.record is not None


def test_the_form_of_the_store_is_what_readers_get() -> None:
    store = Store(PartialObjectMetadata)
    store.add(PartialObjectMetadata.over(record_of(pod_tree())))
    found = store.get_by_key("default/web-1")
    assert type(found) is PartialObjectMetadata


def test_an_object_without_a_name_is_refused_with_the_way_out() -> None:
    nameless = Unstructured({"apiVersion": "v1", "kind": "Pod"})
    with pytest.raises(KeyFuncError, match=r"Unstructured v1/Pod .* set metadata\.name"):
        Store().add(nameless)


def test_an_object_without_a_kind_is_refused_by_its_key() -> None:
    with pytest.raises(CacheError, match=r"'n/a' does not contain its kind"):
        Store().add(Unstructured({"metadata": {"name": "a", "namespace": "n"}}))


def test_an_object_that_is_not_a_handle_is_refused() -> None:
    store: Store[Any] = Store(Unstructured)
    with pytest.raises(KeyFuncError, match=r"a dict cannot .* Unstructured\(\.\.\.\).* key_func"):
        store.add(pod_tree())


# -- versions --------------------------------------------------------------------------------


def test_the_version_is_that_of_the_last_thing_applied() -> None:
    store = Store()
    seen = [store.resource_version]
    store.add(pod("a", "3"))
    seen.append(store.resource_version)
    store.update(pod("a", "4"))
    seen.append(store.resource_version)
    store.replace([pod("b", "2")], "7")
    seen.append(store.resource_version)
    store.delete(pod("b", "8"))
    seen.append(store.resource_version)
    store.bookmark("12")
    seen.append(store.resource_version)
    assert seen == ["", "3", "4", "7", "8", "12"]


def test_an_empty_version_does_not_move_it() -> None:
    store = Store()
    store.replace([], "7")
    store.add(pod("a", ""))
    store.replace([pod("b", "3")])
    store.bookmark("")
    store.delete(pod("b", ""))
    assert store.resource_version == "7"


def test_a_deletion_noticed_late_does_not_move_the_version_back() -> None:
    store = Store()
    store.replace([pod("a", "3")], "7")
    store.delete(DeletedObject("default/a", pod("a", "3"), final_state_unknown=True))
    assert store.resource_version == "7"
    store.delete(DeletedObject("default/a", pod("a", "9")))
    assert store.resource_version == "9"


def test_a_relist_where_nothing_changed_still_moves_the_version() -> None:
    store = Store()
    same = pod("a", "3")
    store.replace([same], "7")
    store.replace([same], "9")
    assert store.resource_version == "9"


def test_objects_that_have_a_version_move_that_of_their_store() -> None:
    store = jobs("a")
    assert store.resource_version == ""
    store.add(Job("b", resource_version="5"))
    assert store.resource_version == "5"


# -- objects of any kind ---------------------------------------------------------------------


def test_other_objects_are_kept_as_they_are() -> None:
    store = jobs()
    job = Job("a")
    store.add(job)
    assert store.get_by_key("a") is job
    assert store.list() == [job]


def test_the_ways_to_make_a_store_exclude_each_other() -> None:
    make: Any = Store
    with pytest.raises(CacheError, match="one of form, key_func and adapter"):
        make(Unstructured, key_func=str)


def test_a_store_of_any_resting_is_a_store() -> None:
    store: Store[int] = Store(adapter=PlainAdapter(str))
    store.add(7)
    assert store.get_by_key("7") == 7


@pytest.mark.parametrize("bad", ["", None, 7])
def test_a_key_that_is_not_a_string_is_refused(bad: Any) -> None:
    store: Store[Job] = Store(key_func=lambda job: bad)
    with pytest.raises(KeyFuncError, match=r"returned .* for a Job"):
        store.add(Job("a"))


def test_a_key_func_that_raises_is_a_key_error_with_its_cause() -> None:
    store: Store[Any] = Store(key_func=lambda job: job.name)
    with pytest.raises(KeyFuncError, match="failed on a int: AttributeError") as caught:
        store.add(7)
    assert isinstance(caught.value.__cause__, AttributeError)


# -- many at once ----------------------------------------------------------------------------


def test_a_batch_is_applied_in_order() -> None:
    store = Store()
    failures = store.apply(
        [
            StoreWrite(pod("a", "1")),
            StoreWrite(pod("b", "2")),
            StoreWrite(pod("a", "3")),
            StoreWrite(pod("b", "4"), delete=True),
        ]
    )
    assert failures == {}
    assert [(found.key, found.resource_version) for found in store] == [("default/a", "3")]
    assert store.resource_version == "4"


def test_a_batch_leaves_out_what_has_no_key_and_says_which() -> None:
    store = Store()
    failures = store.apply(
        [
            StoreWrite(pod("a")),
            StoreWrite(Unstructured()),
            StoreWrite(pod("b")),
            StoreWrite(DeletedObject("default/c", None)),
            StoreWrite(Unstructured(), delete=True),
        ]
    )
    assert [*failures] == [1, 3, 4]
    assert "set metadata.name" in str(failures[1])
    assert "delete=True" in str(failures[3])
    assert store.list_keys() == ["default/a", "default/b"]


def test_a_resync_changes_nothing() -> None:
    store = Store()
    store.replace([pod()], "3")
    store.resync()
    assert (store.list(), store.resource_version) == ([pod()], "3")


def test_memory_is_the_sum_of_what_rests() -> None:
    store = Store()
    assert store.memory == 0
    one, two = pod("a"), pod("b", nodeName="n" * 1_000)
    store.replace([one, two])
    assert store.memory == one.memory + two.memory
    store.delete(two)
    assert store.memory == one.memory


def test_a_store_shows_how_much_it_holds_and_not_what() -> None:
    store = Store(Unstructured)
    store.replace([pod()], "3")
    assert repr(store) == "<Store of 1 objects at 3>"


# -- below: what rests -----------------------------------------------------------------------


def test_the_table_gives_back_what_a_change_replaced_or_removed() -> None:
    table = Store().table
    first, second = record_of(pod_tree("a")), record_of(pod_tree("a"))
    assert table.put("default/a", first) is None
    assert table.put("default/a", second) is first
    assert table.get("default/a") is second
    assert table.entries() == [second]
    assert table.remove("default/a", "99") is second
    assert table.remove("default/a") is None
    assert table.resource_version == "99"


def test_a_swap_keeps_what_it_does_not_name_and_what_it_names_twice_is_put() -> None:
    store = Store()
    kept, gone, again = (record_of(pod_tree(name)) for name in ("kept", "gone", "again"))
    store.table.swap([], {"kept": kept, "gone": gone, "again": again}, "1")
    new = record_of(pod_tree("again"))
    store.table.swap(["gone", "again", "unknown"], {"again": new}, "2")
    assert store.table.copy() == ({"kept": kept, "again": new}, "2")
    store.table.swap(["again"], {"again": new}, "3")
    assert store.table.copy() == ({"kept": kept, "again": new}, "3")


def test_a_relist_where_nothing_changed_takes_next_to_no_memory() -> None:
    store = Store()
    store.replace([pod(f"p-{number}") for number in range(500)], "1")
    same, _ = store.table.copy()
    tracemalloc.start()
    store.table.swap([], same, "2")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < store.memory / 50
