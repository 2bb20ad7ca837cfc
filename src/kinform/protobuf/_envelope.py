"""The envelopes of protobuf bodies, lists and events."""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf.message import DecodeError as ParseError

from kinform.errors import DecodeError
from kinform.protobuf._partial_message import PartialMessage, joined

MAGIC = b"k8s\0"
"""The first bytes of every protobuf body."""

_ENVELOPE = PartialMessage(
    "Unknown",
    """
    typeMeta 1 []bytes -
    raw 2 bytes -
    contentEncoding 3 *string -
    contentType 4 *string -
    """,
)
_KIND = PartialMessage("TypeMeta", "apiVersion 1 string -\n kind 2 string -")
_EVENT = PartialMessage("WatchEvent", "type 1 string -\n object 2 []bytes -")
_RAW = PartialMessage("RawExtension", "raw 1 bytes -")
_LIST = PartialMessage("List", "metadata 1 []bytes -\n items 2 []bytes -")
_LIST_METADATA = PartialMessage(
    "ListMeta",
    """
    resourceVersion 2 string -
    continue 3 string -
    remainingItemCount 4 *int64 -
    """,
)

_MALFORMED = (ParseError, UnicodeDecodeError, ValueError)


class UnwrappedBody(NamedTuple):
    """The content of a body: the kind and the bytes of the message."""

    api_version: str
    kind: str
    raw: bytes


def unwrap(body: bytes) -> UnwrappedBody:
    """Remove the envelope of a body.

    Raises:
        DecodeError: The envelope is missing or malformed.
    """
    try:
        type_meta, raw = _opened(body)
        api_version, kind = _KIND.read(type_meta)
        return UnwrappedBody(api_version, kind, raw)
    except _MALFORMED as error:
        raise DecodeError(f"its envelope does not decode: {error}") from error


def _opened(body: bytes) -> tuple[bytes, bytes]:
    """Return the kind and the message. Raises DecodeError and the errors of the parser."""
    if not body.startswith(MAGIC):
        # Only a page is shown: anything else may be a part of an object, whose content is secret.
        found = f"begins {body[:16]!r}" if body.startswith(b"<") else f"has {len(body)} bytes"
        raise DecodeError(f"it is not protobuf of Kubernetes; it {found}")
    type_meta, raw, encoding, content_type = _ENVELOPE.read(body[len(MAGIC) :])
    if encoding or content_type:
        raise DecodeError(
            f"it contains {content_type or 'something'} "
            f"({encoding or 'not encoded'}) inside protobuf, which is not supported"
        )
    return joined(type_meta), raw


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """Add an envelope; the inverse of ``unwrap``."""
    # Go writes the last two fields even if they are empty.
    return MAGIC + _ENVELOPE.write([_KIND.write(api_version, kind)], raw, "", "")


class ListBody(NamedTuple):
    """A list, split into its items."""

    resource_version: str
    continue_token: str
    remaining_item_count: int | None
    items: list[bytes]


def split_list(raw: bytes) -> ListBody:
    """Split the message of a list into its items, without decoding them.

    Raises:
        DecodeError: The message is not a list.
    """
    try:
        metadata, items = _LIST.read(raw)
        version, continue_token, remaining = _LIST_METADATA.read(joined(metadata))
        return ListBody(version, continue_token, remaining, items)
    except _MALFORMED as error:
        raise DecodeError(f"it does not decode as a list: {error}") from error


def join_list(
    resource_version: str,
    continue_token: str,
    remaining_item_count: int | None,
    items: list[bytes],
) -> bytes:
    """Create the message of a list; the inverse of ``split_list``."""
    metadata = _LIST_METADATA.write(resource_version, continue_token, remaining_item_count)
    return _LIST.write([metadata], items)


def read_event(frame: bytes) -> tuple[str, bytes, bytes]:
    """Return the type of a watch event, the input of ``read_kind``, and the object's message.

    Raises:
        DecodeError: The frame is not an event.
    """
    try:
        said, wrapped = _EVENT.read(frame)
        (body,) = _RAW.read(joined(wrapped))
        return said, *_opened(body)
    except _MALFORMED as error:
        raise DecodeError(f"it does not decode as an event: {error}") from error


def read_kind(type_meta: bytes) -> tuple[str, str]:
    """Return the apiVersion and the kind of an event's object.

    Raises:
        DecodeError: The data is malformed.
    """
    try:
        api_version, kind = _KIND.read(type_meta)
        return api_version, kind
    except _MALFORMED as error:
        raise DecodeError(f"its kind does not decode: {error}") from error


def write_event(type: str, body: bytes) -> bytes:
    """Create the frame of an event, with its length; the inverse of ``read_event``."""
    frame = _EVENT.write(type, [_RAW.write(body)])
    return len(frame).to_bytes(4, "big") + frame
