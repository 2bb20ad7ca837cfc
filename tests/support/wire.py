"""A scripted HTTP server on loopback: every byte of every answer is the test's own."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import trustme

from kinform.transport import AiohttpTransport


@dataclass(slots=True)
class Received:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes
    connection: int

    def header(self, name: str) -> str | None:
        values = self.all_headers(name)
        return values[0] if values else None

    def all_headers(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]


Handler = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


@dataclass(slots=True)
class WireServer:
    """A server under full control: each request is parsed, logged, and answered by ``handler``."""

    handler: Handler
    context: ssl.SSLContext | None = None
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    server: asyncio.Server | None = None
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"{'https' if self.context else 'http'}://127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.server = await asyncio.start_server(
            self._accept, "127.0.0.1", self.port, ssl=self.context
        )
        self.port = self.server.sockets[0].getsockname()[1]

    def stop_listening(self) -> None:
        """Take no new connections; the open ones live on."""
        assert self.server is not None
        self.server.close()

    async def stop(self) -> None:
        self.stop_listening()
        for task in tuple(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(self.connections, reader, writer))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _serve(
        self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            try:
                while not writer.is_closing():
                    request = await read_request(reader, number)
                    self.requests.append(request)
                    await self.handler(request, writer)
            finally:
                writer.close()


class Serve(Protocol):
    """Starts a server for a handler, or for one fixed response."""

    async def __call__(
        self, handler: Handler | bytes, *, context: ssl.SSLContext | None = None, port: int = 0
    ) -> WireServer: ...


class Connect(Protocol):
    """Makes a transport to a server, with options of a ``ClusterConfig``."""

    def __call__(self, server: WireServer | str, **options: Any) -> AiohttpTransport: ...


async def read_request(reader: asyncio.StreamReader, connection: int) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("utf-8").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = [(name, value.strip()) for name, _, value in (h.partition(":") for h in head[1:-2])]
    length = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
    if any(k.lower() == "transfer-encoding" for k, _ in headers):
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    else:
        body = await reader.readexactly(length)
    return Received(method, target, headers, body, connection)


def answer(
    body: bytes = b"ok", *, status: str = "200 OK", headers: Mapping[str, str] | None = None
) -> bytes:
    """A whole HTTP response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def stream_head(**headers: str) -> bytes:
    """The start of a chunked response."""
    lines = ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def always(response: bytes) -> Handler:
    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(response)
        await writer.drain()

    return handler


def server_context(
    authority: trustme.CA, *names: str, client_authority: trustme.CA | None = None
) -> ssl.SSLContext:
    """A TLS server's context; with ``client_authority`` it demands a certificate of it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*(names or ("127.0.0.1",))).configure_cert(context)
    if client_authority is not None:
        client_authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def pem_of(authority: trustme.CA) -> bytes:
    return authority.cert_pem.bytes()


def client_pair(authority: trustme.CA, name: str = "client@example.org") -> tuple[bytes, bytes]:
    """A client certificate with its chain, and its key, as PEM."""
    leaf = authority.issue_cert(name)
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    return chain, leaf.private_key_pem.bytes()
