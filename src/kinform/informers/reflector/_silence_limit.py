"""Learns how long a watch may be silent before its connection is considered dead."""

from __future__ import annotations

MEANINGFUL_SILENCE = 15.0
"""A silence shorter than this, in seconds, is not significant."""
# How many times longer than the longest normal silence a suspicious one is.
_DOUBT = 3.0
# The number of events needed to know their usual intervals.
_ENOUGH_EVENTS = 10
# After a dead connection, missed events arrive within this many seconds on the next one.
_MISSED_WITHIN = 1.0


class SilenceLimit:
    """Learns the normal silence of a watch from its bookmarks and events.

    A connection can die unnoticed: a proxy drops it, a peer disappears. Neither events nor
    bookmarks are guaranteed, so a long silence only leads to a cheap reconnect. If the new
    connection has no missed events, the silence was normal, and the limit grows.
    """

    def __init__(self) -> None:
        self._longest_bookmark_gap = 0.0
        self._bookmark_doubt = _DOUBT
        self._longest_gap = 0.0
        self._events = 0
        self._events_here = 0
        # The previous longest gap, to restore if the connection turns out to have been dead.
        self._gap_before_timeout: float | None = None

    @property
    def seconds(self) -> float | None:
        """The limit in seconds; ``None`` while it is unknown."""
        limits = []
        if self._longest_bookmark_gap:
            limits.append(self._longest_bookmark_gap * self._bookmark_doubt)
        if self._events >= _ENOUGH_EVENTS:
            limits.append(self._longest_gap * _DOUBT)
        return max(min(limits), MEANINGFUL_SILENCE) if limits else None

    @property
    def is_newly_known(self) -> bool:
        """Whether the last event was the one that made the usual interval known."""
        return self._events == _ENOUGH_EVENTS

    def watch_opened(self) -> None:
        """Note a new connection, which halves the weight of earlier observations."""
        if self._gap_before_timeout is None and self._events_here >= _ENOUGH_EVENTS:
            self._longest_gap /= 2
        self._events_here = 0

    def received(self, gap: float, open_for: float) -> bool:
        """Note an event, ``gap`` seconds after the previous one on this connection.

        Returns:
            Whether this proves that the previous connection was dead.
        """
        was_dead = False
        if self._gap_before_timeout is not None:
            was_dead = open_for <= _MISSED_WITHIN
            if was_dead:
                self._longest_gap = self._gap_before_timeout
            self._gap_before_timeout = None
        if gap > self._longest_gap:
            self._longest_gap = gap
        self._events += 1
        self._events_here += 1
        return was_dead

    def received_bookmark(self, gap: float) -> None:
        """Note two bookmarks, ``gap`` seconds apart."""
        self._longest_bookmark_gap = max(self._longest_bookmark_gap, gap)
        self._bookmark_doubt = _DOUBT

    def exceeded(self) -> None:
        """Note that the limit was exceeded; the silence counts as normal until proven otherwise."""
        limit = self.seconds or 0.0
        self._bookmark_doubt *= 2
        self._gap_before_timeout = self._longest_gap
        self._longest_gap = max(self._longest_gap, limit)
