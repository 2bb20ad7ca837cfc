"""Models that read their fields from a message on demand.

Few readers need more than a few fields. A part of a read-only object is therefore a view: an
instance of its model whose fields are decoded from the message on first access, each completely. A
view equals the struct that JSON gives, and its ``copy()`` is that struct.

A view created by compiled code keeps its message as bytes (``_wire``) and reads from them. It is
parsed (``_message``) if it contains something that compiled code does not support.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from kinform._native import IS_COMPILED, ViewField
from kinform.errors import DecodeError, ReadOnlyError
from kinform.objects import Model
from kinform.protobuf._messages import class_of
from kinform.protobuf._native_readers import struct_reader
from kinform.protobuf._salvage import salvaged_name
from kinform.protobuf._structs import ModelField, Names, Read, compiled, model_fields, written_field
from kinform.protobuf._values import MALFORMED


@cache
def view_of(model: type[Model], message: str) -> Read:
    """Return a function that creates a view of a parsed message, for a plain model."""
    made_class = view_class(model, message)
    # Code that reads the slots of the struct, such as an encoder, would silently see defaults. An
    # unset slot makes it fail instead.
    fields = model_fields(model, message)
    unset = getattr(model, fields[0].attribute).__delete__ if fields else None

    def view(value: Any) -> Any:
        made = made_class()
        if unset is not None:
            unset(made)
        made.__dict__["_message"] = value
        return made

    return view


@cache
def view_class(model: type[Model], message: str) -> Any:
    """Return the class of the views of a message."""
    members: dict[str, Any] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__eq__": _is_equal,
        "__hash__": None,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__copy__": _copy,
        "__deepcopy__": lambda view, memo: _copy(view),
        "__reduce__": lambda view: _struct(view).__reduce__(),
        "copy": _copy,
        "_model": model,
        "_of": message,
    }
    metaclass: Any = type(model)
    made = metaclass(model.__name__, (model,), members, dict=True)
    # Fields that protobuf does not have keep their defaults.
    for field in model_fields(model, message):
        setattr(made, field.attribute, _UnreadField(field, model))
    return made


class _UnreadField:
    """A field that was not read from any view yet; its reader is compiled on first access."""

    __slots__ = ("field", "model")

    def __init__(self, field: ModelField, model: type[Model]) -> None:
        self.field = field
        self.model = model

    def __get__(self, view: Any, owner: type) -> Any:
        found = _view_field(self.field, self.model)
        setattr(owner, self.field.attribute, found)
        return found.__get__(view, owner)


def _view_field(field: ModelField, model: type[Model]) -> Any:
    """Create the descriptor of a view's field, which stores the value on first access."""
    if not IS_COMPILED:
        return _parsed_field(field)
    name = field.attribute
    number = model.__struct_fields__.index(name)
    reader = struct_reader(model, field.message)
    return ViewField(reader, number, name, lambda view: _parsed_field(field).__get__(view))


@cache
def _parsed_field(field: ModelField) -> Any:
    """Create the descriptor for views whose message is, or has to be, parsed."""
    names: Names = {"MALFORMED": MALFORMED, "broken": _broken, "parsed": _parsed}
    name = field.attribute
    text = f"""\
def get(self, view, owner=None):
    if view is None:
        return self
    known = view.__dict__
    try:
        m = known["_message"] if "_message" in known else parsed(view)
        value = known.setdefault({name!r}, {written_field(field, names)})
    except MALFORMED as error:
        raise broken(view, {name!r}, error) from error
    return value
"""
    return type(name, (), {"__get__": compiled(text, name, names)["get"]})()


def _parsed(view: Any) -> Any:
    """Parse the message of a view that was created by compiled code."""
    known = view.__dict__
    payload, start, end = known["_wire"]
    message = known["_message"] = class_of(view._of).FromString(payload[start:end])
    return message


def _broken(view: Any, name: str, error: Exception) -> DecodeError:
    key, version = salvaged_name(view.__dict__.get("_wire", (b"",))[0])
    where = f"{key}: " if key else ""
    return DecodeError(
        f"{where}{type(view).__name__}.{name} does not decode: {error}",
        key=key,
        resource_version=version,
    )


# -- what a view does as a struct does -------------------------------------------------------


def _struct(view: Any) -> Any:
    """Return the struct that JSON would give, with the same lists, dicts and structs.

    Raises:
        DecodeError: A value in the message is malformed.
    """
    model = view._model
    return model(**{name: getattr(view, name) for name in model.__struct_fields__})


def _copy(view: Any) -> Any:
    return _struct(view).copy()


def _is_equal(view: Any, other: object) -> Any:
    if not isinstance(other, view._model):
        return NotImplemented
    others = _struct(other) if hasattr(other, "_model") else other
    return _struct(view) == others


def _refuse(view: Any, *_: object) -> NoReturn:
    raise ReadOnlyError(
        f"this {type(view).__name__} belongs to an object that is read-only, for it came from a "
        "list, a watch or a cache; call copy() on the object and edit the copy"
    )
