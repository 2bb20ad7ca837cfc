"""One open watch: the server's stream in, events out, until it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

import msgspec

from kinform.client._framing import EventType, Frame
from kinform.client._wire import Framing, wire_for
from kinform.errors import KinformError, StateError, WatchError
from kinform.objects import Handle
from kinform.transport import Response

T = TypeVar("T", bound=Handle)


class WatchEvent(msgspec.Struct, Generic[T], frozen=True):
    """Something happened to an object. A BOOKMARK's object has a resource version and no more."""

    type: EventType
    object: T


class Watch(Generic[T]):
    """A single watch request; it does not reconnect (a reflector does).

    Iterate inside ``async with``, in one task; leaving it drops the connection at once. The
    iteration ends when the server ends the watch cleanly. A read that is cancelled (by a timeout,
    say) takes the connection with it: what comes next is another watch.

    Raises, while iterating:
        ApiError: The server sent an ERROR event (``ExpiredError`` for 410).
        DecodeError: One event does not decode. The watch is still good: iterate on.
        TransportError: The connection broke.
        WatchError: The stream ended inside an event, or an event is larger than we agreed to hold.
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
        self._left = False
        self._frames: deque[Frame] = deque()
        self._framing: Framing | None = None
        self._is_over = False
        self._reading = False
        self._broken = ""

    async def __aenter__(self) -> Self:
        if self._response is not None:
            raise StateError(f"{self._what} was opened before; ask the client for another watch")
        self._response = await self._open_stream()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._left = True
        self._frames.clear()
        if self._response is not None:
            await self._response.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> WatchEvent[T]:
        while not self._frames:
            if not await self._next_batch():
                raise StopAsyncIteration
        frame = self._frames.popleft()
        if frame.record is None:
            assert frame.error is not None  # a frame has one or the other
            raise frame.error
        return WatchEvent(frame.type, self._form.over(frame.record))

    async def _next_batch(self) -> bool:
        """Whether there was one. A batch, not an event, is what the stream is awaited for."""
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
            # The read was inside the stream, and the stream went with it. That is no clean end.
            self._broken = "a read of it was cancelled"
            raise

    async def read_into(self, into: Callable[[list[Frame]], bool]) -> bool:
        """Call ``into`` with the frames of each chunk where it arrives: what an engine does.

        Returns true when ``into`` does: more may follow, for who calls this again. Returns false
        when the server has ended the watch. Raises as iterating does, but for ApiError and
        DecodeError, which are in the frames; and whatever ``into`` raises.
        """
        response = self._opened()
        if self._reading:
            raise StateError(f"{self._what}: another task is reading it; each needs its own watch")
        if self._is_over:
            return False
        if self._framing is None:
            wire = wire_for(response.headers.get("Content-Type", ""), what=self._what)
            self._framing = wire.framing(self._max_line)
        feed, prune = self._framing.feed, self._prune if self._only_metadata else None

        def decode(chunk: bytes) -> bool:
            frames = feed(chunk)
            if prune is not None:
                frames = prune(frames)
            return bool(frames) and into(frames)

        self._reading = True
        try:
            if await response.read_into(decode):
                return True
        finally:
            self._reading = False
        self._is_over = True
        rest = self._framing.finish(self._what)
        if prune is not None:
            rest = prune(rest)
        return bool(rest) and into(rest)

    def _opened(self) -> Response:
        if self._response is None or self._left:
            raise StateError(
                f"{self._what} is not open; write `async with client.watch(...) as watch:`"
            )
        return self._response

    def _keep(self, frames: list[Frame]) -> bool:
        self._frames.extend(frames)
        return True

    def _prune(self, frames: list[Frame]) -> list[Frame]:
        """Some servers send whole objects to who asked for metadata; per event, so look at each."""
        return [self._prune_one(frame) for frame in frames]

    def _prune_one(self, frame: Frame) -> Frame:
        return frame if frame.record is None else Frame(frame.type, frame.record.only_metadata())
