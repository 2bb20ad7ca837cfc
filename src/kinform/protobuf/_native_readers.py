"""Compiled readers that convert messages to models.

They handle messages in the usual encoding of servers. All others, and all messages without compiled
code, are parsed and converted by ``_models``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import MemberDescriptorType
from typing import Any

import msgspec
from google.protobuf.message import DecodeError as ParseError

from kinform._native import StructReader
from kinform.objects import Model, alternatives, plain_class
from kinform.protobuf._messages import SCALARS, class_of, fields_of
from kinform.protobuf._models import ModelField, absent_of, element_reader, model_fields
from kinform.protobuf._values import decoded_json, moment, quantity_of

Described = tuple[str, tuple[int, ...], str, str, object, str, object]
"""A field for a StructReader: its attribute, the field numbers on the path to it, its shape, its
kind, its converter, and its default: "is" with a value, "made" with a factory,
or "read" with nothing, to use a decoded empty message."""

_VALUES: dict[str, tuple[str, object, Callable[[], Any]]] = {
    "meta/v1.Time": ("time", moment, lambda: None),
    "resource.Quantity": ("text of", quantity_of, partial(quantity_of, "0")),
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
def is_plain(model: type[Model], message: str) -> bool:
    """Report whether compiled code creates the same structs of a model as JSON would.

    Such a model has only fields, all of them optional and with Go's zero as default, and no custom
    behaviour. All generated models are plain. Others are converted in Python.
    """
    plain = plain_class(model)  # compiled code also sets the fields of a read-only class
    is_made_by_setting = (
        not hasattr(model, "__post_init__")
        and not model.__struct_config__.frozen
        and plain.__setattr__ is Model.__setattr__
    )
    return (
        is_made_by_setting
        and all(
            not info.required
            and isinstance(inspect.getattr_static(plain, info.name), MemberDescriptorType)
            for info in msgspec.structs.fields(model)
        )
        and all(
            _has_plain_type(field) and _has_zero_default(field)
            for field in model_fields(model, message)
        )
    )


def _has_plain_type(field: ModelField) -> bool:
    """Report whether a scalar needs no validation, as an enum would."""
    if field.kind.is_message:
        return True
    zero = SCALARS[field.kind.element][1]
    hints = alternatives(field.element_hint)
    return type(zero) in hints or Any in hints


def _has_zero_default(field: ModelField) -> bool:
    """Report whether the default equals Go's zero, which JSON may omit."""
    kind = field.kind
    if kind.shape != "one" or kind.is_pointer:
        return True
    if not kind.is_message:
        return _same(field.absent(), SCALARS[kind.element][1])
    if kind.element in _VALUES:
        return _same(field.absent(), _VALUES[kind.element][2]())
    model = field.model
    if model is None:
        return not field.absent()
    return is_plain(model, kind.element) and _same(field.absent(), model())


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
    model = field.model
    if model is not None and is_plain(model, element):
        # Created on first use, because models can contain each other.
        return "struct", partial(struct_reader, model, element)
    return "converted", partial(_convert, field)


def _convert(field: ModelField, raw: bytes) -> Any:
    """Convert the bytes of a message in Python."""
    try:
        return element_reader(field)(class_of(field.kind.element).FromString(raw))
    except ParseError as error:
        raise ValueError(str(error)) from error  # like all other malformed values


# -- absent fields ---------------------------------------------------------------------------


def _absent(field: ModelField) -> tuple[str, object]:
    kind, element = field.kind, field.kind.element
    if kind.shape != "one" or kind.is_pointer:
        return _made(field.absent)
    if not kind.is_message:
        return "is", SCALARS[element][1]
    if element in _VALUES:
        # An absent quantity or time equals an empty one.
        return _made(_VALUES[element][2])
    if field.model is not None and is_plain(field.model, element):
        return "read", None
    return _made(partial(_convert, field, b""))


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
