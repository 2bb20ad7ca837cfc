"""One proxied connection: bytes between a client and the API server, with the faults of the moment.

TLS passes through untouched, so faults hit records and frames at any byte.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass(slots=True)
class Conditions:
    """What the network does at the moment; shared by every connection of the proxy.

    Attributes:
        stalled: Nothing is forwarded; what arrives waits.
        cut_after: Reset a connection after so many bytes towards the client; 0 for never.
        lifetime: Close a connection so many seconds after it was opened; 0 for never.
        bytes_per_second: How fast each connection is towards the client; 0 for no limit.
    """

    stalled: bool = False
    cut_after: int = 0
    lifetime: float = 0.0
    bytes_per_second: float = 0.0


@dataclass(slots=True)
class Counters:
    """What one watcher has used of the network."""

    connections: int = 0
    to_client: int = 0
    to_server: int = 0


class Link:
    """A client's connection and the one to the server behind it.

    ``on_close`` is called once, when the client's side is gone.
    """

    def __init__(
        self,
        conditions: Conditions,
        counters: Counters,
        on_close: Callable[[Link], None],
    ) -> None:
        self.client = End(self, is_client=True)
        self.server = End(self, is_client=False)
        self.last_data = time.monotonic()
        self._conditions = conditions
        self._counters = counters
        self._on_close = on_close
        self._is_silent = False
        self.is_open = True
        self._to_client = 0
        self._ended: set[bool] = set()
        self._opened = 0.0
        self._end_of_life: asyncio.TimerHandle | None = None
        self._end_of_pause: asyncio.TimerHandle | None = None

    def open(self) -> None:
        """Start to forward; both ends are connected."""
        self._counters.connections += 1
        self._opened = asyncio.get_running_loop().time()
        self.apply_conditions()

    def apply_conditions(self) -> None:
        """Stall or go on, live on or not, as the conditions say now."""
        for end in (self.client, self.server):
            end.hold("stall", self._conditions.stalled)
        if self._end_of_life is not None:
            self._end_of_life.cancel()
            self._end_of_life = None
        if self._conditions.lifetime and self._opened:
            end_of_life = self._opened + self._conditions.lifetime
            loop = asyncio.get_running_loop()
            self._end_of_life = loop.call_at(end_of_life, self.close)

    def silence(self) -> None:
        """Forward nothing ever again, and tell neither side: a half-open connection."""
        self._is_silent = True

    def reset(self) -> None:
        """Send RST to both sides."""
        for end in (self.client, self.server):
            end.reset()

    def close(self) -> None:
        """Send FIN to both sides, after what is on its way."""
        for end in (self.client, self.server):
            end.close()

    def forward(self, data: bytes, *, from_client: bool) -> None:
        if self._is_silent:
            return
        if from_client:
            self._counters.to_server += len(data)
            self.server.write(data)
            return
        self.last_data = time.monotonic()
        cut_after = self._conditions.cut_after
        is_cut = bool(cut_after) and self._to_client + len(data) >= cut_after
        if is_cut:
            data = data[: max(0, cut_after - self._to_client)]
        self._to_client += len(data)
        self._counters.to_client += len(data)
        self.client.write(data)
        if is_cut:
            self.client.reset_after_flush()
            self.server.reset()
        elif self._conditions.bytes_per_second:
            self._slow_down(len(data) / self._conditions.bytes_per_second)

    def end_of_data(self, *, from_client: bool) -> None:
        if self._is_silent:
            return
        self._ended.add(from_client)
        if len(self._ended) == len((self.client, self.server)):
            self.close()
        else:
            (self.server if from_client else self.client).end_data()

    def lost(self, *, from_client: bool) -> None:
        """One side is gone: so is the other, except that a silent link says nothing to clients."""
        if from_client or not self._is_silent:
            (self.server if from_client else self.client).close()
        if from_client and self.is_open:
            self.is_open = False
            for timer in (self._end_of_life, self._end_of_pause):
                if timer is not None:
                    timer.cancel()
            self._on_close(self)

    def _slow_down(self, seconds: float) -> None:
        self.server.hold("slow", True)
        loop = asyncio.get_running_loop()
        self._end_of_pause = loop.call_later(seconds, self.server.hold, "slow", False)


class End(asyncio.Protocol):
    """One side of a link; reads only while nothing holds it back."""

    def __init__(self, link: Link, *, is_client: bool) -> None:
        self._link = link
        self._is_client = is_client
        self._transport: asyncio.Transport | None = None
        self._holds: set[str] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._holds:
            transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        self._link.forward(data, from_client=self._is_client)

    def eof_received(self) -> bool:
        self._link.end_of_data(from_client=self._is_client)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._link.lost(from_client=self._is_client)

    def pause_writing(self) -> None:
        self._other.hold("full", True)

    def resume_writing(self) -> None:
        self._other.hold("full", False)

    def hold(self, reason: str, held: bool) -> None:
        """Stop or go on reading; it goes on when no reason is left."""
        was_held = bool(self._holds)
        (self._holds.add if held else self._holds.discard)(reason)
        transport = self._transport
        if transport is None or transport.is_closing() or was_held == bool(self._holds):
            return
        if self._holds:
            transport.pause_reading()
        else:
            transport.resume_reading()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def end_data(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def reset(self) -> None:
        if self._transport is not None:
            self._reset_on_close(self._transport)
            self._transport.abort()

    def reset_after_flush(self) -> None:
        if self._transport is not None:
            self._reset_on_close(self._transport)
            self._transport.close()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def _other(self) -> End:
        return self._link.server if self._is_client else self._link.client

    @staticmethod
    def _reset_on_close(transport: asyncio.Transport) -> None:
        """Without lingering, the kernel drops what is unsent and sends RST."""
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
