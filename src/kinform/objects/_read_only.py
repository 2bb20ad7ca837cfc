"""Read-only classes of models: the parts of read-only objects.

A part of a read-only object is an instance of a subclass of its model that refuses assignments, at
any depth. Decoders create it directly, so reading costs the same. Its lists and dicts are replaced
by read-only ones on first access. It equals the struct of the model with the same values, and its
``copy()`` is that struct.
"""

from __future__ import annotations

import types
from functools import cache
from operator import attrgetter
from threading import RLock
from typing import Annotated, Any, NoReturn, Union, get_args, get_origin

import msgspec

from kinform._native import FrozenField
from kinform.errors import ReadOnlyError
from kinform.objects._frozen_fields import freezer
from kinform.objects._model import Model

_lock = RLock()
_struct_equal = msgspec.Struct.__eq__
_typed: set[type[Model]] = set()


def plain_class(kind: type[Model]) -> type[Model]:
    """Return the model of a class that may be a read-only class."""
    found: type[Model] = getattr(kind, "_model", kind)
    return found


@cache
def read_only_class(model: type[Model]) -> type[Model]:
    """Return the read-only class of a model, which is a subclass of it."""
    if not _can_be_read_only(model):
        return model
    with _lock:  # a class without its types must not be used
        made = _made_class(model)
        _set_types(model, made)
    return made


def read_only_type(hint: Any) -> Any:
    """Return a type hint with the read-only classes of all models in it."""
    if isinstance(hint, type) and issubclass(hint, Model):
        if not _can_be_read_only(hint):
            return hint
        with _lock:
            made = _made_class(hint)
            _set_types(hint, made)
            return made
    inner = get_args(hint)
    changed = tuple(map(read_only_type, inner))
    if all(new is old for new, old in zip(changed, inner, strict=True)):
        return hint
    origin: Any = get_origin(hint)
    if origin is Annotated:
        return Annotated[(changed[0], *hint.__metadata__)]
    if origin in (Union, types.UnionType):
        return Union[changed]  # noqa: UP007  # the number of its members varies
    return origin[changed]


@cache
def _made_class(model: type[Model]) -> type[Model]:
    """Create the read-only class of a model; its fields still have the types of the model."""
    fields = msgspec.structs.fields(model)
    members: dict[str, Any] = {
        "__module__": model.__module__,
        "__qualname__": model.__qualname__,
        "__doc__": model.__doc__,
        "__annotations__": {info.name: info.type for info in fields},
        "__setattr__": _refuse,
        "__delattr__": _refuse,
        "__copy__": _copy,
        "__deepcopy__": lambda part, memo: _copy(part),
        "__reduce__": lambda part: _copy(part).__reduce__(),
        "copy": _copy,
        "_model": model,
        "_values": staticmethod(attrgetter(*(info.name for info in fields)) if fields else bool),
        "_is_read": True,
    }
    if model.__eq__ is Model.__eq__:
        members |= {"__eq__": _is_equal, "__ne__": _is_unequal, "__hash__": None}
    # All fields are declared again, because the value of an absent one must be read-only, too.
    members |= {info.name: _redeclared(info) for info in fields}
    metaclass: Any = type(model)
    made: type[Model] = metaclass(model.__name__, (model,), members)
    for info in fields:
        if (freeze := freezer(info.type)) is not None:
            setattr(made, info.name, FrozenField(getattr(model, info.name), freeze))
    return made


def _redeclared(info: msgspec.structs.FieldInfo) -> Any:
    factory = info.default_factory
    if isinstance(factory, type) and issubclass(factory, Model):
        factory = _made_class(factory) if _can_be_read_only(factory) else factory
    found: Any = msgspec.field(  # type: ignore[call-overload]  # either may be NODEFAULT
        default=info.default, default_factory=factory, name=info.encode_name
    )
    return found


def _can_be_read_only(model: type[Model]) -> bool:
    """Report whether a model has only fields: its own behaviour may depend on assignments."""
    return (
        plain_class(model) is model
        and model.__setattr__ is Model.__setattr__
        and not hasattr(model, "__post_init__")
        and not model.__struct_config__.frozen
    )


def _set_types(model: type[Model], made: type[Model]) -> None:
    """Change the types of the fields. A separate step, because models can contain each other."""
    if model not in _typed:
        _typed.add(model)
        hints = made.__annotations__
        hints.update({name: read_only_type(hint) for name, hint in hints.items()})


# -- the behaviour of a struct --------------------------------------------------------------


def _struct(part: Any) -> Any:
    """Return the struct of the model, with the same lists, dicts and structs."""
    if part._is_read:
        return part._model(**msgspec.structs.asdict(part))
    return part._model(**{name: getattr(part, name) for name in part.__struct_fields__})


def _copy(part: Any) -> Any:
    return _struct(part).copy()


def _is_equal(part: Any, other: object) -> Any:
    kind: Any = type(other)
    if kind is type(part) and part._is_read:
        return _struct_equal(part, other)
    if plain_class(kind) is not part._model:
        return NotImplemented
    # Not by the inherited method, because it compares the classes.
    values = part._values
    return values(part) == values(other)


def _is_unequal(part: Any, other: object) -> Any:
    found = _is_equal(part, other)
    return found if found is NotImplemented else not found


def _refuse(part: Any, *_: object) -> NoReturn:
    raise ReadOnlyError(
        f"this {type(part).__name__} belongs to an object that is read-only because it came from a "
        "list, a watch or a cache; call copy() on the object and edit the copy"
    )
