"""What all informers of one client know about whether their server can be reached.

Each informer has connections of its own, and after an outage each would find out by itself that
the server is back. Here the first one that gets an answer wakes the others, and none of them
opens its connection at the same instant as all the rest.
"""

from __future__ import annotations

import asyncio
import random
from typing import Protocol

from kinform.transport import TokenBucket

# Connections that may be opened at once, and how many a second after that: a hundred informers
# that lost their connections together have new ones within half a second.
_BURST = 20
_OPENINGS_PER_SECOND = 200.0
# From this many waiting informers on, each waits longer, so that together they try no more often.
_TRYING_TOGETHER = 10
# Woken informers come back over this time each, and over a second at most.
_SPREAD_PER_INFORMER = 0.01
_LONGEST_SPREAD = 1.0


class Stream(Protocol):
    """An open watch."""

    @property
    def heard_at(self) -> float:
        """When something came last, by the loop's clock."""
        ...

    def doubt(self) -> None:
        """Take the connection for dead if nothing came meanwhile."""
        ...


class Reachability:
    """Shared by the informers of one client; belongs to one event loop."""

    def __init__(self) -> None:
        self._openings = TokenBucket(qps=_OPENINGS_PER_SECOND, burst=_BURST)
        self._waiting: set[asyncio.Future[bool]] = set()
        self._streams: set[Stream] = set()

    @property
    def waiting(self) -> int:
        """How many informers wait for the server to answer again."""
        return len(self._waiting)

    async def admit(self) -> None:
        """Return when the next connection may be opened."""
        await self._openings.acquire()

    def stretch(self, delay: float) -> float:
        """The delay for one more informer beside those that wait already."""
        return delay * max(1.0, (len(self._waiting) + 1) / _TRYING_TOGETHER)

    async def wait(self, delay: float) -> bool:
        """Sleep for ``delay`` seconds, or until the server has answered another informer.

        Returns:
            Whether it was the answer that ended the wait.
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
        """The server answered: wake the informers that wait, one after the other."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, set()
        for waiter in waiting:
            waiter.get_loop().call_later(_spread(len(waiting)), _resolve, waiter, True)

    def add_stream(self, stream: Stream) -> None:
        """A watch is open."""
        self._streams.add(stream)

    def remove_stream(self, stream: Stream) -> None:
        """A watch is closed. Idempotent."""
        self._streams.discard(stream)

    def doubt_streams(self, *, silent_since: float) -> None:
        """A connection was found dead that had given no sign of it; so may be these others."""
        silent = [each for each in self._streams if each.heard_at < silent_since]
        loop = asyncio.get_running_loop()
        for stream in silent:
            loop.call_later(_spread(len(silent)), self._doubt, stream, silent_since)

    def _doubt(self, stream: Stream, silent_since: float) -> None:
        if stream in self._streams and stream.heard_at < silent_since:
            stream.doubt()


def _spread(count: int) -> float:
    return random.uniform(0.0, min(count * _SPREAD_PER_INFORMER, _LONGEST_SPREAD))


def _resolve(waiter: asyncio.Future[bool], answered: bool) -> None:
    if not waiter.done():
        waiter.set_result(answered)
