"""A message in; a model that reads from it what is asked of it, when it is asked, out.

To turn a whole pod into structs takes twenty times as long as to parse it, and hardly anybody
reads more than a few fields. So a part of a read-only object is a view: an instance of its model
whose fields are read from the message on first touch. It is equal to the struct that JSON gives;
its ``copy()`` is that struct.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NoReturn, Union, get_args, get_origin, get_type_hints

import msgspec

from kinform.errors import DecodeError, ReadOnlyError
from kinform.objects import Model, TypedObject
from kinform.protobuf._messages import FieldType, fields_by_json
from kinform.protobuf._trees import element_tree_of, tree_of
from kinform.protobuf._values import MALFORMED, VALUES, by_key, is_list, items, read_either, text

_Read = Callable[[Any], Any]

# A part with so few fields is read at once: to make a view of it costs as much.
_SMALL = 8


@cache
def part_reader(message: str, json: str, hint: Any) -> _Read:
    """What reads a top-level part of such a message, as ``hint`` says; ``None`` if it is absent."""
    found = fields_by_json(message).get(json)
    if found is None:
        return lambda value: None
    field, way = found
    read = _reader(hint, field, way)
    if field.shape == "one" and field.is_message and not way:
        proto = field.proto
        return lambda value: read(value) if value.HasField(proto) else None
    return read


class _ViewField:
    """One field of a view: read once, then found before this is asked."""

    __slots__ = ("name", "read")

    def __init__(self, name: str, read: _Read) -> None:
        self.name = name
        self.read = read

    def __get__(self, view: Any, owner: type) -> Any:
        if view is None:
            return self
        known = view.__dict__
        try:
            value = known[self.name] = self.read(known["_message"])
        except MALFORMED as error:
            raise DecodeError(
                f"{type(view).__name__}.{self.name} does not decode: {error}"
            ) from error
        return value


@cache
def view_of(model: type[Model], message: str) -> Callable[[Any], Any]:
    """What makes a view of such a message."""
    view_class = _view_class(model, message)
    # Whoever reads the slots of the struct, as an encoder does, would find defaults in them, and
    # say nothing. With one of them unset, it is told.
    first = next(iter(model.__struct_fields__), None)
    unset = None if first is None else getattr(model, first).__delete__

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
        "__repr__": _repr,
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__copy__": lambda view: _struct(view),
        "__deepcopy__": lambda view, memo: _struct(view),
        "__reduce__": lambda view: _struct(view).__reduce__(),
        "copy": lambda view: _struct(view),
        "_model": model,
        "_tree_of": staticmethod(tree_of(message)),
    }
    metaclass: Any = type(model)
    made = metaclass(model.__name__, (model,), members, dict=True)
    # Filled now: a model may contain itself.
    readers = fields_by_json(message)
    hints = get_type_hints(model)
    for field in msgspec.structs.fields(model):
        reader = readers.get(field.encode_name)
        hint = hints[field.name]
        read = _constant(field) if reader is None else _reader(hint, *reader)
        setattr(made, field.name, _ViewField(field.name, read))
    return made


def _constant(field: msgspec.structs.FieldInfo) -> _Read:
    """What protobuf does not have, nobody sees there."""
    factory = field.default_factory
    if factory is not msgspec.NODEFAULT:
        return lambda message: factory()
    return lambda message: field.default


def _reader(hint: Any, field: FieldType, way: tuple[str, ...]) -> _Read:
    read = _direct(hint, field)
    for step in reversed(way):
        read = _through(step, read)
    return read


def _through(proto: str, read: _Read) -> _Read:
    return lambda message: read(getattr(message, proto))


def _direct(hint: Any, field: FieldType) -> _Read:
    proto = field.proto
    convert: _Read | None = text if field.element == "string" else None
    if field.is_message:
        convert = _converter(_element_hint(hint), field)
    if field.shape == "list":
        if convert is None:
            return lambda message: list(getattr(message, proto))
        return lambda message: [convert(each) for each in getattr(message, proto)]
    if field.shape == "map":
        return lambda message: by_key(getattr(message, proto), convert)
    if field.is_pointer:
        zero = msgspec.Raw() if field.element == "meta/v1.FieldsV1" else None
        if convert is None:
            return lambda message: getattr(message, proto) if message.HasField(proto) else zero
        return lambda message: convert(getattr(message, proto)) if message.HasField(proto) else zero
    if convert is None:
        return lambda message: getattr(message, proto)
    return lambda message: convert(getattr(message, proto))


def _converter(hint: Any, field: FieldType) -> _Read:
    message = field.element
    if (custom := VALUES.get(message)) is not None:
        return custom
    if is_list(message):
        return items
    kinds = [each for each in _alternatives(hint) if isinstance(each, type)]
    nested = next((each for each in kinds if issubclass(each, TypedObject)), None)
    if nested is not None:
        tree = element_tree_of(field)
        return lambda value: nested.from_nested(tree(value))
    model = next((each for each in kinds if issubclass(each, Model)), None)
    if model is None:
        return tree_of(message)
    if message.startswith("apiextensions/v1.JSONSchemaPropsOr"):
        return _either(message, model)
    # Looked up when used: models contain each other.
    reader = struct_of if len(model.__struct_fields__) <= _SMALL else view_of
    return lambda value: reader(model, message)(value)


@cache
def struct_of(model: type[Model], message: str) -> Callable[[Any], Any]:
    """What makes a struct of such a message; what is in it may still be views."""
    readers = fields_by_json(message)
    hints = get_type_hints(model)
    reads = [
        (field.name, _reader(hints[field.name], *readers[field.encode_name]))
        for field in msgspec.structs.fields(model)
        if field.encode_name in readers
    ]

    def struct(value: Any) -> Any:
        return model(**{name: read(value) for name, read in reads})

    return struct


def _either(message: str, model: type[Model]) -> _Read:
    def convert(value: Any) -> Any:
        return read_either(message, value, view_of(model, "apiextensions/v1.JSONSchemaProps"))

    return convert


def _alternatives(hint: Any) -> tuple[Any, ...]:
    origin = get_origin(hint)
    if origin is Annotated:
        return _alternatives(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        return tuple(inner for each in get_args(hint) for inner in _alternatives(each))
    return (hint,)


def _element_hint(hint: Any) -> Any:
    for each in _alternatives(hint):
        if get_origin(each) in (list, dict):
            return get_args(each)[-1]
    return hint


# -- what a view does as a struct does -------------------------------------------------------


def _struct(view: Any) -> Any:
    """The struct that JSON would have given, with what was done to its lists and dicts since.

    Raises:
        DecodeError: Something in the message does not decode.
    """
    known = view.__dict__
    try:
        tree = view._tree_of(known["_message"])
    except MALFORMED as error:
        raise DecodeError(f"{type(view).__name__} does not decode: {error}") from error
    made = view._model.from_dict(tree)
    for name, value in known.items():
        if isinstance(value, (list, dict, Model)):
            setattr(made, name, _structs(value))
    return made


def _structs(value: Any) -> Any:
    """The same with structs for views, down to the last one."""
    if isinstance(value, list):
        return [_structs(each) for each in value]
    if isinstance(value, dict):
        return {key: _structs(each) for key, each in value.items()}
    return value.copy() if isinstance(value, (Model, TypedObject)) else value


def _is_equal(view: Any, other: object) -> Any:
    if not isinstance(other, view._model):
        return NotImplemented
    others = _struct(other) if "_message" in getattr(other, "__dict__", ()) else other
    return _struct(view) == others


def _repr(view: Any) -> str:
    return repr(_struct(view))


def _refuse(view: Any, *_: object) -> NoReturn:
    raise ReadOnlyError(
        f"this {type(view).__name__} belongs to an object that is read-only, for it came from a "
        "list, a watch or a cache; call copy() on the object and edit the copy"
    )
