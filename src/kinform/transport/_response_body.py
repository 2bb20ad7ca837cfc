"""Reading of response bodies: decoding, size limits and timeouts."""

from __future__ import annotations

import asyncio
import io
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import suppress

from kinform._runtime import Demand, ReadOutcome
from kinform.errors import ResponseTooLargeError, StateError, TransportError
from kinform.transport._gzip import decoder_for

# In digits. ``int`` refuses much longer ones.
_LONGEST_LENGTH = 18

READ_ONCE = "the body of a response can be read only once"


class ResponseBody(ABC):
    """Base class of responses, independent of the connection. The body can be read once.

    Args:
        action: The request, for errors: ``GET https://…``.
        deadline: The time by which the body must be complete; ``None`` for no limit.
    """

    def __init__(self, *, action: str, deadline: float | None) -> None:
        self._action = action
        self._deadline = deadline
        self._body_taken = False
        self._piece_iterator: AsyncGenerator[bytes] | None = None
        self._is_interrupted = False

    @property
    @abstractmethod
    def headers(self) -> Mapping[str, str]:
        """Response headers, with case-insensitive lookup."""

    @abstractmethod
    async def _arriving(self) -> bytes:
        """Return the next bytes received; empty at the end. Raises TransportError."""

    @abstractmethod
    def _end(self) -> None:
        """Release the connection, or close it. Idempotent."""

    async def close(self) -> None:
        self._end()
        if self._piece_iterator is not None:
            # Another task may be reading; its read has ended already.
            with suppress(RuntimeError):
                await self._piece_iterator.aclose()

    async def read(self, limit: int | None = None) -> bytes:
        if limit is not None and _declared_length(self.headers) > limit:
            self._end()
            raise self._too_large(limit)
        # BytesIO returns its buffer without a copy; joining pieces would hold the body twice.
        body = io.BytesIO()
        size = 0
        pieces = self._pieces(self._arriving)
        try:
            # One timer for the complete body: a page of a large list arrives in hundreds of pieces,
            # and a timer costs several microseconds (benchmarks/run.py --only list).
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

    async def read_into(self, consumer: Callable[[bytes], Demand]) -> ReadOutcome:
        if self._piece_iterator is None:
            self._piece_iterator = self.chunks()
        if self._is_interrupted:
            raise TransportError(f"{self._action}: an earlier read of the body was interrupted")
        try:
            async for piece in self._piece_iterator:
                if consumer(piece) is Demand.STOP:
                    return ReadOutcome.STOPPED
        except BaseException:
            self._is_interrupted = True  # later data does not continue the body
            await self._piece_iterator.aclose()
            raise
        return ReadOutcome.ENDED

    async def _pieces(self, arriving: Callable[[], Awaitable[bytes]]) -> AsyncGenerator[bytes]:
        if self._body_taken:
            raise StateError(READ_ONCE)
        self._body_taken = True
        try:
            decoder = decoder_for(self.headers.get("Content-Encoding"), action=self._action)
            while data := await arriving():
                for number, piece in enumerate(decoder.feed(data)):
                    if number:
                        # A little input can inflate to a lot; let other streams run.
                        await asyncio.sleep(0)
                    yield piece
            decoder.finish()
        finally:
            # Also after cancellation and when the reader stops early: only this connection ends.
            self._end()

    async def _arriving_in_time(self) -> bytes:
        try:
            async with asyncio.timeout_at(self._deadline):
                return await self._arriving()
        except TimeoutError as error:
            raise self._too_slow() from error

    def _too_slow(self) -> TransportError:
        return TransportError(f"{self._action}: the body did not end within the time given")

    def _too_large(self, limit: int) -> ResponseTooLargeError:
        return ResponseTooLargeError(f"{self._action}: the body is larger than {limit} bytes")


def _declared_length(headers: Mapping[str, str]) -> int:
    """Return the Content-Length; 0 if there is none, or not a plausible one."""
    declared = headers.get("Content-Length", "")
    return int(declared) if declared.isdecimal() and len(declared) <= _LONGEST_LENGTH else 0
