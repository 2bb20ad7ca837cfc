"""Objects taken apart and put together again: what nobody touched stays the same bytes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kinform.testing.resources import ResourceRegistry, StoredKind
from kinform.testing.storage import EncodedObject, ObjectDocument


def _kind(group: str = "", plural: str = "configmaps") -> StoredKind:
    served = ResourceRegistry().find(group, "v1", plural)
    assert served is not None
    return served.stored


def _encoded(obj: dict[str, Any]) -> EncodedObject:
    return ObjectDocument.from_object(obj).encode(_kind())


def test_kind_and_version_come_first_and_metadata_next() -> None:
    encoded = _encoded({"data": {"k": "v"}, "metadata": {"uid": "u", "name": "n"}})

    assert encoded.body == (
        b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"n","uid":"u"},"data":{"k":"v"}}'
    )
    assert encoded.body[encoded.metadata_start : encoded.metadata_end] == (
        b'{"name":"n","uid":"u"}'
    )
    assert encoded.body[: encoded.type_end] == b'{"kind":"ConfigMap","apiVersion":"v1"'


def test_a_change_of_metadata_leaves_the_other_bytes_alone() -> None:
    # Bytes that no encoder of ours would write: they can only have been carried over.
    body = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"n"},"data":{"k": "\\u0076"}}'
    start = body.index(b'{"name"')
    document = ObjectDocument.from_encoded(
        EncodedObject(body, body.index(b","), start, body.index(b',"data"'))
    )

    document.metadata["labels"] = {"a": "b"}

    changed = document.encode(_kind())
    assert changed.body.endswith(b',"data":{"k": "\\u0076"}}')
    assert changed.body[changed.metadata_start : changed.metadata_end] == (
        b'{"name":"n","labels":{"a":"b"}}'
    )


def test_managed_fields_are_never_decoded() -> None:
    fields = b'[{"manager": "me",  "fieldsV1":{"f:x":{}}}]'
    body = b'{"metadata":{"name":"n","managedFields":' + fields + b"}}"
    document = ObjectDocument.from_body(body)

    document.metadata["labels"] = {"a": "b"}

    assert fields in document.encode(_kind()).body
    assert document.to_object(_kind())["metadata"]["managedFields"] == json.loads(fields)


def test_what_is_handed_out_to_be_edited_is_nobody_elses() -> None:
    original = ObjectDocument.from_object({"metadata": {"name": "n"}, "spec": {"list": [1]}})
    other = original.copy()

    other.edit("spec")["list"].append(2)
    other.own_metadata()["name"] = "m"

    assert original.read("spec") == {"list": [1]}
    assert original.read("metadata") == {"name": "n"}


def test_the_order_of_keys_is_no_difference() -> None:
    left = ObjectDocument.from_body(b'{"metadata":{"name":"n"},"spec":{"a":1,"b":2}}')
    right = ObjectDocument.from_body(b'{"metadata":{"name":"n"},"spec":{"b":2,"a":1}}')

    assert left.same(right, ["spec"])
    assert not left.same(ObjectDocument.from_body(b'{"spec":{"a":1,"b":3}}'), ["spec"])


def test_a_section_can_be_taken_over_or_found_absent() -> None:
    old = ObjectDocument.from_body(b'{"metadata":{"name":"n"},"status":{"phase":"Running"}}')
    new = ObjectDocument.from_object(
        {"metadata": {"name": "n"}, "status": {"phase": "Lie"}, "spec": {}}
    )

    new.take("status", old)
    new.take("spec", old)

    assert new.read("status") == {"phase": "Running"}
    assert "spec" not in new


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
_SECTIONS = st.dictionaries(
    st.text(min_size=1, max_size=6).filter(lambda name: name not in ("kind", "apiVersion")),
    _JSON,
    max_size=4,
)


@given(sections=_SECTIONS, touched=st.booleans())
def test_an_object_says_the_same_after_any_number_of_rounds(
    sections: dict[str, Any], touched: bool
) -> None:
    obj = {**sections, "metadata": {"name": "n", "labels": {"a": "b"}}}
    first = ObjectDocument.from_object(obj).encode(_kind())
    document = ObjectDocument.from_encoded(first)
    if touched:
        document.metadata["uid"] = "u"
        obj["metadata"]["uid"] = "u"
        for section in document.sections:
            document.read(section)

    again = document.encode(_kind())

    decoded = json.loads(again.body)
    assert decoded == {"kind": "ConfigMap", "apiVersion": "v1", **obj}
    assert b"\n" not in again.body
    metadata = again.body[again.metadata_start : again.metadata_end]
    assert json.loads(metadata) == obj["metadata"]
