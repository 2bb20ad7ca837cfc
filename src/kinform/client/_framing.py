"""The bytes of a watch in, cut anywhere; one frame per event out, each scanned once.

Works on bytes alone: only ``\\n`` ends a line. (``str.splitlines`` would also split at U+0085,
which is legal inside a JSON string and which servers send as it is.)
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from kinform.client._decoding import decode
from kinform.client._status import error_from_status, read_status
from kinform.errors import ApiError, DecodeError, WatchError
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


class LineSplitter:
    """Chunks in, whole lines out. A line may have any length up to ``limit``."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._pending: list[bytes] = []
        self._pending_size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, without their ends.

        Raises:
            WatchError: A line is longer than the limit.
        """
        # Pieces of a long line are kept apart and joined once: no quadratic growth. `find` leaps
        # to the next end where `split` looks at every byte (benchmarks/run.py --only ingest).
        end = chunk.find(b"\n")
        if end < 0:
            self._keep(chunk)
            return []
        may_be_too_long = self._pending_size + len(chunk) > self._limit
        lines = [b"".join((*self._pending, chunk[:end]))]
        self._pending.clear()
        self._pending_size = 0
        start = end + 1
        while (end := chunk.find(b"\n", start)) >= 0:
            lines.append(chunk[start:end])
            start = end + 1
        if start < len(chunk):
            self._keep(chunk[start:])
        if may_be_too_long and max(map(len, lines)) > self._limit:
            raise self._too_long()
        return lines

    def rest(self) -> bytes:
        """What came after the last line end."""
        return b"".join(self._pending)

    def _keep(self, piece: bytes) -> None:
        self._pending.append(piece)
        self._pending_size += len(piece)
        if self._pending_size > self._limit:
            raise self._too_long()

    def _too_long(self) -> WatchError:
        return WatchError(
            f"a line of this watch is longer than {self._limit} bytes; "
            "raise max_body_size if objects can be that large"
        )


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


_event_decoder = msgspec.json.Decoder(_Event)

# Servers write every event with this very prefix, so the object is a slice of the line and one
# scan (of its head) does for both. Whatever looks different takes the general path.
_PREFIXES = tuple(
    (b'{"type":"%s","object":' % kind.encode(), kind)
    for kind in (EventType.MODIFIED, EventType.ADDED, EventType.DELETED, EventType.BOOKMARK)
)


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
