"""An answer's content type in; how to read such answers out: JSON, or protobuf.

Nothing above this knows which one it was: both give the same records, lists, frames and statuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from kinform.api import GVK
from kinform.client._framing import Frame
from kinform.client._status import Status
from kinform.errors import DecodeError, InvalidNameError, WatchError
from kinform.objects import Codec, Record

PROTOBUF = "application/vnd.kubernetes.protobuf"


class Envelope(NamedTuple):
    """A list, cut into items that nobody has looked into yet."""

    kind: str
    items: Sequence[Any]
    codec: Codec
    item_gvk: GVK | None
    resource_version: str
    continue_token: str
    remaining_item_count: int | None


class Framing(Protocol):
    """Pieces of a watch in, cut anywhere; its events out."""

    def feed(self, chunk: bytes) -> list[Frame]:
        """The events that this piece completes. Raises WatchError if one is too large."""
        ...

    def finish(self, what: str) -> list[Frame]:
        """At the end of the stream: what is left. Raises WatchError if it ended inside of one."""
        ...


class Wire(Protocol):
    """One form of answers."""

    def read_object(self, body: bytes) -> Record:
        """Raises DecodeError if it is none."""
        ...

    def read_list(self, body: bytes, what: str) -> Envelope:
        """Raises DecodeError if it is none."""
        ...

    def read_status(self, body: bytes) -> Status:
        """Raises DecodeError if it is something else."""
        ...

    def framing(self, longest: int) -> Framing:
        """For a watch whose events have at most so many bytes."""
        ...


def wire_for(content_type: str, *, what: str) -> Wire:
    """How to read an answer. One that does not say what it is may be JSON.

    Raises:
        DecodeError: It is something else: a page of some proxy, most likely.
    """
    said = content_type.lower()
    if not said or "json" in said:
        from kinform.client._json_wire import JSON_WIRE

        return JSON_WIRE
    if said.startswith(PROTOBUF):
        # Loaded with the first such answer: not every program ever gets one.
        from kinform.client._protobuf_wire import PROTOBUF_WIRE

        return PROTOBUF_WIRE
    raise DecodeError(
        f"{what}: the answer is {content_type}, neither JSON nor protobuf; "
        "is there a proxy or a login page in between?"
    )


def item_gvk(api_version: str, kind: str) -> GVK | None:
    """Items of built-in lists do not say their kind; the list's own name tells it."""
    if not kind.endswith("List"):
        return None
    try:
        return GVK.of(api_version, kind.removesuffix("List"))
    except InvalidNameError:
        return None


def inside_an_event(what: str, size: int) -> WatchError:
    """The error for a stream that ended too early."""
    return WatchError(f"{what}: the stream ended inside an event of {size} bytes")


def too_long(limit: int) -> WatchError:
    """The error for an event that is larger than we agreed to hold."""
    return WatchError(
        f"an event of this watch is longer than {limit} bytes; "
        "raise max_body_size if objects can be that large"
    )
