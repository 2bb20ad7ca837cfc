"""A request in, an answer whose body is a long stream out, over a connection of its own.

What a watch brings is most of what an informer ever reads. Read straight into a buffer and
framed here, it costs a third less CPU than through a general client (benchmarks/run.py --only
sync): TLS records are not joined, and no object is made for each chunk.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable
from typing import cast
from urllib.parse import SplitResult, urlsplit

from kinform.errors import TransportError
from kinform.transport._connection_errors import CONNECTION_ERRORS, lost, not_connected
from kinform.transport._http_body import Body, Head, MalformedAnswerError, read_head
from kinform.transport._pacing import Pacing
from kinform.transport._sockets import CONNECT_TIMEOUT, connected_socket
from kinform.transport._tls_line import TlsLine

# What one read gives at most, and beside it what was left of a frame. Half of it costs 5 % more
# CPU in a sync of 20 000 pods (benchmarks/run.py --only sync).
_BUFFER = (512 + 16) * 1024
# From here on the server has to wait for the reader.
_HIGH_WATER = 1 << 20


class HttpStream(asyncio.BufferedProtocol):
    """One connection, one answer, one reader, by ``next_piece`` or by ``read_into``.

    Attributes:
        error: What broke it off, if something did.
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
        self._head: Head | None = None
        self._body: Body | None = None
        self.error: BaseException | None = None
        self._is_over = False
        self._reader: asyncio.Future[None] | None = None
        self._into: Callable[[bytes], bool] | None = None
        self._is_enough = False
        self._refusal: BaseException | None = None

    # -- the connection's side ---------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def pace(
        self, connection: socket.socket, bottom: asyncio.BufferedProtocol, *, latency: float = 0.0
    ) -> None:
        """Let the connection be read in pieces that are worth it.

        Args:
            connection: The socket.
            bottom: Gets what is read of it: this stream, or what decrypts for it.
            latency: See ``Pacing``.
        """

        def read_now() -> None:
            if self._is_paused:
                return
            try:
                size = connection.recv_into(bottom.get_buffer(-1))
            except BlockingIOError:
                return
            except OSError as error:
                # It is told once, and the loop has not heard it.
                self._fail(error)
                self._drop()
                return
            if size:  # the loop hears of the end by itself
                bottom.buffer_updated(size)

        self._pacing = Pacing(connection, read_now, latency=latency)

    def get_buffer(self, sizehint: int) -> memoryview:
        # Never empty: what cannot be digested yet is a few lines of a head or of framing.
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
            # A few bytes of framing: body bytes are always taken.
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
            self._fail(
                ConnectionResetError("the body broke off before its end; the connection was cut")
            )

    def _digest_head(self, end: int) -> int:
        head, start = read_head(self._data, end)
        if head is not None:
            self._body = Body(head)
            self._head = head
            self._wake()
        return start

    def _put(self, piece: bytes) -> None:
        if self._into is None or self._reader is None or self._reader.done():
            self._keep(piece)
            return
        try:
            self._is_enough = self._into(piece)
        except BaseException as error:  # the reader's own, and the reader's to handle
            self._refusal = error
        if self._is_enough or self._refusal is not None:
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
        # At once: a polite TLS goodbye could outlive the loop that says it.
        if self._transport is not None:
            self._transport.abort()

    # -- the reader's side -------------------------------------------------------------------

    @property
    def is_connected(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def write(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(data)

    async def head(self) -> Head:
        """Status and headers. Raises whatever kept them from coming."""
        while self._head is None:
            if self.error is not None:
                raise self.error
            self._reader = self._loop.create_future()
            await self._reader
        return self._head

    async def next_piece(self) -> bytes:
        """What has come of the body since the last time; empty at its end.

        Raises whatever broke it off, once all that came before has been taken.
        """
        while not self._pieces:
            if self.error is not None:
                raise self.error
            if self._is_over:
                return b""
            self._reader = self._loop.create_future()
            await self._reader
        return self._waiting()

    async def read_into(self, into: Callable[[bytes], bool]) -> bool:
        """Call ``into`` with what comes of the body, where and when it comes.

        No task is woken for it, which would take the loop another turn. Returns true when ``into``
        does, and false at the end of the body.

        Raises whatever ``into`` raises, or broke the body off.
        """
        while True:
            if self._pieces:
                if into(self._waiting()):
                    return True
                continue
            if self.error is not None:
                raise self.error
            if self._is_over:
                return False
            self._into, self._is_enough, self._refusal = into, False, None
            self._reader = self._loop.create_future()
            try:
                await self._reader
            finally:
                self._into = None
            refusal, self._refusal = self._refusal, None
            if refusal is not None:
                raise refusal
            if self._is_enough:
                return True

    def _waiting(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        self._waiting_size = 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def close(self) -> None:
        """Drop the connection, and let a reader know that it was us. Idempotent."""
        if self.error is None and (self._pieces or not self._is_over):
            # Also when all has come: what is thrown away here must not look like the end.
            self.error = ConnectionAbortedError("closed while it was being read")
        self._pieces.clear()
        self._wake()
        self._drop()

    def close_from_anywhere(self) -> None:
        """``close``, on any thread."""
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
) -> tuple[HttpStream, Head]:
    """Connect, ask with GET, and return when the head of the answer is in.

    ``latency`` is how long what comes may lie in the socket for the sake of more.

    Raises:
        TransportError: No answer came.
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
    """The error to raise for one of a stream's."""
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
                _, bottom = await loop.create_connection(lambda: line or stream, sock=connected)
            except BaseException:
                connected.close()
                raise
            if line is not None:
                await line.handshake()
            stream.pace(connected, bottom, latency=latency)
            return stream
    except (*CONNECTION_ERRORS, UnicodeError) as error:
        raise not_connected(error, action=action, host=host, port=port) from error


def _tls_line(
    stream: HttpStream, context: ssl.SSLContext, server_hostname: str, *, action: str
) -> TlsLine:
    try:
        # No certificate is for a name with the dot at its end that keeps resolvers local.
        return TlsLine(stream, context, server_hostname.rstrip("."))
    except ValueError as error:  # a UnicodeError is one
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
