"""What a message is made of in; compiled readers of such messages, as models have them, out.

They take the bytes as servers usually write them. Whatever they do not take, and everything where
nothing was compiled, is parsed, and read as ``_structs`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from typing import Any

import msgspec

from kinform._native import StructReader
from kinform.objects import Model, Quantity
from kinform.protobuf._messages import class_of, fields_of
from kinform.protobuf._structs import (
    ModelField,
    absent_of,
    model_fields,
    struct_model,
    value_converter,
)
from kinform.protobuf._values import decoded_json, moment

Described = tuple[str, tuple[int, ...], str, str, object, object, bool]
"""A field as a StructReader wants it: its attribute, the numbers on the way to it, its shape, its
kind, what converts it, what an absent one is, and whether that is to be called for one."""

_SCALARS: dict[str, tuple[str, object]] = {
    "string": ("text", ""),
    "bytes": ("bytes", b""),
    "bool": ("bool", False),
    "int32": ("int32", 0),
    "int64": ("int64", 0),
    "float64": ("float64", 0.0),
}
"""Their kind, and their zero."""

_VALUES: dict[str, tuple[str, object]] = {
    "meta/v1.Time": ("time", moment),
    # The same few amounts are in every object.
    "resource.Quantity": ("text of", lru_cache(maxsize=4096)(Quantity)),
    "intstr.IntOrString": ("int or string", None),
    "meta/v1.FieldsV1": ("bytes of", msgspec.Raw),
    "runtime.RawExtension": ("bytes of", decoded_json),
    "apiextensions/v1.JSON": ("bytes of", decoded_json),
}
"""Their kind, and what converts what is in them."""


@cache
def usual_struct(model: type[Model], message: str) -> StructReader:
    """What reads such a message as a struct. It has the fields of the struct, in their order."""
    there = {field.attribute: field for field in model_fields(model, message)}
    return StructReader(
        model,
        tuple(
            described(there[info.name])
            if info.name in there
            # What protobuf does not have keeps its default.
            else (info.name, (), "one", "text", None, *_absent(absent_of(info)))
            for info in msgspec.structs.fields(model)
        ),
    )


def described(field: ModelField) -> Described:
    """A field whose messages become what they are in structs."""
    kind, convert = _kind_of(field)
    absent = _absent_value(field)
    return field.attribute, tuple(way_to(field)), field.kind.shape, kind, convert, *absent


def way_to(field: ModelField) -> Iterator[int]:
    """The numbers of the messages that it is in, and its own."""
    owner = field.message
    for inlined in field.way:
        step = next(each for each in fields_of(owner) if each.proto == inlined)
        yield step.number
        owner = step.element
    yield field.kind.number


def _kind_of(field: ModelField) -> tuple[str, object]:
    element = field.kind.element
    if element in _SCALARS:
        return _SCALARS[element][0], None
    if element in _VALUES:
        return _VALUES[element]
    model = struct_model(field)
    if model is not None:
        # Not before there is such a message: models contain each other.
        return "struct", partial(usual_struct, model, element)
    read = value_converter(field)
    return "converted", lambda raw: read(class_of(element).FromString(raw))


def _absent_value(field: ModelField) -> tuple[object, bool]:
    kind, element = field.kind, field.kind.element
    if kind.shape == "one" and not kind.is_pointer:
        if not kind.is_message:
            return _SCALARS[element][1], False
        if not isinstance(field.absent(), Model):
            # An empty message is what reads as absent here, be it an amount or a time.
            read = value_converter(field)
            return _absent(lambda: read(class_of(element)()))
    return _absent(field.absent)


def _absent(make: Callable[[], Any]) -> tuple[object, bool]:
    """What an absent one is, and whether that is to be called: what can be edited is not shared."""
    made = make()
    if made is None or isinstance(made, (str, bytes, int, float)):
        return made, False
    return (type(made) if made == type(made)() else make), True
