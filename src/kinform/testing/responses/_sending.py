"""Sends whole responses: headers, compression, and lists while they are produced."""

from __future__ import annotations

import asyncio
import uuid
import zlib
from collections.abc import Iterable, Mapping

from kinform.testing.interception import Sink

# Larger responses are compressed if the client accepts it.
GZIP_THRESHOLD = 128 * 1024
# User agents of interactive clients, which get formatted JSON.
_INTERACTIVE_AGENTS = ("curl", "Wget", "Mozilla/")


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


def requests_pretty(query: Mapping[str, str], headers: Mapping[str, str]) -> bool:
    """Whether the response is for a human reader."""
    if (asked := query.get("pretty")) is not None:
        return asked.lower() not in ("false", "0")
    return headers.get("User-Agent", "").startswith(_INTERACTIVE_AGENTS)


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
