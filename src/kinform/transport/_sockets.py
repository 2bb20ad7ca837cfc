"""Creation of sockets: timeouts, and detection of dead peers."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from aiohappyeyeballs import start_connection

CONNECT_TIMEOUT = 15.0
"""Seconds for connecting, including TLS."""
# After lost packets the system retries at 1, 3, 7 and 15 s; a new attempt is faster.
_SOCKET_TIMEOUT = 5.0
# The delay before the next address of a host is tried as well.
_NEXT_ADDRESS_AFTER = 0.25

# Detects a silent or unacknowledging peer after 15 s + 5 x 5 s.
_OPTIONS = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 15),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 5),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 5),
    (socket.IPPROTO_TCP, "TCP_USER_TIMEOUT", 40_000),
)


def new_socket(address: Any) -> socket.socket:
    """Create a socket with keepalive for ``address``, a result of ``getaddrinfo``."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setblocking(False)
    for level, name, value in _OPTIONS:
        option = getattr(socket, name, None)  # not every system has all of them
        if option is not None:
            made.setsockopt(level, option, value)
    return made


async def connected_socket(host: str, port: int) -> socket.socket:
    """Connect to the first address of the host that responds.

    Raises:
        OSError: No address responds, or there is none (``socket.gaierror``).
        TimeoutError: No address responds in time.
        UnicodeError: The host name is invalid.
    """
    addresses = await _addresses(host, port)
    async with asyncio.timeout(_SOCKET_TIMEOUT):
        return await start_connection(
            addresses, happy_eyeballs_delay=_NEXT_ADDRESS_AFTER, socket_factory=new_socket
        )


async def _addresses(host: str, port: int) -> list[Any]:
    try:
        # A numeric address needs no name server, and no thread to query one.
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        loop = asyncio.get_running_loop()
        return await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
