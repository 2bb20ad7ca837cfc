"""Trees as messages: what was read from one comes out as one that says the same."""

from __future__ import annotations

import pytest

from kinform.api import GVK
from kinform.errors import EncodeError
from kinform.protobuf import ProtobufCodec, codec_for
from tests.unit.protobuf.sample import SAMPLES, Sample


def codec(gvk: GVK) -> ProtobufCodec:
    found = codec_for(gvk)
    assert found is not None
    return found


POD = codec(GVK("", "v1", "Pod"))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda each: each.gvk.kind)
def test_a_tree_goes_through_a_message_and_comes_back(sample: Sample) -> None:
    again = codec(sample.gvk).decode(codec(sample.gvk).encode(sample.tree))
    # To Go, a null is a pointer that is nil.
    expected = dict(sample.tree)
    if sample.gvk.kind == "Lease":
        expected["spec"] = {k: v for k, v in expected["spec"].items() if v is not None}
    assert again == expected


def test_zero_and_absent_stay_apart_where_a_pointer_is() -> None:
    for spec in (
        {"containers": None, "terminationGracePeriodSeconds": 0},
        {"containers": None},
        {"containers": None, "priority": 0, "enableServiceLinks": False},
    ):
        assert POD.decode(POD.encode({"spec": spec}))["spec"] == spec


def test_maps_are_written_in_the_order_of_their_keys() -> None:
    names = ["app.kubernetes.io/name", "app", "pod-template-hash", "tier", "zone", "b", "c"]
    first = POD.encode({"metadata": {"name": "web", "labels": dict.fromkeys(names, "x")}})
    again = POD.encode({"metadata": {"name": "web", "labels": dict.fromkeys(names[::-1], "x")}})
    assert first == again
    places = [first.index(name.encode()) for name in sorted(names[2:])]
    assert places == sorted(places)


def test_what_a_message_has_no_place_for_does_not_travel() -> None:
    tree = {"apiVersion": "v1", "kind": "Pod", "newPart": 1, "metadata": {"name": "a", "new": {}}}
    again = POD.decode(POD.encode(tree))
    assert again["metadata"] == {"name": "a"}
    assert not {"apiVersion", "kind", "newPart"} & again.keys()


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        ({"metadata": {"name": 1}}, "metadata.name: "),
        ({"metadata": "a"}, "metadata: expected object, got str"),
        (
            {"metadata": {"creationTimestamp": "yesterday"}},
            "metadata.creationTimestamp: .*not a time",
        ),
        ({"metadata": {"creationTimestamp": 5}}, "metadata.creationTimestamp: expected a time"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels: "),
        ({"metadata": {"generation": True}}, "metadata.generation: expected int, got bool"),
        ({"metadata": {"generation": 1 << 70}}, "metadata.generation: "),
        ({"metadata": {"finalizers": 7}}, "metadata.finalizers: "),
        ({"metadata": {"labels": ["a"]}}, "metadata.labels: "),
        ([], "the object: expected object, got list"),
    ],
)
def test_what_is_of_another_type_is_named_by_its_path(tree: object, complaint: str) -> None:
    with pytest.raises(EncodeError, match=complaint):
        POD.encode(tree)


def test_bytes_are_base64_or_an_error() -> None:
    secret = codec(GVK("", "v1", "Secret"))
    assert secret.decode(secret.encode({"data": {"a": "AP8="}}))["data"] == {"a": "AP8="}
    for wrong in ("?", 7, "AP8"):
        with pytest.raises(EncodeError, match="data: expected base64"):
            secret.encode({"data": {"a": wrong}})
