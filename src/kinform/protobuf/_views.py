"""A message in; a model that reads from it what is asked of it, when it is asked, out.

To parse a pod takes a few microseconds, and hardly anybody reads more than a few fields. So a part
of a read-only object is a view: an instance of its model whose fields are read from the message on
first touch, each with all that is in it. It is equal to the struct that JSON gives; its ``copy()``
is that struct.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NoReturn

from kinform.errors import DecodeError, ReadOnlyError
from kinform.objects import Model
from kinform.protobuf._messages import fields_by_json
from kinform.protobuf._structs import (
    ModelField,
    Names,
    Read,
    compiled,
    model_fields,
    struct_of,
    written_field,
)
from kinform.protobuf._values import MALFORMED


@cache
def part_reader(message: str, json: str, hint: Any) -> Read:
    """What reads a top-level part of such a message, as ``hint`` says; ``None`` if it is absent."""
    found = fields_by_json(message).get(json)
    if found is None:
        return lambda value: None
    kind, way = found
    # A message that is empty is a part that has nothing in it, and not an absent one.
    kind = replace(kind, is_pointer=kind.is_pointer or kind.is_message)
    names: Names = {}
    field = ModelField("part", hint, lambda: None, message, kind, way)
    value = written_field(field, names, view_of if kind.shape == "one" else struct_of)
    read: Read = compiled(f"def read(m): return {value}", f"{message}.{json}", names)["read"]
    return read


@cache
def view_of(model: type[Model], message: str) -> Read:
    """What makes a view of such a message."""
    view_class = _view_class(model, message)
    # Whoever reads the slots of the struct, as an encoder does, would find defaults in them, and
    # say nothing. With one of them unset, it is told.
    fields = model_fields(model, message)
    unset = getattr(model, fields[0].attribute).__delete__ if fields else None

    def view(value: Any) -> Any:
        made = view_class()
        if unset is not None:
            unset(made)
        made.__dict__["_message"] = value
        return made

    return view


@cache
def _view_class(model: type[Model], message: str) -> Any:
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
    }
    metaclass: Any = type(model)
    made = metaclass(model.__name__, (model,), members, dict=True)
    # What protobuf does not have keeps its default.
    for field in model_fields(model, message):
        setattr(made, field.attribute, _UnreadField(field))
    return made


class _UnreadField:
    """A field that nobody has read from any view yet; whoever is the first has it compiled."""

    __slots__ = ("field",)

    def __init__(self, field: ModelField) -> None:
        self.field = field

    def __get__(self, view: Any, owner: type) -> Any:
        compiled_field = _view_field(self.field)
        setattr(owner, self.field.attribute, compiled_field)
        return compiled_field.__get__(view, owner)


def _view_field(field: ModelField) -> Any:
    """One field of a view: read once, then found before this is asked."""
    names: Names = {"MALFORMED": MALFORMED, "broken": _broken}
    name = field.attribute
    text = f"""\
def get(self, view, owner):
    if view is None:
        return self
    known = view.__dict__
    m = known["_message"]
    try:
        value = known[{name!r}] = {written_field(field, names)}
    except MALFORMED as error:
        raise broken(view, {name!r}, error) from error
    return value
"""
    return type(name, (), {"__get__": compiled(text, name, names)["get"]})()


def _broken(view: Any, name: str, error: Exception) -> DecodeError:
    return DecodeError(f"{type(view).__name__}.{name} does not decode: {error}")


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
    others = _struct(other) if "_message" in getattr(other, "__dict__", ()) else other
    return _struct(view) == others


def _refuse(view: Any, *_: object) -> NoReturn:
    raise ReadOnlyError(
        f"this {type(view).__name__} belongs to an object that is read-only, for it came from a "
        "list, a watch or a cache; call copy() on the object and edit the copy"
    )
