"""Counts of reconciles, and the state of a controller as a value."""

from __future__ import annotations

import time
from collections import deque
from enum import StrEnum
from typing import Any

import msgspec

from kinform.controllers.sources import SourceStatus
from kinform.workqueue import QueueStatus

_KEPT_FAILURES = 10


class Outcome(StrEnum):
    """How a reconcile ended; the label ``result`` of the metrics, as in controller-runtime."""

    SUCCESS = "success"
    ERROR = "error"
    RETRY = "requeue"
    AFTER = "requeue_after"
    TERMINAL = "terminal"


class ReconcileFailure(msgspec.Struct, frozen=True):
    """A failed reconcile.

    Attributes:
        key: The key, as text.
        attempt: The number of the attempt.
        error: The class and the message of the exception, or the reason of a ``Terminal``.
        at: The time, in seconds since the epoch.
        is_terminal: Whether it is not tried again.
    """

    key: str
    attempt: int
    error: str
    at: float
    is_terminal: bool = False


class ControllerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a controller.

    Attributes:
        name: The name of the controller.
        state: ``new``, ``warming up``, ``standby``, ``working`` or ``closed``.
        workers: The number of workers.
        active: The running reconciles: their keys, and for how many seconds they run.
        outcomes: The number of reconciles by outcome.
        timeouts: The number of reconciles that took too long.
        failures: The last failures, newest first.
        queue: The state of the queue; ``None`` before the start.
        sources: The state of each source.
        problems: What is wrong; empty if nothing is.
    """

    name: str
    state: str
    workers: int
    active: dict[str, float]
    outcomes: dict[str, int]
    timeouts: int
    failures: tuple[ReconcileFailure, ...]
    queue: QueueStatus | None
    sources: tuple[SourceStatus, ...]
    problems: tuple[str, ...]


class ReconcileStats:
    """Counts the reconciles of one controller.

    Attributes:
        active: The start of each running reconcile by key, by ``time.monotonic()``.
        outcomes: The number of reconciles by outcome.
        timeouts: The number of reconciles that took too long.
        failures: The last failures, newest first.
    """

    def __init__(self) -> None:
        self.active: dict[Any, float] = {}
        self.outcomes: dict[Outcome, int] = dict.fromkeys(Outcome, 0)
        self.timeouts = 0
        self.failures: deque[ReconcileFailure] = deque(maxlen=_KEPT_FAILURES)

    def failed(self, key: object, attempt: int, error: str, *, is_terminal: bool = False) -> None:
        """Remember a failure."""
        self.failures.appendleft(
            ReconcileFailure(str(key), attempt, error, time.time(), is_terminal)
        )

    def running_for(self) -> dict[str, float]:
        """Return the running reconciles, with their age in seconds. Thread-safe."""
        now = time.monotonic()
        return {str(key): now - since for key, since in list(self.active.items())}
