"""Fields cut out of the bytes of an object: what is left is the same tree without them."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kinform.api import GVK
from kinform.errors import DecodeError
from kinform.objects import JSON
from kinform.protobuf import ProtobufCodec, codec_for
from tests.property.test_objects import parts, text, trees

FIELDS = [
    "generateName",
    "selfLink",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
]

some_fields = st.frozensets(st.sampled_from(FIELDS), max_size=3)
times = st.sampled_from(["2026-01-01T00:00:00Z", "1999-12-31T23:59:59Z"])
texts = st.dictionaries(text, text, max_size=3)
managers = st.fixed_dictionaries(
    {"manager": text, "operation": st.just("Update"), "apiVersion": st.just("v1")},
    optional={
        "time": times,
        "fieldsType": st.just("FieldsV1"),
        "fieldsV1": st.dictionaries(text, trees, max_size=3),
    },
)
owners = st.fixed_dictionaries(
    {"apiVersion": text, "kind": text, "name": text, "uid": text},
    optional={"controller": st.booleans()},
)
metadata = st.fixed_dictionaries(
    {"name": st.just("a"), "namespace": st.just("b"), "resourceVersion": st.just("7")},
    optional={
        "generateName": text,
        "generation": st.integers(1, 2**62),
        "creationTimestamp": times,
        "deletionTimestamp": times,
        "deletionGracePeriodSeconds": st.integers(0, 2**40),
        "labels": texts,
        "annotations": texts,
        "ownerReferences": st.lists(owners, max_size=2),
        "finalizers": st.lists(text, max_size=2),
        "managedFields": st.lists(managers, max_size=3),
    },
)


def without(tree: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    rest = copy.deepcopy(tree)
    for field in fields:
        rest["metadata"].pop(field, None)
    return rest


def maps() -> ProtobufCodec:
    codec = codec_for(GVK("", "v1", "ConfigMap"))
    assert codec is not None
    return codec


# -- JSON ------------------------------------------------------------------------------------


@given(metadata, st.dictionaries(text, trees, max_size=3), parts, some_fields, st.booleans())
def test_json_without_fields_is_the_tree_without_them(
    known: dict[str, Any],
    unknown: dict[str, Any],
    others: dict[str, Any],
    fields: frozenset[str],
    is_indented: bool,
) -> None:
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {**unknown, **known}, **others}
    payload = json.dumps(tree, indent=2 if is_indented else None).encode()

    cut = JSON.drop_metadata(payload, fields)

    assert JSON.decode(cut) == without(tree, fields)
    assert JSON.read_head(cut)[0].name == "a"
    if fields.isdisjoint(tree["metadata"]):
        assert cut is payload


@given(st.binary(max_size=40), st.integers(0, 200), st.integers(0, 3))
def test_damaged_json_is_cut_or_refused_and_never_becomes_another_object(
    junk: bytes, position: int, cut: int
) -> None:
    fields = frozenset({"managedFields"})
    whole = (
        b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","managedFields":[{"b":"c"}],'
        b'"labels":{"d":"e"}},"spec":{"managedFields":"]}"}}'
    )
    damaged = whole[:position] + junk + whole[position + cut :]
    try:
        left = JSON.drop_metadata(damaged, fields)
        tree = JSON.decode(damaged)
    except DecodeError:
        return
    has_metadata = isinstance(tree.get("metadata"), dict)
    assert JSON.decode(left) == (without(tree, fields) if has_metadata else tree)


# -- protobuf --------------------------------------------------------------------------------


@given(metadata, texts, some_fields)
def test_protobuf_without_fields_is_the_tree_without_them(
    known: dict[str, Any], data: dict[str, str], fields: frozenset[str]
) -> None:
    codec = maps()
    tree = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": known, "data": data}
    payload = codec.encode(tree)

    cut = codec.drop_metadata(payload, fields)

    assert codec.decode(cut) == without(codec.decode(payload), fields)
    if fields.isdisjoint(known):
        assert cut is payload


@given(st.binary(max_size=40), st.integers(0, 80), st.integers(0, 3))
def test_damaged_protobuf_is_cut_or_refused_and_never_becomes_another_object(
    junk: bytes, position: int, cut: int
) -> None:
    codec, fields = maps(), frozenset({"managedFields"})
    whole = codec.encode(
        {
            "metadata": {"name": "a", "managedFields": [{"manager": "m"}], "labels": {"d": "e"}},
            "data": {"x": "y"},
        }
    )
    damaged = whole[:position] + junk + whole[position + cut :]
    with contextlib.suppress(DecodeError):
        left = codec.drop_metadata(damaged, fields)
        assert codec.decode(left) == without(codec.decode(damaged), fields)
