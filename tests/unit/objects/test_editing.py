"""An editable object: made from a dict or by copy(), the caller's own, and sent back whole."""

from __future__ import annotations

from typing import Any

import pytest

from kinform.api import GVK
from kinform.errors import EncodeError, InvalidNameError
from kinform.objects import JSON, PartialObjectMetadata, TreeHandle, Unstructured
from tests.support.objects import CountingCodec, pod_tree, record_of


def test_copy_edit_send_keeps_every_field_that_was_not_touched() -> None:
    copied = Unstructured.over(record_of(pod_tree())).copy()
    copied["spec"]["containers"][0]["image"] = "web:2"
    copied.labels["new"] = "label"
    expected = pod_tree()
    expected["spec"]["containers"][0]["image"] = "web:2"
    expected["metadata"]["labels"]["new"] = "label"
    assert JSON.decode(copied.to_bytes()) == expected
    assert expected["futurePart"]
    assert expected["metadata"]["futureMember"]


def test_the_dict_that_an_object_is_made_from_stays_the_callers() -> None:
    tree = pod_tree()
    obj = Unstructured(tree)
    obj["spec"]["containers"].clear()
    obj.labels.clear()
    assert tree == pod_tree()
    tree["spec"]["nodeName"] = "x"
    assert obj["spec"]["nodeName"] == "node-1"


def test_an_object_can_be_made_from_any_mapping() -> None:
    handle = Unstructured.over(record_of(pod_tree()))
    for source in (handle, handle.copy(), handle["metadata"] and dict(handle)):
        made = Unstructured(source)
        made["spec"]["containers"][0]["image"] = "web:2"
        made.labels["x"] = "y"
    assert handle == pod_tree()
    assert Unstructured() == Unstructured({}) == {}


def test_to_dict_is_plain_fresh_and_unconnected() -> None:
    for obj in (Unstructured.over(record_of(pod_tree())), Unstructured(pod_tree())):
        tree = obj.to_dict()
        assert type(tree["spec"]["containers"]) is list
        assert type(tree["metadata"]["labels"]) is dict
        tree["spec"]["containers"].clear()
        assert obj == pod_tree()


def test_identity_of_an_editable_object_is_what_its_metadata_says() -> None:
    obj = Unstructured(pod_tree())
    assert obj.gvk == GVK.of("v1", "Pod")
    assert (obj.name, obj.namespace, obj.key) == ("web-1", "default", "default/web-1")
    assert (obj.uid, obj.resource_version) == ("b1946ac9-2d4c-4ba3-9e0b-000000000001", "1042")
    assert (obj.generation, obj.deletion_timestamp) == (3, None)
    assert obj.creation_timestamp == "2026-01-01T00:00:00Z"
    assert (obj.record, obj.memory) == (None, 0)
    assert repr(obj) == "<Unstructured v1/Pod default/web-1 rv=1042 editable>"


def test_an_empty_object_has_an_empty_identity() -> None:
    obj = Unstructured()
    assert (obj.name, obj.namespace, obj.key, obj.uid, obj.resource_version) == ("",) * 5
    assert (obj.api_version, obj.kind, obj.generation) == ("", "", 0)
    assert (obj.creation_timestamp, obj.deletion_timestamp) == (None, None)
    assert repr(obj) == "<Unstructured no kind no name editable>"
    with pytest.raises(InvalidNameError, match="not an apiVersion"):
        _ = obj.gvk


def test_identity_can_be_set() -> None:
    obj = Unstructured({"apiVersion": "v1", "kind": "Pod"})
    obj.name, obj.namespace, obj.resource_version = "web", "shop", "7"
    obj.labels = {"app": "web"}
    obj.annotations = {"note": "x"}
    assert obj["metadata"] == {
        "name": "web",
        "namespace": "shop",
        "resourceVersion": "7",
        "labels": {"app": "web"},
        "annotations": {"note": "x"},
    }


def test_labels_taken_from_another_object_can_be_edited_here() -> None:
    source = Unstructured.over(record_of(pod_tree()))
    obj = Unstructured({})
    obj.labels = source.labels
    obj.annotations = source.annotations
    obj["spec"] = source["spec"]
    obj.labels["app"] = obj.annotations["note"] = obj["spec"]["nodeName"] = "x"
    assert source == pod_tree()


@pytest.mark.parametrize("metadata", [{}, {"metadata": None}, {"metadata": {"labels": None}}])
def test_members_can_be_filled_in_place_where_there_were_none(metadata: dict[str, Any]) -> None:
    obj = Unstructured(metadata)
    obj.labels["app"] = "web"
    obj.annotations["note"] = "x"
    obj.finalizers.append("example.com/guard")
    obj.owner_references.append({"uid": "u"})
    obj.labels["tier"] = "front"
    assert JSON.decode(obj.to_bytes())["metadata"] == {
        "labels": {"app": "web", "tier": "front"},
        "annotations": {"note": "x"},
        "finalizers": ["example.com/guard"],
        "ownerReferences": [{"uid": "u"}],
    }


