"""The status of a work queue."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot of a work queue. Ages and durations are in seconds.

    Attributes:
        name: The name of the queue.
        ready: The number of keys that wait for a worker.
        by_priority: The same by priority, the highest first.
        held: The number of keys that were added again while they are processed, and become ready
            when that is done.
        delayed: The number of keys whose delay has not passed.
        processing: The number of keys that workers have.
        waiting_workers: The number of pending ``get`` calls.
        oldest_key: The key that has waited longest, of those that are next in their priority.
        oldest_age: How long it has waited since it was added or its delay passed.
        longest_running_key: The key that has been processed for the longest time.
        longest_running: How long that is.
        next_due: The time until the next delayed key is ready; 0 if it is, but nobody waits.
        adds: The number of keys that have been queued. Several adds of a queued key count once.
        retries: The number of adds with a delay.
        refused: The number of adds after ``shutdown`` or ``drain``.
        dropped: The number of queued and delayed keys that ``shutdown`` or ``drain`` discarded.
        is_draining: Whether ``drain`` was called, and keys are left.
        is_shut_down: Whether no more keys are handed out.
    """

    name: str
    ready: int
    by_priority: Mapping[int, int]
    held: int
    delayed: int
    processing: int
    waiting_workers: int
    oldest_key: object | None
    oldest_age: float | None
    longest_running_key: object | None
    longest_running: float | None
    next_due: float | None
    adds: int
    retries: int
    refused: int
    dropped: int
    is_draining: bool
    is_shut_down: bool
