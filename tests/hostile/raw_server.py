"""A server on loopback that sends any bytes, valid HTTP or not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

Script = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
"""Receives the head of a request, and writes the response."""

_LARGEST_REQUEST = 64 * 1024


class RawServer:
    """Calls ``script`` for the first request of each connection, then closes the connection.

    Attributes:
        url: The address.
        requests: The heads received.
        asked: Set with the first of them.
    """

    def __init__(self, script: Script) -> None:
        self._script = script
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.url = ""
        self.requests: list[bytes] = []
        self.asked = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, limit=_LARGEST_REQUEST
        )
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in tuple(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head)
                self.asked.set()
                await self._script(head, writer)
                await writer.drain()
                if writer.can_write_eof():
                    writer.write_eof()
        finally:
            self._connections.discard(task)
            writer.close()


def always(response: bytes) -> Script:
    """Return a script with one response to everything."""

    async def send(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(response)

    return send
