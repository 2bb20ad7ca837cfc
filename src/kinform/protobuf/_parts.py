"""Readers of the parts of objects.

A part that is a struct becomes a view; other parts are decoded as in a struct.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from operator import attrgetter
from typing import Any

import msgspec

from kinform._native import StructReader
from kinform.objects import Model, PartGroup, read_only_type
from kinform.protobuf._messages import field_parser, fields_by_json
from kinform.protobuf._models import ModelField, field_reader
from kinform.protobuf._native_readers import Described, described, is_plain, struct_reader, way_to
from kinform.protobuf._partial_message import joined
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
    model = field.model if field.kind.shape == "one" else None
    return model if model is not None and is_plain(model, field.kind.element) else None


def _made_of(model: type[Model], message: str) -> tuple[Any, StructReader]:
    return view_class(model, message), struct_reader(model, message)


@cache
def part_reader(message: str, json: str, hint: Any) -> Callable[[bytes], Any]:
    """Return a function that reads a part of an object in Python; ``None`` if it is absent.

    Only this part is decoded, and of a view nothing but its bytes: as in compiled code, a malformed
    field does not affect the others.
    """
    field = _field(message, json, hint)
    if field is None:
        return lambda payload: None
    kind, way = field.kind, field.way
    model = _view_model(field)
    if model is None:
        read = field_reader(field)
        parse = field_parser(message, kind, way)
        return lambda payload: read(parse(payload))
    view = view_of(model, kind.element)
    pieces = msgspec.structs.replace(kind, shape="list", element="bytes", is_pointer=False)
    split = field_parser(message, pieces, way)
    pieces_in = attrgetter(".".join((*way, kind.proto)))

    def read_view(payload: bytes) -> Any:
        found = pieces_in(split(payload))
        return view(joined(found), payload) if found else None

    return read_view


def _field(message: str, json: str, hint: Any) -> ModelField | None:
    """Return a part as a field; ``None`` if the message does not have it."""
    found = fields_by_json(message).get(json)
    if found is None:
        return None
    kind, way = found
    if kind.is_message:
        # An empty message is an empty part, not an absent one.
        kind = msgspec.structs.replace(kind, is_pointer=True)
    elif kind.shape == "one":
        # A scalar is never absent, unless it is a pointer.
        kind = msgspec.structs.replace(kind, omits_empty=False, omits_zero=False)
    return ModelField("part", read_only_type(hint) | None, lambda: None, message, kind, way)
