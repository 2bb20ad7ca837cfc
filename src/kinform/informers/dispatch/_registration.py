"""Registrations: the mailbox, consumer and resync of a subscriber, and its public handle."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from kinform._runtime import Latch
from kinform.informers._changes import Change
from kinform.informers.dispatch._handler_options import SubscriptionOptions
from kinform.informers.dispatch._invoker import Outcomes
from kinform.informers.dispatch._mailbox import Mailbox
from kinform.informers.dispatch._runner import Runner

T = TypeVar("T")

_log = logging.getLogger("kinform.dispatch")

_SHORTEST_RESYNC = 1.0


class HandlerStats(msgspec.Struct, frozen=True):
    """Delivery statistics of a handler or an event stream.

    Attributes:
        depth: The number of pending changes.
        age: The age of the oldest pending change in seconds.
        bytes: The payload bytes of the pending objects.
        processed: The number of processed changes, including failed and filtered ones.
        failed: The number of changes for which the handler raised.
        last_error: The last exception.
    """

    depth: int
    age: float
    bytes: int
    processed: int
    failed: int
    last_error: BaseException | None


class Subscription:
    """The dispatcher's side of a registration, which receives the changes."""

    def __init__(
        self,
        options: SubscriptionOptions[Any],
        *,
        metrics_name: str,
        mailbox: Mailbox,
        runner: Runner,
        outcomes: Outcomes,
        has_synced: Latch,
        on_removed: Callable[[Subscription], None],
        on_stopped: Callable[[Subscription], None],
    ) -> None:
        self.name = outcomes.name
        self.metrics_name = metrics_name
        self.accepts_unchanged = options.unchanged_updates
        self.policy = options.policy
        self.is_blocking = options.policy == "block"
        self.resync_period = _resync_period(options.resync_period, self.name)
        self.next_resync: float | None = None
        self.mailbox = mailbox
        self.runner = runner
        self.outcomes = outcomes
        self.has_synced = has_synced
        self.stopped = Latch(f"{self.name} has stopped")
        self._on_removed = on_removed
        self._on_stopped = on_stopped
        self._lock = threading.Lock()
        self._is_removed = False

    @property
    def is_removed(self) -> bool:
        # The mailbox alone is closed if its owner was garbage-collected.
        return self._is_removed or self.mailbox.is_closed

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start delivery of pending and later changes. The resync period starts now."""
        with self._lock:
            if self._is_removed:
                return
            if self.resync_period:
                self.next_resync = loop.time() + self.resync_period
            self.runner.start(loop)

    def put(self, changes: Sequence[Change]) -> None:
        self.mailbox.put(changes)
        self.runner.notify()

    def put_synced(self) -> None:
        """Put the sync marker, unless it is pending or was processed."""
        if not self.has_synced and not self.mailbox.awaits_synced:
            self.mailbox.put_synced()
            self.runner.notify()

    def is_due(self, now: float) -> bool:
        return self.next_resync is not None and self.next_resync <= now

    def resync(self, changes: Sequence[Change], now: float) -> None:
        self.next_resync = now + self.resync_period
        self.put(changes)

    def halt(self, ended: Callable[[], None]) -> None:
        """Stop delivery; ``ended`` is called when no callback is running any more.

        Pending changes are kept, so the handler continues without a gap after a restart.
        """
        self.runner.halt(ended)
        self.next_resync = None

    def remove(self) -> None:
        with self._lock:
            if self._is_removed:
                return
            self._is_removed = True
        self.mailbox.close()
        self._on_removed(self)
        self.runner.halt(self._stop)

    def stats(self) -> HandlerStats:
        return HandlerStats(
            depth=self.mailbox.depth,
            age=self.mailbox.age,
            bytes=self.mailbox.bytes,
            processed=self.outcomes.processed,
            failed=self.outcomes.failed,
            last_error=self.outcomes.last_error,
        )

    def _stop(self) -> None:
        self._on_stopped(self)
        self.stopped.set()


class Registration(Generic[T]):
    """The registration of an event handler, as returned by ``add_event_handler``. Thread-safe.

    Attributes:
        has_synced: Set when the handler has processed, or failed on, every object that existed
            when it was registered. Never reset.
        stopped: Set when the handler was removed and its last callback has returned.
    """

    __slots__ = ("_subscription", "has_synced", "stopped")

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self.has_synced = subscription.has_synced
        self.stopped = subscription.stopped

    @property
    def name(self) -> str:
        return self._subscription.name

    @property
    def resync_period(self) -> float:
        """Seconds between resyncs; 0 if there are none."""
        return self._subscription.resync_period

    @property
    def is_removed(self) -> bool:
        return self._subscription.is_removed

    @property
    def stats(self) -> HandlerStats:
        return self._subscription.stats()

    def remove(self) -> None:
        """Remove the handler. Idempotent, and may be called by the handler itself.

        Pending events are discarded. A running callback may finish: wait for ``stopped`` to be
        sure that it has, but not inside the handler.
        """
        self._subscription.remove()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Registration):
            return NotImplemented
        return self._subscription is other._subscription

    def __hash__(self) -> int:
        return hash(self._subscription)

    def __repr__(self) -> str:
        return f"<Registration {self.name!r}{' removed' if self.is_removed else ''}>"


def _resync_period(period: float | None, name: str) -> float:
    if not period:
        return 0.0
    if period < _SHORTEST_RESYNC:
        _log.warning(
            "handler %s: a resync period of %s s is too short; using %s s",
            name,
            period,
            _SHORTEST_RESYNC,
        )
        return _SHORTEST_RESYNC
    return float(period)
