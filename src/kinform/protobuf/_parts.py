"""Readers of the parts of objects.

A part that is a struct becomes a view; other parts are decoded as in a struct.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import msgspec

from kinform._native import StructReader
from kinform.objects import Model, PartGroup
from kinform.protobuf._messages import fields_by_json
from kinform.protobuf._native_readers import Described, described, is_plain, struct_reader, way_to
from kinform.protobuf._structs import (
    ModelField,
    Names,
    Read,
    compiled,
    struct_model,
    struct_of,
    written_field,
)
from kinform.protobuf._views import view_class, view_of


@cache
def parts_reader(message: str, group: PartGroup) -> StructReader:
    """Return the compiled reader of these parts, for messages in the usual encoding."""
    return StructReader(None, tuple(_described(message, part) for part in group.parts))


def _described(message: str, part: Any) -> Described:
    field = _field(message, part.name, part.type)
    if field is None:
        return "part", (), "one", "text", None, "is", None
    model = _view_model(field)
    if model is None:
        return described(field)
    made_of = partial(_made_of, model, field.kind.element)
    return "part", tuple(way_to(field)), "one", "view", made_of, "is", None


def _view_model(field: ModelField) -> type[Model] | None:
    """Return the model for views of this part; ``None`` if it is not a view.

    A model with more than its fields is created by its constructor, completely decoded.
    """
    model = struct_model(field) if field.kind.shape == "one" else None
    return model if model is not None and is_plain(model) else None


def _made_of(model: type[Model], message: str) -> tuple[Any, StructReader]:
    return view_class(model, message), struct_reader(model, message)


@cache
def part_reader(message: str, json: str, hint: Any) -> Read:
    """Return a function that reads a part of a parsed message; ``None`` if it is absent."""
    field = _field(message, json, hint)
    if field is None:
        return lambda value: None
    names: Names = {}
    value = written_field(field, names, view_of if _view_model(field) else struct_of)
    read: Read = compiled(f"def read(m): return {value}", f"{message}.{json}", names)["read"]
    return read


def _field(message: str, json: str, hint: Any) -> ModelField | None:
    """Return a part as a field; ``None`` if the message does not have it."""
    found = fields_by_json(message).get(json)
    if found is None:
        return None
    kind, way = found
    # An empty message is an empty part, not an absent one.
    kind = msgspec.structs.replace(kind, is_pointer=kind.is_pointer or kind.is_message)
    return ModelField("part", hint, lambda: None, message, kind, way)
