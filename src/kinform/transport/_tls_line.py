"""Encrypted bytes of a connection in, plain ones to the protocol above out; and the way back.

What asyncio does for TLS is made for every use of it. A watch only ever reads, an event at a
time, and for that asyncio's layers cost more than the decryption: with this one in their place a
bare reader of a watch takes half the CPU (benchmarks/run.py --only steady).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, Protocol, cast

# What one read of the socket gives at most.
_ENCRYPTED = 512 * 1024


class Reader(Protocol):
    """The protocol above: asyncio's ``BufferedProtocol``, whose buffer is a view of one's own."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None: ...
    def get_buffer(self, sizehint: int) -> memoryview: ...
    def buffer_updated(self, nbytes: int) -> None: ...
    def connection_lost(self, exc: Exception | None) -> None: ...


class TlsLine(asyncio.BufferedProtocol, asyncio.Transport):
    """A protocol to the socket below, a transport to the protocol above.

    The one above hears of the connection when the handshake is over, and of its end if it heard of
    its beginning. Whoever opens the connection waits for ``handshake()``.
    """

    def __init__(self, above: Reader, context: ssl.SSLContext, server_hostname: str) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._above = above
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname=server_hostname
        )
        # What ``SSLObject`` calls, without its frames: these are several calls per event.
        bare: Any = getattr(self._tls, "_sslobj", self._tls)
        self._decrypt: Callable[[int, memoryview], int] = bare.read
        self._pending: Callable[[], int] = bare.pending
        self._view = memoryview(bytearray(_ENCRYPTED))
        self._below: asyncio.Transport | None = None
        self._shaken: asyncio.Future[None] = self._loop.create_future()
        self._is_open = False
        self._is_paused = False
        self._error: Exception | None = None

    async def handshake(self) -> None:
        """Return when both sides have agreed.

        Raises:
            OSError: They did not (``ssl.SSLError``), or the connection went away.
        """
        try:
            await self._shaken
        except asyncio.CancelledError:
            self.abort()  # nobody else knows the connection yet
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
        if not self._shaken.done():  # or nobody waits for it any more
            self._shaken.set_result(None)
        self._read()

    def _read(self) -> None:
        """Hand on what can be decrypted of what has come."""
        space, filled = self._above.get_buffer(-1), 0
        size = len(space)
        read, incoming = self._decrypt, self._incoming
        try:
            # Asked whether there is anything, OpenSSL need not say no by raising: that would cost
            # as much as the reading.
            while not self._is_paused and (incoming.pending or self._pending()):
                count = read(size - filled, space[filled:])
                filled += count
                if not count:
                    self.abort()
                    break
                if filled == size:
                    self._above.buffer_updated(filled)
                    space, filled = self._above.get_buffer(-1), 0
                    size = len(space)
        except ssl.SSLWantReadError:
            pass  # the rest of a record is on its way
        except ssl.SSLZeroReturnError:
            self.abort()  # the other side said goodbye
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
        self._flush()  # the other side is told why
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
        # Never right here: whoever has made room is about to take what made it necessary.
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
