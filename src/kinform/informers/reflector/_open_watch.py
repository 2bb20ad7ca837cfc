"""An open stream of a source, with a limit on the time without data."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from kinform.client import Frame, Reachability
from kinform.errors import WatchSilenceError
from kinform.informers.reflector._idle_timeout import IdleTimeout
from kinform.informers.reflector._silence_limit import MEANINGFUL_SILENCE, SilenceLimit
from kinform.informers.sources import Batches

logger = logging.getLogger("kinform.reflector")


class OpenWatch:
    """A stream that fails if it receives nothing for too long. Close it; this is idempotent.

    Attributes:
        opened_from: The version after which its changes start.
        events: The number of events received, including bookmarks.
        progressed: Whether an event was received, or a bookmark with a new version.
        heard_at: The loop time at which data was last received.
    """

    def __init__(
        self,
        stream: AbstractAsyncContextManager[Batches],
        *,
        what: str,
        resource_version: str,
        lifetime: float,
        silence_limit: SilenceLimit,
        reachability: Reachability,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._stream = stream
        self._what = what
        self._batches: Batches | None = None
        self._left_over: list[Frame] = []
        self._lifetime = lifetime
        self._ends_at = math.inf
        self.heard_at = 0.0
        self._longest_silence: float | None = None
        self._silence_limit = silence_limit
        self._reachability = reachability
        self._is_doubted = False
        self._bookmark_at: float | None = None
        self.opened_from = resource_version
        self._opened_at = 0.0
        self._watching_since = 0.0
        self._idle_timeout = IdleTimeout(self._deadline)
        self.events = 0
        self.progressed = False

    async def open(self) -> None:
        """Open the stream and return when it is established.

        Raises:
            WatchSilenceError: The server did not respond within the lifetime of the watch.
        """
        try:
            async with asyncio.timeout(self._lifetime) as patience:
                self._batches = await self._stream.__aenter__()
        except TimeoutError as error:
            if not patience.expired():
                raise  # a TimeoutError of the source itself
            raise WatchSilenceError(
                f"{self._what}: the server did not respond; reconnecting"
            ) from error
        self._opened_at = self._watching_since = self.heard_at = self._loop.time()
        self._ends_at = self._opened_at + self._lifetime
        self._silence_limit.watch_opened()
        self._reachability.add_stream(self)

    def begin(self, resource_version: str) -> None:
        """Note that the initial list is complete at this version; from now on this is a watch."""
        self.opened_from = resource_version
        self._watching_since = self._loop.time()

    @property
    def age(self) -> float:
        """Seconds since the stream was opened."""
        return self._loop.time() - self._opened_at

    @property
    def watched_for(self) -> float:
        """Seconds since the stream became a watch, after its initial list."""
        return self._loop.time() - self._watching_since

    def heard_bookmark(self) -> None:
        """Record a bookmark; the server's bookmark interval is learned from these."""
        now = self._loop.time()
        if self._bookmark_at is not None:
            self._silence_limit.received_bookmark(now - self._bookmark_at)
            self._idle_timeout.set()  # the learned limit may be shorter than the current one
        self._bookmark_at = now

    async def read_into(
        self, into: Callable[[list[Frame]], bool], longest_silence: float | None = None
    ) -> bool:
        """Call ``into`` with each batch as it arrives, until it returns true.

        Returns false when the server closed the stream. Exceptions of ``into`` propagate.

        Raises:
            WatchSilenceError: Nothing was received for ``longest_silence`` seconds (by default, for
                longer than this server is ever silent), or the server did not end it on time.
        """
        self.heard_at = self._loop.time()
        if self._left_over:
            batch, self._left_over = self._left_over, []
            if into(batch):
                return True
        assert self._batches is not None
        self._longest_silence = longest_silence

        def heard(batch: list[Frame]) -> bool:
            now = self._loop.time()
            if now >= self._ends_at:
                raise self._silence()  # a source that is always ready never lets the timer run
            if longest_silence is None:
                self._learn(now)
            self.heard_at = now
            return into(batch)

        if self._deadline() <= self.heard_at:
            raise self._silence()
        try:
            with self._idle_timeout.set():
                return await self._batches.read_into(heard)
        except TimeoutError as error:
            if not self._idle_timeout.is_late:
                raise  # a TimeoutError of the consumer
            raise self._silence() from error

    def _learn(self, now: float) -> None:
        """Learn the usual time between events from a received batch."""
        limit = self._silence_limit
        if limit.received(now - self.heard_at, now - self._opened_at):
            # The cause of a dead connection may have affected other connections too.
            self._reachability.doubt_streams(silent_since=now - MEANINGFUL_SILENCE)
        self._is_doubted = False
        if limit.is_newly_known:
            self._idle_timeout.set()  # the learned limit may be shorter than the current one

    def _silence(self) -> WatchSilenceError:
        if self._is_doubted:
            why = "another connection to the same server was dead"
        elif self._deadline() < self._ends_at:
            why = "no data was received in time"
            if self._longest_silence is None:
                self._silence_limit.exceeded()
        else:
            why = "the server did not end the watch in time"
        return WatchSilenceError(f"{self._what}: {why}; reconnecting")

    def _deadline(self) -> float:
        """Return the loop time by which data must be received."""
        if self._is_doubted:
            return self.heard_at
        silence = self._longest_silence
        if silence is None:
            silence = self._silence_limit.seconds
        return self._ends_at if silence is None else min(self._ends_at, self.heard_at + silence)

    def doubt(self) -> None:
        """Treat this connection as dead, because another one to the same server was."""
        if self._longest_silence is None:  # streamed lists have their own limit
            self._is_doubted = True
            self._idle_timeout.set()

    def give_back(self, frames: list[Frame]) -> None:
        """Return frames to the stream, for the next read."""
        self._left_over = frames

    async def close(self) -> None:
        self._reachability.remove_stream(self)
        if self._batches is not None:
            self._batches = None
            self._idle_timeout.stop()
            try:
                await self._stream.__aexit__(None, None, None)
            except Exception:  # the watch is over in any case
                logger.debug("%s: closing the watch failed", self._what, exc_info=True)
