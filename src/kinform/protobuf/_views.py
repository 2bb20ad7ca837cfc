"""Models that read their fields from a message on demand.

Few readers need more than a few fields. A part of a read-only object is therefore a view: an
instance of its model whose fields are decoded from the message on first access, each completely. A
view equals the struct that JSON gives, and its ``copy()`` is that struct.

A view keeps its message as bytes (``_wire``). Compiled code reads fields from them. Without it, or
if the message contains something that it does not support, the message is parsed (``_message``). If
a field is malformed, the others can still be read, in both cases.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.message import DecodeError as ParseError

from kinform._native import ViewField
from kinform.errors import DecodeError
from kinform.objects import Model, freezer, frozen
from kinform.protobuf._messages import class_of, field_parser
from kinform.protobuf._models import ModelField, field_reader, model_fields
from kinform.protobuf._native_readers import struct_reader
from kinform.protobuf._salvage import salvaged_name
from kinform.protobuf._trees import Convert
from kinform.protobuf._values import MALFORMED


@cache
def view_of(model: type[Model], message: str) -> Callable[[bytes, bytes], Any]:
    """Return a function that creates a view of a message in an object, for a read-only class."""
    made_class = view_class(model, message)
    # Code that reads the slots of the struct, such as an encoder, would silently see defaults. An
    # unset slot makes it fail instead.
    fields = model_fields(model, message)
    unset = getattr(model, fields[0].attribute).__delete__ if fields else None

    def view(raw: bytes, payload: bytes) -> Any:
        made = made_class()
        if unset is not None:
            unset(made)
        made.__dict__.update(_wire=(raw, 0, len(raw)), _object=payload)
        return made

    return view


@cache
def view_class(model: type[Model], message: str) -> Any:
    """Return the class of the views of a message, for a read-only class of a model."""
    members: dict[str, Any] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "_is_read": False,  # the fields of the struct are unset
        "_of": message,
    }
    metaclass: Any = type(model)
    # Its dict may refer to anything, whatever the model declares.
    made = metaclass(model.__name__, (model,), members, dict=True, gc=True)
    # Fields that protobuf does not have keep their defaults.
    for field in model_fields(model, message):
        setattr(made, field.attribute, _UnreadField(field, model))
    return made


class _UnreadField:
    """A field that was not read from any view yet; its reader is created on first access."""

    __slots__ = ("field", "model")

    def __init__(self, field: ModelField, model: type[Model]) -> None:
        self.field = field
        self.model = model

    def __get__(self, view: Any, owner: type) -> Any:
        name = self.field.attribute
        index = self.model.__struct_fields__.index(name)
        reader = struct_reader(self.model, self.field.message)
        freeze = freezer(self.field.hint)
        found = ViewField(reader, index, name, _PythonReader(self.field, freeze), freeze)
        setattr(owner, name, found)
        return found.__get__(view, owner)


class _PythonReader:
    """Reads a field that compiled code did not read, and stores it in the view."""

    __slots__ = ("_field", "_freeze", "_read")

    def __init__(self, field: ModelField, freeze: Convert | None) -> None:
        self._field = field
        self._freeze = freeze
        self._read: Convert | None = None  # created on first use, because it is rarely needed

    def __call__(self, view: Any) -> Any:
        name = self._field.attribute
        if self._read is None:
            self._read = field_reader(self._field)
        known = view.__dict__
        try:
            message = known["_message"] if "_message" in known else _parsed(view, self._field)
            value = self._read(message)
            kept = value if self._freeze is None else frozen(value, self._freeze)
            return known.setdefault(name, kept)
        except MALFORMED as error:
            raise _broken(view, name, error) from error


def _parsed(view: Any, field: ModelField) -> Any:
    """Return the parsed message; only this field of it if another one is malformed."""
    known = view.__dict__
    payload, start, end = known["_wire"]
    raw = payload[start:end]
    try:
        known["_message"] = message = class_of(view._of).FromString(raw)
    except ParseError:
        message = field_parser(view._of, field.kind, field.way)(raw)
    return message


def _broken(view: Any, name: str, error: Exception) -> DecodeError:
    known = view.__dict__
    key, version = salvaged_name(known["_object"] if "_object" in known else known["_wire"][0])
    where = f"{key}: " if key else ""
    return DecodeError(
        f"{where}{type(view).__name__}.{name} does not decode: {error}",
        key=key,
        resource_version=version,
    )
