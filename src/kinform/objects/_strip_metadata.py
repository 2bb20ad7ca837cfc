"""Removal of metadata fields from JSON objects without decoding the rest."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Raw

_Members = dict[str, Raw]


class _UsualObject(
    msgspec.Struct,
    gc=False,
    rename="camel",
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """The parts of nearly all objects, so that a single scan finds the metadata members."""

    api_version: Raw = Raw()  # the default is immutable
    kind: Raw = Raw()
    metadata: _Members
    spec: Raw = Raw()
    status: Raw = Raw()


_usual_decoder = msgspec.json.Decoder(_UsualObject)
_members_decoder = msgspec.json.Decoder(_Members)
_maybe_members_decoder = msgspec.json.Decoder(_Members | None)
_encoder = msgspec.json.Encoder()


def drop_metadata(payload: bytes, fields: Collection[str]) -> bytes:
    """Return the payload without these fields; the same bytes if it has none of them.

    Members are copied as text, never decoded. Of duplicate members the last one is kept, as in any
    decoder. Raises the errors of msgspec.
    """
    try:
        usual = _usual_decoder.decode(payload)
    except msgspec.ValidationError:
        return _drop_from_any(payload, fields)
    return _encoder.encode(usual) if _drop(usual.metadata, fields) else payload


def _drop_from_any(payload: bytes, fields: Collection[str]) -> bytes:
    """Handle objects with other parts, which requires a second scan of the metadata."""
    parts = _members_decoder.decode(payload)
    metadata = _maybe_members_decoder.decode(parts.get("metadata", b"null"))
    if metadata is None or not _drop(metadata, fields):
        return payload
    parts["metadata"] = Raw(_encoder.encode(metadata))
    return _encoder.encode(parts)


def _drop(members: _Members, fields: Collection[str]) -> bool:
    """Remove the fields and report whether any was present."""
    present = [field for field in fields if field in members]
    for field in present:
        del members[field]
    return bool(present)
