"""Partial messages, which declare only some fields of other messages.

All other fields are skipped. A nested message is declared as a list of bytes and decoded
separately, if at all; a list is therefore split without decoding its items. A message that comes in
several pieces is their concatenation (``joined``).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from kinform._native import StructReader
from kinform.protobuf._messages import SCALARS, FieldType, own_classes, read_fields

_WIRE_TYPES = {"string": 2, "bytes": 2, "bool": 0, "int32": 0, "int64": 0}
_BITS = (1 << 64) - 1


class PartialMessage:
    """Some scalar fields of a message, in the format of the generated tables, one per line.

    Strings are validated: invalid UTF-8 fails to parse. An absent field is ``None`` if it is a
    pointer, otherwise zero.
    """

    def __init__(self, name: str, fields: str) -> None:
        self._name = name
        self._text = fields
        self._fields = read_fields(fields.strip().splitlines(), "kinform")
        self._tags = [_tag(field) for field in self._fields]
        self._usual = StructReader(None, tuple(_described(field) for field in self._fields))

    def read(self, payload: bytes) -> list[Any]:
        """Return the values of the fields, in order. Raises the errors of the parser."""
        usual = self._usual.parts(payload)
        return self.parsed(payload) if usual is None else usual

    def parsed(self, payload: bytes) -> list[Any]:
        """Return the values of the fields, with the parser."""
        message = self._class.FromString(payload)
        return [_value(message, field) for field in self._fields]

    def write(self, *values: Any) -> bytes:
        """Encode values in the order of the fields, as Go does; the inverse of ``read``."""
        pieces: list[bytes] = []
        for field, tag, value in zip(self._fields, self._tags, values, strict=True):
            is_absent = value is None if field.is_pointer else not value
            if is_absent:
                continue
            for each in value if field.shape == "list" else (value,):
                pieces.append(tag)
                if isinstance(each, int):
                    pieces.append(_varint(each))
                else:
                    raw = each.encode() if isinstance(each, str) else each
                    pieces += (_varint(len(raw)), raw)
        return b"".join(pieces)

    @cached_property
    def _class(self) -> Any:
        return own_classes({self._name: self._text})[self._name]


def joined(pieces: list[bytes]) -> bytes:
    """Join the pieces of a message; nearly always there is one."""
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _described(field: FieldType) -> tuple[Any, ...]:
    """Describe a field for a StructReader."""
    kind, zero = SCALARS[field.element]
    if field.shape == "list":
        return field.proto, (field.number,), "list", kind, None, "made", list
    absent = None if field.is_pointer else zero
    return field.proto, (field.number,), "one", kind, None, "is", absent


def _value(message: Any, field: FieldType) -> Any:
    if field.is_pointer and not message.HasField(field.proto):
        return None
    value = getattr(message, field.proto)
    return list(value) if field.shape == "list" else value


def _tag(field: FieldType) -> bytes:
    return _varint(field.number << 3 | _WIRE_TYPES[field.element])


def _varint(number: int) -> bytes:
    """Encode a varint: seven bits per byte, lowest first."""
    number &= _BITS
    if number < 0x80:
        return bytes((number,))
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)
