"""A handle over a record: identity for free, parts on demand, and no way to change anything."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kinform.api import GVK, namespace_key
from kinform.errors import DecodeError, ReadOnlyError
from kinform.objects import JSON, FrozenValues, Record, TreeHandle, Unstructured
from tests.support.objects import POD, CountingCodec, payload_of, pod_tree, record_of


def view(tree: dict[str, Any] | None = None) -> Unstructured:
    return Unstructured.over(record_of(pod_tree() if tree is None else tree))


def counted(tree: dict[str, Any]) -> tuple[Unstructured, CountingCodec]:
    codec = CountingCodec()
    handle = Unstructured.over(Record.read(payload_of(tree), codec, default_gvk=POD))
    codec.calls.clear()
    return handle, codec


# -- identity --------------------------------------------------------------------------------


def test_identity_comes_from_the_head_and_decodes_nothing() -> None:
    handle, codec = counted(pod_tree())
    assert handle.name == "web-1"
    assert handle.namespace == "default"
    assert handle.key == namespace_key(handle) == "default/web-1"
    assert handle.uid == "b1946ac9-2d4c-4ba3-9e0b-000000000001"
    assert handle.resource_version == "1042"
    assert handle.generation == 3
    assert handle.deletion_timestamp is None
    assert handle.labels == {"app": "web", "app.kubernetes.io/part-of": "shop"}
    assert handle.gvk == POD
    assert (handle.api_version, handle.kind) == ("v1", "Pod")
    assert (handle["apiVersion"], handle["kind"]) == ("v1", "Pod")
    assert repr(handle) == "<Unstructured v1/Pod default/web-1 rv=1042>"
    assert bool(handle)
    assert handle.memory > 0
    assert codec.calls == []


def test_the_rest_of_the_metadata_decodes_the_metadata_alone_and_once() -> None:
    handle, codec = counted(pod_tree())
    assert handle.annotations == {"note": "first"}
    assert handle.finalizers == ["example.com/guard"]
    assert [owner["uid"] for owner in handle.owner_references] == ["u-rs", "u-j"]
    assert handle.creation_timestamp == "2026-01-01T00:00:00Z"
    assert handle.metadata["futureMember"] == {"kept": True}
    assert codec.calls == ["metadata"]


def test_members_that_are_absent_are_empty_and_cannot_be_filled() -> None:
    handle = view({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    assert (handle.labels, handle.annotations) == ({}, {})
    assert (handle.finalizers, handle.owner_references) == ([], [])
    assert (handle.namespace, handle.key, handle.generation) == ("", "n", 0)
    assert handle.creation_timestamp is None
    with pytest.raises(ReadOnlyError):
        handle.annotations["a"] = "b"
    with pytest.raises(ReadOnlyError):
        handle.finalizers.append("a")


# -- parts on demand -------------------------------------------------------------------------


def test_touching_status_decodes_status_alone_and_once() -> None:
    handle, codec = counted(pod_tree())
    assert handle["status"]["phase"] == "Running"
    assert handle.get_path("status.conditions.0.type") == "Ready"
    assert "status" in handle
    assert codec.calls == ["status"]


def test_touching_status_never_looks_into_spec() -> None:
    broken = b'{"metadata":{"name":"a"},"spec":{"text":"\xff"},"status":{"phase":"Running"}}'
    handle = Unstructured.over(Record.read(broken, JSON, default_gvk=POD))
    assert handle["status"] == {"phase": "Running"}
    with pytest.raises(DecodeError, match="'spec' of JSON without a kind 'a'"):
        handle["spec"]
    with pytest.raises(DecodeError):
        handle.to_dict()
    assert handle["status"] == {"phase": "Running"}


def test_looking_for_an_absent_part_does_not_decode_the_others() -> None:
    handle, codec = counted({"metadata": {"name": "cm"}, "data": {"big": "x"}})
    assert handle.get("spec") is None
    assert "spec" not in handle
    assert handle.get_path("spec.replicas", 1) == 1
    with pytest.raises(KeyError, match="spec"):
        handle["spec"]
    assert set(codec.calls) == {"spec"}


def test_a_null_part_is_there_and_an_absent_one_is_not() -> None:
    handle = view({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": None})
    assert "spec" in handle
    assert handle["spec"] is None
    assert "status" not in handle


def test_what_is_remembered_is_remembered_in_the_handle_and_not_in_the_record() -> None:
    record = record_of(pod_tree())
    before = record.memory
    one, other = Unstructured.over(record), Unstructured.over(record)
    assert one["spec"] is one["spec"]
    assert one["spec"] is not other["spec"]
    assert record.memory == before


def test_a_part_that_was_handed_out_stays_the_same_one_when_the_rest_is_decoded() -> None:
    handle = view()
    spec = handle["spec"]
    assert dict(handle)["spec"] is spec
    assert handle["spec"] is spec


def test_a_handle_is_a_mapping_of_its_parts_in_the_order_of_the_bytes() -> None:
    handle = view()
    assert isinstance(handle, Mapping)
    assert list(handle) == list(pod_tree())
    assert len(handle) == len(pod_tree())
    assert dict(handle) == {**handle} == handle.to_dict() == pod_tree()
    assert dict(handle.items()) == pod_tree()
    assert list(handle.values()) == list(pod_tree().values())


def test_a_handle_can_be_matched_as_a_mapping() -> None:
    match view():
        case {"kind": "Pod", "spec": {"containers": [{"image": image}, *_]}}:
            assert image == "web:1"
        case _:
            pytest.fail("the pattern did not match")


@pytest.mark.parametrize("part", [0, None, ("a",), 'odd"name', ""])
def test_a_part_that_cannot_be_is_a_key_error(part: Any) -> None:
    handle = view()
    assert part not in handle
    assert handle.get(part) is None
    with pytest.raises(KeyError):
        handle[part]


# -- kinds of list items ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "said", [{}, {"kind": ""}, {"kind": "", "apiVersion": ""}, {"apiVersion": "v7"}]
)
def test_an_item_that_does_not_say_its_kind_gets_it_from_its_list(said: dict[str, str]) -> None:
    item = said | {"metadata": {"name": "web"}, "spec": {}}
    deployment = GVK.of("apps/v1", "Deployment")
    handle = Unstructured.over(record_of(item, default_gvk=deployment))
    whole = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {}}
    assert handle.gvk == deployment
    assert (handle["apiVersion"], handle["kind"]) == ("apps/v1", "Deployment")
    assert handle == whole
    assert list(handle)[:2] == ["apiVersion", "kind"]
    assert JSON.decode(handle.to_bytes()) == whole
    assert handle.copy().gvk == deployment


def test_what_an_object_says_of_itself_goes_before_what_its_list_says() -> None:
    handle = Unstructured.over(record_of(pod_tree(), default_gvk=GVK.of("v1", "Node")))
    assert handle.gvk == POD


# -- read-only -------------------------------------------------------------------------------


def set_part(handle: TreeHandle) -> None:
    handle["spec"] = {}


def delete_part(handle: TreeHandle) -> None:
    del handle["spec"]


def set_name(handle: TreeHandle) -> None:
    handle.name = "x"


def set_namespace(handle: TreeHandle) -> None:
    handle.namespace = "x"


def set_labels(handle: TreeHandle) -> None:
    handle.labels = {}


def set_annotations(handle: TreeHandle) -> None:
    handle.annotations = {}


def set_resource_version(handle: TreeHandle) -> None:
    handle.resource_version = "1"


def set_inside(handle: TreeHandle) -> None:
    handle["spec"]["containers"][0]["ports"][0]["containerPort"] = 81


EDITS: dict[str, Callable[[TreeHandle], object]] = {
    "set a part": set_part,
    "delete a part": delete_part,
    "pop": lambda handle: handle.pop("spec"),
    "pop of what is absent": lambda handle: handle.pop("absent", None),
    "popitem": lambda handle: handle.popitem(),
    "clear": lambda handle: handle.clear(),
    "update": lambda handle: handle.update(spec={}),
    "update with nothing": lambda handle: handle.update({}),
    "setdefault": lambda handle: handle.setdefault("absent", {}),
    "setdefault of what is there": lambda handle: handle.setdefault("spec", {}),
    "set a path": lambda handle: handle.set_path("spec.nodeName", "x"),
    "remove a path": lambda handle: handle.remove_path("spec.nodeName"),
    "remove an absent path": lambda handle: handle.remove_path("absent"),
    "set the name": set_name,
    "set the namespace": set_namespace,
    "set the labels": set_labels,
    "set the annotations": set_annotations,
    "set the version": set_resource_version,
    "a label": lambda handle: handle.labels.update(app="x"),
    "an annotation": lambda handle: handle.annotations.pop("note"),
    "a finalizer": lambda handle: handle.finalizers.clear(),
    "an owner": lambda handle: handle.owner_references[0].update(uid="x"),
    "metadata": lambda handle: handle.metadata.clear(),
    "deep inside": set_inside,
    "a list inside": lambda handle: handle["spec"]["containers"].append({}),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_every_edit_is_refused_and_told_about_copy(edit: Callable[[TreeHandle], object]) -> None:
    handle = view()
    with pytest.raises(ReadOnlyError, match=r"copy\(\)"):
        edit(handle)
    assert handle == pod_tree()


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_the_same_edit_is_fine_on_a_copy_and_stays_there(
    edit: Callable[[TreeHandle], object],
) -> None:
    handle = view()
    edit(handle.copy())
    assert handle == pod_tree()


def test_a_refused_edit_names_the_object() -> None:
    with pytest.raises(ReadOnlyError, match="v1/Pod default/web-1"):
        view()["spec"] = {}


def test_nothing_that_a_record_shows_can_be_edited() -> None:
    record = view().record
    assert record is not None
    with pytest.raises(TypeError):
        record.head.labels["app"] = "x"  # type: ignore[index]  # that it cannot be is the point
    with pytest.raises(AttributeError):
        record.head.name = "x"  # type: ignore[misc]  # that it cannot be is the point
    with pytest.raises(AttributeError):
        record.payload = b""  # type: ignore[misc]  # that it cannot be is the point


def test_labels_are_fresh_and_frozen() -> None:
    handle = view()
    assert type(handle.labels) is FrozenValues
    assert {**handle.labels, "x": "y"} == handle.labels | {"x": "y"}


# -- equality, copies, pickles ---------------------------------------------------------------


def test_handles_are_equal_if_they_say_the_same() -> None:
    record = record_of(pod_tree())
    spaced = Record.read(payload_of(pod_tree()).replace(b": ", b" :  "), JSON)
    assert Unstructured.over(record) == Unstructured.over(record)
    assert Unstructured.over(record) == Unstructured.over(spaced)
    assert Unstructured.over(record) == Unstructured.over(record).copy()
    assert Unstructured.over(record) == pod_tree()
    assert pod_tree() == Unstructured.over(record)


def test_handles_that_say_something_else_differ() -> None:
    item = {"metadata": {"name": "a"}}
    pod, node = (
        Unstructured.over(record_of(item, default_gvk=GVK.of("v1", kind)))
        for kind in ("Pod", "Node")
    )
    assert pod != node
    assert view() != view(pod_tree("web-2"))
    assert view() != "Pod"
    assert view() != {}


def test_comparing_the_same_bytes_decodes_nothing() -> None:
    handle, codec = counted(pod_tree())
    assert handle == Unstructured.over(record_of(pod_tree()))
    assert codec.calls == []


def test_a_handle_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(view())


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, Unstructured.copy])
def test_all_ways_to_copy_give_an_editable_object(
    duplicate: Callable[[Unstructured], Unstructured],
) -> None:
    handle = view()
    copied = duplicate(handle)
    assert copied == handle
    assert type(copied) is Unstructured
    assert copied.record is None
    copied["spec"]["containers"][0]["image"] = "web:2"
    assert handle == pod_tree()


def test_a_handle_survives_a_process_boundary() -> None:
    handle = view()
    handle["spec"]
    twin = pickle.loads(pickle.dumps(handle))
    assert twin == handle
    assert twin.labels == handle.labels
    with pytest.raises(ReadOnlyError):
        twin["spec"]["nodeName"] = "x"
    edited = pickle.loads(pickle.dumps(handle.copy()))
    edited["spec"]["nodeName"] = "x"
    assert edited.labels == handle.labels
