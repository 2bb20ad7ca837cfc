"""An aiohttp response in, decoded body bytes out; every failure is a ``TransportError``."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import TYPE_CHECKING

from ..errors import ResponseTooLargeError, StateError, TransportError
from ._aiohttp_errors import EXCHANGE_ERRORS, translated
from ._gzip import decoder_for

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
        chunks = self.chunks()
        try:
            async for chunk in chunks:
                size += len(chunk)
                if limit is not None and size > limit:
                    raise self._too_large(limit)
                body.write(chunk)
        finally:
            await chunks.aclose()
        return body.getvalue()

    async def chunks(self) -> AsyncGenerator[bytes]:
        if self._body_taken:
            raise StateError("the body of a response can be read only once")
        self._body_taken = True
        try:
            decoder = decoder_for(self.headers.get("Content-Encoding"), action=self._action)
            while data := await self._next():
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

    async def _next(self) -> bytes:
        try:
            if self._deadline is None:
                return await self._response.content.readany()
            async with asyncio.timeout_at(self._deadline):
                return await self._response.content.readany()
        except EXCHANGE_ERRORS as error:
            if self._closed:
                raise TransportError(f"{self._action}: closed while it was being read") from error
            if isinstance(error, TimeoutError) and self._deadline is not None:
                raise TransportError(
                    f"{self._action}: the body did not end within the time given"
                ) from error
            raise translated(error, action=self._action) from error

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            # After the end of the body the connection is back in the pool already, and this does
            # nothing to it; before, it drops the connection and wakes whoever is reading.
            self._response.close()
            self._on_close(self)

    def _check_declared_size(self, limit: int | None) -> None:
        declared = self._response.content_length
        if limit is not None and declared is not None and declared > limit:
            self._end()
            raise self._too_large(limit)

    def _too_large(self, limit: int) -> ResponseTooLargeError:
        return ResponseTooLargeError(f"{self._action}: the body is larger than {limit} bytes")
