"""One who listens: its mailbox, its consumer, its resync, and what the user holds of it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from kinform._runtime import Latch
from kinform.informers._changes import Change
from kinform.informers.dispatch._handlers import SubscriptionOptions
from kinform.informers.dispatch._invoker import Outcomes
from kinform.informers.dispatch._mailbox import Mailbox
from kinform.informers.dispatch._runner import Runner

T = TypeVar("T")

_log = logging.getLogger("kinform.dispatch")

_SHORTEST_RESYNC = 1.0


class HandlerStats(msgspec.Struct, frozen=True):
    """How one handler, or one event stream, is doing.

    Attributes:
        depth: Changes that wait for it.
        age: Seconds that the oldest of them has waited.
        bytes: Payload bytes of the objects that wait.
        processed: Changes it has dealt with, the failed and the filtered ones included.
        failed: Changes it raised on.
        last_error: What it raised last.
    """

    depth: int
    age: float
    bytes: int
    processed: int
    failed: int
    last_error: BaseException | None


class Subscription:
    """The dispatcher's side of a registration: where changes are put."""

    def __init__(
        self,
        options: SubscriptionOptions[Any],
        *,
        mailbox: Mailbox,
        runner: Runner,
        outcomes: Outcomes,
        has_synced: Latch,
        on_removed: Callable[[Subscription], None],
        on_stopped: Callable[[Subscription], None],
    ) -> None:
        self.name = outcomes.name
        self.wants_unchanged = options.unchanged_updates
        self.holds_back = options.policy == "block"
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
        # A closed mailbox alone is one whose owner was garbage.
        return self._is_removed or self.mailbox.is_closed

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tell what waits, and what comes. Resyncs are counted from here."""
        with self._lock:
            if self._is_removed:
                return
            if self.resync_period:
                self.next_resync = loop.time() + self.resync_period
            self.runner.start(loop)

    def put(self, changes: Sequence[Change]) -> None:
        self.mailbox.put(changes)
        self.runner.nudge()

    def put_synced(self) -> None:
        """Once is enough: it waits in the mailbox, or it has been there."""
        if not self.has_synced and not self.mailbox.awaits_synced:
            self.mailbox.put_synced()
            self.runner.nudge()

    def is_due(self, now: float) -> bool:
        return self.next_resync is not None and self.next_resync <= now

    def resync(self, changes: Sequence[Change], now: float) -> None:
        self.next_resync = now + self.resync_period
        self.put(changes)

    def halt(self, ended: Callable[[], None]) -> None:
        """Tell nothing more; ``ended`` is called when no callback runs any more.

        What waits stays: after a restart the handler goes on where it was, and misses nothing.
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
    """What ``add_event_handler`` returns. Any thread.

    Attributes:
        has_synced: Set when the handler has returned from everything that was there when it came,
            or failed on it. Never reverts.
        stopped: Set when the handler was removed and will not be called again, nor is being called.
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
        """Tell the handler nothing more. Idempotent; the handler itself may do it.

        What it has not been told is discarded. A callback that runs may finish: wait for
        ``stopped`` to be sure of it, but not in the handler itself.
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
            "handler %s: a resync period of %s s is too short, %s s it is",
            name,
            period,
            _SHORTEST_RESYNC,
        )
        return _SHORTEST_RESYNC
    return float(period)
