"""Conversion of messages that have a custom JSON format."""

from __future__ import annotations

import codecs
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import msgspec
from google.protobuf.message import DecodeError as ParseError

from kinform.objects import Quantity
from kinform.protobuf._messages import fields_of

MALFORMED = (ParseError, ValueError, OverflowError, RecursionError)
"""The errors of reading a malformed message: invalid UTF-8, JSON or time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Go's zero time, null in JSON: the first second of the year 1.
_ZERO_SECONDS = -62135596800


def time_of(message: Any) -> datetime | None:
    """Convert a time; ``None`` if it is Go's zero time."""
    seconds = message.seconds
    if not seconds and not message.nanos:
        # An absent message, or 1970: Go writes its zero time as no message at all.
        return None if not message.HasField("seconds") else _EPOCH
    if seconds <= _ZERO_SECONDS:
        return None
    return moment(seconds)


# Conditions of an object, and objects created together, often have the same time.
@lru_cache(maxsize=4096)
def moment(seconds: int) -> datetime:
    """Return the time for a number of seconds since 1970."""
    return _EPOCH + timedelta(0, seconds)  # positional arguments take half the time


def micro_time_of(message: Any) -> datetime | None:
    """Convert a time with microseconds."""
    found = time_of(message)
    return None if found is None else found + timedelta(microseconds=message.nanos // 1000)


def time_text(message: Any) -> str | None:
    found = time_of(message)
    return None if found is None else f"{found.isoformat()[:19]}Z"


def micro_time_text(message: Any) -> str | None:
    found = micro_time_of(message)
    return None if found is None else f"{found.isoformat(timespec='microseconds')[:26]}Z"


def int_or_string(message: Any) -> int | str:
    if message.type:
        return text(message.strVal)
    number: int = message.intVal
    return number


def raw_json(message: Any) -> Any:
    """Decode the JSON text in a message; ``None`` if there is none."""
    return decoded_json(message.Raw if hasattr(message, "Raw") else message.raw)


def decoded_json(raw: bytes) -> Any:
    return msgspec.json.decode(raw) if raw else None


def is_list(message: str) -> bool:
    """Report whether a message represents a list, such as ``ExtraValue``."""
    fields = fields_of(message)
    return len(fields) == 1 and not fields[0].json and fields[0].proto == "items"


def items(message: Any) -> list[str]:
    return list(map(text, message.items))


def read_either(message: str, value: Any, schema: Callable[[Any], Any]) -> Any:
    """Convert a union of a JSON schema: a schema, read by ``schema``, or a simpler value."""
    if message.endswith("OrArray") and value.jSONSchemas:
        return [schema(each) for each in value.jSONSchemas]
    if message.endswith("OrStringArray") and value.property:
        return list(map(text, value.property))
    if value.HasField("schema"):
        return schema(value.schema)
    return value.allows if message.endswith("OrBool") else None


def base64_text(value: bytes) -> str:
    return b64encode(value).decode()


def text(value: str | bytes) -> str:
    """Decode a string. Invalid UTF-8, such as truncated text, is replaced as in Go's JSON."""
    return value if isinstance(value, str) else value.decode(errors=_ONE_MARK_A_BYTE)


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)  # never used for encoding
    return "\ufffd" * (error.end - error.start), error.end


_ONE_MARK_A_BYTE = "kinform.one_mark_a_byte"
codecs.register_error(_ONE_MARK_A_BYTE, _mark)


def by_key(values: Any, convert: Callable[[Any], Any] | None) -> dict[str, Any]:
    """Convert a map, sorted as in JSON because protobuf maps have no order."""
    keys = sorted(values, key=text)
    if convert is None:
        return {text(key): values[key] for key in keys}
    return {text(key): convert(values[key]) for key in keys}


def number(value: float) -> int | float:
    """Convert a number; Go writes a decimal point in JSON only where it is needed."""
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


def quantity_of(content: str) -> Quantity:
    """Convert the text of a quantity; Go reads an empty or absent one as zero."""
    return Quantity.from_wire(content or "0")


TREES: dict[str, Callable[[Any], Any]] = {
    "meta/v1.Time": time_text,
    "meta/v1.MicroTime": micro_time_text,
    "resource.Quantity": lambda message: text(message.string) or "0",
    "intstr.IntOrString": int_or_string,
    "meta/v1.FieldsV1": raw_json,
    "runtime.RawExtension": raw_json,
    "apiextensions/v1.JSON": raw_json,
}
"""Converters of messages to JSON values."""

VALUES: dict[str, Callable[[Any], Any]] = {
    **TREES,
    "meta/v1.Time": time_of,
    "meta/v1.MicroTime": micro_time_of,
    "resource.Quantity": lambda message: quantity_of(text(message.string)),
    "meta/v1.FieldsV1": lambda message: msgspec.Raw(message.Raw),
}
"""Converters of messages to values of models."""
