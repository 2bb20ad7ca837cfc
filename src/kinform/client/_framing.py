"""A line of a watch in; the event that it is out, scanned once."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from kinform.client._decoding import decode
from kinform.client._status import error_from_status, read_status
from kinform.errors import ApiError, DecodeError
from kinform.objects import Codec, Record


class EventType(StrEnum):
    """What a watch says happened."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class Frame(msgspec.Struct, frozen=True):
    """One event as it came. Exactly one of ``record`` and ``error`` is there.

    Attributes:
        type: What happened.
        record: The object.
        error: The server's refusal if the type is ERROR, or why the object does not decode.
        payload: The object's bytes if it does not decode, so that nothing is lost.
    """

    type: EventType
    record: Record | None = None
    error: ApiError | DecodeError | None = None
    payload: bytes = b""


# Those that have an object, the most frequent ones first.
_OBJECT_EVENTS = (EventType.MODIFIED, EventType.ADDED, EventType.DELETED, EventType.BOOKMARK)

EVENT_SHAPES = (Record, Frame, _OBJECT_EVENTS)
"""What compiled code makes of an event."""


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_event_decoder = msgspec.json.Decoder(_Event)

# Servers write every event with this very prefix, so the object is a slice of the line and one
# scan (of its head) does for both. Whatever looks different takes the general path.
_PREFIXES = tuple((b'{"type":"%s","object":' % kind.encode(), kind) for kind in _OBJECT_EVENTS)


class FrameDecoder:
    """Lines in, frames out."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def decode(self, line: bytes) -> Frame:
        """One event. A line that is none at all comes out as an ERROR frame with a DecodeError."""
        for prefix, kind in _PREFIXES:
            if line.startswith(prefix) and line.endswith(b"}"):
                try:
                    return Frame(kind, Record.read(line[len(prefix) : -1], self._codec))
                except DecodeError:
                    break
        return self._decode_any(line)

    def _decode_any(self, line: bytes) -> Frame:
        try:
            event = decode(_event_decoder, line, problem="not a watch event")
        except DecodeError as error:
            return Frame(EventType.ERROR, error=error, payload=line)
        payload = bytes(event.object)
        if event.type not in EventType.__members__:
            unknown = DecodeError(f"an event of the unknown type {event.type[:60]!r}")
            return Frame(EventType.ERROR, error=unknown, payload=payload)
        kind = EventType(event.type)
        try:
            if kind is EventType.ERROR:
                return Frame(kind, error=error_from_status(read_status(payload)))
            return Frame(kind, Record.read(payload, self._codec))
        except DecodeError as error:
            return Frame(kind, error=error, payload=payload)
