"""A stream whose head is in, in; decoded body bytes out; every failure is a ``TransportError``."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import AsyncGenerator, Callable, Mapping

from kinform.errors import ResponseTooLargeError, StateError, TransportError
from kinform.transport._aiohttp_errors import EXCHANGE_ERRORS
from kinform.transport._gzip import decoder_for
from kinform.transport._http_body import Head, MalformedAnswerError
from kinform.transport._http_stream import HttpStream, broken


class StreamResponse:
    """The answer to a stream's request. Its body can be read once."""

    def __init__(
        self,
        stream: HttpStream,
        head: Head,
        *,
        action: str,
        deadline: float | None,
        on_close: Callable[[StreamResponse], None],
    ) -> None:
        self._stream = stream
        self._action = action
        self._deadline = deadline
        self._on_close = on_close
        self._body_taken = False
        self._closed = False
        self._pid = os.getpid()
        self.status = head.status
        self.headers: Mapping[str, str] = head.headers

    async def read(self, limit: int | None = None) -> bytes:
        body = bytearray()
        pieces = self.chunks()
        try:
            async for piece in pieces:
                body += piece
                if limit is not None and len(body) > limit:
                    raise ResponseTooLargeError(
                        f"{self._action}: the body is larger than {limit} bytes"
                    )
        finally:
            await pieces.aclose()
        return bytes(body)

    async def chunks(self) -> AsyncGenerator[bytes]:
        if self._body_taken:
            raise StateError("the body of a response can be read only once")
        self._body_taken = True
        arriving = self._arriving if self._deadline is None else self._arriving_in_time
        try:
            decoder = decoder_for(self.headers.get("Content-Encoding"), action=self._action)
            while data := await arriving():
                for number, piece in enumerate(decoder.feed(data)):
                    if number:
                        # A little input can inflate to a lot; let other streams have their turn.
                        await asyncio.sleep(0)
                    yield piece
            decoder.finish()
        finally:
            # Also on cancellation and when the reader stops early.
            self._end()

    async def close(self) -> None:
        self._end()

    def __del__(self) -> None:
        # The connection would live on without us: the loop knows it. In a fork it is the parent's.
        if not self._closed and self._pid == os.getpid() and self._stream.is_connected:
            warnings.warn(
                f"{self._action}: the response was not closed",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
            self._stream.close_from_anywhere()

    async def _arriving_in_time(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._arriving()
        except TimeoutError as error:
            raise TransportError(
                f"{self._action}: the body did not end within the time given"
            ) from error

    async def _arriving(self) -> bytes:
        try:
            return await self._stream.next_piece()
        except (MalformedAnswerError, *EXCHANGE_ERRORS) as error:
            raise broken(error, action=self._action) from error

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self._stream.close()
            self._on_close(self)
