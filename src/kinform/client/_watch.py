"""Watch: one watch request, as an iterator of events."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from kinform._runtime import Demand, ReadOutcome
from kinform.client._frames import EventType, Frame
from kinform.client._wire import Framing, wire_for
from kinform.errors import KinformError, StateError, WatchError
from kinform.objects import Handle
from kinform.transport import Response

T = TypeVar("T", bound=Handle)

BatchConsumer = Callable[[list[Frame]], Demand]
"""Receives the frames of a watch, batch by batch, and answers whether the next may follow."""

# A global is one lookup, an enum member two; this is used for every event.
_MORE = Demand.MORE


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """An event of a watch. The object of a BOOKMARK has a resource version only."""

    type: EventType
    object: T


class Watch(Generic[T]):
    """A single watch request. It does not reconnect; use a reflector or informer for that.

    Iterate inside ``async with``, from one task; leaving the block closes the connection. The
    iteration ends when the server closes the watch cleanly. Cancelling a read, for example by a
    timeout, closes the connection; open another watch to continue.

    Raises, while iterating:
        ApiError: The server sent an ERROR event (``ExpiredError`` for 410).
        DecodeError: An event cannot be decoded. The iteration may be continued.
        TransportError: The connection was lost.
        WatchError: The stream ended within an event, or an event exceeds the maximum size.
        StateError: The watch is not open, or another task is reading it.
    """

    def __init__(
        self,
        open_stream: Callable[[], Awaitable[Response]],
        *,
        what: str,
        form: type[T],
        only_metadata: bool,
        max_line: int,
    ) -> None:
        self._open_stream = open_stream
        self._what = what
        self._form = form
        self._only_metadata = only_metadata
        self._max_line = max_line
        self._response: Response | None = None
        self._is_closed = False
        self._frames: deque[Frame] = deque()
        self._framing: Framing | None = None
        self._is_over = False
        self._reading = False
        self._broken = ""

    async def open(self) -> Self:
        """Send the request and return when the server has accepted it. ``close`` ends the watch.

        Raises:
            ApiError: The server refused the request.
            TransportError: The server did not respond.
            StateError: The watch was opened before.
        """
        if self._response is not None:
            raise StateError(f"{self._what} was opened before; ask the client for another watch")
        self._response = await self._open_stream()
        return self

    async def close(self) -> None:
        """Close the connection. Idempotent."""
        self._is_closed = True
        self._frames.clear()
        if self._response is not None:
            await self._response.close()

    async def __aenter__(self) -> Self:
        return await self.open()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[T]:
        while not self._frames:
            if await self._next_batch() is ReadOutcome.ENDED:
                raise StopAsyncIteration
        frame = self._frames.popleft()
        if frame.record is None:
            assert frame.error is not None  # a frame has a record or an error
            raise frame.error
        return WatchEvent(frame.type, self._form.over(frame.record))

    async def _next_batch(self) -> ReadOutcome:
        """Read one batch of frames. One await serves many events."""
        if self._broken:
            self._opened()
            raise WatchError(f"{self._what} is over: {self._broken}")
        try:
            return await self.read_into(self._keep)
        except StateError:
            raise
        except KinformError as error:
            self._broken = str(error)
            raise
        except asyncio.CancelledError:
            # Cancelling the read also cancelled the stream, so this is not a clean end.
            self._broken = "a read of it was cancelled"
            raise

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        """Call ``consumer`` with the frames of each chunk as it arrives, until it answers ``STOP``.

        After ``ReadOutcome.STOPPED``, another call continues. ``ReadOutcome.ENDED`` means that the
        server has closed the watch. Raises the same errors as iteration and any exception of the
        consumer, except ApiError and DecodeError, which are passed as frames.
        """
        response = self._opened()
        if self._reading:
            raise StateError(f"{self._what}: another task is reading it; each needs its own watch")
        if self._is_over:
            return ReadOutcome.ENDED
        if self._framing is None:
            wire = wire_for(response.headers.get("Content-Type", ""), what=self._what)
            self._framing = wire.framing(self._max_line)
        feed, prune = self._framing.feed, self._prune if self._only_metadata else None

        def decode(chunk: bytes) -> Demand:
            frames = feed(chunk)
            if prune is not None:
                frames = prune(frames)
            return consumer(frames) if frames else _MORE

        self._reading = True
        try:
            if await response.read_into(decode) is ReadOutcome.STOPPED:
                return ReadOutcome.STOPPED
        finally:
            self._reading = False
        self._is_over = True
        rest = self._framing.finish(self._what)
        if prune is not None:
            rest = prune(rest)
        if rest and consumer(rest) is Demand.STOP:
            return ReadOutcome.STOPPED
        return ReadOutcome.ENDED

    def _opened(self) -> Response:
        if self._response is None or self._is_closed:
            raise StateError(
                f"{self._what} is not open; write `async with client.watch(...) as watch:`"
            )
        return self._response

    def _keep(self, frames: list[Frame]) -> Demand:
        self._frames.extend(frames)
        return Demand.STOP

    def _prune(self, frames: list[Frame]) -> list[Frame]:
        """Strip objects to metadata: some servers send whole objects to metadata requests."""
        return [self._prune_one(frame) for frame in frames]

    def _prune_one(self, frame: Frame) -> Frame:
        return frame if frame.record is None else Frame(frame.type, frame.record.only_metadata())
