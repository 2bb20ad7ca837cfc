"""Conversion of messages to the JSON trees of the server.

Go omits a field from JSON depending on its declaration, not only on its value: a nil pointer is
omitted, an empty struct is not, and an empty list that cannot be omitted is null.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kinform.protobuf._messages import FieldType, fields_of
from kinform.protobuf._values import (
    TREES,
    base64_text,
    by_key,
    is_list,
    items,
    number,
    read_either,
    text,
)

Tree = dict[str, Any]
Step = Callable[[Any, Tree], None]
"""A function that writes one field of a message to a tree."""
Convert = Callable[[Any], Any]

_WRITTEN: dict[str, Convert] = {
    "bytes": base64_text,
    "float64": number,
    "string": text,
}
"""Scalars that have a different format in JSON."""

_ADDED = {"volumeClaimTemplates": {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}}
"""Fields that servers add to the JSON of nested objects; messages do not contain them."""


@cache
def tree_of(message: str) -> Convert:
    """Return a function that converts a message to a tree."""
    if (custom := TREES.get(message)) is not None:
        return custom
    if message.startswith("apiextensions/v1.JSONSchemaPropsOr"):
        return _either(message)
    if is_list(message):
        return items
    # Created on first use, because messages can contain themselves; and assigned at once, because
    # several threads may be first.
    steps: tuple[Step, ...] = ()

    def convert(value: Any) -> Tree:
        nonlocal steps
        if not steps:
            steps = tuple(_json_step(field) for field in fields_of(message))
        tree: Tree = {}
        for step in steps:
            step(value, tree)
        return tree

    return convert


def element_tree_of(field: FieldType) -> Convert:
    """Return a function that converts a message in a field to a tree."""
    tree = tree_of(field.element)
    added = _ADDED.get(field.json)
    return tree if added is None else lambda value: {**added, **tree(value)}


def field_tree(field: FieldType, value: Any) -> Tree:
    """Return a tree with one field of a message, or an empty tree if it is absent."""
    tree: Tree = {}
    _json_step(field)(value, tree)
    return tree


def part_of(message: str, json: str) -> Convert | None:
    """Return a function that reads one part of a message; an absent part is an empty tree."""
    for field in fields_of(message):
        if field.json == json:
            return lambda value, field=field: field_tree(field, value)  # type: ignore[misc]
    return None


@cache
def _json_step(field: FieldType) -> Step:
    if field.is_inline:
        return _inline(field)
    convert = element_tree_of(field) if field.is_message else _WRITTEN.get(field.element)
    return field_step(field, convert)


# -- one field -------------------------------------------------------------------------------


def field_step(field: FieldType, convert: Convert | None, *, keeps_null: bool = True) -> Step:
    """Return the step of a field whose values are converted by ``convert``, if they are.

    Without ``keeps_null``, a field that JSON has as null is omitted.
    """
    if field.shape != "one":
        return _several(field, convert, keeps_null)
    if field.is_message:
        assert convert is not None  # messages are never values
        return _message(field, convert, keeps_null)
    return _scalar(field, convert, keeps_null)


def _keeps_empty(field: FieldType) -> bool:
    return not (field.omits_empty or field.omits_zero)


def _scalar(field: FieldType, convert: Convert | None, keeps_null: bool) -> Step:
    proto, json = field.proto, field.json
    keeps_empty = _keeps_empty(field)
    has_null = keeps_empty and keeps_null

    def pointer(message: Any, tree: Tree) -> None:
        if message.HasField(proto):
            value = getattr(message, proto)
            tree[json] = value if convert is None else convert(value)
        elif has_null:
            tree[json] = None

    def unless_empty(message: Any, tree: Tree) -> None:
        value = getattr(message, proto)
        if value:
            tree[json] = value if convert is None else convert(value)

    def texts(message: Any, tree: Tree) -> None:
        # The most frequent fields: the check costs a fifth of a call.
        value = getattr(message, proto)
        if value or keeps_empty:
            tree[json] = value if type(value) is str else text(value)

    def always(message: Any, tree: Tree) -> None:
        value = getattr(message, proto)
        tree[json] = value if convert is None else convert(value)

    # In Go, absent bytes are nil and empty bytes are not.
    if field.is_pointer or (field.element == "bytes" and keeps_empty):
        return pointer
    if field.element == "string":
        return texts
    return always if keeps_empty else unless_empty


def _message(field: FieldType, convert: Convert, keeps_null: bool) -> Step:
    proto, json = field.proto, field.json
    has_null = _keeps_empty(field) and keeps_null

    def pointer(message: Any, tree: Tree) -> None:
        if message.HasField(proto):
            tree[json] = convert(getattr(message, proto))
        elif has_null:
            tree[json] = None

    def unless_zero(message: Any, tree: Tree) -> None:
        value = getattr(message, proto)
        if not _is_zero(field.element, value):
            tree[json] = convert(value)

    def always(message: Any, tree: Tree) -> None:
        tree[json] = convert(getattr(message, proto))

    def list_unless_empty(message: Any, tree: Tree) -> None:
        if value := convert(getattr(message, proto)):
            tree[json] = value

    if field.is_pointer:
        return pointer
    if field.omits_zero:
        return unless_zero
    return list_unless_empty if field.omits_empty and is_list(field.element) else always


def _several(field: FieldType, convert: Convert | None, keeps_null: bool) -> Step:
    """Return the step of a list or a map."""
    proto, json = field.proto, field.json
    is_map = field.shape == "map"
    has_null = _keeps_empty(field) and keeps_null

    def read(message: Any, tree: Tree) -> None:
        values = getattr(message, proto)
        if not values:
            if has_null:
                tree[json] = None
        elif is_map:
            tree[json] = by_key(values, convert)
        else:
            tree[json] = list(values) if convert is None else [convert(each) for each in values]

    return read


def _inline(field: FieldType) -> Step:
    proto = field.proto
    convert = tree_of(field.element)

    def read(message: Any, tree: Tree) -> None:
        if not field.is_pointer or message.HasField(proto):
            tree.update(convert(getattr(message, proto)))

    return read


def _either(message: str) -> Convert:
    """Convert the unions of a JSON schema: a schema, or a simpler value."""
    schema = tree_of("apiextensions/v1.JSONSchemaProps")

    def convert(value: Any) -> Any:
        return read_either(message, value, schema)

    return convert


def _is_zero(message: str, value: Any) -> bool:
    if message in ("meta/v1.Time", "meta/v1.MicroTime"):
        return TREES[message](value) is None
    for field in fields_of(message):
        if field.shape != "one":
            if getattr(value, field.proto):
                return False
        elif field.is_pointer:
            if value.HasField(field.proto):
                return False
        elif field.is_message:
            if not _is_zero(field.element, getattr(value, field.proto)):
                return False
        elif getattr(value, field.proto):
            return False
    return True
