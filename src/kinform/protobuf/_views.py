"""A message in; a model that reads from it what is asked of it, when it is asked, out.

Hardly anybody reads more than a few fields. So a part of a read-only object is a view: an instance
of its model whose fields are read from the message on first touch, each with all that is in it. It
is equal to the struct that JSON gives; its ``copy()`` is that struct.

A view that compiled code made has its message as bytes (``_wire``), and reads from these; it is
parsed (``_message``) when there is something in it that compiled code leaves alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

from kinform._native import IS_COMPILED, ViewField
from kinform.errors import DecodeError, ReadOnlyError
from kinform.objects import Model
from kinform.protobuf._messages import class_of
from kinform.protobuf._salvage import salvaged_name
from kinform.protobuf._structs import ModelField, Names, Read, compiled, model_fields, written_field
from kinform.protobuf._usual import usual_struct
from kinform.protobuf._values import MALFORMED


@cache
def view_of(model: type[Model], message: str) -> Read:
    """What makes a view of such a message, once that is parsed, of a plain model."""
    made_class = view_class(model, message)
    # Whoever reads the slots of the struct, as an encoder does, would find defaults in them, and
    # say nothing. With one of them unset, it is told.
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
    """The class of such views."""
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
    # What protobuf does not have keeps its default.
    for field in model_fields(model, message):
        setattr(made, field.attribute, _UnreadField(field, model))
    return made


class _UnreadField:
    """A field that nobody has read from any view yet; whoever is the first has it compiled."""

    __slots__ = ("field", "model")

    def __init__(self, field: ModelField, model: type[Model]) -> None:
        self.field = field
        self.model = model

    def __get__(self, view: Any, owner: type) -> Any:
        found = _view_field(self.field, self.model)
        setattr(owner, self.field.attribute, found)
        return found.__get__(view, owner)


def _view_field(field: ModelField, model: type[Model]) -> Any:
    """One field of a view: read once, then found before this is asked."""
    if not IS_COMPILED:
        return _parsed_field(field)
    name = field.attribute
    number = model.__struct_fields__.index(name)
    reader = usual_struct(model, field.message)
    return ViewField(reader, number, name, lambda view: _parsed_field(field).__get__(view))


@cache
def _parsed_field(field: ModelField) -> Any:
    """The same, for views whose message is parsed, or has to be."""
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
    """The message of a view that was made without a parser."""
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
    """The struct that JSON would have given, of the same lists, dicts and structs.

    Raises:
        DecodeError: Something in the message does not decode.
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
