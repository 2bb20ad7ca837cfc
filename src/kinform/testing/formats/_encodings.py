"""Encodes objects, events and lists from stored JSON into the format that a client accepts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import msgspec

from kinform.errors import NotAcceptableError
from kinform.testing.formats._content_negotiation import (
    JSON,
    PROTOBUF,
    YAML,
    ResponseFormat,
    error_format,
    negotiate,
)
from kinform.testing.formats._representation import Representation
from kinform.testing.interception import EventEncoding, ListResponse

if TYPE_CHECKING:
    from kinform.testing.formats.protobuf import MessageCache

_PIECE = 256 * 1024


class Encoding(EventEncoding, Protocol):
    """One format of responses."""

    content_type: str
    watch_type: str

    def body(self, json: bytes) -> bytes:
        """Encode a single object."""
        ...

    def list(self, response: ListResponse) -> Iterator[bytes]:
        """Encode a list in chunks, each large enough for a separate write."""
        ...


class Encodings:
    """The formats of a server. Caches translated objects."""

    def __init__(self) -> None:
        self._cache: MessageCache | None = None

    def objects(self, form: ResponseFormat, view: Representation, *, pretty: bool) -> Encoding:
        """Return the encoding for objects in a view."""
        if form.media_type == PROTOBUF:
            return self._protobuf(view.api_version, view.kind)
        return _text(form.media_type, custom=view.custom, pretty=pretty)

    def stream(self, accept: str, *, custom: bool) -> Encoding:
        """Return the encoding for a watch without objects; JSON if no accepted format exists."""
        try:
            form = negotiate(accept, custom=custom, watch=True)
        except NotAcceptableError:
            form = ResponseFormat()
        if form.media_type == PROTOBUF:
            return self._protobuf("v1", "Status")
        return _text(form.media_type, custom=custom, pretty=False)

    def errors(self, accept: str, *, pretty: bool = False) -> Encoding:
        """Return the encoding for a ``Status`` with an error."""
        media_type = error_format(accept)
        if media_type == PROTOBUF:
            return self._protobuf("v1", "Status")
        return _text(media_type, custom=False, pretty=pretty)

    def _protobuf(self, api_version: str, kind: str) -> Encoding:
        # Imported on first use, because most tests do not need it.
        from kinform.testing.formats.protobuf import MessageCache, ProtobufEncoding

        if self._cache is None:
            self._cache = MessageCache()
        return ProtobufEncoding(self._cache, api_version, kind)


def _text(media_type: str, *, custom: bool, pretty: bool) -> Encoding:
    if media_type == YAML:
        return YamlEncoding(custom=custom)
    return JsonEncoding(custom=custom, pretty=pretty)


class JsonEncoding:
    """JSON on one line, or on several lines for human readers."""

    content_type = watch_type = JSON

    def __init__(self, *, custom: bool, pretty: bool = False) -> None:
        self._custom = custom
        self._pretty = pretty

    def body(self, json: bytes) -> bytes:
        return msgspec.json.format(json, indent=2) if self._pretty else json + b"\n"

    def event(self, type: bytes, json: bytes) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (type, json)

    def frame(self, content: bytes) -> bytes:
        return content

    def list(self, response: ListResponse) -> Iterator[bytes]:
        if self._pretty:
            yield self.body(b"".join(_list_of(response, custom=self._custom)))
            return
        parts: list[bytes] = []
        size = 0
        for part in _list_of(response, custom=self._custom):
            parts.append(part)
            size += len(part)
            if size >= _PIECE:
                yield b"".join(parts)
                parts, size = [], 0
        yield b"".join((*parts, b"\n"))


class YamlEncoding(JsonEncoding):
    """YAML, which is not available for watches."""

    content_type = YAML

    def body(self, json: bytes) -> bytes:
        import yaml  # YAML is rarely requested

        return yaml.safe_dump(msgspec.json.decode(json)).encode()

    def list(self, response: ListResponse) -> Iterator[bytes]:
        yield self.body(b"".join(_list_of(response, custom=self._custom)))


def _list_of(response: ListResponse, *, custom: bool) -> Iterator[bytes]:
    encode = msgspec.json.encode
    kind, version = encode(response.kind), encode(response.api_version)
    metadata = encode(dict(response.metadata))
    if custom:
        yield b'{"apiVersion":%b,"items":[' % version
        tail = b'],"kind":%b,"metadata":%b}' % (kind, metadata)
    else:
        yield b'{"kind":%b,"apiVersion":%b,"metadata":%b,"items":[' % (kind, version, metadata)
        tail = b"]}"
    separator = b""
    for item in response.items:
        yield separator
        yield item
        separator = b","
    yield tail
