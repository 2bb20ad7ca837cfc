"""An aiohttp response in, decoded body bytes out; every failure is a ``TransportError``."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from kinform.errors import ResponseTooLargeError, StateError, TransportError
from kinform.transport._aiohttp_errors import EXCHANGE_ERRORS, translated
from kinform.transport._gzip import decoder_for

if TYPE_CHECKING:
    import aiohttp


class AiohttpResponse:
    """One answer. Its body can be read once, by ``read`` or by ``chunks``."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        *,
        action: str,
        deadline: float | None,
        on_close: Callable[[AiohttpResponse], None],
    ) -> None:
        self._response = response
        self._action = action
        self._deadline = deadline
        self._on_close = on_close
        self._body_taken = False
        self._closed = False
        connection = response.connection  # None if the whole body came with the head
        self._protocol = connection.protocol if connection is not None else None
        self._lost = self._protocol.closed if self._protocol is not None else None
        if self._lost is not None:
            self._lost.add_done_callback(self._end_reading)

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def read(self, limit: int | None = None) -> bytes:
        self._check_declared_size(limit)
        # BytesIO hands its buffer over without a copy; joining pieces would hold the body twice.
        body = io.BytesIO()
        size = 0
        pieces = self._pieces(self._arriving)
        try:
            # One timer for all of it: a page of a big list comes in hundreds of pieces, and
            # setting a timer costs several microseconds (benchmarks/run.py --only list).
            async with asyncio.timeout_at(self._deadline):
                async for piece in pieces:
                    size += len(piece)
                    if limit is not None and size > limit:
                        raise self._too_large(limit)
                    body.write(piece)
        except TimeoutError as error:
            raise self._too_slow() from error
        finally:
            await pieces.aclose()
        return body.getvalue()

    def chunks(self) -> AsyncGenerator[bytes]:
        return self._pieces(self._arriving if self._deadline is None else self._arriving_in_time)

    async def _pieces(self, arriving: Callable[[], Awaitable[bytes]]) -> AsyncGenerator[bytes]:
        if self._body_taken:
            raise StateError("the body of a response can be read only once")
        self._body_taken = True
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
            # Also on cancellation and when the reader stops early: this connection goes, no other.
            self._end()

    async def close(self) -> None:
        self._end()

    async def _arriving_in_time(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._arriving()
        except TimeoutError as error:
            raise self._too_slow() from error

    async def _arriving(self) -> bytes:
        try:
            return await self._response.content.readany()
        except EXCHANGE_ERRORS as error:
            if self._closed:
                raise TransportError(f"{self._action}: closed while it was being read") from error
            raise translated(error, action=self._action) from error

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            if self._lost is not None:
                self._lost.remove_done_callback(self._end_reading)
                # The connection may live on for others and end in an error that is nobody's;
                # one look at it, however many responses it carried, keeps asyncio quiet.
                self._lost.remove_done_callback(_take_notice)
                self._lost.add_done_callback(_take_notice)
            if self._protocol is not None and not self._response.content.is_eof():
                # Nobody wants the rest. A polite TLS goodbye would outlive the loop that says it.
                self._protocol.abort()
            # After the end of the body the connection is back in the pool already, and this does
            # nothing to it; before, it drops the connection and wakes whoever is reading.
            self._response.close()
            self._on_close(self)

    def _end_reading(self, lost: asyncio.Future[None]) -> None:
        """The connection is gone. Wake the reader, for aiohttp does not do so in every case.

        After a malformed chunk it closes the socket and leaves the body waiting for ever.
        """
        reason = None if lost.cancelled() else lost.exception()
        content = self._response.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(
                reason or ConnectionResetError("the connection ended in the middle of the body")
            )

    def _check_declared_size(self, limit: int | None) -> None:
        declared = self._response.content_length
        if limit is not None and declared is not None and declared > limit:
            self._end()
            raise self._too_large(limit)

    def _too_slow(self) -> TransportError:
        return TransportError(f"{self._action}: the body did not end within the time given")

    def _too_large(self, limit: int) -> ResponseTooLargeError:
        return ResponseTooLargeError(f"{self._action}: the body is larger than {limit} bytes")


def _take_notice(lost: asyncio.Future[None]) -> None:
    if not lost.cancelled():
        lost.exception()
