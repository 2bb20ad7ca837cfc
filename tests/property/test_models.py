"""For every kind: bytes to a handle, to a copy, to bytes loses nothing, whatever was touched.

The objects are made from what the models say of themselves, with nulls, and with fields that no
model knows, anywhere.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform.models._table import KINDS
from kinform.objects import JSON, FieldsV1, Quantity, Record, TypedObject

DEPTH = 6
text = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=4)
keys = st.sampled_from(["a", "b.c/d", "$e", ""])
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(keys, inner, max_size=2),
    max_leaves=4,
)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: text,
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
    bool: st.booleans(),
    bytes: st.binary(max_size=4).map(lambda each: b64encode(each).decode()),
    datetime: st.sampled_from(
        [
            "2026-01-02T03:04:05Z",
            "2026-01-02T03:04:05.000000Z",
            "2026-01-02T03:04:05.123456Z",
            "2026-01-02T03:04:05.123456789Z",
            "2026-01-02T03:04:05+02:00",
            "0001-01-01T00:00:00Z",
        ]
    ),
    Quantity: st.sampled_from(["500m", "64Mi", "1e3", "0", 2, 0.5]),
    FieldsV1: st.dictionaries(keys, anything, max_size=2),
    Any: anything,
    object: anything,
    type(None): st.none(),
}


def drawn(draw: st.DrawFn, hint: Any, depth: int) -> Any:
    """JSON that the type reads."""
    if hint in SCALARS:
        return draw(SCALARS[hint])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return drawn(draw, arguments[0], depth)
    if origin is list:
        count = draw(st.integers(0, 2)) if depth else 0
        return [drawn(draw, arguments[0], depth - 1) for _ in range(count)]
    if origin is dict:
        names = draw(st.lists(keys, max_size=2, unique=True)) if depth else []
        return {name: drawn(draw, arguments[1], depth - 1) for name in names}
    if arguments:
        return drawn(draw, draw(st.sampled_from(arguments)), depth)
    if issubclass(hint, TypedObject):
        said = {"apiVersion": hint.class_gvk.api_version, "kind": hint.class_gvk.kind}
        return {**draw(st.sampled_from([{}, said])), **drawn_fields(draw, parts_of(hint), depth)}
    return drawn_fields(draw, fields_of(hint), depth)


def drawn_fields(draw: st.DrawFn, fields: dict[str, Any], depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    if depth and fields:
        for name in draw(st.lists(st.sampled_from(list(fields)), max_size=4, unique=True)):
            is_null = draw(st.sampled_from([False] * 7 + [True]))
            tree[name] = None if is_null else drawn(draw, fields[name], depth - 1)
    # Go writes these even if they are zero, and so does a model that was read without them.
    for name in [name for name, hint in fields.items() if hint is Quantity]:
        tree[name] = drawn(draw, Quantity, depth)
    if draw(st.sampled_from([False] * 3 + [True])):
        tree["futureField"] = draw(anything)
    return tree


@cache
def fields_of(model: type[msgspec.Struct]) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    return {field.encode_name: hints[field.name] for field in msgspec.structs.fields(model)}


def parts_of(kind: type[TypedObject]) -> dict[str, Any]:
    return {name: part.type for name, part in kind.parts.items()}


@st.composite
def objects(draw: st.DrawFn, kind: type[TypedObject]) -> dict[str, Any]:
    parts = parts_of(kind)
    tree: dict[str, Any] = {}
    tree |= {"apiVersion": kind.class_gvk.api_version, "kind": kind.class_gvk.kind}
    tree |= drawn_fields(draw, parts, DEPTH)
    for name in {"metadata", "spec", "status"} & parts.keys():
        tree[name] = drawn(draw, parts[name], DEPTH)
    if isinstance(metadata := tree.get("metadata"), dict) and kind.resource is not None:
        # What every stage reads at once is never null in bytes of a server.
        for name in ("namespace", "uid", "resourceVersion", "generation", "labels"):
            if metadata.get(name, "") is None:
                del metadata[name]
        owners = [{"uid": "u", "futureField": draw(anything), "controller": None}]
        metadata.update(name="a", ownerReferences=draw(st.sampled_from([[], None, owners])))
    return tree


def touch(obj: TypedObject) -> list[Any]:
    return [getattr(obj, part.attribute) for part in obj.parts.values()]


def exactly(tree: Any) -> str:
    """Trees as text, for ``True == 1 == 1.0``."""
    return json.dumps(tree, sort_keys=True)


def check_that_nothing_is_lost(kind: type[TypedObject], tree: dict[str, Any]) -> None:
    made = kind.from_dict(tree)
    assert exactly(made.to_dict()) == exactly(tree)
    assert exactly(made.copy().to_dict()) == exactly(tree)
    if kind.resource is None:
        return
    handle = kind.over(Record.read(json.dumps(tree).encode(), JSON))
    parts = touch(handle)
    copied = handle.copy()
    assert exactly(JSON.decode(copied.to_bytes())) == exactly(tree)
    assert touch(copied) == parts
    assert exactly(JSON.decode(copied.to_bytes())) == exactly(tree)
    assert exactly(JSON.decode(handle.to_bytes())) == exactly(tree)
    assert handle == copied


MODULES = {
    f"{module} of {group or 'core'}/{version}": (module, kinds)
    for (group, version, module), kinds in KINDS.items()
}


@pytest.mark.parametrize("module", MODULES)
def test_every_kind_survives_the_way_to_a_copy_and_back(module: str) -> None:
    name, kinds = MODULES[module]
    models = [getattr(import_module(f"kinform.models.{name}"), kind) for kind in kinds]

    @settings(max_examples=12)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        for model in models:
            check_that_nothing_is_lost(model, data.draw(objects(model), label=model.__name__))

    run: Callable[[], None] = check
    run()
