"""A server on loopback that sends any bytes, valid HTTP or not, over TCP or TLS."""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Protocol, Self, TypeVar

from kinform.testing.server import ServerCertificates

_LARGEST_REQUEST = 64 * 1024


class Writer(Protocol):
    """The sending side of a connection."""

    def write(self, data: bytes, /) -> None: ...

    async def drain(self) -> None: ...


R = TypeVar("R")

Script = Callable[[bytes, Writer], Awaitable[None]]
"""Receives the head of a request, and writes the response."""


@functools.cache
def certificates() -> ServerCertificates:
    """Return a certificate authority and a certificate for all servers of a test run."""
    return ServerCertificates()


class TlsConnection:
    """TLS in memory above a TCP connection, so that scripts can also send bytes below TLS.

    Attributes:
        tcp: The connection below.
        notifies: Whether the end of the data is announced, as TLS requires.
    """

    def __init__(self, reader: asyncio.StreamReader, tcp: asyncio.StreamWriter) -> None:
        self.tcp = tcp
        self.notifies = True
        self._reader = reader
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = certificates().context
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    async def read_head(self) -> bytes:
        """Shake hands, and return the head of a request."""
        await self._exchange(self._tls.do_handshake)
        head = b""
        while b"\r\n\r\n" not in head:
            head += await self._exchange(lambda: self._tls.read(_LARGEST_REQUEST))
        return head

    def encrypt(self, data: bytes) -> bytes:
        """Return the records of ``data`` without sending them."""
        for start in range(0, len(data), _LARGEST_REQUEST):
            self._tls.write(data[start : start + _LARGEST_REQUEST])
        return self._outgoing.read()

    def write(self, data: bytes, /) -> None:
        self.tcp.write(self.encrypt(data))

    async def drain(self) -> None:
        await self.tcp.drain()

    def end(self) -> None:
        """Announce the end of the data."""
        if self.notifies:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
            self.tcp.write(self._outgoing.read())

    async def _exchange(self, step: Callable[[], R]) -> R:
        """Repeat a step of the protocol until it needs no more data from the client."""
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                self.tcp.write(self._outgoing.read())
                received = await self._reader.read(_LARGEST_REQUEST)
                if not received:
                    raise ConnectionResetError from None
                self._incoming.write(received)
            finally:
                self.tcp.write(self._outgoing.read())


class RawServer:
    """Calls ``script`` for the first request of each connection, then closes the connection.

    Args:
        script: Writes the responses.
        tls: Whether to use TLS, with ``certificates()``.
        greeting: Returns bytes to send instead of a TLS handshake, or none.

    Attributes:
        url: The address.
        requests: The heads received.
        asked: Set with the first of them, or with the first greeting.
    """

    def __init__(
        self, script: Script, *, tls: bool = False, greeting: Callable[[], bytes] = bytes
    ) -> None:
        self._script = script
        self._tls = tls
        self._greeting = greeting
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.url = ""
        self.requests: list[bytes] = []
        self.asked = asyncio.Event()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connected, "127.0.0.1", 0, limit=_LARGEST_REQUEST
        )
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._tls else 'http'}://127.0.0.1:{port}"
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

    async def _connected(self, reader: asyncio.StreamReader, tcp: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                if greeting := self._greeting():
                    await reader.read(_LARGEST_REQUEST)
                    tcp.write(greeting)
                    self.asked.set()
                elif self._tls:
                    await self._serve_tls(TlsConnection(reader, tcp))
                else:
                    await self._serve(await reader.readuntil(b"\r\n\r\n"), tcp)
                await tcp.drain()
                if tcp.can_write_eof():
                    tcp.write_eof()
        finally:
            self._connections.discard(task)
            tcp.close()

    async def _serve_tls(self, connection: TlsConnection) -> None:
        await self._serve(await connection.read_head(), connection)
        connection.end()

    async def _serve(self, head: bytes, writer: Writer) -> None:
        self.requests.append(head)
        self.asked.set()
        await self._script(head, writer)


def always(response: bytes) -> Script:
    """Return a script with one response to everything."""

    async def send(head: bytes, writer: Writer) -> None:
        writer.write(response)

    return send
