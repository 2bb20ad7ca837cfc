"""A work queue as simple as possible: lists that are searched, and no tasks."""

from __future__ import annotations

from typing import NamedTuple

CLOSED = "<closed>"
BASE, CAP = 0.25, 4.0


class Ready(NamedTuple):
    key: str
    priority: int
    since: float


class Delayed(NamedTuple):
    due: float
    order: int
    key: str
    priority: int


class WorkQueueModel:
    """What a queue does, and which worker receives which key.

    Attributes:
        received: The key that each worker received, or ``CLOSED``.
    """

    def __init__(self, aging: float | None) -> None:
        self.now = 0.0
        self.phase = "open"
        self.ready: list[Ready] = []
        self.delayed: list[Delayed] = []
        self.held: dict[str, tuple[int, float]] = {}
        self.processing: dict[str, int] = {}
        self.workers: list[int] = []
        self.received: dict[int, str] = {}
        self.failures: dict[str, int] = {}
        self.refused = 0
        self.dropped = 0
        self.was_aborted = False
        self._aging = aging
        self._order = 0

    def add(self, key: str, priority: int, after: float, rate_limited: bool) -> None:
        if self.phase != "open":
            self.refused += 1
            return
        if rate_limited:
            limit = min(BASE * 2.0 ** self.failures.get(key, 0), CAP)
            self.failures[key] = self.failures.get(key, 0) + 1
            after = min(after, limit) if after > 0 else limit
        for known in self.ready:
            if known.key == key:
                if priority > known.priority:
                    self.ready.remove(known)
                    self.ready.append(Ready(key, priority, known.since))
                return
        if key in self.held:
            before, since = self.held[key]
            self.held[key] = (max(before, priority), since)
            return
        due = self.now + after
        for waiting in self.delayed:
            if waiting.key == key:
                self.delayed.remove(waiting)
                priority = max(priority, waiting.priority)
                if due >= waiting.due:
                    self.delayed.append(waiting._replace(priority=priority))
                    return
                break
        if after > 0:
            self._order += 1
            self.delayed.append(Delayed(due, self._order, key, priority))
        else:
            self._enqueue(key, priority, self.now)

    def get(self, worker: int) -> None:
        if self.phase == "shut":
            self.received[worker] = CLOSED
        else:
            self.workers.append(worker)

    def done(self, key: str) -> None:
        del self.processing[key]
        if key in self.held:
            priority, since = self.held.pop(key)
            self.ready.append(Ready(key, priority, since))
        self._close_if_drained()

    def shutdown(self) -> None:
        self.was_aborted |= self.phase == "draining"
        self.dropped += len(self.ready) + len(self.delayed) + len(self.held)
        self.ready, self.delayed, self.held = [], [], {}
        self._close()

    def drain(self, delayed: bool) -> None:
        if self.phase != "open":
            return
        self.phase = "draining"
        waiting, self.delayed = sorted(self.delayed), []
        if delayed:
            for each in waiting:
                self._enqueue(each.key, each.priority, self.now)
        else:
            self.dropped += len(waiting)
        self._close_if_drained()

    def advance(self, seconds: float) -> None:
        """Let time pass; workers receive each key at the time when it is due."""
        end = self.now + seconds
        while self.delayed and min(self.delayed).due <= end:
            self.now = min(self.delayed).due
            for each in sorted(self.delayed):
                if each.due <= self.now:
                    self.delayed.remove(each)
                    self._enqueue(each.key, each.priority, each.due)
            self.serve()
        self.now = end

    def serve(self) -> None:
        """Hand out keys to the workers in the order in which they began to wait."""
        while self.workers and self.ready:
            best = self._next()
            self.ready.remove(best)
            self.processing[best.key] = best.priority
            self.received[self.workers.pop(0)] = best.key

    def _next(self) -> Ready:
        """The best of the first keys of each priority."""
        heads: dict[int, Ready] = {}
        for each in self.ready:
            heads.setdefault(each.priority, each)

        def effective(head: Ready) -> tuple[float, float]:
            waited = self.now - head.since
            bonus = 0.0 if self._aging is None else waited / self._aging
            return head.priority + bonus, waited

        return max(heads.values(), key=effective)

    def _enqueue(self, key: str, priority: int, since: float) -> None:
        if key in self.processing:
            self.held[key] = (priority, since)
        else:
            self.ready.append(Ready(key, priority, since))

    def _close_if_drained(self) -> None:
        if self.phase == "draining" and not (self.ready or self.processing):
            self._close()

    def _close(self) -> None:
        self.phase = "shut"
        for worker in self.workers:
            self.received[worker] = CLOSED
        self.workers.clear()
