"""An open stream of a source, with a limit on the time without data."""

from __future__ import annotations

import asyncio
import logging
import math
from typing import Any

from kinform._runtime import Demand, ReadOutcome
from kinform.api import ListOptions
from kinform.client import BatchConsumer, Frame, Reachability
from kinform.errors import WatchSilenceError
from kinform.informers.reflector._idle_timeout import IdleTimeout
from kinform.informers.reflector._silence_limit import MEANINGFUL_SILENCE, SilenceLimit
from kinform.informers.sources import Source, WatchStream

logger = logging.getLogger("kinform.reflector")


class OpenWatch:
    """A stream that fails if it receives nothing for too long. Close it; this is idempotent.

    Attributes:
        opened_from: The version after which its changes start.
        events: The number of events received, including bookmarks.
        progressed: Whether an event was received, or a bookmark with a new version.
        received_at: The loop time at which data was last received.
    """

    def __init__(
        self,
        *,
        what: str,
        resource_version: str,
        lifetime: float,
        silence_limit: SilenceLimit,
        reachability: Reachability,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._what = what
        self._stream: WatchStream | None = None
        self._consumer: BatchConsumer | None = None
        self._unread: list[Frame] = []
        self._lifetime = lifetime
        self._ends_at = math.inf
        self.received_at = 0.0
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

    async def open(self, source: Source[Any], options: ListOptions) -> None:
        """Open a stream of the source and return when it is established.

        Raises:
            WatchSilenceError: The server did not respond within the lifetime of the watch.
        """
        try:
            async with asyncio.timeout(self._lifetime) as patience:
                self._stream = await source.open_watch(options)
        except TimeoutError as error:
            if not patience.expired():
                raise  # a TimeoutError of the source itself
            raise WatchSilenceError(
                f"{self._what}: the server did not respond to the watch request in time"
            ) from error
        self._opened_at = self._watching_since = self.received_at = self._loop.time()
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

    def received_bookmark(self) -> None:
        """Record a bookmark; the server's bookmark interval is learned from these."""
        now = self._loop.time()
        if self._bookmark_at is not None:
            self._silence_limit.received_bookmark(now - self._bookmark_at)
            self._idle_timeout.set()  # the learned limit may be shorter than the current one
        self._bookmark_at = now

    async def read_into(
        self, consumer: BatchConsumer, longest_silence: float | None = None
    ) -> ReadOutcome:
        """Call ``consumer`` with each batch as it arrives, until it answers ``STOP``.

        ``ReadOutcome.ENDED`` means that the server closed the stream. Exceptions of the consumer
        propagate.

        Raises:
            WatchSilenceError: Nothing was received for ``longest_silence`` seconds (by default, for
                longer than this server is ever silent), or the server did not end it on time.
        """
        self.received_at = self._loop.time()
        if self._unread:
            batch, self._unread = self._unread, []
            if consumer(batch) is Demand.STOP:
                return ReadOutcome.STOPPED
        assert self._stream is not None
        self._longest_silence = longest_silence
        self._consumer = consumer
        if self._deadline() <= self.received_at:
            raise self._silence()
        try:
            with self._idle_timeout.set():
                return await self._stream.read_into(self._receive)
        except TimeoutError as error:
            if not self._idle_timeout.is_late:
                raise  # a TimeoutError of the consumer
            raise self._silence() from error

    def _receive(self, batch: list[Frame]) -> Demand:
        """Note that data was received, and pass it on."""
        now = self._loop.time()
        if now >= self._ends_at:
            raise self._silence()  # a source that is always ready never lets the timer run
        if self._longest_silence is None:
            self._learn(now)
        self.received_at = now
        assert self._consumer is not None
        return self._consumer(batch)

    def _learn(self, now: float) -> None:
        """Learn the usual time between events from a received batch."""
        limit = self._silence_limit
        if limit.received(now - self.received_at, now - self._opened_at):
            # The cause of a dead connection may have affected other connections too.
            self._reachability.doubt_streams(silent_since=now - MEANINGFUL_SILENCE)
        self._is_doubted = False
        if limit.is_newly_known:
            self._idle_timeout.set()  # the learned limit may be shorter than the current one

    def _silence(self) -> WatchSilenceError:
        if self._is_doubted:
            why = "another connection to the same server was lost"
        elif self._deadline() < self._ends_at:
            why = "no data was received in time"
            if self._longest_silence is None:
                self._silence_limit.exceeded()
        else:
            why = "the server did not end the watch in time"
        return WatchSilenceError(f"{self._what}: closing the watch, because {why}")

    def _deadline(self) -> float:
        """Return the loop time by which data must be received."""
        if self._is_doubted:
            return self.received_at
        silence = self._longest_silence
        if silence is None:
            silence = self._silence_limit.seconds
        return self._ends_at if silence is None else min(self._ends_at, self.received_at + silence)

    def doubt(self) -> None:
        """Treat this connection as dead, because another one to the same server was."""
        if self._longest_silence is None:  # streamed lists have their own limit
            self._is_doubted = True
            self._idle_timeout.set()

    def unread(self, frames: list[Frame]) -> None:
        """Return frames to the stream, for the next read."""
        self._unread = frames

    async def close(self) -> None:
        self._reachability.remove_stream(self)
        stream, self._stream = self._stream, None
        if stream is not None:
            self._idle_timeout.stop()
            try:
                await stream.close()
            except Exception:  # the watch is over in any case
                logger.debug("%s: closing the watch failed", self._what, exc_info=True)
