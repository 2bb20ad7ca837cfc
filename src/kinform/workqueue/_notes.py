"""What a queue notes for its metrics under its lock, to be reported without it."""

from __future__ import annotations

from collections import deque
from enum import Enum

from kinform.metrics import Metrics


class Note(Enum):
    """What metrics count."""

    ADDED = "added"
    RETRIED = "retried"
    TAKEN = "taken"
    DONE = "done"


Notes = deque[tuple[Note, float]]


def report(notes: Notes, metrics: Metrics, queue: str) -> None:
    """Pass all notes to the metrics. Several threads may do it at the same time."""
    while notes:
        try:
            note, seconds = notes.popleft()
        except IndexError:  # another thread was faster
            return
        if note is Note.ADDED:
            metrics.workqueue_added(queue)
        elif note is Note.TAKEN:
            metrics.workqueue_taken(queue, seconds)
        elif note is Note.DONE:
            metrics.workqueue_done(queue, seconds)
        else:
            metrics.workqueue_retried(queue)
