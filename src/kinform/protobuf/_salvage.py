"""Recovery of an object's name from a malformed message.

Metadata is the first field of every object, so it is often intact in a malformed message.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError as ParseError

from kinform.protobuf._partial_message import PartialMessage

# As bytes, so that invalid UTF-8 in one field does not affect the others.
_NAME = PartialMessage("Name", "name 1 bytes -\n namespace 3 bytes -\n resourceVersion 6 bytes -")
_METADATA_TAG = b"\x0a"
_LONGEST_VARINT = 5


def salvaged_name(payload: bytes) -> tuple[str, str]:
    """Return the key and the resource version; empty if they cannot be read."""
    try:
        name, namespace, version = (value.decode() for value in _NAME.read(_first_field(payload)))
    except (ParseError, UnicodeDecodeError):
        return "", ""
    # A namespace without a name is not a key.
    return "/".join(filter(None, (namespace, name))) if name else "", version


def _first_field(payload: bytes) -> bytes:
    """Return the bytes of the metadata; empty if the message starts with a different field."""
    if not payload.startswith(_METADATA_TAG):
        return b""
    length = 0
    for index, byte in enumerate(payload[1 : 1 + _LONGEST_VARINT]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            start = 2 + index
            return payload[start : start + length]
    return b""
