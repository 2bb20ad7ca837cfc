"""The sink of a response: where the server writes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class Sink(Protocol):
    """One response: ``start`` once, any number of ``write``, then ``finish`` or ``abort``.

    ``write`` returns when the network has capacity again; this is the only back-pressure.
    """

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head. Without a ``Content-Length`` in it, the body is chunked."""
        ...

    async def write(self, data: bytes) -> None: ...

    async def finish(self) -> None:
        """End the response cleanly."""
        ...

    def abort(self) -> None:
        """Close the connection immediately; recent writes may be lost. Idempotent."""
        ...

    def cut(self) -> None:
        """Close the connection in mid-response, once all writes are sent. Idempotent."""
        ...

    def reset(self) -> None:
        """Close the connection with a TCP reset. Idempotent."""
        ...


class SinkWrapper:
    """A sink that passes everything on; subclasses override what they change."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        await self._sink.start(status, headers)

    async def write(self, data: bytes) -> None:
        await self._sink.write(data)

    async def finish(self) -> None:
        await self._sink.finish()

    def abort(self) -> None:
        self._sink.abort()

    def cut(self) -> None:
        self._sink.cut()

    def reset(self) -> None:
        self._sink.reset()
