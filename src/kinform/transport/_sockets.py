"""How connections to a cluster are made: how long that may take, and how a dead peer is noticed."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from aiohappyeyeballs import start_connection

CONNECT_TIMEOUT = 15.0
"""Seconds until there is a connection, TLS included."""
# Where packets vanish, the system asks again after 1, 3, 7, 15 s: a new attempt is sooner back.
_SOCKET_TIMEOUT = 5.0
# How long one address of a host may keep us from trying the next as well.
_NEXT_ADDRESS_AFTER = 0.25

# A silent peer is found dead after 15 s + 5 x 5 s, and so is one that leaves data unacknowledged.
_OPTIONS = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 15),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 5),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 5),
    (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", 40_000),
)


def new_socket(address: Any) -> socket.socket:
    """A socket for ``address``, as ``getaddrinfo`` gave it; the system looks after it."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    for level, name, value in _OPTIONS:
        option = getattr(socket, name, None)  # not every system has them all
        if option is not None:
            made.setsockopt(level, option, value)
    return made


async def connected_socket(host: str, port: int) -> socket.socket:
    """A socket connected to any of the host's addresses, as soon as one of them answers.

    Raises:
        OSError: None of them does, or there are none (``socket.gaierror``).
        TimeoutError: None of them does in time.
        UnicodeError: The name cannot be one of a host.
    """
    addresses = await _addresses(host, port)
    async with asyncio.timeout(_SOCKET_TIMEOUT):
        return await start_connection(
            addresses, happy_eyeballs_delay=_NEXT_ADDRESS_AFTER, socket_factory=new_socket
        )


async def _addresses(host: str, port: int) -> list[Any]:
    try:
        # A number needs no name server, and no thread to ask one.
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
