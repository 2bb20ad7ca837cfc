"""One watch: sends changes as events, framed and flushed in batches.

    start ─ history or initial events ─┬─ changes ─┬─ end
                                       └─ bookmarks┘

A watch ends at its deadline, after an ERROR event, when its collection is dropped, when the
server stops or is told to end it, or when its client reads too slowly.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable

import msgspec

from kinform.errors import ApiError
from kinform.testing import api_errors
from kinform.testing.formats import Representation
from kinform.testing.interception import EventEncoding, FrameFilter, Sink, WatchFrame
from kinform.testing.requests import ParsedListOptions, parse_version_number
from kinform.testing.storage import Collection, StoredChange, StoredObject
from kinform.testing.verbs._selection import Selection

# Without a timeout in the request, a watch ends after one to two times this.
_MIN_TIMEOUT = 1800.0
# The last bookmark is sent this long before the end of a watch.
_LAST_BOOKMARK = 2.0
# Events are joined up to about this size before they are written.
_FLUSH = 256 * 1024


class WatchSettings(msgspec.Struct, frozen=True):
    """The settings of a server's watches.

    Attributes:
        bookmark_interval: Seconds between bookmarks.
        backlog: The number of changes buffered for a client that does not read.
    """

    bookmark_interval: float
    backlog: int


class WatchHandler:
    """One watch, from its first event to its end. Its collection notifies it of changes."""

    def __init__(
        self,
        collection: Collection,
        selection: Selection,
        view: Representation,
        encoding: EventEncoding,
        options: ParsedListOptions,
        settings: WatchSettings,
        frames: FrameFilter | None,
    ) -> None:
        self._collection = collection
        self._selection = selection
        self._view = view
        self._encoding = encoding
        self._options = options
        self._settings = settings
        self._frames = frames
        self._pending: list[StoredChange] = []
        self._wake = asyncio.Event()
        # Closed: no more changes follow. Ended: nothing more is sent.
        self._closed = False
        self._ended = False
        self._blocked_sink: Sink | None = None
        # The latest version sent to the client; bookmarks are only sent for later ones.
        self._sent_version = 0

    # Called by the collection while the other methods are suspended.

    def notify(self, change: StoredChange) -> None:
        self._pending.append(change)
        self._wake.set()
        if self._blocked_sink is not None and len(self._pending) > self._settings.backlog:
            # The socket is blocked and the backlog is full: this client cannot catch up.
            self._blocked_sink.abort()
            self.close()

    @property
    def is_closed(self) -> bool:
        """Whether the watch ends as soon as the pending changes are sent."""
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    async def run(self, sink: Sink, current_version: int) -> None:
        """Send events until the watch ends. The sink must already be started."""
        loop = asyncio.get_running_loop()
        duration = self._options.timeout or _MIN_TIMEOUT * random.uniform(1.0, 2.0)
        deadline = loop.time() + duration
        try:
            first = self._begin(current_version)
        except ApiError as error:
            await self._send(sink, self._framed([_error_frame(error)]))
            return
        try:
            if not await self._send_initial(sink, first, current_version):
                return
            await self._follow(sink, deadline)
        finally:
            self._collection.unsubscribe(self)

    def _begin(self, current_version: int) -> list[StoredObject]:
        """Subscribe, and return what to send first: the current objects or past changes."""
        asked = parse_version(self._options.resource_version)
        initial: list[StoredObject] = []
        self._sent_version = asked
        if self._options.initial_events or (self._options.initial_events is None and asked == 0):
            if asked > current_version:
                raise api_errors.too_large(asked, current_version)
            found = self._collection.select(self._selection.prefix)
            initial = [stored for stored in found if self._selection.matches(stored)]
            self._sent_version = current_version
        elif asked:
            self._pending += self._collection.changes_since(asked)
        self._collection.subscribe(self)
        return initial

    async def _send_initial(self, sink: Sink, first: list[StoredObject], version: int) -> bool:
        frames = ((b"ADDED", self._view.body(stored)) for stored in first)
        if not await self._send(sink, self._events(frames)):
            return False
        if not (self._options.initial_events and self._options.bookmarks):
            return True
        bookmark = self._view.bookmark(version, initial_events_end=True)
        return await self._send(sink, self._events([(b"BOOKMARK", bookmark)]))

    async def _follow(self, sink: Sink, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        next_bookmark = self._next_bookmark(loop.time(), deadline)
        while True:
            if self._pending:
                changes, self._pending = self._pending, []
                if not await self._send(sink, self._events(self._seen(changes))):
                    return
                continue
            if self._closed or loop.time() >= deadline:
                return
            if loop.time() >= next_bookmark:
                next_bookmark = self._next_bookmark(loop.time(), deadline)
                if not await self._send_bookmark(sink):
                    return
                continue
            self._wake.clear()
            timer = loop.call_at(min(deadline, next_bookmark), self._wake.set)
            try:
                await self._wake.wait()
            finally:
                timer.cancel()

    async def _send_bookmark(self, sink: Sink) -> bool:
        version = self._collection.newest_version
        if version <= self._sent_version:
            return True
        self._sent_version = version
        bookmark = self._view.bookmark(version, initial_events_end=False)
        return await self._send(sink, self._events([(b"BOOKMARK", bookmark)]))

    def _next_bookmark(self, now: float, deadline: float) -> float:
        if not self._options.bookmarks:
            return deadline
        due = now + self._settings.bookmark_interval * random.uniform(0.98, 1.02)
        last = deadline - _LAST_BOOKMARK
        if now >= last:
            return now + 1.0
        return min(due, last)

    def _seen(self, changes: list[StoredChange]) -> Iterable[tuple[bytes, bytes]]:
        """Return the events of changes for this watch."""
        version = parse_version(self._options.resource_version)
        for change in changes:
            # A watch from a future version is silent until then.
            if change.resource_version <= version and not self._options.initial_events:
                continue
            if (event := self._selection.event(change)) is not None:
                self._sent_version = change.resource_version
                yield event[0], self._view.body(event[1])

    def _events(self, events: Iterable[tuple[bytes, bytes]]) -> Iterable[bytes]:
        """Encode events, after the filter if there is one."""
        try:
            if self._frames is None:
                for kind, body in events:
                    yield self._encoding.event(kind, body)
                return
            yield from self._framed(WatchFrame(kind.decode(), body) for kind, body in events)
        except ApiError as error:
            # The object cannot be encoded in this format.
            self._ended = True
            yield _error_frame(error).encode(self._encoding)

    def _framed(self, frames: Iterable[WatchFrame]) -> Iterable[bytes]:
        for frame in frames:
            for sent in self._frames(frame) if self._frames else (frame,):
                yield sent.encode(self._encoding)
                if sent.final:
                    self._ended = True
                    return

    async def _send(self, sink: Sink, events: Iterable[bytes]) -> bool:
        """Write events in large chunks. Return False if the watch must end."""
        parts: list[bytes] = []
        size = 0
        for event in events:
            parts.append(event)
            size += len(event)
            if size >= _FLUSH:
                await self._write(sink, b"".join(parts))
                # Yield to other tasks even if the socket accepts everything immediately.
                await asyncio.sleep(0)
                parts, size = [], 0
        if parts:
            await self._write(sink, b"".join(parts))
        return not self._ended

    async def _write(self, sink: Sink, data: bytes) -> None:
        self._blocked_sink = sink
        try:
            await sink.write(data)
        finally:
            self._blocked_sink = None


def parse_version(text: str) -> int:
    """Return the version to watch from; 0 if none is given.

    Raises:
        ServerError: The version is invalid; the real server fails on it, too.
    """
    if not text:
        return 0
    number = parse_version_number(text)
    if number is None:
        raise api_errors.internal(
            f'resourceVersion: Invalid value: "{text}": '
            f'strconv.ParseUint: parsing "{text}": invalid syntax'
        )
    return number


def _error_frame(error: ApiError) -> WatchFrame:
    return WatchFrame("ERROR", api_errors.failure_body(error), final=True)
