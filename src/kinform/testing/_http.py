"""Writes responses to HTTP connections, with aiohttp."""

from __future__ import annotations

import asyncio
import socket
import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping

from aiohttp import web

from kinform.testing._interception import Sink

# Larger responses are compressed if the client accepts it.
GZIP_THRESHOLD = 128 * 1024
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class HttpSink:
    """The response to one HTTP request."""

    def __init__(self, request: web.BaseRequest) -> None:
        self._request = request
        self.response: web.StreamResponse | None = None

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        response = web.StreamResponse(status=status, headers=headers)
        # Replaces the default header of aiohttp, which names its version.
        response.headers["Server"] = "kinform"
        if "Content-Length" not in headers and status != 304:
            response.enable_chunked_encoding()
        self.response = response
        await response.prepare(self._request)

    async def write(self, data: bytes) -> None:
        assert self.response is not None  # start comes first
        await self.response.write(data)

    async def finish(self) -> None:
        assert self.response is not None  # start comes first
        await self.response.write_eof()

    def abort(self) -> None:
        if (transport := self._request.transport) is not None:
            transport.abort()

    def cut(self) -> None:
        if (transport := self._request.transport) is not None:
            transport.close()

    def reset(self) -> None:
        if (transport := self._request.transport) is not None:
            connection = transport.get_extra_info("socket")
            if connection is not None:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            transport.abort()


def gzip_member(data: bytes) -> bytes:
    """Return one gzip member, flushed before its end, as Go's encoder writes it.

    A reader in Go returns the last block of a member only when the next member has started.
    Therefore the last block must be empty; otherwise the reader holds back data it already has.
    """
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    flushed = compressor.compress(data) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return flushed + compressor.flush()


class MemberGzipSink:
    """Compresses each write as a separate gzip member, as the server does for streaming lists."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.finish = sink.finish
        self.abort = sink.abort
        self.cut = sink.cut
        self.reset = sink.reset

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        encoding = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        await self._sink.start(status, {**headers, **encoding})

    async def write(self, data: bytes) -> None:
        await self._sink.write(gzip_member(data))


def common_headers(content_type: str = "application/json") -> dict[str, str]:
    """Return the headers of all responses of an API server."""
    return {
        "Audit-Id": str(uuid.uuid4()),
        "Cache-Control": "no-cache, private",
        "Content-Type": content_type,
        "X-Kubernetes-Pf-Flowschema-Uid": "7d5c5fd4-6f0a-4d5e-9e6b-0d4b2b9c2f10",
        "X-Kubernetes-Pf-Prioritylevel-Uid": "f3a1c2b0-52a4-4f0c-8b53-1c2f5d6b7a11",
    }


def accepts_gzip(header: str) -> bool:
    return any(part.partition(";")[0].strip() == "gzip" for part in header.split(","))


async def send_body(
    sink: Sink, status: int, headers: Mapping[str, str], body: bytes, *, gzip: bool = False
) -> None:
    """Send a complete response, compressed if it is large and ``gzip`` allows it."""
    extra = dict(headers)
    if gzip and len(body) > GZIP_THRESHOLD:
        body = zlib.compress(body, 1, 31)
        extra |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    extra["Content-Length"] = str(len(body))
    await sink.start(status, extra)
    if body:
        await sink.write(body)
    await sink.finish()


async def send_pieces(
    sink: Sink, headers: Mapping[str, str], pieces: Iterable[bytes], *, gzip: bool
) -> None:
    """Send a response while it is produced. If it is a single piece, send it as a whole."""
    iterator = iter(pieces)
    first = next(iterator)
    second = next(iterator, None)
    if second is None:
        await send_body(sink, 200, headers, first, gzip=gzip)
        return
    extra = dict(headers)
    if gzip:
        extra |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    await sink.start(200, extra)
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31) if gzip else None
    following: bytes | None = first
    while following is not None:
        data = compressor.compress(following) if compressor else following
        if data:
            await sink.write(data)
        # A socket that accepts everything immediately must not starve other tasks.
        await asyncio.sleep(0)
        following, second = second, next(iterator, None)
    if compressor:
        await sink.write(compressor.flush())
    await sink.finish()
