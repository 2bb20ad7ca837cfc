"""Decodes the lines of a watch to events, in a single scan."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from kinform.client._json_decoding import decode
from kinform.client._status import error_from_status, read_status
from kinform.errors import ApiError, DecodeError
from kinform.objects import Codec, Record


class EventType(StrEnum):
    """The type of a watch event."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class Frame(msgspec.Struct, frozen=True):
    """One watch event as received. Exactly one of ``record`` and ``error`` is set.

    Attributes:
        type: The type of the event.
        record: The object.
        error: The refusal of the server if the type is ERROR, or the reason why the object cannot
            be decoded.
        payload: The bytes of an object that cannot be decoded.
    """

    type: EventType
    record: Record | None = None
    error: ApiError | DecodeError | None = None
    payload: bytes = b""

    def __repr__(self) -> str:
        # Without the payload, which may be a Secret.
        return f"Frame({self.type.value}, record={self.record!r}, error={self.error!r})"


# The types with an object, most frequent first.
_OBJECT_EVENTS = (EventType.MODIFIED, EventType.ADDED, EventType.DELETED, EventType.BOOKMARK)

EVENT_SHAPES = (Record, Frame, _OBJECT_EVENTS)
"""The types that compiled code creates for an event."""


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_event_decoder = msgspec.json.Decoder(_Event)

# Servers start every event with exactly this prefix, so the object is a slice of the line and one
# scan (of its head) is enough. Any other line takes the general path.
_PREFIXES = tuple((b'{"type":"%s","object":' % kind.encode(), kind) for kind in _OBJECT_EVENTS)


class FrameDecoder:
    """Decodes lines to frames."""

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def decode(self, line: bytes) -> Frame:
        """Decode one event. An invalid line becomes an ERROR frame with a DecodeError."""
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
