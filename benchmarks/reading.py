"""Reads every field of a typed object, as a program that names each of them would."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from kinform.objects import Model, TypedObject


def read_everything(obj: TypedObject) -> None:
    """Every part, and every declared field of every struct in it, the absent ones too.

    The reader of each class is compiled once from its declaration, and says what one would write
    by hand: ``v.name; v.image; for each in v.env: read_EnvVar(each)``. So what is measured is
    the object that is read, and not the search for what there is to read.
    """
    _reader(type(obj))(obj)


@cache
def _reader(kind: type) -> Callable[[Any], None]:
    names: dict[str, Any] = {}
    lines = ["def read(v):"]
    for attribute, hint in _hints(kind).items():
        nested = next(_nested(hint), None)
        if nested is None:
            lines.append(f" v.{attribute}")
            continue
        names[f"read_{nested.__name__}"] = _reader(nested)
        read = f"read_{nested.__name__}(each)"
        containers = {get_origin(each) for each in (hint, *get_args(hint))}
        if list in containers:
            lines.append(f" for each in v.{attribute} or (): {read}")
        elif dict in containers:
            lines.append(f" for each in (v.{attribute} or {{}}).values(): {read}")
        else:
            lines.append(f" if (each := v.{attribute}) is not None: {read}")
    exec("\n".join([*lines, " return"]), names)
    reader: Callable[[Any], None] = names["read"]
    return reader


def _hints(kind: type) -> dict[str, Any]:
    if issubclass(kind, TypedObject):
        return {part.attribute: part.type for part in kind.parts.values()}
    return get_type_hints(kind)


def _nested(hint: Any) -> Iterator[type]:
    """The classes in a hint that have fields themselves."""
    if isinstance(hint, type) and issubclass(hint, (Model, TypedObject)):
        yield hint
    for each in get_args(hint):
        yield from _nested(each)
