"""Fields of the metadata cut out of JSON text: exactly these, and nothing that looks like them."""

from __future__ import annotations

import pytest

from kinform.errors import DecodeError
from kinform.objects import JSON

MANAGED = frozenset({"managedFields"})


@pytest.mark.parametrize(
    ("payload", "left"),
    [
        (
            b'{"kind":"Pod","metadata":{"name":"a","managedFields":[{"x":1}],"uid":"u"}}',
            b'{"kind":"Pod","metadata":{"name":"a","uid":"u"}}',
        ),
        (b'{"metadata":{"managedFields":[]}}', b'{"metadata":{}}'),
        (
            b'{"metadata":{"name":"a","managedFields":null},"status":null}',
            b'{"metadata":{"name":"a"},"status":null}',
        ),
        (
            b'{"data":{"managedFields":"x"},"metadata":{"managedFields":[],"name":"a"}}',
            b'{"data":{"managedFields":"x"},"metadata":{"name":"a"}}',
        ),
        (
            b'{"spec":{"metadata":{"managedFields":[]}},"metadata":{"managedFields":[]}}',
            b'{"metadata":{},"spec":{"metadata":{"managedFields":[]}}}',
        ),
        # However the name is written.
        (b'{"metadata":{"managed\\u0046ields":[1],"name":"a"}}', b'{"metadata":{"name":"a"}}'),
        # Text that only looks like it.
        (
            b'{"metadata":{"managedFields":"}],\\"name\\":\\"b\\"","name":"a"}}',
            b'{"metadata":{"name":"a"}}',
        ),
        # Said twice: all of it goes, and of the metadata itself the last counts.
        (
            b'{"metadata":{"managedFields":[1],"name":"a","managedFields":[2]}}',
            b'{"metadata":{"name":"a"}}',
        ),
        (
            b'{"metadata":{"managedFields":[1],"name":"b"},"metadata":{"managedFields":[2]}}',
            b'{"metadata":{}}',
        ),
        # Space between what is cut is nobody's; inside of what stays it stays.
        (
            b'{\n "metadata" : {\n  "managedFields" : [ ] ,\n  "name" : "a" } , "spec":{ "x": 1 }}',
            b'{"metadata":{"name":"a"},"spec":{ "x": 1 }}',
        ),
    ],
)
def test_the_field_goes_and_the_rest_stays_as_it_was_written(payload: bytes, left: bytes) -> None:
    assert JSON.drop_metadata(payload, MANAGED) == left


@pytest.mark.parametrize(
    "payload",
    [
        b'{ "kind": "Pod", "metadata": {"name": "a", "labels": {"managedFields": "x"}} }',
        b'{"metadata":{"name":"a"},"data":{"x":"y"}}',
        b'{"metadata":{"name":"\\"managedFields\\":[]"}}',
        b'{"metadata":null}',
        b'{"kind":"Pod"}',
    ],
)
def test_what_has_no_such_field_comes_back_as_the_very_same_bytes(payload: bytes) -> None:
    assert JSON.drop_metadata(payload, MANAGED) is payload


def test_several_fields_go_at_once() -> None:
    payload = b'{"metadata":{"managedFields":[],"name":"a","annotations":{"b":"c"},"labels":{}}}'
    left = JSON.drop_metadata(payload, frozenset({"managedFields", "annotations", "selfLink"}))
    assert left == b'{"metadata":{"name":"a","labels":{}}}'


def test_numbers_and_escapes_of_the_rest_are_not_rewritten() -> None:
    rest = b'"spec":{"big":12345678901234567890123,"e":1.50e+3,"text":"\\u00e9\\/"}'
    payload = b'{"metadata":{"managedFields":[]},' + rest + b"}"
    assert JSON.drop_metadata(payload, MANAGED) == b'{"metadata":{},' + rest + b"}"


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        (b'{"metadata":{"name":"a","managedFields":[{]}}', "JSON of 45 bytes"),
        (b'{"kind":"Pod","metadata":"none"}', "the metadata of"),
        (b'{"kind":"Pod","metadata":{"name":"a"', "JSON of 36 bytes"),
        (b"[]", "the metadata of"),
        (b"k8s\x00", "a body of 4 bytes"),
        (b'{"metadata":{"managedFields":' + b"[" * 100_000, "the metadata of"),
    ],
    ids=["broken", "no metadata", "cut off", "a list", "no JSON", "too deep"],
)
def test_what_is_no_object_is_refused(payload: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match=complaint):
        JSON.drop_metadata(payload, MANAGED)
