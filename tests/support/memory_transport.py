"""Requests in, prepared answers out, without sockets: a Transport for tests of what is above."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress

from multidict import CIMultiDict

from kinform.api import ApiResource
from kinform.errors import ResponseTooLargeError, StateError, TransportError
from kinform.transport import Demand, ReadOutcome, Request
from tests.support.answers import ALL_RESOURCES, Answer, aggregated, text_answer

Reply = Answer | Exception | Callable[[Request], Answer]
"""An answer, an error to raise instead, or whatever the request makes it."""


class MemoryResponse:
    """An answer whose body comes in the pieces it was given."""

    def __init__(self, answer: Answer) -> None:
        self.status = answer.status
        self.headers: Mapping[str, str] = CIMultiDict(answer.headers)
        self._chunks = (answer.body,) if answer.chunks is None else answer.chunks
        self.closed = False
        self._poured: AsyncGenerator[bytes, None] | None = None

    async def read(self, limit: int | None = None) -> bytes:
        body = b"".join(self._chunks)
        if limit is not None and len(body) > limit:
            raise ResponseTooLargeError(f"the body is larger than {limit} bytes")
        return body

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for chunk in self._chunks:
            if self.closed:
                raise TransportError("closed while being read")
            await asyncio.sleep(0)
            yield chunk

    async def read_into(self, consumer: Callable[[bytes], Demand]) -> ReadOutcome:
        if self._poured is None:
            self._poured = self.chunks()
        async for chunk in self._poured:
            if consumer(chunk) is Demand.STOP:
                return ReadOutcome.STOPPED
        return ReadOutcome.ENDED

    async def close(self) -> None:
        self.closed = True
        if self._poured is not None:
            with suppress(RuntimeError):  # somebody reads it
                await self._poured.aclose()


class MemoryTransport:
    """Answers by path, in turn; the last answer of a path is given for ever."""

    def __init__(self, resources: Sequence[ApiResource] = ALL_RESOURCES) -> None:
        self.requests: list[Request] = []
        self.responses: list[MemoryResponse] = []
        self.closed = False
        self._replies: defaultdict[str, deque[Reply]] = defaultdict(deque)
        self.on("/api", aggregated([entry for entry in resources if not entry.gvr.group]))
        self.on("/apis", aggregated([entry for entry in resources if entry.gvr.group]))

    def on(self, path: str, *replies: Reply) -> None:
        """Answer requests to ``path`` with these, instead of what was said before."""
        self._replies[path] = deque(replies)

    def requests_to(self, path: str) -> list[Request]:
        return [request for request in self.requests if request.path == path]

    async def send(self, request: Request) -> MemoryResponse:
        if self.closed:
            raise StateError("the transport is closed")
        self.requests.append(request)
        await asyncio.sleep(0)
        response = MemoryResponse(self._reply_to(request))
        self.responses.append(response)
        return response

    def _reply_to(self, request: Request) -> Answer:
        replies = self._replies[request.path]
        if not replies:
            return text_answer("404 page not found\n", 404)
        reply = replies.popleft() if len(replies) > 1 else replies[0]
        if isinstance(reply, Exception):
            raise reply
        return reply if isinstance(reply, Answer) else reply(request)

    def describe_credentials(self) -> str:
        return "the credentials of a test"

    async def close(self) -> None:
        self.closed = True
