"""The generated lists of messages in; what each message is made of, and a class for it, out.

A package is loaded when the first of its messages is needed, and each message of it is read when
somebody asks for that one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Literal

import msgspec

Shape = Literal["one", "list", "map"]

SCALARS: dict[str, tuple[str, object]] = {
    "string": ("text", ""),
    "bytes": ("bytes", b""),
    "bool": ("bool", False),
    "int32": ("int32", 0),
    "int64": ("int64", 0),
    "float64": ("float64", 0.0),
}
"""What compiled code calls them, and their zero."""


class FieldType(msgspec.Struct, frozen=True):
    """One field of a message.

    Attributes:
        json: Its name in JSON; empty if it is inlined, or if its message has a JSON of its own.
        proto: Its name in protobuf.
        number: In protobuf.
        shape: Whether it is one value, a list or a map by strings.
        element: What its values are: a scalar's name, or the id of a message (``core/v1.Pod``).
        is_pointer: Whether absent and zero differ.
        omits_empty: JSON leaves it out if it is empty; structs are never empty.
        omits_zero: JSON leaves it out if it is zero; of structs, too.
        is_inline: JSON has its fields in place of it.
    """

    json: str
    proto: str
    number: int
    shape: Shape
    element: str
    is_pointer: bool
    omits_empty: bool
    omits_zero: bool
    is_inline: bool

    @property
    def is_message(self) -> bool:
        return self.element not in SCALARS


@cache
def fields_of(message: str) -> tuple[FieldType, ...]:
    """The fields of ``core/v1.Pod``. Raises KeyError if there is no such message."""
    package, _, name = message.rpartition(".")
    return read_fields(_package(package)[name], package)


@cache
def fields_by_json(message: str) -> Mapping[str, tuple[FieldType, tuple[str, ...]]]:
    """The same by their names in JSON, and through which inlined ones each is reached."""
    found: dict[str, tuple[FieldType, tuple[str, ...]]] = {}
    for field in fields_of(message):
        if field.is_inline:
            for json, (each, way) in fields_by_json(field.element).items():
                found[json] = each, (field.proto, *way)
        else:
            found[field.json] = field, ()
    return found


@cache
def class_of(message: str) -> Any:
    """The parser's class for ``core/v1.Pod``. Raises KeyError if there is no such message."""
    return _parser().message_class(message)


def own_classes(messages: Mapping[str, str]) -> Mapping[str, Any]:
    """Classes for messages of our own, which declare only what we want to see of others.

    They are written as the generated lists are: by the name of each, its fields, one a line. What
    is no UTF-8 in a text of theirs does not parse; in one of the others it comes as bytes.
    """
    classes: Mapping[str, Any] = _parser().own_classes(messages)
    return classes


def _parser() -> Any:
    # Loaded when it is needed: most programs read only what compiled code reads, and the parser
    # would be 4 MB to them, and a tenth of the time in which they start.
    return import_module("kinform.protobuf._parser")


def has_message(message: str) -> bool:
    """Whether there is such a message."""
    package, _, name = message.rpartition(".")
    try:
        return name in _package(package)
    except ModuleNotFoundError:
        return False


@cache
def _package(package: str) -> dict[str, list[str]]:
    """The messages of a package, and the line of each field."""
    text: str = import_module(f"kinform.protobuf.tables.{package.replace('/', '_')}").MESSAGES
    messages: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(" "):
            lines.append(line)
        else:
            lines = messages[line] = []
    return messages


def messages_of(package: str) -> list[str]:
    """The names of all messages of ``core/v1``."""
    return list(_package(package))


def read_fields(lines: Iterable[str], package: str) -> tuple[FieldType, ...]:
    """The fields of a message, written as the generated lists have them."""
    return tuple([_field(line.split(), package) for line in lines])


def _field(words: list[str], package: str) -> FieldType:
    json, number, kind, flags = words[:4]
    shape: Shape = "one"
    is_pointer = kind.startswith("*")
    kind = kind.removeprefix("*")
    if kind.startswith("[]"):
        shape, kind = "list", kind.removeprefix("[]")
    elif kind.startswith("map[string]"):
        shape, kind = "map", kind.removeprefix("map[string]")
    kind = kind.removeprefix("*")
    if kind not in SCALARS and "." not in kind:
        kind = f"{package}.{kind}"
    return FieldType(
        json="" if json == "-" else json,
        proto=words[4] if len(words) > 4 else json,
        number=int(number),
        shape=shape,
        element=kind,
        is_pointer=is_pointer,
        omits_empty="o" in flags,
        omits_zero="z" in flags,
        is_inline="i" in flags,
    )


def reachable(message: str) -> Iterator[str]:
    """It, and every message that it is made of, each once."""
    seen = {message}
    waiting = [message]
    while waiting:
        current = waiting.pop()
        yield current
        for field in fields_of(current):
            if field.is_message and field.element not in seen:
                seen.add(field.element)
                waiting.append(field.element)
