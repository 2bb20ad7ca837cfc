"""Raw bytes in, raw bytes out: an HTTP server that says exactly what it was told to, as it was."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, unquote, urlsplit

from multidict import CIMultiDict

from kinform.transport import ClusterConfig
from tests.support.answers import Answer
from tests.support.wire import read_request, stream_head


class Reset:
    """Instead of more bytes: the connection is reset."""


class Close:
    """Instead of more bytes: the connection ends here, whatever was promised."""


class Hold:
    """Nothing more comes, and the connection stays open until the client drops it."""


Step = bytes | Reset | Close | Hold | asyncio.Event
"""What to send next, in one piece; or how to end; or what to wait for before going on."""

WATCH_HEAD = stream_head(Content_Type="application/json")
LAST_CHUNK = b"0\r\n\r\n"


@dataclass
class ReceivedRequest:
    """A request as it came. ``dropped`` is set when its connection is no more."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    dropped: asyncio.Event = field(default_factory=asyncio.Event)


class ScriptedServer:
    """Answers requests in the order of its scripts, one script a request, on loopback."""

    def __init__(self) -> None:
        self.received: list[ReceivedRequest] = []
        self.connections = 0
        self._scripts: deque[Sequence[Step]] = deque()
        self._by_path: dict[str, Sequence[Step]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def script(self, *steps: Step) -> None:
        """Answer one more request with these steps."""
        self._scripts.append(steps)

    def answer(self, *answers: Answer) -> None:
        """Answer as many more requests, each with a whole answer."""
        for prepared in answers:
            self.script(prepared.raw())

    def always(self, path: str, *steps: Step) -> None:
        """Answer every request to ``path`` so, and leave the scripts to the others."""
        self._by_path[path] = steps

    @property
    def config(self) -> ClusterConfig:
        return ClusterConfig(server=f"http://127.0.0.1:{self._port}")

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request: ReceivedRequest | None = None
        try:
            # The client may leave whenever it likes.
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                goes_on = True
                while goes_on:
                    request = await self._receive(reader)
                    steps = self._by_path.get(request.path) or self._next_script()
                    goes_on = await _play(steps, reader, writer)
        finally:
            writer.close()
            if request is not None:
                request.dropped.set()

    async def _receive(self, reader: asyncio.StreamReader) -> ReceivedRequest:
        came = await read_request(reader, self.connections)
        target = urlsplit(came.target)
        query = dict(parse_qsl(target.query))
        headers = CIMultiDict(came.headers)
        request = ReceivedRequest(came.method, unquote(target.path), query, headers, came.body)
        self.received.append(request)
        return request

    def _next_script(self) -> Sequence[Step]:
        # What nobody wrote a script for is dropped, so that the test fails and does not hang.
        return self._scripts.popleft() if self._scripts else (Close(),)


async def _play(
    steps: Sequence[Step], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> bool:
    """Whether the connection can serve another request."""
    for step in steps:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
            await asyncio.sleep(0)  # a piece of its own, as far as loopback allows
        elif isinstance(step, asyncio.Event):
            await step.wait()
        elif isinstance(step, Reset):
            writer.transport.abort()
            return False
        elif isinstance(step, Hold):
            while await reader.read(1024):
                pass
            return False
        else:
            return False
    return True
