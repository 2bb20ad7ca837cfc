"""The generated lists of messages in; what each message is made of, and a class for it, out.

One private pool of descriptors: it clashes with nobody who uses protobuf in the same program. A
package is read when the first of its messages is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from threading import RLock
from typing import Any, Literal

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

Shape = Literal["one", "list", "map"]

_SCALARS = {
    "string": descriptor_pb2.FieldDescriptorProto.TYPE_STRING,
    "bool": descriptor_pb2.FieldDescriptorProto.TYPE_BOOL,
    "int32": descriptor_pb2.FieldDescriptorProto.TYPE_INT32,
    "int64": descriptor_pb2.FieldDescriptorProto.TYPE_INT64,
    "float64": descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE,
    "bytes": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES,
}

_pool = descriptor_pool.DescriptorPool()
_loading = RLock()


@dataclass(frozen=True, slots=True)
class FieldType:
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
        return self.element not in _SCALARS


@cache
def fields_of(message: str) -> tuple[FieldType, ...]:
    """The fields of ``core/v1.Pod``. Raises KeyError if there is no such message."""
    package, _, name = message.rpartition(".")
    return _package(package)[name]


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
    """The class for ``core/v1.Pod``. Raises KeyError if there is no such message."""
    package, _, _ = message.rpartition(".")
    with _loading:
        _load(package)
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(_proto_name(message)))


def has_message(message: str) -> bool:
    """Whether there is such a message."""
    package, _, name = message.rpartition(".")
    try:
        return name in _package(package)
    except ModuleNotFoundError:
        return False


def own_messages(messages: Mapping[str, str]) -> Mapping[str, Any]:
    """Classes for messages of our own, which declare only what we want to see of others.

    They are written as the generated lists are: by the name of each, its fields, one a line. What
    is no UTF-8 in a text of theirs does not parse; in one of the others it comes as bytes.
    """
    package = f"kinform/{'_'.join(messages)}"
    described = {
        name: tuple(_field(line.split(), package) for line in text.strip().splitlines())
        for name, text in messages.items()
    }
    with _loading:
        _put_into_pool(package, described, is_strict=True)
    names = {name: _proto_name(f"{package}.{name}") for name in messages}
    return {
        name: message_factory.GetMessageClass(_pool.FindMessageTypeByName(full))
        for name, full in names.items()
    }


@cache
def _package(package: str) -> dict[str, tuple[FieldType, ...]]:
    text: str = import_module(f"kinform.protobuf.tables.{package.replace('/', '_')}").MESSAGES
    messages: dict[str, list[FieldType]] = {}
    fields: list[FieldType] = []
    for line in text.splitlines():
        if line.startswith(" "):
            fields.append(_field(line.split(), package))
        else:
            fields = messages[line] = []
    return {name: tuple(each) for name, each in messages.items()}


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
    if kind not in _SCALARS and "." not in kind:
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


_loaded: set[str] = set()


def _load(package: str) -> None:
    """Make a package's messages known, after those that they are made of."""
    if package in _loaded:
        return
    _loaded.add(package)
    _put_into_pool(package, _package(package))


def _put_into_pool(
    package: str, messages: Mapping[str, tuple[FieldType, ...]], *, is_strict: bool = False
) -> None:
    needed = sorted(
        {
            field.element.rpartition(".")[0]
            for fields in messages.values()
            for field in fields
            if field.is_message
        }
        - {package}
    )
    for each in needed:
        _load(each)
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto",
        package=package.replace("/", "."),
        # Texts are checked while they are parsed, or not at all.
        syntax="proto3" if is_strict else "proto2",
        dependency=[f"{each}.proto" for each in needed],
    )
    for name, fields in messages.items():
        described = file.message_type.add(name=name)
        for field in fields:
            _describe(described, field, package, name)
            if is_strict and field.is_pointer and not field.is_message:
                described.field[-1].proto3_optional = True
                described.field[-1].oneof_index = len(described.oneof_decl)
                described.oneof_decl.add(name=f"_{field.proto}")
    _pool.Add(file)


def _describe(
    message: descriptor_pb2.DescriptorProto, field: FieldType, package: str, name: str
) -> None:
    described = message.field.add(name=field.proto, number=field.number)
    described.label = described.LABEL_OPTIONAL if field.shape == "one" else described.LABEL_REPEATED
    if field.shape != "map":
        _set_type(described, field.element)
        return
    entry = message.nested_type.add(name=f"{field.proto[:1].upper()}{field.proto[1:]}Entry")
    entry.options.map_entry = True
    key = entry.field.add(name="key", number=1, label=described.LABEL_OPTIONAL)
    key.type = described.TYPE_STRING
    value = entry.field.add(name="value", number=2, label=described.LABEL_OPTIONAL)
    _set_type(value, field.element)
    described.type = described.TYPE_MESSAGE
    described.type_name = f".{package.replace('/', '.')}.{name}.{entry.name}"


def _set_type(described: descriptor_pb2.FieldDescriptorProto, element: str) -> None:
    scalar = _SCALARS.get(element)
    if scalar is not None:
        described.type = scalar
    else:
        described.type = described.TYPE_MESSAGE
        described.type_name = f".{_proto_name(element)}"


def _proto_name(message: str) -> str:
    package, _, name = message.rpartition(".")
    return f"{package.replace('/', '.')}.{name}"


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
