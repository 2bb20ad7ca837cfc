"""Wire formats: selects the decoder for a response by its content type, JSON or protobuf.

Both return the same records, lists, frames and statuses, so callers need not distinguish them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from kinform.api import GVK
from kinform.client._frames import Frame
from kinform.client._status import Status
from kinform.errors import DecodeError, InvalidNameError, WatchError
from kinform.objects import Codec, Record

PROTOBUF = "application/vnd.kubernetes.protobuf"

_SHOWN = 100


class SplitList(NamedTuple):
    """A list, split into items that are not decoded yet."""

    kind: str
    items: Sequence[Any]
    codec: Codec
    item_gvk: GVK | None
    resource_version: str
    continue_token: str
    remaining_item_count: int | None


class Framing(Protocol):
    """Splits a byte stream into watch events."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the events completed by this chunk. Raises WatchError if one is too large."""
        ...

    def finish(self, what: str) -> list[Frame]:
        """Return the remaining events. Raises WatchError if the stream ended within an event."""
        ...


class Wire(Protocol):
    """The decoder of one wire format."""

    def read_object(self, body: bytes) -> Record:
        """Decode an object. Raises DecodeError."""
        ...

    def read_list(self, body: bytes, what: str) -> SplitList:
        """Decode a list. Raises DecodeError."""
        ...

    def read_status(self, body: bytes) -> Status:
        """Decode a Status. Raises DecodeError."""
        ...

    def framing(self, longest: int) -> Framing:
        """Return a splitter for a watch with events of at most ``longest`` bytes."""
        ...


def wire_for(content_type: str, *, what: str) -> Wire:
    """Return the decoder for a content type. A missing one is treated as JSON.

    Raises:
        DecodeError: The type is unknown, such as the HTML page of a proxy.
    """
    media_type = content_type.lower()
    if not media_type or "json" in media_type:
        from kinform.client._json_wire import JSON_WIRE

        return JSON_WIRE
    if media_type.startswith(PROTOBUF):
        # Imported on first use: not every program receives protobuf.
        from kinform.client._protobuf_wire import PROTOBUF_WIRE

        return PROTOBUF_WIRE
    # Bytes that are not UTF-8 cannot be printed.
    shown = content_type[:_SHOWN].encode("ascii", "backslashreplace").decode()
    raise DecodeError(
        f"{what}: the answer is {shown}, neither JSON nor protobuf; "
        "is there a proxy or a login page in between?"
    )


def item_gvk(api_version: str, kind: str) -> GVK | None:
    """Derive the kind of the items from the list: items of built-in lists do not contain it."""
    if not kind.endswith("List"):
        return None
    try:
        return GVK.of(api_version, kind.removesuffix("List"))
    except InvalidNameError:
        return None


def inside_an_event(what: str, size: int) -> WatchError:
    """Return the error for a stream that ended within an event."""
    return WatchError(f"{what}: the stream ended inside an event of {size} bytes")


def too_long(limit: int) -> WatchError:
    """Return the error for an event that exceeds the maximum size."""
    return WatchError(
        f"an event of this watch is longer than {limit} bytes; "
        "raise max_body_size if objects can be that large"
    )
