"""The JSON wire format: decodes objects, lists, events and statuses."""

from __future__ import annotations

import re

import msgspec

from kinform._native import try_lines
from kinform.api import GVK
from kinform.client._frames import EVENT_SHAPES, Frame, FrameDecoder
from kinform.client._garbage import GarbageLimit
from kinform.client._json_decoding import decode
from kinform.client._status import Status, read_status
from kinform.client._wire import Framing, SplitList, Wire, inside_an_event, item_gvk, too_long
from kinform.errors import DecodeError
from kinform.objects import JSON, Record, head_decoder


class _ListMeta(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str | None = None
    continue_token: str | None = msgspec.field(default=None, name="continue")
    remaining_item_count: int | None = None


class _List(msgspec.Struct, gc=False, rename="camel"):
    kind: str = ""
    api_version: str = ""
    metadata: _ListMeta | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET


_list_decoder = msgspec.json.Decoder(_List)
_read_head = head_decoder.decode
_WHITESPACE = b" \t\r\n"
_whitespace = re.compile(rb"[ \t\r\n]*")


class JsonWire:
    """Decodes JSON responses."""

    def read_object(self, body: bytes) -> Record:
        return Record.read(body, JSON)

    def read_list(self, body: bytes, what: str) -> SplitList:
        found = decode(_list_decoder, body, problem=f"{what}: the answer is not a list")
        # Do not check the kind: a CRD may name its list kind freely.
        if found.items is msgspec.UNSET:
            raise DecodeError(
                f"{what}: the answer is a {found.kind or 'document without a kind'}, not a list"
            )
        metadata = found.metadata or _ListMeta()
        return SplitList(
            found.kind,
            found.items or (),
            JSON,
            item_gvk(found.api_version, found.kind),
            metadata.resource_version or "",
            metadata.continue_token or "",
            metadata.remaining_item_count,
        )

    def read_status(self, body: bytes) -> Status:
        return read_status(body)

    def framing(self, longest: int) -> Framing:
        return _JsonFraming(longest)


class _JsonFraming:
    """Splits a stream into lines, one per event; only ``\\n`` ends a line.

    (``str.splitlines`` would also split at U+0085, which is valid inside a JSON string and which
    servers do not escape.)
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        # Pieces of a long line are joined once, to avoid quadratic growth.
        self._pieces: list[bytes] = []
        self._size = 0
        self._decode_line = FrameDecoder(JSON).decode
        # All events of a stream have the same kind.
        self._kind: tuple[str, str, GVK] | None = None
        self._garbage = GarbageLimit()

    def feed(self, chunk: bytes) -> list[Frame]:
        frames: list[Frame] = []
        if self._garbage.nameless:
            self._garbage.next_chunk()
        start = 0
        if self._pieces:
            start = chunk.find(b"\n") + 1
            if not start:
                self._keep(chunk)
                return frames
            self._keep(chunk[: start - 1])
            line = self._joined()
            self._pieces, self._size = [], 0
            self._take(line, frames)
        while True:
            if self._kind is not None:
                usual, start = try_lines(
                    chunk, start, self._longest, _read_head, *self._kind, JSON, EVENT_SHAPES
                )
                frames += usual
            # `find` skips to the next end of line, `split` examines every byte
            # (benchmarks/run.py --only ingest).
            end = chunk.find(b"\n", start)
            if end < 0:
                break
            if chunk[start] in _WHITESPACE:
                # A chunk can consist of empty lines.
                start = _skip_whitespace(chunk, start)
                continue
            if end - start > self._longest:
                raise too_long(self._longest)
            self._take(chunk[start:end], frames)
            start = end + 1
        if start < len(chunk):
            self._keep(chunk[start:])
        return frames

    def finish(self, what: str) -> list[Frame]:
        rest = self._joined().strip()
        if not rest:
            return []
        frame = self._decode_line(rest)
        if isinstance(frame.error, DecodeError):
            raise inside_an_event(what, len(rest)) from frame.error
        return [frame]

    def _take(self, line: bytes, frames: list[Frame]) -> None:
        if not line or line.isspace():
            return
        frame = self._decode_line(line)
        frames.append(frame)
        if frame.record is not None:
            gvk = frame.record.gvk
            self._kind = gvk.api_version, gvk.kind, gvk
        else:
            self._garbage.count(frame)

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > self._longest:
            raise too_long(self._longest)

    def _joined(self) -> bytes:
        return b"".join(self._pieces)


def _skip_whitespace(chunk: bytes, start: int) -> int:
    found = _whitespace.match(chunk, start)
    return found.end() if found else start


JSON_WIRE: Wire = JsonWire()
