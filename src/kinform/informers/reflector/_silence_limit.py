"""How long a watch may be silent before its connection is taken for dead."""

from __future__ import annotations

MEANINGFUL_SILENCE = 15.0
"""Silence that is shorter than this, in seconds, proves nothing."""
# How many times longer than ever before a silence has to be.
_DOUBT = 3.0
# So many events are needed before their rhythm means anything.
_ENOUGH_EVENTS = 10
# What was missed while a connection was dead comes this soon on the next one.
_MISSED_WITHIN = 1.0


class SilenceLimit:
    """Learns from a watch's bookmarks and events how long it is silent when all is well.

    A connection can die without a sign: a proxy forgets it, a peer vanishes. Nothing promises an
    event or a bookmark, so too long a silence only ever means: resume the watch, which costs
    little. Where resuming brought nothing at once, the silence was normal, and the limit grows.
    """

    def __init__(self) -> None:
        self._longest_bookmark_gap = 0.0
        self._bookmark_doubt = _DOUBT
        self._longest_gap = 0.0
        self._events = 0
        self._events_here = 0
        # What the longest gap was, should the connection have been dead in the last silence.
        self._gap_before_alarm: float | None = None

    @property
    def seconds(self) -> float | None:
        """The limit; ``None`` while nothing is known."""
        limits = []
        if self._longest_bookmark_gap:
            limits.append(self._longest_bookmark_gap * self._bookmark_doubt)
        if self._events >= _ENOUGH_EVENTS:
            limits.append(self._longest_gap * _DOUBT)
        return max(min(limits), MEANINGFUL_SILENCE) if limits else None

    @property
    def is_newly_known(self) -> bool:
        """Whether the last event was the one that made their rhythm known."""
        return self._events == _ENOUGH_EVENTS

    def watch_opened(self) -> None:
        """A new connection: what an earlier hour was like counts less and less."""
        if self._gap_before_alarm is None and self._events_here >= _ENOUGH_EVENTS:
            self._longest_gap /= 2
        self._events_here = 0

    def received(self, gap: float, open_for: float) -> bool:
        """Something came, ``gap`` seconds after what came before it on this connection.

        Returns:
            Whether this shows that the connection before was dead indeed.
        """
        was_dead = False
        if self._gap_before_alarm is not None:
            was_dead = open_for <= _MISSED_WITHIN
            if was_dead:
                self._longest_gap = self._gap_before_alarm
            self._gap_before_alarm = None
        if gap > self._longest_gap:
            self._longest_gap = gap
        self._events += 1
        self._events_here += 1
        return was_dead

    def received_bookmark(self, gap: float) -> None:
        """Two bookmarks came, ``gap`` seconds apart."""
        self._longest_bookmark_gap = max(self._longest_bookmark_gap, gap)
        self._bookmark_doubt = _DOUBT

    def exceeded(self) -> None:
        """The limit was passed: as long as nothing else is known, such a silence is normal."""
        limit = self.seconds or 0.0
        self._bookmark_doubt *= 2
        self._gap_before_alarm = self._longest_gap
        self._longest_gap = max(self._longest_gap, limit)
