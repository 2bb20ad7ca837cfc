"""Conversion of JSON trees to protobuf messages.

The inverse of ``_trees``. Fields that the message does not have are skipped.
"""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec

from kinform.errors import EncodeError
from kinform.protobuf._messages import FieldType, class_of, fields_by_json
from kinform.protobuf._values import is_list

_Write = Callable[[Any, Any], None]
"""A function that writes a value to a message."""


def message_bytes(message: str, tree: Mapping[str, Any]) -> bytes:
    """Encode a tree as a message.

    Raises:
        EncodeError: A value has the wrong type; the message names its path.
    """
    made = class_of(message)()
    try:
        _writer(message)(made, tree)
    except _MisfitError as misfit:
        place = ".".join(reversed(misfit.path)) or "the object"
        raise EncodeError(f"{place}: {misfit}") from None
    # Maps are sorted by key, as servers write them; but if one key is a prefix of another, the
    # longer one comes first.
    return bytes(made.SerializeToString(deterministic=True))


class _MisfitError(Exception):
    """Collects the path while it propagates."""

    def __init__(self, complaint: str) -> None:
        super().__init__(complaint)
        self.path: list[str] = []


@cache
def _writer(message: str) -> _Write:
    if (custom := _CUSTOM.get(message)) is not None:
        return custom
    if message.startswith("apiextensions/v1.JSONSchemaPropsOr"):
        return lambda made, value: _write_either(made, value)
    if is_list(message):
        return lambda made, value: made.items.extend(value)
    puts: dict[str, _Write] | None = None

    def write(made: Any, tree: Any) -> None:
        nonlocal puts
        if puts is None:  # created on first use, because messages can contain themselves
            puts = _puts_of(message)
        if not isinstance(tree, (dict, Mapping)):
            raise _MisfitError(f"expected object, got {type(tree).__name__}")
        for name, value in tree.items():
            put = puts.get(name)
            if put is None or value is None:
                continue  # null is absent; unknown fields are skipped
            try:
                put(made, value)
            except _MisfitError as misfit:
                misfit.path.append(name)
                raise
            except (TypeError, ValueError, AttributeError) as error:
                # protobuf's own messages about types are not helpful.
                expected = f"expected {_described(message, name)}"
                wrong = _MisfitError(expected if isinstance(error, TypeError) else f"{error}")
                wrong.path.append(name)
                raise wrong from error

    return write


def _puts_of(message: str) -> dict[str, _Write]:
    """Return the writer of each JSON field, including fields of inlined messages."""
    return {name: _into(way, _put(field)) for name, (field, way) in fields_by_json(message).items()}


def _into(way: tuple[str, ...], put: _Write) -> _Write:
    if not way:
        return put
    inlined = attrgetter(".".join(way))
    return lambda made, value: put(inlined(made), value)


def _described(message: str, name: str) -> str:
    """Return the expected type of a field, for errors."""
    field, _ = fields_by_json(message)[name]
    return {"one": "", "list": "a list of ", "map": "a map of "}[field.shape] + field.element


def _put(field: FieldType) -> _Write:
    if field.shape == "list":
        return _put_list(field)
    if field.shape == "map":
        return _put_map(field)
    proto = field.proto
    if not field.is_message:
        convert = _CONVERT.get(field.element)
        if convert is None:
            return lambda made, value: setattr(made, proto, value)
        return lambda made, value: setattr(made, proto, convert(value))
    write = _writer(field.element)

    def put(made: Any, value: Any) -> None:
        child = getattr(made, proto)
        child.SetInParent()
        write(child, value)

    return put


def _put_list(field: FieldType) -> _Write:
    proto = field.proto
    write = _writer(field.element) if field.is_message else None
    convert = _CONVERT.get(field.element)

    def put(made: Any, values: Any) -> None:
        if not isinstance(values, (list, tuple)):
            raise _MisfitError(f"expected list, got {type(values).__name__}")
        target = getattr(made, proto)
        if write is not None:
            for each in values:
                element = target.add()
                if each is not None:
                    write(element, each)
        else:
            target.extend(values if convert is None else map(convert, values))

    return put


def _put_map(field: FieldType) -> _Write:
    proto = field.proto
    write = _writer(field.element) if field.is_message else None
    convert = _CONVERT.get(field.element)

    def put(made: Any, values: Any) -> None:
        if not isinstance(values, (dict, Mapping)):
            raise _MisfitError(f"expected object, got {type(values).__name__}")
        target = getattr(made, proto)
        for key, each in values.items():
            if write is not None:
                element = target[key]
                if each is not None:
                    write(element, each)
            else:
                target[key] = each if convert is None else convert(each)

    return put


def _bytes(value: Any) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (Base64Error, TypeError) as error:
        raise _MisfitError("expected base64") from error


def _integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool):
        raise _MisfitError("expected int, got bool")
    return value


_CONVERT: dict[str, Callable[[Any], Any]] = {
    "bytes": _bytes,
    "int32": _integer,
    "int64": _integer,
}


def _write_time(made: Any, text: Any) -> None:
    if not isinstance(text, str):
        if text == {}:  # a null in a map: the zero time
            return
        raise _MisfitError(f"expected a time, got {type(text).__name__}")
    try:
        moment = msgspec.convert(text, datetime)
    except msgspec.ValidationError as error:
        raise _MisfitError(f"{text!r} is not a time") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    made.seconds = since.days * 86400 + since.seconds
    made.nanos = since.microseconds * 1000


def _write_int_or_string(made: Any, value: Any) -> None:
    if isinstance(value, str):
        made.type, made.intVal, made.strVal = 1, 0, value
    else:
        made.type, made.intVal, made.strVal = 0, value, ""


def _write_either(made: Any, value: Any) -> None:
    schema = _writer("apiextensions/v1.JSONSchemaProps")
    if isinstance(value, bool):
        made.allows = value
    elif isinstance(value, list):
        if hasattr(made, "property"):
            made.property.extend(value)
        else:
            for each in value:
                schema(made.jSONSchemas.add(), each)
    else:
        if hasattr(made, "allows"):
            made.allows = True
        schema(made.schema, value)


def _write_quantity(made: Any, value: Any) -> None:
    made.string = str(value)


def _write_raw(made: Any, value: Any) -> None:
    made.raw = msgspec.json.encode(value)


def _write_fields(made: Any, value: Any) -> None:
    made.Raw = msgspec.json.encode(value)


_CUSTOM: dict[str, _Write] = {
    "meta/v1.Time": _write_time,
    "meta/v1.MicroTime": _write_time,
    "resource.Quantity": _write_quantity,
    "intstr.IntOrString": _write_int_or_string,
    "meta/v1.FieldsV1": _write_fields,
    "runtime.RawExtension": _write_raw,
    "apiextensions/v1.JSON": _write_raw,
}
