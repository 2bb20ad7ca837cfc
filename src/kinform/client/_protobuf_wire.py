"""The protobuf wire format: decodes objects, lists, events and statuses."""

from __future__ import annotations

from struct import Struct

import msgspec

from kinform._native import try_events
from kinform.api import GVK
from kinform.client._frames import EVENT_SHAPES, EventType, Frame
from kinform.client._garbage import GarbageLimit
from kinform.client._status import Status, error_from_status
from kinform.client._wire import Framing, SplitList, Wire, inside_an_event, item_gvk, too_long
from kinform.errors import DecodeError, InvalidNameError
from kinform.objects import Head, Record
from kinform.protobuf import (
    ProtobufCodec,
    codec_for,
    owners_of,
    read_event,
    read_kind,
    split_list,
    unwrap,
)

_LENGTH = 4
_read_length = Struct(">I").unpack_from
_TYPES: dict[str, EventType] = {str(each): each for each in EventType}


class ProtobufWire:
    """Decodes protobuf responses."""

    def read_object(self, body: bytes) -> Record:
        found = unwrap(body)
        return Record.read(found.raw, _codec_of(_gvk_of(found.api_version, found.kind)))

    def read_list(self, body: bytes, what: str) -> SplitList:
        try:
            found = unwrap(body)
            gvk = item_gvk(found.api_version, found.kind)
            if gvk is None:
                raise DecodeError(f"a {found.kind or 'document without a kind'}, not a list")
            codec = _codec_of(gvk)
            cut = split_list(found.raw)
        except DecodeError as error:
            raise DecodeError(f"{what}: the answer is not a list: {error}") from error
        return SplitList(
            found.kind,
            cut.items,
            codec,
            gvk,
            cut.resource_version,
            cut.continue_token,
            cut.remaining_item_count,
        )

    def read_status(self, body: bytes) -> Status:
        return _status_of(*unwrap(body))

    def framing(self, longest: int) -> Framing:
        return _ProtobufFraming(longest)


class _ProtobufFraming:
    """Splits a stream into events, each preceded by its length in four bytes."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._size = 0
        self._needed = _LENGTH
        # All events of a stream have the same kind, so it is parsed once.
        self._kind: tuple[bytes, GVK, ProtobufCodec] | None = None
        self._garbage = GarbageLimit()

    def feed(self, chunk: bytes) -> list[Frame]:
        frames: list[Frame] = []
        if self._garbage.nameless:
            self._garbage.next_chunk()
        start, end = 0, len(chunk)
        # Pieces of an event are joined once, and contain only bytes of that event.
        while self._pieces and start < end:
            piece = chunk[start : start + self._needed - self._size]
            start += len(piece)
            self._keep(piece)
            if self._size == self._needed:
                self._take_joined(frames)
        if start < end:
            start = self._take(chunk, start, frames)
        if start < end:
            self._keep(chunk[start:])
        return frames

    def _take(self, data: bytes, start: int, frames: list[Frame]) -> int:
        """Append all complete events to ``frames``, and return the position after them."""
        end = len(data)
        while end - start >= _LENGTH:
            if self._kind is not None and self._kind[2].has_objects:
                usual, start = try_events(
                    data, start, self._longest, *self._kind, Head, owners_of, EVENT_SHAPES
                )
                frames += usual
                if end - start < _LENGTH:
                    break
            length: int = _read_length(data, start)[0]
            if length > self._longest:
                raise too_long(self._longest)
            stop = start + _LENGTH + length
            if stop > end:
                self._needed = stop - start
                break
            frame = self._decode(data[start + _LENGTH : stop])
            if frame.record is None:
                self._garbage.count(frame)
            frames.append(frame)
            start = stop
        return start

    def _take_joined(self, frames: list[Frame]) -> None:
        """Process the joined pieces, which contain a length or a whole event."""
        data = b"".join(self._pieces)
        if self._take(data, 0, frames):
            self._pieces, self._size, self._needed = [], 0, _LENGTH
        else:
            self._pieces = [data]

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)

    def finish(self, what: str) -> list[Frame]:
        if self._size:
            raise inside_an_event(what, self._size)
        return []

    def _decode(self, frame: bytes) -> Frame:
        """Decode one event. Invalid bytes become an ERROR frame with a DecodeError."""
        try:
            type_name, type_meta, raw = read_event(frame)
        except DecodeError as error:
            wrong = DecodeError(f"not a watch event: {error}")
            return Frame(EventType.ERROR, error=wrong, payload=frame)
        kind = _TYPES.get(type_name)
        if kind is None:
            unknown = DecodeError(f"an event of the unknown type {type_name[:60]!r}")
            return Frame(EventType.ERROR, error=unknown, payload=raw)
        try:
            if kind is EventType.ERROR:
                return Frame(kind, error=error_from_status(_status_of(*read_kind(type_meta), raw)))
            if self._kind is None or self._kind[0] != type_meta:
                gvk = _gvk_of(*read_kind(type_meta))
                self._kind = type_meta, gvk, _codec_of(gvk)
            _, gvk, codec = self._kind
            return Frame(kind, Record(raw, codec.head(raw), gvk, codec))
        except DecodeError as error:
            return Frame(kind, error=error, payload=raw)


def _gvk_of(api_version: str, kind: str) -> GVK:
    try:
        return GVK.of(api_version, kind)
    except InvalidNameError as error:
        raise DecodeError(f"its envelope has no valid kind: {error}") from error


def _codec_of(gvk: GVK) -> ProtobufCodec:
    codec = codec_for(gvk)
    if codec is None:
        raise DecodeError(
            f"{gvk} arrived as protobuf, and its schema is not known; "
            'make the client with wire_format="json"'
        )
    return codec


def _status_of(api_version: str, kind: str, raw: bytes) -> Status:
    if kind != "Status":
        raise DecodeError(f"a {kind or 'document without a kind'}, not a Status")
    tree = _codec_of(GVK("", "v1", "Status")).decode(raw)
    return msgspec.convert({**tree, "kind": "Status"}, Status)


PROTOBUF_WIRE: Wire = ProtobufWire()
