"""Responses of streams; all failures are raised as ``TransportError``."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping

from kinform._runtime import Demand, ReadOutcome
from kinform.errors import StateError
from kinform.transport._connection_errors import CONNECTION_ERRORS
from kinform.transport._http_body import MalformedAnswerError, ResponseHead
from kinform.transport._http_stream import HttpStream, broken
from kinform.transport._response_body import READ_ONCE, ResponseBody


class StreamResponse(ResponseBody):
    """The response of a stream. Its body can be read once."""

    def __init__(
        self,
        stream: HttpStream,
        head: ResponseHead,
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
        # Without an encoding and a deadline, data is passed on directly when it is received.
        encoding = head.headers.get("Content-Encoding", "identity")
        self._is_direct = encoding == "identity" and deadline is None
        self._is_read_directly = False

    @property
    def status(self) -> int:
        return self._head.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._head.headers

    def __del__(self) -> None:
        # The loop would keep the connection open. In a forked process it belongs to the parent.
        if self._closed or self._pid != os.getpid() or not self._stream.is_connected:
            return
        # A response that was partly read is dropped on purpose; an unread one was forgotten.
        if not self._body_taken:
            warnings.warn(
                f"{self._action}: the response was not closed",
                ResourceWarning,
                stacklevel=2,
                source=self,
            )
        self._stream.close_from_anywhere()

    async def read_into(self, consumer: Callable[[bytes], Demand]) -> ReadOutcome:
        if self._piece_iterator is not None or not self._is_direct:
            return await super().read_into(consumer)
        if self._body_taken and not self._is_read_directly:
            raise StateError(READ_ONCE)
        self._body_taken = self._is_read_directly = True
        outcome = ReadOutcome.ENDED
        try:
            outcome = await self._stream.read_into(consumer)
        except (MalformedAnswerError, *CONNECTION_ERRORS) as error:
            if error is not self._stream.error:
                raise  # raised by the consumer
            raise broken(error, action=self._action) from error
        finally:
            if outcome is ReadOutcome.ENDED:  # also after an exception
                self._end()
        return outcome

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
