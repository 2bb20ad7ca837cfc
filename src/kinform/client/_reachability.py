"""The connection state of one server, shared by all informers of a client.

Each informer has its own connections, and after an outage each would have to discover separately
that the server is back. Instead, the first one that receives a response wakes the others, and
their reconnects are spread over time.
"""

from __future__ import annotations

import asyncio
import random
from typing import Protocol

from kinform.transport import TokenBucket

# The number of connections that may be opened at once, and per second after that: a hundred
# informers that lost their connections together reconnect within half a second.
_BURST = 20
_OPENINGS_PER_SECOND = 200.0
# With more waiting informers, each waits longer, so that the total rate stays the same.
_TRYING_TOGETHER = 10
# Woken informers reconnect over this time per informer, and over a second at most.
_SPREAD_PER_INFORMER = 0.01
_LONGEST_SPREAD = 1.0


class Stream(Protocol):
    """An open watch."""

    @property
    def received_at(self) -> float:
        """The loop time at which data was last received."""
        ...

    def doubt(self) -> None:
        """Treat the connection as dead if nothing was received in the meantime."""
        ...


class Reachability:
    """The state shared by the informers of one client. Belongs to one event loop."""

    def __init__(self) -> None:
        self._openings = TokenBucket(qps=_OPENINGS_PER_SECOND, burst=_BURST)
        self._waiting: set[asyncio.Future[bool]] = set()
        self._streams: set[Stream] = set()

    @property
    def waiting(self) -> int:
        """The number of informers that wait for the server to respond again."""
        return len(self._waiting)

    async def admit(self) -> None:
        """Wait until the next connection may be opened."""
        await self._openings.acquire()

    def stretch(self, delay: float) -> float:
        """Return the delay for one more informer besides those that already wait."""
        return delay * max(1.0, (self.waiting + 1) / _TRYING_TOGETHER)

    async def wait(self, delay: float) -> bool:
        """Sleep for ``delay`` seconds, or until the server responds to another informer.

        Returns:
            Whether a response ended the wait.
        """
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(delay, _resolve, waiter, False)
        self._waiting.add(waiter)
        try:
            return await waiter
        finally:
            timer.cancel()
            self._waiting.discard(waiter)

    def answered(self) -> None:
        """Note a response of the server, and wake the waiting informers one after the other."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, set()
        for waiter in waiting:
            waiter.get_loop().call_later(_spread(len(waiting)), _resolve, waiter, True)

    def add_stream(self, stream: Stream) -> None:
        """Register an open watch."""
        self._streams.add(stream)

    def remove_stream(self, stream: Stream) -> None:
        """Unregister a watch. Idempotent."""
        self._streams.discard(stream)

    def doubt_streams(self, *, silent_since: float) -> None:
        """Check the other silent connections, after one was found dead without an error."""
        silent = [each for each in self._streams if each.received_at < silent_since]
        loop = asyncio.get_running_loop()
        for stream in silent:
            loop.call_later(_spread(len(silent)), self._doubt, stream, silent_since)

    def _doubt(self, stream: Stream, silent_since: float) -> None:
        if stream in self._streams and stream.received_at < silent_since:
            stream.doubt()


def _spread(count: int) -> float:
    return random.uniform(0.0, min(count * _SPREAD_PER_INFORMER, _LONGEST_SPREAD))


def _resolve(waiter: asyncio.Future[bool], answered: bool) -> None:
    if not waiter.done():
        waiter.set_result(answered)
