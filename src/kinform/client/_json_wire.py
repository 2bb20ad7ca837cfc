"""Answers in JSON in; records, lists, events and statuses out."""

from __future__ import annotations

import msgspec

from kinform.client._decoding import decode
from kinform.client._framing import Frame, FrameDecoder, LineSplitter
from kinform.client._status import Status, read_status
from kinform.client._wire import Envelope, Framing, Wire, inside_an_event, item_gvk
from kinform.errors import DecodeError
from kinform.objects import JSON, Record


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


class JsonWire:
    """Answers in JSON."""

    def read_object(self, body: bytes) -> Record:
        return Record.read(body, JSON)

    def read_list(self, body: bytes, what: str) -> Envelope:
        found = decode(_list_decoder, body, problem=f"{what}: the answer is not a list")
        # Not by its name: who makes a CRD may call its lists as they like.
        if found.items is msgspec.UNSET:
            raise DecodeError(
                f"{what}: the answer is a {found.kind or 'thing of no kind'}, not a list"
            )
        metadata = found.metadata or _ListMeta()
        return Envelope(
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
    def __init__(self, longest: int) -> None:
        self._splitter = LineSplitter(longest)
        self._decode = FrameDecoder(JSON).decode

    def feed(self, chunk: bytes) -> list[Frame]:
        decode = self._decode
        lines = self._splitter.feed(chunk)
        return [decode(line) for line in lines if line and not line.isspace()]

    def finish(self, what: str) -> list[Frame]:
        rest = self._splitter.rest().strip()
        if not rest:
            return []
        frame = self._decode(rest)
        if isinstance(frame.error, DecodeError):
            raise inside_an_event(what, len(rest)) from frame.error
        return [frame]


JSON_WIRE: Wire = JsonWire()
