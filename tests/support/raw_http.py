"""A request in, what really came over the wire out: no library between the test and the bytes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

# How an answer ended: as HTTP says, by a plain close in the middle, or by a TCP reset.
COMPLETE, CUT, RESET = "complete", "cut", "reset"


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer, or as much of it as came. ``status`` is 0 if not even a head came."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    end: str

    def json(self) -> Any:
        return json.loads(self.body)

    def events(self) -> list[Any]:
        """Of a watch: each whole line."""
        return [json.loads(line) for line in self.body.splitlines()]


class OpenAnswer:
    """An answer whose head is in. Its body is read chunk by chunk, as the server sent it."""

    def __init__(self, reader: asyncio.StreamReader, status: int, headers: Mapping[str, str]):
        self._reader = reader
        self._pending = b""
        self.status = status
        self.headers = headers

    async def chunk(self) -> bytes:
        """The next chunk; empty at the clean end."""
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        data = await self._reader.readexactly(size)
        await self._reader.readexactly(2)
        return data

    async def line(self) -> bytes:
        """The next line, without its newline; empty at the clean end."""
        while b"\n" not in self._pending:
            data = await self.chunk()
            if not data:
                return b""
            self._pending += data
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    async def event(self) -> Any:
        return json.loads(await self.line())

    async def read(self) -> tuple[bytes, str]:
        """The rest of the body, and how it ended."""
        body = bytearray(self._pending)
        try:
            if length := self.headers.get("content-length"):
                while len(body) < int(length):
                    data = await self._reader.read(int(length) - len(body))
                    if not data:
                        return bytes(body), CUT
                    body += data
                return bytes(body), COMPLETE
            while data := await self.chunk():
                body += data
        except asyncio.IncompleteReadError:
            return bytes(body), CUT
        except ConnectionResetError:
            return bytes(body), RESET
        return bytes(body), COMPLETE

    async def connection_closes(self) -> bool:
        """Whether the server closes the connection after the answer."""
        return await self._reader.read(1) == b""


@asynccontextmanager
async def open_answer(
    url: str,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> AsyncIterator[OpenAnswer]:
    """Send a request; the block has the answer once its head is in.

    Raises:
        asyncio.IncompleteReadError: The connection was closed before that.
        ConnectionResetError: It was reset before that.
    """
    target = urlsplit(url)
    reader, writer = await asyncio.open_connection(target.hostname, target.port, limit=1 << 24)
    try:
        type_of_body = {"Content-Type": "application/json"} if body else {}
        length = {"Content-Length": str(len(body))}
        given = {"Host": target.netloc, **length, **type_of_body, **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode().rstrip().split("\r\n")
        pairs = (line.partition(": ") for line in rest)
        got = {name.lower(): value for name, _, value in pairs}
        yield OpenAnswer(reader, int(first.split()[1]), got)
    finally:
        writer.close()


async def ask(
    url: str,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
) -> Answer:
    """The whole answer, or as much of it as came, and how it ended."""
    try:
        async with open_answer(url, path, method=method, headers=headers, body=body) as answer:
            received, end = await answer.read()
            return Answer(answer.status, answer.headers, received, end)
    except asyncio.IncompleteReadError:
        return Answer(0, {}, b"", CUT)
    except ConnectionResetError:
        return Answer(0, {}, b"", RESET)
