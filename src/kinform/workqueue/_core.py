"""The state of a work queue and its rules, behind one lock. It never waits."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from kinform._runtime import Latch
from kinform.errors import ConfigError, QueueClosedError, StateError
from kinform.metrics import WorkQueueGauges
from kinform.workqueue._delays import DelayHeap
from kinform.workqueue._entry import Entry, Place
from kinform.workqueue._levels import ReadyLevels
from kinform.workqueue._markers import Markers
from kinform.workqueue._notes import Note, Notes
from kinform.workqueue._phase import Phase
from kinform.workqueue._status import QueueStatus
from kinform.workqueue._waiter import Waiter

K = TypeVar("K")

# Looking up the member of an enum takes as long as the rest of a comparison.
_NONE, _DELAYED, _HELD, _READY = Place.NONE, Place.DELAYED, Place.HELD, Place.READY
_OPEN, _SHUT = Phase.OPEN, Phase.SHUT


class QueueCore(Generic[K]):
    """Keys in one of three places (delayed, held, ready), and those that are being processed.

    Workers are served in the order in which they began to wait. Only the first one is ever
    notified, and it takes the key itself: a worker that is cancelled in between has nothing to
    return, and the next one is notified. A timer is needed only by the first one, too.

    Args:
        name: The name of the queue, for errors.
        aging: The seconds of waiting that count as one step of priority; ``None``: no ageing.
        clock: Returns the time in seconds.
        notes: Receives what metrics count; ``None`` if there are no metrics.
    """

    def __init__(
        self,
        name: str,
        *,
        aging: float | None,
        clock: Callable[[], float],
        notes: Notes | None,
    ) -> None:
        self.name = name
        self.phase = _OPEN
        self.drained = Latch(f"{name} is drained")
        self._clock = clock
        self._notes = notes
        self._lock = threading.Lock()
        self._entries: dict[K, Entry[K]] = {}
        self._ready: ReadyLevels[K] = ReadyLevels(aging)
        self._delays: DelayHeap[K] = DelayHeap()
        self._processing: set[Entry[K]] = set()
        self._line: deque[Waiter] = deque()
        self._markers = Markers()
        self._held = 0
        self._adds = 0
        self._retries = 0
        self._refused = 0
        self._dropped = 0

    # -- keys in ------------------------------------------------------------------------------

    def add(self, key: K, priority: int, delay: float) -> None:
        """Queue a key, or raise the priority and shorten the delay of a queued one."""
        with self._lock:
            if self.phase is not _OPEN:
                self._refused += 1
                return
            now = self._clock()
            if self._delays.earliest <= now:
                self._promote(now)
            if delay > 0:
                self._retries += 1
                if self._notes is not None:
                    self._notes.append((Note.RETRIED, 0.0))
            try:
                entry = self._entries.get(key)
            except TypeError as error:
                raise ConfigError(
                    f"{self.name}: keys must be hashable, such as str or a frozen struct, "
                    f"not {type(key).__name__}"
                ) from error
            if entry is None:
                entry = self._entries[key] = Entry(key, priority, now)
            elif entry.place is _NONE:
                entry.priority = priority
            else:
                self._merge(entry, priority, delay, now)
                return
            if delay > 0:
                self._postpone(entry, now + delay)
            else:
                self._enqueue(entry, now)
            if self._line:
                self._notify_first()

    def _merge(self, entry: Entry[K], priority: int, delay: float, now: float) -> None:
        """Add a key that is queued already: the higher priority and the earlier time count."""
        if priority > entry.priority:
            if entry.place is _READY:
                self._ready.remove(entry)
                entry.priority = priority
                self._ready.push(entry)
            else:
                entry.priority = priority
        if entry.place is not _DELAYED:
            return
        if delay <= 0:
            self._delays.remove(entry)
            self._enqueue(entry, now)
        elif now + delay < entry.due:
            self._delays.remove(entry)
            self._postpone(entry, now + delay)
        self._notify_first()

    def _postpone(self, entry: Entry[K], due: float) -> None:
        entry.place = _DELAYED
        self._delays.put(entry, due)

    def _enqueue(self, entry: Entry[K], since: float) -> None:
        """Make a key ready, or hold it back until its processing is done."""
        self._adds += 1
        if self._notes is not None:
            self._notes.append((Note.ADDED, 0.0))
        entry.since = since
        if entry.is_processing:
            entry.place = _HELD
            self._held += 1
        else:
            entry.place = _READY
            self._ready.push(entry)

    def _promote(self, now: float) -> None:
        """Enqueue the keys whose delay has passed."""
        while (entry := self._delays.pop_due(now)) is not None:
            self._enqueue(entry, entry.due)

    # -- keys out -----------------------------------------------------------------------------

    def take(self) -> Entry[K] | None:
        """Hand out the next key; ``None`` if there is none, or if others wait for it.

        Raises:
            QueueClosedError: The queue is shut down.
        """
        with self._lock:
            if self.phase is _SHUT:
                raise QueueClosedError(f"{self.name} is shut down")
            if self._line:
                return None
            return self._take(self._clock())

    def poll(self, waiter: Waiter) -> tuple[Entry[K] | None, float | None]:
        """Hand out the next key to a worker that waits; it waits from now on if it did not.

        Returns:
            The key, or ``None`` and the seconds after which the worker must call this again, even
            if it is not notified; ``None``: it need not.

        Raises:
            QueueClosedError: The queue is shut down.
        """
        line = self._line
        with self._lock:
            if self.phase is _SHUT:
                raise QueueClosedError(f"{self.name} is shut down")
            now = self._clock()
            if waiter not in line:
                line.append(waiter)
            if line[0] is not waiter:
                waiter.prepare(math.inf)
                return None, None
            entry = self._take(now)
            if entry is not None:
                line.popleft()
                self._notify_first()
                return entry, None
            due = self._delays.next_due()
            waiter.prepare(due)
            # At least a microsecond: the timers of a loop may be early by its resolution.
            return None, max(due - now, 1e-6) if self._delays.count else None

    def leave(self, waiter: Waiter) -> None:
        """Remove a worker that no longer waits."""
        with self._lock:
            if waiter in self._line:
                self._line.remove(waiter)
                self._notify_first()

    def _take(self, now: float) -> Entry[K] | None:
        if self._delays.earliest <= now:
            self._promote(now)
        if not self._ready.count:
            return None
        entry = self._ready.pop()
        entry.place = _NONE
        entry.is_processing = True
        entry.taken_at = now
        entry.taken_priority = entry.priority
        if entry.markers is not None:
            entry.taken_markers, entry.markers = entry.markers, None
        self._processing.add(entry)
        if self._notes is not None:
            self._notes.append((Note.TAKEN, max(now - entry.since, 0.0)))
        return entry

    def _notify_first(self) -> None:
        """Wake the first worker if there is a key for it, or if its timer is too late."""
        if self._line:
            first = self._line[0]
            if self._ready.count or self._delays.earliest < first.looks_at:
                first.notify()

    def done(self, key: K) -> Sequence[Latch]:
        """End the processing of a key; return the latches to set.

        Raises:
            StateError: The key is not being processed.
        """
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or not entry.is_processing:
                raise StateError(
                    f"{self.name}: done was called for {key!r}, which is not being processed; "
                    "call it once for each key that get returned"
                )
            entry.is_processing = False
            self._processing.discard(entry)
            if self._notes is not None:
                self._notes.append((Note.DONE, max(self._clock() - entry.taken_at, 0.0)))
            if entry.place is _NONE:
                del self._entries[key]
            elif entry.place is _HELD:
                if self._delays.earliest <= (now := self._clock()):
                    self._promote(now)
                self._held -= 1
                entry.place = _READY
                self._ready.push(entry)
                self._notify_first()
            if entry.taken_markers is None and self.phase is _OPEN:
                return ()
            return self._settle(entry)

    def _settle(self, entry: Entry[K]) -> list[Latch]:
        """Count down the markers of a processed key; return the latches to set."""
        latches = self._markers.count_down(entry)
        if self.phase is not _OPEN and self._is_idle():
            self._shut()
            latches.append(self.drained)
        return latches

    def _is_idle(self) -> bool:
        return not (self._ready.count or self._processing)

    # -- the end ------------------------------------------------------------------------------

    def shut_down(self) -> Callable[[], None]:
        """Drop the queued keys and stop all workers; return what to call without the lock."""
        with self._lock:
            was_draining = self.phase is Phase.DRAINING
            self._shut()
            self._drop(self._ready.clear())
            self._drop(self._delays.clear())
            self._drop([entry for entry in self._processing if entry.place is _HELD])
            self._held = 0
            unreachable = self._markers.clear()
            is_idle = not self._processing

        def finish() -> None:
            for latch in unreachable:
                latch.give_up(f"{self.name} was shut down before all keys were processed")
            if was_draining:
                self.drained.give_up(f"{self.name} was shut down before it was drained")
            elif is_idle:
                self.drained.set()

        return finish

    def start_draining(self, *, delayed: bool) -> Sequence[Latch]:
        """Accept no more keys; return the latches to set.

        Args:
            delayed: Whether delayed keys become ready at once; otherwise they are dropped.
        """
        with self._lock:
            if self.phase is not _OPEN:
                return (self.drained,) if self._is_idle() else ()
            now = self._clock()
            self._promote(now)
            self.phase = Phase.DRAINING
            for entry in (waiting := self._delays.clear()):
                if delayed:
                    self._enqueue(entry, now)
            if not delayed:
                self._drop(waiting)
            self._notify_first()
            if not self._is_idle():
                return ()
            self._shut()
            return (self.drained,)

    def _shut(self) -> None:
        self.phase = _SHUT
        for waiter in self._line:
            waiter.notify()

    def _drop(self, entries: Sequence[Entry[K]]) -> None:
        self._dropped += len(entries)
        for entry in entries:
            entry.place = _NONE
            entry.markers = None
            if not entry.is_processing:
                del self._entries[entry.key]

    # -- questions ----------------------------------------------------------------------------

    def mark(self, latch: Latch) -> bool:
        """Let a latch be set when all keys have been processed that are queued now.

        Returns:
            Whether there are any.
        """
        with self._lock:
            self._promote(self._clock())
            return self._markers.add(latch, self._entries.values())

    def ready_count(self) -> int:
        with self._lock:
            if self.phase is not _SHUT and self._delays.earliest <= (now := self._clock()):
                self._promote(now)
            return self._ready.count

    def priority_of(self, key: K) -> int:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return 0
            return entry.taken_priority if entry.is_processing else entry.priority

    def gauges(self) -> WorkQueueGauges:
        with self._lock:
            now = self._clock()
            self._promote(now)
            running = [now - entry.taken_at for entry in self._processing]
            return WorkQueueGauges(
                depths=self._ready.depths(),
                unfinished=sum(running),
                longest_running=max(running, default=0.0),
            )

    def status(self) -> QueueStatus:
        with self._lock:
            now = self._clock()
            self._promote(now)
            oldest = min(self._ready.heads(), key=lambda entry: entry.since, default=None)
            slowest = min(self._processing, key=lambda entry: entry.taken_at, default=None)
            return QueueStatus(
                name=self.name,
                ready=self._ready.count,
                by_priority=self._ready.depths(),
                held=self._held,
                delayed=self._delays.count,
                processing=len(self._processing),
                waiting_workers=len(self._line),
                oldest_key=None if oldest is None else oldest.key,
                oldest_age=None if oldest is None else now - oldest.since,
                longest_running_key=None if slowest is None else slowest.key,
                longest_running=None if slowest is None else now - slowest.taken_at,
                next_due=self._delays.next_due() - now if self._delays.count else None,
                adds=self._adds,
                retries=self._retries,
                refused=self._refused,
                dropped=self._dropped,
                is_draining=self.phase is Phase.DRAINING,
                is_shut_down=self.phase is _SHUT,
            )
