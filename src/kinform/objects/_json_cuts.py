"""An object as JSON in; the same without some fields of its metadata out, the rest as it was."""

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
    """What nearly all objects are made of, so that one scan of the text finds the metadata's."""

    api_version: Raw = Raw()  # it cannot be changed
    kind: Raw = Raw()
    metadata: _Members
    spec: Raw = Raw()
    status: Raw = Raw()


_usual_decoder = msgspec.json.Decoder(_UsualObject)
_members_decoder = msgspec.json.Decoder(_Members)
_maybe_members_decoder = msgspec.json.Decoder(_Members | None)
_encoder = msgspec.json.Encoder()


def drop_metadata(payload: bytes, fields: Collection[str]) -> bytes:
    """The payload without these; the very same bytes if it has none of them.

    Members are moved as they stand, never decoded. What says a thing twice means the last one,
    as for all who decode it. Raises what msgspec raises.
    """
    try:
        usual = _usual_decoder.decode(payload)
    except msgspec.ValidationError:
        return _drop_from_any(payload, fields)
    return _encoder.encode(usual) if _drop(usual.metadata, fields) else payload


def _drop_from_any(payload: bytes, fields: Collection[str]) -> bytes:
    """The same for what has other parts as well: the text of its metadata is scanned twice."""
    parts = _members_decoder.decode(payload)
    metadata = _maybe_members_decoder.decode(parts.get("metadata", b"null"))
    if metadata is None or not _drop(metadata, fields):
        return payload
    parts["metadata"] = Raw(_encoder.encode(metadata))
    return _encoder.encode(parts)


def _drop(members: _Members, fields: Collection[str]) -> bool:
    """Whether there was any."""
    present = [field for field in fields if field in members]
    for field in present:
        del members[field]
    return bool(present)
