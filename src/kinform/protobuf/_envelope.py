"""What servers wrap protobuf in: bodies, lists and events in; what is inside them out.

Messages of our own declare only what is needed of them; the rest is skipped, not decoded. Items
of a list are declared as bytes, so that a list is cut without looking into any of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from google.protobuf.message import DecodeError as ParseError

from kinform.errors import DecodeError
from kinform.protobuf._messages import own_messages

MAGIC = b"k8s\0"

_ours = own_messages(
    {
        "TypeMeta": "apiVersion 1 string -\n kind 2 string -",
        "Unknown": """
            typeMeta 1 TypeMeta -
            raw 2 bytes -
            contentEncoding 3 *string -
            contentType 4 *string -
        """,
        # The same, with the kind left as it is: a stream says the same one with each event.
        "Enveloped": """
            typeMeta 1 bytes -
            raw 2 bytes -
            contentEncoding 3 *string -
            contentType 4 *string -
        """,
        "RawExtension": "raw 1 bytes -",
        "WatchEvent": "type 1 string -\n object 2 RawExtension -",
        "ListMeta": """
            resourceVersion 2 string -
            continue 3 string -
            remainingItemCount 4 *int64 -
        """,
        "List": "metadata 1 ListMeta -\n items 2 []bytes -",
    }
)
_TypeMeta, _Unknown = _ours["TypeMeta"], _ours["Unknown"]
_WatchEvent, _Enveloped, _List = _ours["WatchEvent"], _ours["Enveloped"], _ours["List"]

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
    if not body.startswith(MAGIC):
        raise DecodeError(f"it is not protobuf of Kubernetes; it begins {body[:16]!r}")
    try:
        unknown = _Unknown.FromString(body[len(MAGIC) :])
        kind = unknown.typeMeta
        found = Body(kind.apiVersion, kind.kind, unknown.raw)
    except _MALFORMED as error:
        raise DecodeError(f"its envelope does not decode: {error}") from error
    if unknown.contentEncoding or unknown.contentType:
        raise _encoded(unknown)
    return found


def _encoded(unknown: Any) -> DecodeError:
    return DecodeError(
        f"it is {unknown.contentType or 'something'} inside of protobuf "
        f"({unknown.contentEncoding or 'not encoded'}), which is not understood"
    )


def wrap(api_version: str, kind: str, raw: bytes) -> bytes:
    """The inverse of ``unwrap``."""
    unknown = _Unknown(raw=raw)
    unknown.typeMeta.apiVersion = api_version
    unknown.typeMeta.kind = kind
    # Go writes these two, empty or not.
    unknown.contentEncoding = unknown.contentType = ""
    return MAGIC + bytes(unknown.SerializeToString())


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
        found = _List.FromString(raw)
        metadata = found.metadata
        return ListBody(
            metadata.resourceVersion,
            getattr(metadata, "continue"),
            metadata.remainingItemCount if metadata.HasField("remainingItemCount") else None,
            list(found.items),
        )
    except _MALFORMED as error:
        raise DecodeError(f"it does not decode as a list: {error}") from error


def join_list(
    resource_version: str,
    continue_token: str,
    remaining_item_count: int | None,
    items: list[bytes],
) -> bytes:
    """The inverse of ``split_list``."""
    made = _List(items=items)
    made.metadata.resourceVersion = resource_version
    setattr(made.metadata, "continue", continue_token)
    if remaining_item_count is not None:
        made.metadata.remainingItemCount = remaining_item_count
    return bytes(made.SerializeToString())


def read_event(frame: bytes) -> tuple[str, bytes, bytes]:
    """One event of a watch: its type, what ``read_kind`` reads, and the message of its object.

    Raises:
        DecodeError: It is none.
    """
    try:
        event = _WatchEvent.FromString(frame)
        body = event.object.raw
        if not body.startswith(MAGIC):
            raise DecodeError(f"it is not protobuf of Kubernetes; it begins {body[:16]!r}")
        unknown = _Enveloped.FromString(body[len(MAGIC) :])
        if unknown.contentEncoding or unknown.contentType:
            raise _encoded(unknown)
        return event.type, unknown.typeMeta, unknown.raw
    except _MALFORMED as error:
        raise DecodeError(f"it does not decode as an event: {error}") from error


def read_kind(type_meta: bytes) -> tuple[str, str]:
    """The apiVersion and the kind of an event's object.

    Raises:
        DecodeError: It says none.
    """
    try:
        kind = _TypeMeta.FromString(type_meta)
        return kind.apiVersion, kind.kind
    except _MALFORMED as error:
        raise DecodeError(f"its kind does not decode: {error}") from error


def write_event(type: str, body: bytes) -> bytes:
    """The inverse of ``read_event``, with the length in front."""
    event = _WatchEvent(type=type)
    event.object.raw = body
    frame = bytes(event.SerializeToString())
    return len(frame).to_bytes(4, "big") + frame
