"""A TLS layer for streams, between a socket and a protocol.

asyncio's TLS supports every use case. A watch only reads, one event at a time, where asyncio's
layers cost more than the decryption: with this layer a bare reader of a watch takes half the CPU
(benchmarks/run.py --only steady).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, Protocol, cast

# The maximum size of one read from the socket.
_ENCRYPTED = 512 * 1024


class UpperProtocol(Protocol):
    """The protocol above: asyncio's ``BufferedProtocol``, with a view of its own buffer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...
    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...


class TlsLine(asyncio.BufferedProtocol, asyncio.Transport):
    """A protocol for the socket below, and a transport for the protocol above.

    ``connection_made`` is called above after the handshake, and ``connection_lost`` only after it.
    The code that opens the connection awaits ``handshake()``.
    """

    def __init__(self, above: UpperProtocol, context: ssl.SSLContext, server_hostname: str) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._above = above
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_hostname
        )
        # With a buffer, it returns the number of bytes read, which the type stubs omit.
        self._decrypt: Callable[[int, memoryview], int] = cast(Any, self._tls.read)
        self._view = memoryview(bytearray(_ENCRYPTED))
        self._below: asyncio.Transport | None = None
        self._shaken: asyncio.Future[None] = self._loop.create_future()
        self._is_open = False
        self._is_paused = False
        self._error: Exception | None = None

    async def handshake(self) -> None:
        """Wait for the handshake.

        Raises:
            OSError: The handshake failed (``ssl.SSLError``), or the connection was lost.
        """
        try:
            await self._shaken
        except asyncio.CancelledError:
            self.abort()  # nothing else refers to the connection yet
            raise
        if not self._is_open:
            raise self._error or ConnectionResetError()

    # -- the socket's side -------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._below = cast(asyncio.Transport, transport)
        self._shake_hands()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view

    def buffer_updated(self, nbytes: int) -> None:
        self._incoming.write(self._view[:nbytes])
        if self._is_open:
            self._read()
        else:
            self._shake_hands()

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._error = self._error or exc
        if self._is_open:
            self._above.connection_lost(self._error)
        elif not self._shaken.done():
            self._shaken.set_result(None)

    def _shake_hands(self) -> None:
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._flush()
            return
        except ssl.SSLError as error:
            self._fail(error)
            return
        self._flush()
        self._is_open = True
        self._above.connection_made(self)
        if not self._shaken.done():  # it may have been cancelled
            self._shaken.set_result(None)
        self._read()

    def _read(self) -> None:
        """Decrypt the received data and pass it on."""
        space, filled = self._above.get_buffer(-1), 0
        size = len(space)
        tls, read, incoming = self._tls, self._decrypt, self._incoming
        # A read that does not fill the buffer leaves nothing decrypted behind.
        may_be_pending = True
        try:
            # Checking for data first avoids an exception from OpenSSL, which would cost as much as
            # the read.
            while not self._is_paused and (incoming.pending or (may_be_pending and tls.pending())):
                count = read(size - filled, space[filled:])
                filled += count
                if not count:
                    self.abort()
                    break
                may_be_pending = filled == size
                if may_be_pending:
                    self._above.buffer_updated(filled)
                    space, filled = self._above.get_buffer(-1), 0
                    size = len(space)
        except ssl.SSLWantReadError:
            pass  # the rest of a record is still missing
        except ssl.SSLZeroReturnError:
            self.abort()  # the peer closed the connection
        except ssl.SSLError as error:
            self._fail(error)
        if filled:
            self._above.buffer_updated(filled)
        if self._outgoing.pending:
            self._flush()

    def _flush(self) -> None:
        if self._outgoing.pending and not self.is_closing():
            assert self._below is not None
            self._below.write(self._outgoing.read())

    def _fail(self, error: Exception) -> None:
        self._error = error
        self._flush()  # send the alert to the peer
        assert self._below is not None
        self._below.close()

    # -- the side of the protocol above ------------------------------------------------------

    def write(self, data: Any) -> None:
        self._tls.write(data)
        self._flush()

    def pause_reading(self) -> None:
        assert self._below is not None
        self._is_paused = True
        if not self._below.is_closing():
            self._below.pause_reading()

    def resume_reading(self) -> None:
        assert self._below is not None
        self._is_paused = False
        # Not immediately: the caller is about to consume the data that caused the pause.
        self._loop.call_soon(self._read)
        if not self._below.is_closing():
            self._below.resume_reading()

    def abort(self) -> None:
        if self._below is not None:
            self._below.abort()

    def is_closing(self) -> bool:
        return self._below is None or self._below.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default if self._below is None else self._below.get_extra_info(name, default)
