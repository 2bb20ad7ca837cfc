"""Network faults: connections that break, stall or hang, and bodies in unusual chunks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping

from kinform.testing.faults._fault import Fault, Hooks
from kinform.testing.formats import PROTOBUF
from kinform.testing.interception import Call, Sink, SinkWrapper
from kinform.testing.responses import gzip_member


def drop_connection() -> Fault:
    """Close the connection instead of responding."""
    return _instead("drop connection", lambda sink: sink.cut())


def reset_connection() -> Fault:
    """Reset the TCP connection instead of responding."""
    return _instead("reset connection", lambda sink: sink.reset())


def _instead(name: str, end: Callable[[Sink], None]) -> Fault:
    async def before(call: Call, sink: Sink) -> bool:
        end(sink)
        return True

    return Fault(name, lambda call, hits: Hooks(before=before), answers=True)


def hang() -> Fault:
    """Accept the request and never respond; the socket stays open until the client closes it."""

    async def before(call: Call, sink: Sink) -> bool:
        await asyncio.Event().wait()
        return True

    return Fault("hang", lambda call, hits: Hooks(before=before), answers=True)


def delay_answer(seconds: float) -> Fault:
    """Wait before the server processes the request."""

    async def before(call: Call, sink: Sink) -> bool:
        await asyncio.sleep(seconds)
        return False

    return Fault("delay answer", lambda call, hits: Hooks(before=before))


def delay_body(seconds: float) -> Fault:
    """Send the head of the response immediately, and the body after a delay."""
    return _around("delay body", lambda sink: _DelayedBody(sink, seconds))


def delay_events(seconds: float) -> Fault:
    """Wait before each event of a watch, and before each line of any other response."""
    return _around("delay events", lambda sink: _DelayedEvents(sink, seconds))


def stall_after(size: int) -> Fault:
    """Send ``size`` bytes of the body, then nothing more; the socket stays open."""

    async def stall(sink: Sink) -> None:
        await asyncio.Event().wait()

    return _around("stall", lambda sink: _FirstBytes(sink, size, stall))


def cut_after(size: int) -> Fault:
    """Send ``size`` bytes of the body, then close the connection without ending the response."""

    async def cut(sink: Sink) -> None:
        sink.cut()

    return _around("cut", lambda sink: _FirstBytes(sink, size, cut))


def reset_after(size: int) -> Fault:
    """Send ``size`` bytes of the body, then a TCP reset."""

    async def reset(sink: Sink) -> None:
        sink.reset()

    return _around("reset", lambda sink: _FirstBytes(sink, size, reset))


def truncate(size: int) -> Fault:
    """Send ``size`` bytes of the body, then end the response as if it were complete."""

    async def finish(sink: Sink) -> None:
        await sink.finish()

    return _around("truncate", lambda sink: _Truncated(sink, size, finish))


def rechunk(size: int) -> Fault:
    """Send the body in chunks of ``size`` bytes that split characters, lines and gzip members."""
    return _around("rechunk", lambda sink: _Rechunked(sink, size))


def gzip_members() -> Fault:
    """Send each chunk of the body as a separate gzip member, as 1.37 does for watches."""
    return _around("gzip members", _GzipMembers)


def close_after_answer() -> Fault:
    """Respond as usual, but with ``Connection: close``, and close the connection."""
    return _around("close after answer", _ClosedAfterwards)


def _around(name: str, sink: Callable[[Sink], Sink]) -> Fault:
    return Fault(name, lambda call, hits: Hooks(sink=sink))


class _DelayedBody(SinkWrapper):
    def __init__(self, sink: Sink, seconds: float) -> None:
        super().__init__(sink)
        self._seconds = seconds

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        await super().start(status, headers)
        await asyncio.sleep(self._seconds)


class _DelayedEvents(SinkWrapper):
    def __init__(self, sink: Sink, seconds: float) -> None:
        super().__init__(sink)
        self._seconds = seconds
        self._framed = False

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        self._framed = headers.get("Content-Type", "") == f"{PROTOBUF};stream=watch"
        await super().start(status, headers)

    async def write(self, data: bytes) -> None:
        for event in _frames(data) if self._framed else data.splitlines(keepends=True):
            await asyncio.sleep(self._seconds)
            await super().write(event)


def _frames(data: bytes) -> Iterator[bytes]:
    """Yield the frames, each with its length prefix; the last may be incomplete."""
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        yield data[:end]
        data = data[end:]


class _FirstBytes(SinkWrapper):
    """Passes a number of bytes on, then runs another action once."""

    def __init__(self, sink: Sink, size: int, then: Callable[[Sink], Awaitable[None]]) -> None:
        super().__init__(sink)
        self._left = size
        self._then = then
        self._over = False

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        await super().start(status, headers)
        await self._end_if_due()

    async def write(self, data: bytes) -> None:
        part, self._left = data[: self._left], max(0, self._left - len(data))
        if part:
            await super().write(part)
        await self._end_if_due()

    async def _end_if_due(self) -> None:
        if not self._left:
            self._over = True
            await self._then(self._sink)
            # The server stops writing, as it does when a client disconnects.
            raise ConnectionResetError("an injected fault ended this response early")

    async def finish(self) -> None:
        if not self._over:
            await super().finish()


class _Truncated(_FirstBytes):
    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        # With a content length, the client could detect that bytes are missing.
        kept = {name: value for name, value in headers.items() if name.lower() != "content-length"}
        await super().start(status, kept)


class _Rechunked(SinkWrapper):
    def __init__(self, sink: Sink, size: int) -> None:
        super().__init__(sink)
        self._size = size

    async def write(self, data: bytes) -> None:
        for start in range(0, len(data), self._size):
            await super().write(data[start : start + self._size])
            # Let the reader run, so that it receives the chunks one by one.
            await asyncio.sleep(0)


class _GzipMembers(SinkWrapper):
    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        self._compress = True

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        names = {name.lower() for name in headers}
        self._compress = "content-encoding" not in names
        if self._compress:
            kept = {name: headers[name] for name in headers if name.lower() != "content-length"}
            headers = {**kept, "Content-Encoding": "gzip"}
        await super().start(status, headers)

    async def write(self, data: bytes) -> None:
        await super().write(gzip_member(data) if self._compress else data)


class _ClosedAfterwards(SinkWrapper):
    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        await super().start(status, {**headers, "Connection": "close"})

    async def finish(self) -> None:
        await super().finish()
        self.cut()