def test_a_member_that_was_kept_and_filled_later_is_not_lost() -> None:
    obj = Unstructured({})
    labels, same = obj.labels, obj.labels
    assert obj == {}
    labels["a"] = "1"
    same["b"] = "2"
    assert obj.copy().labels == obj.labels == {"a": "1", "b": "2"}
    assert obj["metadata"]["labels"] is labels
    labels["c"] = "3"
    assert obj.get_path("metadata.labels.c") == "3"


@pytest.mark.parametrize("tree", [{}, {"metadata": {"name": "a"}}, {"metadata": {"labels": None}}])
def test_reading_an_editable_object_does_not_change_it(tree: dict[str, Any]) -> None:
    obj = Unstructured(tree)
    _ = (obj.labels, obj.annotations, obj.finalizers, obj.owner_references)
    _ = (obj.name, obj.key, obj.creation_timestamp, obj.generation, repr(obj))
    assert obj == tree
    assert obj.to_dict() == tree
    assert JSON.decode(obj.to_bytes()) == tree
    assert list(obj) == list(tree)


def test_setting_a_member_replaces_what_was_filled_in_before() -> None:
    obj = Unstructured({})
    obj.labels["a"] = "1"
    obj.labels = {"b": "2"}
    assert obj == {"metadata": {"labels": {"b": "2"}}}


def test_metadata_can_be_edited_in_place() -> None:
    obj = Unstructured({})
    obj.metadata["generateName"] = "web-"
    assert obj == {"metadata": {"generateName": "web-"}}


@pytest.mark.parametrize("metadata", ["text", 7, ["list"]])
def test_metadata_that_is_none_is_named_in_the_error(metadata: Any) -> None:
    obj = Unstructured({"metadata": metadata})
    assert (obj.name, obj.key) == ("", "")
    with pytest.raises(EncodeError, match=f"its metadata is a {type(metadata).__name__}"):
        _ = obj.labels
    with pytest.raises(EncodeError, match="not a dict"):
        obj.name = "x"


def test_an_editable_object_is_a_dict_to_its_owner() -> None:
    obj = Unstructured({"a": 1})
    obj.update({"b": 2}, c=3)
    assert obj.setdefault("d", 4) == 4
    assert obj.setdefault("a", 9) == 1
    assert obj.pop("b") == 2
    assert obj.pop("b", None) is None
    del obj["c"]
    assert obj.popitem() == ("d", 4)
    assert obj == {"a": 1}
    with pytest.raises(KeyError):
        obj.pop("b")
    with pytest.raises(KeyError):
        obj["b"]
    obj.clear()
    assert obj == {}
    assert len(obj) == 0
    assert obj, "an object is true even if it is empty"


def test_an_object_that_cannot_be_written_names_itself_and_the_place() -> None:
    obj = Unstructured(pod_tree())
    obj["spec"]["hosts"] = {"a"}
    with pytest.raises(EncodeError, match=r"v1/Pod default/web-1.*: spec\.hosts is a set"):
        obj.to_bytes()


def test_an_object_that_contains_itself_cannot_be_written_or_copied() -> None:
    obj = Unstructured(pod_tree())
    obj["spec"]["self"] = obj["spec"]
    for use in (obj.to_bytes, obj.to_dict, obj.copy):
        with pytest.raises(EncodeError, match="contains itself"):
            use()


def test_frozen_values_and_tuples_inside_an_object_are_written_as_what_they_are() -> None:
    source = Unstructured.over(record_of(pod_tree()))
    obj = Unstructured({})
    obj["spec"] = {"containers": source["spec"]["containers"], "hosts": ("a", "b")}
    written = JSON.decode(obj.to_bytes())
    assert written["spec"]["containers"] == pod_tree()["spec"]["containers"]
    assert written["spec"]["hosts"] == ["a", "b"]


def test_an_object_is_written_with_the_codec_that_was_asked_for() -> None:
    codec = CountingCodec()
    Unstructured(pod_tree()).to_bytes(codec)
    assert codec.calls == ["encode"]


@pytest.mark.parametrize("form", [Unstructured, PartialObjectMetadata])
def test_a_copy_has_the_form_of_its_original(form: type[TreeHandle]) -> None:
    assert type(form.over(record_of(pod_tree())).copy()) is form
    assert type(form(pod_tree()).copy()) is form
