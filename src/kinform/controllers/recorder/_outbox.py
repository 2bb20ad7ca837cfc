"""The outbox: events that were recorded on any thread, and wait to be written on the loop."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import msgspec

from kinform.controllers.recorder._bodies import EventApi, EventForm
from kinform.controllers.recorder._correlator import Correlator
from kinform.controllers.recorder._entry import EventEntry, EventSnapshot
from kinform.controllers.recorder._occurrence import Occurrence

DropReason = Literal["filtered", "full", "stopped", "refused", "unreachable", "unsent"]
"""Why an occurrence is not written. Not recorded: dropped by the spam filter (``filtered``), too
many events are waiting (``full``), the recorder has stopped (``stopped``). Recorded, but lost:
the server refused the event (``refused``) or could not be reached (``unreachable``), or the
recorder stopped before (``unsent``)."""


class RecorderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What an event recorder has done so far.

    Attributes:
        name: The name of the recorder.
        api: The API in which events are written.
        recorded: The number of accepted calls of ``event``.
        written: How many of them the server knows.
        pending: How many of them are still to be written.
        queued: The number of events that wait to be written at once.
        dropped: The number of calls that were not or will not be written, by reason.
        last_error: The last error of a request; empty if there was none.
    """

    name: str
    api: EventApi
    recorded: int
    written: int
    pending: int
    queued: int
    dropped: Mapping[DropReason, int]
    last_error: str


class Outbox:
    """Correlates occurrences and queues their events. Thread-safe; never waits.

    Args:
        form: The API in which events are written.
        capacity: The number of events that may wait to be created.
    """

    def __init__(self, form: EventForm, *, capacity: int) -> None:
        self.form = form
        self.is_closed = False
        self.recorded = 0
        self.written = 0
        self.dropped: Counter[DropReason] = Counter()
        self._capacity = capacity
        self._lock = threading.Lock()
        self._correlator = Correlator()
        self._queue: deque[EventEntry] = deque()
        # All entries with unwritten occurrences, also those that the correlator has forgotten.
        self._open: set[EventEntry] = set()
        self._is_flushing = False

    def add(self, occurrence: Occurrence, now: float, at: datetime) -> DropReason | None:
        """Record an occurrence; return why it is dropped, or ``None``."""
        with self._lock:
            reason = self._add(occurrence, now, at)
            if reason is None:
                self.recorded += 1
            else:
                self.dropped[reason] += 1
            return reason

    def _add(self, occurrence: Occurrence, now: float, at: datetime) -> DropReason | None:
        if self.is_closed:
            return "stopped"
        entry = self._correlator.observe(occurrence, now, at)
        if entry is None:
            return "filtered"
        if entry.count == 1 and len(self._queue) >= self._capacity:
            self._correlator.forget(entry)
            return "full"
        self._open.add(entry)
        self._queue_if_due(entry, now)
        for evicted in self._correlator.evicted:
            if evicted.unwritten:
                self._enqueue(evicted)
        self._correlator.evicted.clear()
        return None

    def take(self) -> EventEntry | None:
        """Return the next event to write, until ``confirm`` or ``drop``; ``None`` if empty."""
        with self._lock:
            if not self._queue:
                return None
            entry = self._queue.popleft()
            entry.is_queued = False
            entry.is_busy = True
            return entry

    @property
    def has_queued(self) -> bool:
        """Whether ``take`` would return an event."""
        return bool(self._queue)

    def snapshot(self, entry: EventEntry) -> EventSnapshot:
        """Return the current state of an event."""
        with self._lock:
            return entry.snapshot()

    def confirm(self, entry: EventEntry, count: int, now: float) -> int:
        """Note that the server has an event with this count; return how many are new to it."""
        with self._lock:
            new = count - entry.written
            entry.is_created = True
            entry.written = count
            entry.written_at = now
            entry.is_busy = False
            self.written += new
            if entry.unwritten:
                self._queue_if_due(entry, now)
            else:
                self._open.discard(entry)
            return new

    def recreate(self, entry: EventEntry) -> None:
        """Let an event be created under another name."""
        with self._lock:
            entry.rename()
            entry.is_created = False

    def drop(self, entry: EventEntry, reason: DropReason) -> int:
        """Give an event up; return the number of occurrences that are lost."""
        with self._lock:
            return self._drop(entry, reason)

    def _drop(self, entry: EventEntry, reason: DropReason) -> int:
        lost = entry.unwritten
        entry.is_busy = False
        entry.written = entry.count
        self.dropped[reason] += lost
        self._open.discard(entry)
        self._correlator.forget(entry)
        return lost

    def check(self, now: float) -> None:
        """Queue the counts that are due, and forget events that have not occurred for long."""
        with self._lock:
            for entry in self._correlator:
                is_over = now - entry.last_seen >= self.form.forget_after
                is_due = now - entry.written_at >= self.form.refresh_after
                if is_over:
                    self._correlator.forget(entry)
                if not entry.unwritten:
                    continue
                if is_over or (is_due and self._may_refresh(entry, now)):
                    self._enqueue(entry)

    def flush(self) -> None:
        """Queue everything that the server does not know yet."""
        with self._lock:
            self._is_flushing = True
            for entry in self._open:
                self._enqueue(entry)

    def close(self) -> int:
        """Refuse further occurrences; return how many could not be written."""
        with self._lock:
            self.is_closed = True
            lost = sum(self._drop(entry, "unsent") for entry in list(self._open))
            self._queue.clear()
            self._correlator.clear()
            return lost

    def reopen(self) -> None:
        """Accept occurrences again, after ``close``."""
        with self._lock:
            self.is_closed = False
            self._is_flushing = False

    def status(self, name: str, last_error: str) -> RecorderStatus:
        with self._lock:
            return RecorderStatus(
                name=name,
                api=self.form.api,
                recorded=self.recorded,
                written=self.written,
                pending=sum(entry.unwritten for entry in self._open),
                queued=len(self._queue),
                dropped=dict(self.dropped),
                last_error=last_error,
            )

    def _queue_if_due(self, entry: EventEntry, now: float) -> None:
        """Queue the first two occurrences; what follows may have to wait."""
        if entry.is_busy or entry.is_queued:
            return  # decided again when it has been written
        is_one_of_the_first = not entry.is_created or entry.written == 1
        is_last_chance = self._is_flushing or not self._correlator.knows(entry)
        if is_one_of_the_first or is_last_chance or self._may_update_at_once(entry, now):
            self._enqueue(entry)

    def _may_update_at_once(self, entry: EventEntry, now: float) -> bool:
        return self.form.updates_at_once and self._correlator.may_update(entry, now)

    def _may_refresh(self, entry: EventEntry, now: float) -> bool:
        return not self.form.updates_at_once or self._correlator.may_update(entry, now)

    def _enqueue(self, entry: EventEntry) -> None:
        if not entry.is_busy and not entry.is_queued:
            entry.is_queued = True
            self._queue.append(entry)
