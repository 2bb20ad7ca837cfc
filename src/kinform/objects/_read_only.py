"""Read-only classes of models: the parts of read-only objects.

A part of a read-only object is an instance of a subclass of its model that refuses assignments, at
any depth. A decoder creates it directly, so reading costs the same. It equals the struct of the
model with the same values, and its ``copy()`` is that struct.
"""

from __future__ import annotations

import types
from functools import cache
from operator import or_
from typing import Annotated, Any, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from kinform.errors import ReadOnlyError
from kinform.objects._model import Model

M = TypeVar("M", bound=Model)


def plain_class(kind: type[M]) -> type[M]:
    """Return the model of a class that may be a read-only class."""
    found: type[M] = getattr(kind, "_model", kind)
    return found


def read_only_type(hint: Any) -> Any:
    """Return a type hint with the read-only classes of all models in it."""
    if isinstance(hint, type) and issubclass(hint, Model):
        return read_only_class(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        kind = read_only_type(inner[0])
        return Annotated[(kind, *hint.__metadata__)] if kind is not inner[0] else hint
    changed = tuple(map(read_only_type, inner))
    if all(new is old for new, old in zip(changed, inner, strict=True)):
        return hint
    if origin in (Union, types.UnionType):
        return Union[changed]  # noqa: UP007  # the number of members varies
    return origin[changed]


@cache
def read_only_class(model: type[Model]) -> type[Model]:
    """Return the read-only class of a model, which is a subclass of it."""
    if hasattr(model, "_model"):
        return model
    made = _made_class(model)
    _note_types(model)
    return made


@cache
def _made_class(model: type[Model]) -> type[Model]:
    """Create the read-only class of a model; its fields still have the types of the model."""
    members: dict[str, Any] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__doc__": model.__doc__,
        "__annotations__": get_type_hints(model, include_extras=True),
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__copy__": _copy,
        "__deepcopy__": lambda part, memo: _copy(part),
        "__reduce__": lambda part: _struct(part).__reduce__(),
        "copy": _copy,
        "_model": model,
    }
    if model.__eq__ is Model.__eq__:
        members |= {"__eq__": _is_equal, "__ne__": _is_unequal, "__hash__": None}
    # All fields are declared again, because an absent one must be read-only, too.
    members |= {info.name: _redeclared(info) for info in msgspec.structs.fields(model)}
    metaclass: Any = type(model)
    made: type[Model] = metaclass(model.__name__, (model,), members)
    return made


def _redeclared(info: msgspec.structs.FieldInfo) -> Any:
    factory = info.default_factory
    if isinstance(factory, type) and issubclass(factory, Model):
        factory = _made_class(factory)
    return msgspec.field(default=info.default, default_factory=factory, name=info.encode_name)


_typed: set[type[Model]] = set()


def _note_types(model: type[Model]) -> None:
    """Change the types of the fields to read-only classes. Models can contain each other."""
    if model in _typed:
        return
    _typed.add(model)
