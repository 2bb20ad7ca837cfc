"""Every field of every kind is read from a message as JSON has it, whether it is there or not."""

from __future__ import annotations

import pytest

from kinform.api import GVK
from kinform.models import known_kinds, model_for
from kinform.models.core.v1 import EnvVar, Pod
from kinform.objects import JSON, Record, TypedObject
from kinform.protobuf import codec_for
from kinform.protobuf._messages import FieldType, fields_of
from kinform.protobuf._table import MESSAGE_PACKAGES
from tests.unit.protobuf.sample import metadata, put
from tests.unit.protobuf.test_views import check_fields

pytestmark = pytest.mark.usefixtures("either_way")

SCALARS: dict[str, int | str | bytes] = {
    "string": "x",
    "bool": 1,
    "int32": 7,
    "int64": 7,
    "bytes": b"\x00\xff",
}
MESSAGES = {
    "apiextensions/v1.JSONSchemaPropsOrStringArray": put(2, "x"),
    "apiextensions/v1.JSON": put(1, b'{"a":[1]}'),
    "intstr.IntOrString": put(1, 1) + put(3, "http"),
    "meta/v1.FieldsV1": put(1, b'{"f:a":{}}'),
    "meta/v1.MicroTime": put(1, 1700000000) + put(2, 5000),
    "meta/v1.Time": put(1, 1700000000),
    "resource.Quantity": put(1, "500m"),
    "runtime.RawExtension": put(1, b'{"a":1}'),
}


def filled(message: str, inside: tuple[str, ...] = ()) -> bytes:
    """A message with something in every field; what contains itself does so once."""
    if (custom := MESSAGES.get(message)) is not None:
        return custom
    within = (*inside, message)
    return b"".join(
        put_into(
            field, filled(field.element, within) if field.is_message else SCALARS[field.element]
        )
        for field in fields_of(message)
        # No other scalar is as wide as a float; the samples have some.
        if field.element != "float64" and within.count(field.element) < 2
    )


def hollow(message: str, inside: tuple[str, ...] = ()) -> bytes:
    """A message with all messages that it is made of, and no value in any."""
    within = (*inside, message)
    return b"".join(
        put_into(field, hollow(field.element, within))
        for field in fields_of(message)
        if field.is_message and field.element not in MESSAGES and within.count(field.element) < 2
    )


def put_into(field: FieldType, value: int | str | bytes) -> bytes:
    return put(field.number, put(1, "k") + put(2, value) if field.shape == "map" else value)


def check_against_json(kind: GVK, message: bytes) -> None:
    codec, model = codec_for(kind), model_for(kind)
    assert codec is not None
    assert model is not None
    ours: TypedObject = model.over(Record.read(message, codec))
    theirs = model.over(Record.read(JSON.encode(ours.to_dict()), JSON))
    for part in model.parts.values():
        mine, other = getattr(ours, part.attribute), getattr(theirs, part.attribute)
        check_fields(mine, other, f"{kind.kind}.{part.name}")
        assert mine == other


def message_of(kind: GVK) -> str:
    return f"{MESSAGE_PACKAGES[kind.group, kind.version]}.{kind.kind}"


# Bodies such as those of reviews have no metadata to read a head from.
OBJECTS = [
    kind
    for kind in known_kinds()
    if codec_for(kind) is not None
    and fields_of(message_of(kind))[0].element == "meta/v1.ObjectMeta"
]
each_kind = pytest.mark.parametrize("kind", OBJECTS, ids=str)


@each_kind
def test_a_message_that_has_every_field_reads_as_json(kind: GVK) -> None:
    check_against_json(kind, filled(message_of(kind)))


@each_kind
def test_what_is_empty_or_absent_reads_as_json(kind: GVK) -> None:
    named = put(1, metadata("a"))
    check_against_json(kind, named)
    check_against_json(kind, hollow(message_of(kind)) + named)


def pod_with(container: bytes) -> Pod:
    codec = codec_for(GVK("", "v1", "Pod"))
    assert codec is not None
    return Pod.over(Record.read(put(1, metadata("a")) + put(2, put(2, container)), codec))


def test_texts_that_are_no_utf8_read_as_go_writes_them_however_deep_they_are() -> None:
    env = put(1, "A") + put(2, b"b\xff")
    pod = pod_with(put(1, b"\xff") + put(4, b"c\xe2\x82", "d") + put(7, env))
    (container,) = pod.spec.containers
    assert container.name == "\ufffd"
    assert container.args == ["c\ufffd\ufffd", "d"]
    assert container.env == [EnvVar(name="A", value="b\ufffd")]
    (tree,) = pod.to_dict()["spec"]["containers"]
    assert tree == {**container.to_dict(), "resources": {}}


def test_zero_and_absent_differ_where_go_has_a_pointer() -> None:
    (container,) = pod_with(put(1, "m") + put(15, put(2, 0)) + put(16, 0)).spec.containers
    assert container.security_context is not None
    assert container.security_context.privileged is False
    assert container.security_context.run_as_user is None
    assert container.stdin is False
    assert container.liveness_probe is None
