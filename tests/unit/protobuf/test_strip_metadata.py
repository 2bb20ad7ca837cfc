"""Fields of the metadata cut out of messages: exactly these, and what nobody knows stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.protobuf import ProtobufCodec, codec_for

MANAGED = frozenset({"managedFields"})
TREE: dict[str, Any] = {
    "metadata": {
        "name": "a",
        "generation": 3,
        "labels": {"app": "web"},
        "annotations": {"x": "y"},
        "finalizers": ["f"],
        "managedFields": [
            {"manager": "m", "operation": "Update", "fieldsV1": {"f:spec": {}}},
            {"manager": "n", "operation": "Apply"},
        ],
    },
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
# Field 900 of an object, and field 901 of its metadata: later than all that we know.
LATER_PART = b"\xa2\x38\x03new"
LATER_FIELD = b"\xaa\x38\x05newer"


def codec(kind: str = "Pod") -> ProtobufCodec:
    found = codec_for(GVK("", "v1", kind))
    assert found is not None
    return found


def without(*fields: str) -> dict[str, Any]:
    metadata = {name: value for name, value in TREE["metadata"].items() if name not in fields}
    return {**TREE, "metadata": metadata}


@pytest.mark.parametrize(
    "fields",
    [
        ["managedFields"],
        ["generation"],
        ["annotations", "managedFields"],
        ["labels", "finalizers", "selfLink"],
    ],
    ids="+".join,
)
def test_what_is_left_is_what_an_object_without_them_is(fields: list[str]) -> None:
    cut = codec().drop_metadata(codec().encode(TREE), frozenset(fields))
    assert codec().decode(cut) == codec().decode(codec().encode(without(*fields)))


def test_what_has_no_such_field_comes_back_as_the_very_same_bytes() -> None:
    payload = codec().encode(without("managedFields"))
    assert codec().drop_metadata(payload, MANAGED) is payload


def test_fields_newer_than_the_tables_stay() -> None:
    metadata = codec("ConfigMap").encode({"metadata": {"name": "a", "managedFields": [{}]}})
    inner = metadata[2:] + LATER_FIELD
    payload = b"\x0a" + bytes([len(inner)]) + inner + LATER_PART
    cut = codec("ConfigMap").drop_metadata(payload, MANAGED)
    assert LATER_PART in cut
    assert LATER_FIELD in cut
    assert len(cut) < len(payload)


def test_metadata_that_comes_in_two_pieces_is_cut_in_both() -> None:
    first = codec().encode({"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}})
    second = codec().encode({"metadata": {"uid": "u", "managedFields": [{"manager": "n"}]}})
    cut = codec().drop_metadata(first + second, MANAGED)
    metadata = codec().decode(cut)["metadata"]
    assert (metadata["name"], metadata["uid"]) == ("a", "u")
    assert "managedFields" not in metadata


def test_a_message_with_other_metadata_is_left_alone() -> None:
    """Field 2 is the version there, and generateName in an object."""
    status = codec("Status").encode({"metadata": {"resourceVersion": "7"}, "code": 404})
    assert codec("Status").drop_metadata(status, frozenset({"generateName"})) is status


@pytest.mark.parametrize("junk", [b"\x0a\xff", b"\x0a\x7fshort", b"\xff" * 20, b"\x0b"])
def test_what_is_no_message_is_refused(junk: bytes) -> None:
    with pytest.raises(DecodeError, match=f"of {len(junk)} bytes"):
        codec().drop_metadata(junk, MANAGED)


def test_several_threads_may_be_the_first() -> None:
    payload, fields = codec().encode(TREE), frozenset({"finalizers", "annotations", "generation"})
    together = Barrier(4)

    def cut(kind: str) -> bytes:
        together.wait()
        return codec(kind).drop_metadata(payload, fields)

    with ThreadPoolExecutor(4) as threads:
        cuts = set(threads.map(cut, ["Pod", "ConfigMap", "Secret", "Node"]))
    assert len(cuts) == 1
