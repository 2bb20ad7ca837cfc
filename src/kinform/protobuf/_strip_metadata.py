"""Removal of metadata fields from protobuf objects without decoding the rest.

A partial message declares only the fields to remove. The parser keeps all other fields as unknown
bytes and writes them back unchanged, in half the time of walking the fields in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kinform.protobuf._messages import FieldType, fields_of, own_classes

_METADATA = "meta/v1.ObjectMeta"
_VARINTS = frozenset({"bool", "int32", "int64"})


@cache
def metadata_stripper(message: str, fields: frozenset[str]) -> Callable[[bytes], bytes]:
    """Return a function that removes fields, given by JSON names, from the metadata of messages.

    It raises the errors of the parser. Without any of the fields, it returns the same bytes.
    """
    declared = [field for field in fields_of(_METADATA) if field.json in fields]
    if not declared or not _has_metadata(message):
        return lambda payload: payload
    return _cutter(tuple(declared))


def _has_metadata(message: str) -> bool:
    """Report whether a message is an object: lists and errors have different metadata."""
    return any(
        field.json == "metadata" and field.element == _METADATA and field.number == 1
        for field in fields_of(message)
    )


@cache
def _cutter(declared: tuple[FieldType, ...]) -> Callable[[bytes], bytes]:
    names = [field.proto for field in declared]
    suffix = "_".join(names)
    lines = (f"{field.proto} {field.number} {_loosely(field)} -" for field in declared)
    ours = own_classes(
        {f"Gone_{suffix}": "\n".join(lines), f"Cut_{suffix}": f"metadata 1 Gone_{suffix} -"}
    )
    parse = ours[f"Cut_{suffix}"].FromString

    def cut(payload: bytes) -> bytes:
        parsed = parse(payload)
        metadata = parsed.metadata
        if not metadata.ListFields():
            return payload
        for name in names:
            metadata.ClearField(name)
        written: bytes = parsed.SerializeToString()
        return written

    return cut


def _loosely(field: FieldType) -> str:
    """Return the type to parse a field as: fields with a length are bytes, never decoded."""
    return field.element if field.shape == "one" and field.element in _VARINTS else "[]bytes"
