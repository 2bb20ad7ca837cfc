"""One open stream of a source in; batches of frames out, or an error when it falls silent."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from kinform.client import Frame
from kinform.errors import WatchSilenceError
from kinform.informers.reflector._alarm import Alarm
from kinform.informers.sources._watch_shapes import Batches

logger = logging.getLogger("kinform.reflector")


class Cadence:
    """How often this server says that nothing happened, learned from its bookmarks.

    Bookmarks are not promised, so silence only ever means: resume, which costs little.
    """

    # A bookmark that is late by less than this proves nothing.
    _FLOOR = 15.0

    def __init__(self) -> None:
        self._longest = 0.0
        self._doubt = 3.0

    def heard(self, gap: float) -> None:
        """Two bookmarks came, ``gap`` seconds apart."""
        self._longest = max(self._longest, gap)
        self._doubt = 3.0

    def was_silent(self) -> None:
        """The limit was passed. In an idle cluster that is no fault: be slower to doubt again."""
        self._doubt *= 2

    @property
    def longest_silence(self) -> float | None:
        """How long this server may be silent; ``None`` while nothing is known."""
        return max(self._longest * self._doubt, self._FLOOR) if self._longest else None


class OpenWatch:
    """A stream with a limit on its silence. Close it; closing is idempotent.

    Attributes:
        opened_from: The version after which its changes begin.
        events: How many came, bookmarks included.
        heard_at: When something came last, by the loop's clock.
    """

    def __init__(
        self,
        stream: AbstractAsyncContextManager[Batches],
        *,
        what: str,
        resource_version: str,
        lifetime: float,
        cadence: Cadence,
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
        self._cadence = cadence
        self._bookmark_at: float | None = None
        self.opened_from = resource_version
        self._opened_at = 0.0
        self._watching_since = 0.0
        self._alarm = Alarm(self._deadline)
        self.events = 0

    async def open(self) -> None:
        """Ask for it, and return when it is there.

        Raises:
            WatchSilenceError: There was no answer when it would have been over.
        """
        try:
            async with asyncio.timeout(self._lifetime) as patience:
                self._batches = await self._stream.__aenter__()
        except TimeoutError as error:
            if not patience.expired():
                raise  # of the source
            raise WatchSilenceError(f"{self._what}: nothing answered; taken for dead") from error
        self._opened_at = self._watching_since = self._loop.time()
        self._ends_at = self._opened_at + self._lifetime

    def begin(self, resource_version: str) -> None:
        """The list that it began with is complete, at this version; now it is a watch."""
        self.opened_from = resource_version
        self._watching_since = self._loop.time()

    @property
    def age(self) -> float:
        """Seconds since it was opened."""
        return self._loop.time() - self._opened_at

    @property
    def watched_for(self) -> float:
        """Seconds that it has been a watch, and not yet a list."""
        return self._loop.time() - self._watching_since

    def heard_bookmark(self) -> None:
        """A bookmark came: the server's pulse."""
        now = self._loop.time()
        if self._bookmark_at is not None:
            self._cadence.heard(now - self._bookmark_at)
            self._alarm.set()  # what was learned may be less than what was waited for
        self._bookmark_at = now

    async def pour(
        self, into: Callable[[list[Frame]], bool], longest_silence: float | None = None
    ) -> bool:
        """Call ``into`` with each batch where it arrives, until it returns true.

        Returns false when the server ended the stream. Raises whatever ``into`` raises.

        Raises:
            WatchSilenceError: Nothing came for ``longest_silence`` (if it is left out: for longer
                than this server is ever silent), or past the time at which the server was to end
                the watch.
        """
        self.heard_at = self._loop.time()
        if self._left_over:
            batch, self._left_over = self._left_over, []
            if into(batch):
                return True
        assert self._batches is not None
        self._longest_silence = longest_silence

        def heard(batch: list[Frame]) -> bool:
            now = self.heard_at = self._loop.time()
            if now >= self._ends_at:
                raise self._silence()  # a source that is always ready lets no timer come
            return into(batch)

        if self._deadline() <= self.heard_at:
            raise self._silence()
        try:
            with self._alarm.set():
                return await self._batches.pour(heard)
        except TimeoutError as error:
            if not self._alarm.is_late:
                raise  # of who takes it
            raise self._silence() from error

    def _silence(self) -> WatchSilenceError:
        late = "the server did not end it"
        if self._deadline() < self._ends_at:
            late = "what was due did not come"
            if self._longest_silence is None:
                self._cadence.was_silent()
        return WatchSilenceError(f"{self._what}: {late} in time; taken for dead")

    def _deadline(self) -> float:
        """Until when something has to come."""
        silence = self._longest_silence
        if silence is None:
            silence = self._cadence.longest_silence
        return self._ends_at if silence is None else min(self._ends_at, self.heard_at + silence)

    def give_back(self, frames: list[Frame]) -> None:
        """Frames for the next reader."""
        self._left_over = frames

    async def close(self) -> None:
        if self._batches is not None:
            self._batches = None
            self._alarm.stop()
            try:
                await self._stream.__aexit__(None, None, None)
            except Exception:  # it is over, however it takes that
                logger.debug("%s: closing the watch failed", self._what, exc_info=True)
