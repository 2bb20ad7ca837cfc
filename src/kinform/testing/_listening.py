"""A port in, a protocol for everybody who connects out, until it is closed.

asyncio's own server forgets whoever it is letting in while it is closed: that connection stays
open, and nobody ever reads it. Whoever knocks here is served, or sees the connection end.
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
# How long a handshake may still take when the door is closed; on loopback it takes a millisecond.
_HANDSHAKE_PATIENCE = 0.2
# How long nobody is let in when the process has no more descriptors.
_PAUSE = 1.0


class Listening:
    """Listens from when it is made until ``close``, which belongs on the same loop.

    Args:
        protocol_factory: Makes what serves a connection.
        host: The address to listen on.
        port: The port to listen on; 0 finds a free one.
        context: How to speak TLS, if at all.

    Attributes:
        port: Where it listens.

    Raises:
        OSError: The port is taken.
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
        self._coming_in: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._socket = socket.create_server((host, port), backlog=_BACKLOG)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]
        self._accept()

    def _accept(self) -> None:
        self._loop.add_reader(self._socket, self._let_in)

    def _let_in(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            _log.error("cannot let anybody in for %g s: %s", _PAUSE, error)
            self._loop.remove_reader(self._socket)
            self._pause = self._loop.call_later(_PAUSE, self._accept)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._serve(connection))
        self._coming_in.add(task)
        task.add_done_callback(self._coming_in.discard)

    async def _serve(self, connection: socket.socket) -> None:
        # A handshake that fails is the client's to complain about.
        with suppress(OSError):
            await self._loop.connect_accepted_socket(
                self._protocol_factory, connection, ssl=self._context
            )

    async def close(self) -> None:
        """Let nobody in any more. Who is half in comes in, or sees the connection end."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        if self._coming_in:
            # Not cancelled at once: asyncio closes no TLS connection that has not begun to talk.
            _, late = await asyncio.wait(self._coming_in, timeout=_HANDSHAKE_PATIENCE)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
