"""A listening socket that creates a protocol for each connection, until it is closed.

While closing, asyncio's own server loses connections that it is just accepting: they stay open,
but are never read. This one serves every accepted connection, or closes it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress

_log = logging.getLogger("kinform.testing")

_BACKLOG = 128
# How long a handshake may take after closing; on loopback it takes a millisecond.
_HANDSHAKE_TIMEOUT = 0.2
# How long to stop accepting when the process has no more file descriptors.
_PAUSE = 1.0


class Listener:
    """Listens from its creation until ``close``, which must be called on the same loop.

    Args:
        protocol_factory: Creates the protocol of a connection.
        host: The address to listen on.
        port: The port to listen on; 0 selects a free one.
        context: The TLS context; ``None`` for plain connections.

    Attributes:
        port: The actual port.

    Raises:
        OSError: The port is in use.
    """

    def __init__(
        self,
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        *,
        host: str,
        port: int,
        context: ssl.SSLContext | None,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._protocol_factory = protocol_factory
        self._context = context
        self._handshakes: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._socket = socket.create_server((host, port), backlog=_BACKLOG)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._accept()

    def _accept(self) -> None:
        self._loop.add_reader(self._socket, self._accept_connection)

    def _accept_connection(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            _log.error("cannot accept connections for %g s: %s", _PAUSE, error)
            self._loop.remove_reader(self._socket)
            self._pause = self._loop.call_later(_PAUSE, self._accept)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._serve(connection))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _serve(self, connection: socket.socket) -> None:
        # The client reports a failed handshake.
        with suppress(OSError):
            await self._loop.connect_accepted_socket(
                self._protocol_factory, connection, ssl=self._context
            )

    async def close(self) -> None:
        """Stop accepting. Connections in their handshake are completed or closed."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        if self._handshakes:
            # Not cancelled yet: asyncio does not close TLS connections before the handshake starts.
            _, late = await asyncio.wait(self._handshakes, timeout=_HANDSHAKE_TIMEOUT)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
