"""What servers wrap protobuf in: bodies, lists and events in; what is inside them out."""

from __future__ import annotations

from typing import NamedTuple

from google.protobuf.message import DecodeError as ParseError

from kinform.errors import DecodeError
from kinform.protobuf._partial_message import PartialMessage, joined

MAGIC = b"k8s\0"

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


class Body(NamedTuple):
    """What was in a body: which kind it says it is, and the bytes of its message."""

    api_version: str
    kind: str
    raw: bytes


def unwrap(body: bytes) -> Body:
    """Take the envelope off.

    Raises:
        DecodeError: It has none, or one that does not decode.
    """
    try:
        type_meta, raw = _opened(body)
        api_version, kind = _KIND.read(type_meta)
        return Body(api_version, kind, raw)
    except _MALFORMED as error:
        raise DecodeError(f"its envelope does not decode: {error}") from error


def _opened(body: bytes) -> tuple[bytes, bytes]:
    """The kind and the message in an envelope. Raises DecodeError, and what the parser raises."""
    if not body.startswith(MAGIC):
        raise DecodeError(f"it is not protobuf of Kubernetes; it begins {body[:16]!r}")
    type_meta, raw, encoding, content_type = _ENVELOPE.read(body[len(MAGIC) :])
    if encoding or content_type:
        raise DecodeError(
            f"it is {content_type or 'something'} inside of protobuf "
            f"({encoding or 'not encoded'}), which is not understood"
        )
    return joined(type_meta), raw


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """The inverse of ``unwrap``."""
    # Go writes the last two, empty or not.
    return MAGIC + _ENVELOPE.write([_KIND.write(api_version, kind)], raw, "", "")


class ListBody(NamedTuple):
    """A list, cut into its items."""

    resource_version: str
    continue_token: str
    remaining_item_count: int | None
    items: list[bytes]


def split_list(raw: bytes) -> ListBody:
    """The items of a list's message, none of them looked into.

    Raises:
        DecodeError: It is no list.
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
    """The inverse of ``split_list``."""
    metadata = _LIST_METADATA.write(resource_version, continue_token, remaining_item_count)
    return _LIST.write([metadata], items)


def read_event(frame: bytes) -> tuple[str, bytes, bytes]:
    """One event of a watch: its type, what ``read_kind`` reads, and the message of its object.

    Raises:
        DecodeError: It is none.
    """
    try:
        said, wrapped = _EVENT.read(frame)
        (body,) = _RAW.read(joined(wrapped))
        return said, *_opened(body)
    except _MALFORMED as error:
        raise DecodeError(f"it does not decode as an event: {error}") from error


def read_kind(type_meta: bytes) -> tuple[str, str]:
    """The apiVersion and the kind of an event's object.

    Raises:
        DecodeError: It says none.
    """
    try:
        api_version, kind = _KIND.read(type_meta)
        return api_version, kind
    except _MALFORMED as error:
        raise DecodeError(f"its kind does not decode: {error}") from error


def write_event(type: str, body: bytes) -> bytes:
    """The inverse of ``read_event``, with the length in front."""
    frame = _EVENT.write(type, [_RAW.write(body)])
    return len(frame).to_bytes(4, "big") + frame
