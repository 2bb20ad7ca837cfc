"""Compiled readers that convert messages to models.

They handle messages in the usual encoding of servers. All others, and all messages without compiled
code, are parsed and converted by ``_structs``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from types import MemberDescriptorType
from typing import Any

import msgspec
from google.protobuf.message import DecodeError as ParseError

from kinform._native import StructReader
from kinform.objects import Model, Quantity
from kinform.protobuf._messages import SCALARS, class_of, fields_of
from kinform.protobuf._structs import (
    ModelField,
    Read,
    absent_of,
    model_fields,
    struct_model,
    struct_of,
    value_converter,
)
from kinform.protobuf._values import decoded_json, moment

Described = tuple[str, tuple[int, ...], str, str, object, str, object]
"""A field for a StructReader: its attribute, the field numbers on the path to it, its shape, its
kind, its converter, and its default: "is" with a value, "made" with a factory,
or "read" with nothing, to use a decoded empty message."""

# The same few quantities occur in every object.
_shared_quantity = lru_cache(maxsize=4096)(Quantity)
_LONGEST_SHARED = 32


def _quantity(text: str) -> Quantity:
    return _shared_quantity(text) if len(text) <= _LONGEST_SHARED else Quantity(text)


_VALUES: dict[str, tuple[str, object, Callable[[], Any]]] = {
    "meta/v1.Time": ("time", moment, lambda: None),
    "resource.Quantity": ("text of", _quantity, Quantity),
    "intstr.IntOrString": ("int or string", None, int),
    "meta/v1.FieldsV1": ("bytes of", msgspec.Raw, msgspec.Raw),
    "runtime.RawExtension": ("bytes of", decoded_json, lambda: None),
    "apiextensions/v1.JSON": ("bytes of", decoded_json, lambda: None),
}
"""The kind, the converter of the content, and a function that creates an empty value."""


@cache
def struct_reader(model: type[Model], message: str) -> StructReader:
    """Return the compiled reader that converts a message to a struct of a plain model."""
    there = {field.attribute: field for field in model_fields(model, message)}
    return StructReader(
        model,
        tuple(
            described(there[info.name])
            if info.name in there
            # Fields that protobuf does not have keep their defaults.
            else (info.name, (), "one", "text", None, *_made(absent_of(info)))
            for info in msgspec.structs.fields(model)
        ),
    )


@cache
def is_plain(model: type[Model]) -> bool:
    """Report whether a model has only fields, all of them optional, and no custom behaviour.

    All generated models are plain. Others are created by their constructors, in Python.
    """
    is_made_by_setting = (
        not hasattr(model, "__post_init__")
        and not model.__struct_config__.frozen
        and model.__setattr__ is Model.__setattr__
    )
    return is_made_by_setting and all(
        not info.required
        and isinstance(inspect.getattr_static(model, info.name), MemberDescriptorType)
        for info in msgspec.structs.fields(model)
    )


def described(field: ModelField) -> Described:
    """Describe a field whose messages become structs."""
    kind, convert = _kind_of(field)
    numbers = tuple(way_to(field))
    return field.attribute, numbers, field.kind.shape, kind, convert, *_absent(field)


def way_to(field: ModelField) -> Iterator[int]:
    """Iterate over the numbers of the messages that contain a field, and its own."""
    owner = field.message
    for inlined in field.way:
        step = next(each for each in fields_of(owner) if each.proto == inlined)
        yield step.number
        owner = step.element
    yield field.kind.number


def _kind_of(field: ModelField) -> tuple[str, object]:
    element = field.kind.element
    if element in SCALARS:
        return SCALARS[element][0], None
    if element in _VALUES:
        return _VALUES[element][:2]
    model = struct_model(field)
    if model is None:
        return "converted", _converter(element, value_converter(field))
    if is_plain(model):
        # Created on first use, because models can contain each other.
        return "struct", partial(struct_reader, model, element)
    return "converted", _converter(element, lambda message: struct_of(model, element)(message))


def _converter(message: str, read: Read) -> Callable[[bytes], Any]:
    """Return a function that converts the bytes of a message in Python."""

    def convert(raw: bytes) -> Any:
        try:
            return read(class_of(message).FromString(raw))
        except ParseError as error:
            raise ValueError(str(error)) from error  # like all other malformed values

    return convert


# -- what is absent --------------------------------------------------------------------------


def _absent(field: ModelField) -> tuple[str, object]:
    kind, element = field.kind, field.kind.element
    if kind.shape != "one" or kind.is_pointer:
        return _made(field.absent)
    if not kind.is_message:
        return "is", SCALARS[element][1]
    model = struct_model(field)
    if model is None:
        # An absent quantity or time equals an empty one.
        if element in _VALUES:
            return _made(_VALUES[element][2])
        read = value_converter(field)
        return _made(lambda: read(class_of(element)()))
    made = field.absent()
    is_default = isinstance(made, Model)
    if is_default and not (_same(made, model()) and _is_empty_by_default(model, element)):
        return _made(field.absent)
    if is_plain(model):
        return "read", None
    return _made(
        field.absent if is_default else lambda: struct_of(model, element)(class_of(element)())
    )


def _is_empty_by_default(model: type[Model], message: str) -> bool:
    """Report whether a struct without arguments equals a decoded empty message."""
    return all(_is_empty(field) for field in model_fields(model, message))


def _is_empty(field: ModelField) -> bool:
    how, value = _absent(field)
    if how == "read":
        model = struct_model(field)
        value = None if model is None else model()
    elif how == "made":
        assert callable(value)
        value = value()
    return _same(field.absent(), value)


def _same(one: Any, other: Any) -> bool:
    """Compare type and value, because 0 equals False."""
    return type(one) is type(other) and bool(one == other)


def _made(make: Callable[[], Any]) -> tuple[str, object]:
    """Describe a default: shared if the factory always returns the same object, else created."""
    made = make()
    if made is make():
        return "is", made
    # Use the class itself where possible, because compiled code has a fast path for it.
    return "made", type(made) if type(made) in (list, dict) and not made else make
