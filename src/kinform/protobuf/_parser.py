"""Protobuf classes for messages.

The descriptor pool is private, so it does not conflict with other users of protobuf in a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from msgspec.structs import replace

from kinform.protobuf._messages import FieldType, fields_of, messages_of, read_fields

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
_loaded: set[str] = set()
_own: dict[str, Mapping[str, tuple[FieldType, ...]]] = {}


def message_class(message: str) -> Any:
    """Return the class for ``core/v1.Pod``. Raises KeyError if the message is unknown."""
    package, _, _ = message.rpartition(".")
    with _loading:
        _load(package)
    return _class(message)


def own_classes(messages: Mapping[str, str]) -> Mapping[str, Any]:
    """Create classes for partial messages. Raises ValueError if a name is already in use."""
    package = f"kinform/{'_'.join(messages)}"
    described = {
        name: read_fields(text.strip().splitlines(), package) for name, text in messages.items()
    }
    with _loading:
        # A pool accepts a message once, and several threads may request it at the same time.
        known = _own.get(package)
        if known is None:
            _put_into_pool(package, described, is_strict=True)
            _own[package] = described
        elif known != described:
            raise ValueError(f"there are two different messages {package}; give one another name")
    return {name: _class(f"{package}.{name}") for name in messages}


def field_class(message: str, field: FieldType, way: tuple[str, ...]) -> Any:
    """Create a class with only one field of a message, in the inlined messages on the way to it."""
    package = "/".join(("kinform/only", message, *way, field.proto, field.shape, field.element))
    levels: dict[str, tuple[FieldType, ...]] = {}
    owner = message
    for depth, inlined in enumerate(way):
        step = next(each for each in fields_of(owner) if each.proto == inlined)
        owner = step.element
        levels[f"Level{depth}"] = (replace(step, element=f"{package}.Level{depth + 1}"),)
    levels[f"Level{len(way)}"] = (field,)
    with _loading:
        if package not in _own:
            _put_into_pool(package, levels)
            _own[package] = levels
    return _class(f"{package}.Level0")


def _class(message: str) -> Any:
    return message_factory.GetMessageClass(_pool.FindMessageTypeByName(_proto_name(message)))


def _load(package: str) -> None:
    """Register the messages of a package, after the packages that it depends on."""
    if package in _loaded:
        return
    _loaded.add(package)
    try:
        messages = {name: fields_of(f"{package}.{name}") for name in messages_of(package)}
        _put_into_pool(package, messages)
    except BaseException:  # an interruption; the next request loads it again
        _loaded.discard(package)
        raise


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
        # UTF-8 is either validated during parsing or not at all.
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
