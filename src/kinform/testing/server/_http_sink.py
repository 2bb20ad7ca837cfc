"""Writes responses to HTTP connections, with aiohttp."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping

from aiohttp import web

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
