"""A TCP line between a client and a server, which a test can cut, freeze and mend."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol, Self

from msgspec.structs import replace

from kinform.transport import ClusterConfig


class HasUrl(Protocol):
    """A server on loopback."""

    @property
    def url(self) -> str: ...


class Line:
    """A TCP line to the server that can be cut and mended: ``async with Line(server)``."""

    def __init__(self, server: HasUrl) -> None:
        self._scheme, _, address = server.url.partition("://")
        self._port = int(address.rpartition(":")[2])
        self._connections: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_cut = False
        self._is_moving = asyncio.Event()
        self._is_moving.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        self._is_moving.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def through(self, config: ClusterConfig) -> ClusterConfig:
        return replace(config, server=self.url)

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def drop(self) -> None:
        """End what is open; who connects again gets through."""
        for writer in self._connections:
            writer.transport.abort()

    def cut(self) -> None:
        """End what is open, and let nobody through until it is mended."""
        self.is_cut = True
        self.drop()

    def freeze(self) -> None:
        """Keep the connections, and carry nothing until it is mended."""
        self._is_moving.clear()

    def mend(self) -> None:
        self.is_cut = False
        self._is_moving.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections.add(writer)
        try:
            with contextlib.suppress(OSError):
                await self._is_moving.wait()
                if not self.is_cut:
                    await self._carry(reader, writer)
        finally:
            writer.transport.abort()
            self._connections.discard(writer)
            self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, before = await asyncio.open_connection("127.0.0.1", self._port)
        self._connections.add(before)
        try:
            ways = [
                asyncio.ensure_future(self._copy(reader, before)),
                asyncio.ensure_future(self._copy(behind, writer)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            before.transport.abort()
            self._connections.discard(before)

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._is_moving.wait()
                writer.write(data)
                await writer.drain()
