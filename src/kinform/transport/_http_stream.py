"""A streaming HTTP GET over its own connection.

Watches are most of the traffic of an informer. Reading directly into a buffer and parsing here
takes a third less CPU than a general HTTP client (benchmarks/run.py --only sync): TLS records are
not joined, and chunks need no objects.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import cast
from urllib.parse import SplitResult, urlsplit

from kinform._runtime import Demand, ReadOutcome
from kinform.errors import TransportError
from kinform.transport._connection_errors import CONNECTION_ERRORS, lost, not_connected
from kinform.transport._http_body import (
    BodyDecoder,
    MalformedAnswerError,
    ResponseHead,
    body_decoder,
    read_head,
)
from kinform.transport._pacing import Pacing
from kinform.transport._sockets import CONNECT_TIMEOUT, connected_socket
from kinform.transport._tls_line import TlsLine

# The maximum size of one read, plus the rest of a frame. Half the size costs 5 % more CPU in a sync
# of 20 000 pods (benchmarks/run.py --only sync).
_BUFFER = (512 + 16) * 1024
# Above this size of unread data, reading from the server pauses.
_HIGH_WATER = 1 << 20
# The maximum size of informational (1xx) responses before the response.
_MOST_SKIPPED = 256 * 1024
# A global is one lookup, an enum member two; these are used for every event.
_MORE, _STOP = Demand.MORE, Demand.STOP


class HttpStream(asyncio.BufferedProtocol):
    """One connection, one response and one reader, by ``next_piece`` or by ``read_into``.

    Attributes:
        error: The error that ended the stream, if any.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._data = bytearray(_BUFFER)
        self._view = memoryview(self._data)
        self._filled = 0
        self._pieces: list[bytes] = []
        self._waiting_size = 0
        self._transport: asyncio.Transport | None = None
        self._pacing: Pacing | None = None
        self._is_paused = False
        self._head: ResponseHead | None = None
        self._body: BodyDecoder | None = None
        self._skipped = 0
        self.error: BaseException | None = None
        self._is_over = False
        self._reader: asyncio.Future[None] | None = None
        self._consumer: Callable[[bytes], Demand] | None = None
        self._demand = _MORE
        self._consumer_error: BaseException | None = None

    # -- the connection's side ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def pace(self, connection: socket.socket, *, latency: float = 0.0) -> None:
        """Enable pacing, which reads the connection in larger pieces. See ``Pacing``."""
        self._pacing = Pacing(connection, latency=latency)

    def get_buffer(self, sizehint: int) -> memoryview:
        # Never empty: unparsed data is at most a few lines of a head or of framing.
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        if self._pacing is not None:
            self._pacing.read(nbytes)
        start, end = 0, self._filled + nbytes
        try:
            if self._body is None:
                start = self._digest_head(end)
            if self._body is not None:
                piece, start = self._body.take(self._data, start, end)
                if piece:
                    self._put(piece)
                if self._body.is_over:
                    self._end()
                    self._drop()
        except MalformedAnswerError as error:
            self._fail(error)
            self._drop()
            return
        self._filled = end - start
        if start < end and start:
            # A few bytes of framing: body bytes are always consumed.
            self._data[: end - start] = self._data[start:end]

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        if self._pacing is not None:
            self._pacing.stop()
        if exc is not None:
            self._fail(exc)
        elif self._body is None:
            self._fail(ConnectionResetError("the server closed the connection without an answer"))
        elif self._body.ended_by_the_connection():
            self._end()
        else:
            self._fail(ConnectionResetError("the body is incomplete; the connection was lost"))

    def _digest_head(self, end: int) -> int:
        head, start = read_head(self._data, end)
        if head is not None:
            self._body = body_decoder(head)
            self._head = head
            self._wake()
            return start
        self._skipped += start
        if self._skipped > _MOST_SKIPPED:
            raise MalformedAnswerError("it consists of informational (1xx) responses without end")
        return start

    def _put(self, piece: bytes) -> None:
        if self._consumer is None or self._reader is None or self._reader.done():
            self._keep(piece)
            return
        try:
            self._demand = self._consumer(piece)
        except BaseException as error:  # raised to the reader
            self._consumer_error = error
            self._wake()
        else:
            if self._demand is _STOP:
                self._wake()

    def _keep(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._waiting_size += len(piece)
        if self._waiting_size > _HIGH_WATER and not self._is_paused and self._transport:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def _fail(self, error: BaseException) -> None:
        if self.error is None and not self._is_over:
            self.error = error
            self._wake()

    def _end(self) -> None:
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)

    def _drop(self) -> None:
        if self._pacing is not None:
            self._pacing.stop()
        # Abort, because a TLS shutdown could outlive the event loop.
        if self._transport is not None:
            self._transport.abort()

    # -- the reader's side -------------------------------------------------------------------

    @property
    def is_connected(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    async def head(self) -> ResponseHead:
        """Wait for status and headers. Raises the error that ended the stream."""
        while self._head is None:
            if self.error is not None:
                raise self.error
            self._reader = self._loop.create_future()
            await self._reader
        return self._head

    async def next_piece(self) -> bytes:
        """Return the body data received since the last call; empty at the end.

        Raises the error that ended the stream, after all data before it was returned.
        """
        while not self._pieces:
            if self.error is not None:
                raise self.error
            if self._is_over:
                return b""
            self._reader = self._loop.create_future()
            await self._reader
        return self._waiting()

    async def read_into(self, consumer: Callable[[bytes], Demand]) -> ReadOutcome:
        """Call ``consumer`` with the body data directly when it is received.

        This avoids waking a task, which would take another iteration of the loop. Returns when the
        consumer answers ``STOP``, or at the end of the body.

        Raises any exception of the consumer, or the error that ended the stream.
        """
        while True:
            if self._pieces:
                if consumer(self._waiting()) is _STOP:
                    return ReadOutcome.STOPPED
                continue
            if self.error is not None:
                raise self.error
            if self._is_over:
                return ReadOutcome.ENDED
            self._consumer, self._demand, self._consumer_error = consumer, _MORE, None
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._consumer = None
            error, self._consumer_error = self._consumer_error, None
            if error is not None:
                raise error
            if self._demand is _STOP:
                return ReadOutcome.STOPPED

    def _waiting(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        self._waiting_size = 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """Close the connection; a reader gets an error. Idempotent."""
        if self.error is None and (self._pieces or not self._is_over):
            # Also if the body is complete: discarded data must not look like a normal end.
            self.error = ConnectionAbortedError("closed while being read")
        self._pieces.clear()
        self._wake()
        self._drop()

    def close_from_anywhere(self) -> None:
        """Close the connection from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.close)


async def open_stream(
    url: str,
    *,
    action: str,
    headers: Iterable[tuple[str, str]],
    context: ssl.SSLContext | None,
    server_hostname: str | None,
    latency: float = 0.0,
) -> tuple[HttpStream, ResponseHead]:
    """Connect, send a GET request, and return once the head of the response has arrived.

    ``latency`` is how long data may wait in the socket to be read with later data.

    Raises:
        TransportError: There was no response.
    """
    parts = urlsplit(url)
    stream = await _connect(parts, context, server_hostname, action=action, latency=latency)
    try:
        stream.write(_request(parts, headers))
        return stream, await stream.head()
    except BaseException as error:
        stream.close()
        if isinstance(error, (MalformedAnswerError, *CONNECTION_ERRORS)):
            raise broken(error, action=action) from error
        raise


def broken(error: BaseException, *, action: str) -> TransportError:
    """Return the error to raise for an error of a stream."""
    if isinstance(error, MalformedAnswerError):
        return TransportError(f"{action}: the answer is not HTTP: {error}")
    return lost(error, action=action)


async def _connect(
    parts: SplitResult,
    context: ssl.SSLContext | None,
    server_hostname: str | None,
    *,
    action: str,
    latency: float,
) -> HttpStream:
    host = parts.hostname or ""
    port = parts.port or (443 if context else 80)
    stream = HttpStream()
    line = _tls_line(stream, context, server_hostname or host, action=action) if context else None
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            connected = await connected_socket(host, port)
            try:
                loop = asyncio.get_running_loop()
                await loop.create_connection(lambda: line or stream, sock=connected)
            except BaseException:
                connected.close()
                raise
            if line is not None:
                await line.handshake()
            stream.pace(connected, latency=latency)
            return stream
    except (*CONNECTION_ERRORS, UnicodeError) as error:
        raise not_connected(error, action=action, host=host, port=port) from error


def _tls_line(
    stream: HttpStream, context: ssl.SSLContext, server_hostname: str, *, action: str
) -> TlsLine:
    try:
        # Certificates contain names without the trailing dot of an absolute host name.
        return TlsLine(stream, context, server_hostname.rstrip("."))
    except ValueError as error:  # includes UnicodeError
        raise TransportError(
            f"{action}: {server_hostname!r} cannot be the name of a server; "
            "check its address, or tls-server-name"
        ) from error


def _request(parts: SplitResult, headers: Iterable[tuple[str, str]]) -> bytes:
    target = parts.path or "/"
    if parts.query:
        target += f"?{parts.query}"
    lines = [f"GET {target} HTTP/1.1", f"Host: {parts.netloc.rpartition('@')[2]}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
