"""A stream whose head is in, in; decoded body bytes out; every failure is a ``TransportError``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping

from kinform.transport._arriving import ArrivingBody
from kinform.transport._connection_errors import CONNECTION_ERRORS
from kinform.transport._http_body import Head, MalformedAnswerError
from kinform.transport._http_stream import HttpStream, broken


class StreamResponse(ArrivingBody):
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
        super().__init__(action=action, deadline=deadline)
        self._stream = stream
        self._on_close = on_close
        self._closed = False
        self._pid = os.getpid()
        self._head = head

    @property
    def status(self) -> int:
        return self._head.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._head.headers

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

    async def _arriving(self) -> bytes:
        try:
            return await self._stream.next_piece()
        except (MalformedAnswerError, *CONNECTION_ERRORS) as error:
            raise broken(error, action=self._action) from error

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self._stream.close()
            self._on_close(self)
