"""The seam between verbs and bytes: a request in, a response whose body is a stream out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import ClassVar, Protocol

import msgspec

from kinform.transport._redacted import Redacted


class Request(Redacted, frozen=True):
    """One HTTP request, relative to the cluster's address. The transport adds the credentials."""

    shown: ClassVar = ("method", "path", "query", "headers", "total_timeout", "is_stream")

    method: str
    path: str
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None
    total_timeout: float | None = None
    """Seconds for the whole exchange; ``None`` leaves it open, as a watch must."""
    is_stream: bool = False
    """The answer goes on for long and is worth a connection of its own: a watch."""


class Response(Protocol):
    """An answer whose headers are in and whose body is still on the wire.

    Bodies come out as the server meant them: content encodings are undone here.
    """

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers; look-ups ignore case."""
        ...

    async def read(self, limit: int | None = None) -> bytes:
        """The whole body.

        Raises:
            ResponseTooLargeError: It is larger than ``limit`` bytes.
            TransportError: It broke off, timed out, or is not the encoding it claims.
        """
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it arrives, in pieces of any size. Raises TransportError if it breaks off."""
        ...

    async def read_into(self, into: Callable[[bytes], bool]) -> bool:
        """Call ``into`` with each piece as it arrives, until it returns true.

        Returns false at the end of the body; before that, whoever calls it again gets the rest.
        Raises TransportError if it breaks off, and whatever ``into`` raises.
        """
        ...

    async def close(self) -> None:
        """Give the connection back, or drop it if the body was not read to its end. Idempotent."""
        ...


class Transport(Protocol):
    """Carries requests to one cluster. Safe for any number of concurrent requests."""

    async def send(self, request: Request) -> Response:
        """The response once its headers are in, whatever its status.

        Raises:
            TransportError: No answer came. Other requests are unaffected.
            ConfigError: The credentials cannot be had.
        """
        ...

    async def close(self) -> None:
        """Drop all connections. Idempotent."""
        ...
