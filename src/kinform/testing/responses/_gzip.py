"""Compression in gzip members, as kube-apiserver streams lists."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from kinform.testing.interception import Sink


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
