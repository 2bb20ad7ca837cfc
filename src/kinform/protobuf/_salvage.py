"""A message that does not decode in; what its object is called out, as far as that can be read.

Metadata is the first field of every object, so that much of it can be whole in a message that is
not.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError as ParseError

from kinform.protobuf._partial_message import PartialMessage

# As bytes: what is not UTF-8 in one of them is nothing to the others.
_NAME = PartialMessage("Name", "name 1 bytes -\n namespace 3 bytes -\n resourceVersion 6 bytes -")
_METADATA_TAG = b"\x0a"
_LONGEST_VARINT = 5


def salvaged_name(payload: bytes) -> tuple[str, str]:
    """The key and the resource version; empty where they cannot be read."""
    try:
        name, namespace, version = (value.decode() for value in _NAME.read(_first_field(payload)))
    except (ParseError, UnicodeDecodeError):
        return "", ""
    # A namespace alone is no key.
    return "/".join(filter(None, (namespace, name))) if name else "", version


def _first_field(payload: bytes) -> bytes:
    """The bytes of an object's metadata; none if the message begins with something else."""
    if not payload.startswith(_METADATA_TAG):
        return b""
    length = 0
    for index, byte in enumerate(payload[1 : 1 + _LONGEST_VARINT]):
        length |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            start = 2 + index
            return payload[start : start + length]
    return b""
