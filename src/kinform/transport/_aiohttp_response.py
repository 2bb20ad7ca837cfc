"""Responses received through aiohttp; all failures are raised as ``TransportError``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kinform.errors import TransportError
from kinform.transport._aiohttp_errors import AIOHTTP_ERRORS, translated
from kinform.transport._pacing import Pacing
from kinform.transport._response_body import ResponseBody

if TYPE_CHECKING:
    import aiohttp


class AiohttpResponse(ResponseBody):
    """A response. Its body can be read once, by ``read`` or by ``chunks``."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        *,
        action: str,
        deadline: float | None,
        on_close: Callable[[AiohttpResponse], None],
    ) -> None:
        super().__init__(action=action, deadline=deadline)
        self._response = response
        self._on_close = on_close
        self._closed = False
        connection = response.connection  # None if the complete body came with the headers
        self._protocol = connection.protocol if connection is not None else None
        self._lost = self._protocol.closed if self._protocol is not None else None
        transport = connection.transport if connection is not None else None
        self._pacing = Pacing(transport.get_extra_info("socket")) if transport is not None else None
        if self._lost is not None:
            self._lost.add_done_callback(self._end_reading)

    @property
    def status(self) -> int:
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._response.headers

    async def _arriving(self) -> bytes:
        try:
            data = await self._response.content.readany()
        except AIOHTTP_ERRORS as error:
            if self._closed:
                raise TransportError(f"{self._action}: closed while being read") from error
            raise translated(error, action=self._action) from error
        if self._pacing is not None:
            self._pacing.read(len(data))
        return data

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            if self._pacing is not None:
                self._pacing.stop()
            if self._lost is not None:
                self._lost.remove_done_callback(self._end_reading)
                # The connection may be reused and later fail with an error that is never retrieved;
                # a single callback per connection retrieves it, so that asyncio does not log it.
                self._lost.remove_done_callback(_take_notice)
                self._lost.add_done_callback(_take_notice)
            if self._protocol is not None and not self._response.content.is_eof():
                # The rest is not needed, and a TLS shutdown could outlive the event loop.
                self._protocol.abort()
            # After the end of the body the connection is already back in the pool, and this has no
            # effect on it; before, it closes the connection and wakes the reader.
            self._response.close()
            self._on_close(self)

    def _end_reading(self, lost: asyncio.Future[None]) -> None:
        """Wake the reader after the connection is lost, which aiohttp does not always do.

        After a malformed chunk it closes the socket and leaves the body waiting forever.
        """
        reason = None if lost.cancelled() else lost.exception()
        content = self._response.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(
                reason or ConnectionResetError("the connection ended in the middle of the body")
            )


def _take_notice(lost: asyncio.Future[None]) -> None:
    if not lost.cancelled():
        lost.exception()
