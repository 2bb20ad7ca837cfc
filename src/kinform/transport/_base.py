"""The transport interface: requests, responses and streamed bodies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import ClassVar, Protocol

import msgspec

from kinform._runtime import Demand, ReadOutcome
from kinform.transport._redacted import Redacted


class Request(Redacted, frozen=True):
    """An HTTP request, relative to the cluster's address. The transport adds the credentials."""

    shown: ClassVar = ("method", "path", "query", "headers", "total_timeout", "is_stream")

    method: str
    path: str
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes | None = None
    total_timeout: float | None = None
    """Seconds for the request with its complete response; ``None`` for no limit, as in a watch."""
    is_stream: bool = False
    """Whether the response is a long stream, such as a watch, that has its own connection."""


class Response(Protocol):
    """A response whose headers have arrived and whose body is still being received.

    The transport decodes the content encoding of the body.
    """

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]:
        """Response headers, with case-insensitive lookup."""
        ...

    async def read(self, limit: int | None = None) -> bytes:
        """Return the complete body.

        Raises:
            ResponseTooLargeError: The body is larger than ``limit`` bytes.
            TransportError: The body is incomplete, timed out, or does not match its encoding.
        """
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Iterate over the body as it arrives. Raises TransportError if it is incomplete."""
        ...

    async def read_into(self, consumer: Callable[[bytes], Demand]) -> ReadOutcome:
        """Call ``consumer`` with each piece of the body as it arrives, until it answers ``STOP``.

        After ``ReadOutcome.STOPPED``, another call continues with the rest. Raises TransportError
        if the body is incomplete, and any exception of the consumer.
        """
        ...

    async def close(self) -> None:
        """Release the connection, or close it if the body was not read completely. Idempotent."""
        ...


class Transport(Protocol):
    """Sends requests to one cluster. Supports any number of concurrent requests."""

    async def send(self, request: Request) -> Response:
        """Send a request and return the response, of any status, once its headers have arrived.

        Raises:
            TransportError: There was no response. Other requests are unaffected.
            ConfigError: The credentials are not available.
        """
        ...

    async def close(self) -> None:
        """Close all connections. Idempotent."""
        ...

    def describe_credentials(self) -> str:
        """Return the kind and origin of the credentials, for the errors of 401; never a secret."""
        ...
