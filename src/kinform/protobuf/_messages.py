"""The fields and classes of messages, from the generated tables.

A package is loaded when its first message is needed, and each message is parsed on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Literal

import msgspec
from google.protobuf.message import DecodeError as ParseError

Shape = Literal["one", "list", "map"]

SCALARS: dict[str, tuple[str, object]] = {
    "string": ("text", ""),
    "bytes": ("bytes", b""),
    "bool": ("bool", False),
    "int32": ("int32", 0),
    "int64": ("int64", 0),
    "float64": ("float64", 0.0),
}
"""The name in compiled code and the zero value of each scalar type."""


class FieldType(msgspec.Struct, frozen=True):
    """A field of a message.

    Attributes:
        json: The name in JSON; empty if inlined, or if the message has a custom JSON format.
        proto: The name in protobuf.
        number: The number in protobuf.
        shape: One value, a list, or a map with string keys.
        element: The type of the values: a scalar, or the id of a message (``core/v1.Pod``).
        is_pointer: Whether absent and zero differ.
        omits_empty: Whether JSON omits an empty value; structs are never empty.
        omits_zero: Whether JSON omits a zero value, including structs.
        is_inline: Whether JSON contains its fields in its place.
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
    """Return the fields of a message such as ``core/v1.Pod``. Raises KeyError if it is unknown."""
    package, _, name = message.rpartition(".")
    return read_fields(_package(package)[name], package)


@cache
def fields_by_json(message: str) -> Mapping[str, tuple[FieldType, tuple[str, ...]]]:
    """Return the fields by JSON name, each with the path of inlined messages to it."""
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
    """Return the parser's class for ``core/v1.Pod``. Raises KeyError if it is unknown."""
    return _parser().message_class(message)


def own_classes(messages: Mapping[str, str]) -> Mapping[str, Any]:
    """Create classes for partial messages, which declare only some fields of other messages.

    They are given in the format of the generated tables: the fields by message name, one per line.
    Invalid UTF-8 fails to parse in these classes; in the generated ones it is returned as bytes.
    """
    classes: Mapping[str, Any] = _parser().own_classes(messages)
    return classes


@cache
def field_parser(message: str, field: FieldType, way: tuple[str, ...]) -> Callable[[bytes], Any]:
    """Return a function that parses only one field, in the inlined messages on the way to it.

    All other fields are skipped, so that they may be malformed. It raises the errors of the parser.
    """
    parse_field = _parser().field_class(message, field, way).FromString

    def parse(raw: bytes) -> Any:
        try:
            return parse_field(raw)
        except ParseError:
            class_of(message).FromString(raw)  # fails, too, with an error that names the message
            raise

    return parse


def _parser() -> Any:
    # Imported lazily: most programs only need compiled code, and the parser would add 4 MB of
    # memory and a tenth to their startup time.
    return import_module("kinform.protobuf._parser")


def has_message(message: str) -> bool:
    """Report whether a message exists."""
    package, _, name = message.rpartition(".")
    try:
        return name in _package(package)
    except ModuleNotFoundError:
        return False


@cache
def _package(package: str) -> dict[str, list[str]]:
    """Return the messages of a package, with one line per field."""
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
    """Return the names of all messages of a package such as ``core/v1``."""
    return list(_package(package))


def read_fields(lines: Iterable[str], package: str) -> tuple[FieldType, ...]:
    """Parse the fields of a message from the format of the generated tables."""
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
    """Iterate over a message and all messages that it contains, each once."""
    seen = {message}
    waiting = [message]
    while waiting:
        current = waiting.pop()
        yield current
        for field in fields_of(current):
            if field.is_message and field.element not in seen:
                seen.add(field.element)
                waiting.append(field.element)
