"""The dispatcher: puts changes of the store into the mailbox of each handler.

The store never waits for a handler: a runner of its own reads each mailbox.
Methods run on the event loop's thread unless they say otherwise.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from kinform._runtime import Latch
from kinform.informers._changes import Change, ChangeType
from kinform.informers.dispatch._asyncio_use import find_asyncio_object
from kinform.informers.dispatch._backlog_monitor import BacklogMonitor
from kinform.informers.dispatch._events import EventStream, Inbox
from kinform.informers.dispatch._handler_options import HandlerOptions, SubscriptionOptions
from kinform.informers.dispatch._invoker import HandlerFailure, HandlerInvoker, Outcomes
from kinform.informers.dispatch._mailbox import Mailbox, mailbox_for
from kinform.informers.dispatch._projection import EventProjection
from kinform.informers.dispatch._registration import Registration, Subscription
from kinform.informers.dispatch._runner import (
    CallbackRunner,
    Runner,
    TaskRunner,
    ThreadRunner,
)
from kinform.metrics import NO_METRICS, Metrics

T = TypeVar("T")

_log = logging.getLogger("kinform.dispatch")

# A global is one lookup, an enum member two; this runs once per event.
_UPDATED = ChangeType.UPDATED

# A stop takes less than a second: running callbacks have this long to finish by themselves,
# and then this long to handle their cancellation.
_FINISH = 0.5
_GIVE_UP = 0.15


class Dispatcher(Generic[T]):
    """Delivers every change to every registration, in order and once.

    Args:
        name: The prefix of handler names: the resource.
        from_entry: Makes a new handle from an entry of the store.
        version: Returns the resource version of an entry of the store.
        on_error: Called for every failure of a handler, where that handler runs.
        metrics: Receives every call of a handler, where that handler runs.

    Attributes:
        backlog_monitor: Warns about subscribers that fall behind, while it runs.
    """

    def __init__(
        self,
        *,
        name: str,
        from_entry: Callable[[Any], T],
        version: Callable[[Any], str],
        on_error: Callable[[HandlerFailure], None] | None = None,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self._metrics = metrics
        self._name = name
        self._from_entry = from_entry
        self._version = version
        self._on_error = on_error
        self._lock = threading.Lock()
        # Replaced, never modified, so iteration needs no lock.
        self._subscriptions: tuple[Subscription, ...] = ()
        self._removed: tuple[Subscription, ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stopped = False
        self.backlog_monitor = BacklogMonitor(lambda: self._subscriptions)

    @property
    def registrations(self) -> tuple[Registration[T], ...]:
        """All current registrations. Thread-safe."""
        return tuple(Registration(each) for each in self._subscriptions if not each.is_removed)

    def free_name(self, name: str) -> str:
        """Return an unused handler name: statistics and metrics are keyed by name. Thread-safe."""
        taken = {each.name for each in self.registrations}
        free, number = name, 1
        while self._full_name(free) in taken:
            number += 1
            free = f"{name} ({number})"
        return free

    def add(
        self,
        options: HandlerOptions[T],
        *,
        from_entry: Callable[[Any], T] | None = None,
        replay: Sequence[Change] | None = None,
        synced: bool = False,
    ) -> Registration[T]:
        """Register a handler. It receives ``replay`` first, then later changes. Thread-safe.

        Args:
            options: The handler and its options.
            from_entry: Makes the handles for this handler, if they differ from the default.
            replay: The current objects; the caller ensures that no change is lost in between.
            synced: Whether ``replay`` is complete, so the handler has synced once it processed it.
        """
        callbacks = options.callbacks()
        mailbox = mailbox_for(options.policy, options.capacity)
        name = options.name or callbacks.name
        outcomes = self._outcomes(name)
        has_synced = Latch(f"{outcomes.name} has synced")
        projection = EventProjection(from_entry or self._from_entry, options.filter)
        invoker = HandlerInvoker(
            callbacks,
            projection=projection,
            outcomes=outcomes,
            has_synced=has_synced,
            measure=self._measure(name, mailbox),
        )
        runner: Runner
        if callbacks.is_async:
            runner = TaskRunner(mailbox, invoker.invoke_async, name=outcomes.name)
        elif options.run_on == "thread":
            _warn_about_asyncio(outcomes.name, options)
            runner = ThreadRunner(mailbox, invoker.invoke, name=outcomes.name)
        else:
            runner = CallbackRunner(mailbox, invoker.invoke, name=outcomes.name)
        subscription = self._subscribe(name, options, mailbox, runner, outcomes, has_synced)
        self._admit(subscription, replay, synced=synced)
        return Registration(subscription)

    def open_stream(
        self,
        options: SubscriptionOptions[T],
        *,
        from_entry: Callable[[Any], T] | None = None,
        replay: Sequence[Change] | None = None,
        synced: bool = False,
    ) -> EventStream[T]:
        """Like ``add``, but return the changes as an iterator. Thread-safe."""
        mailbox = mailbox_for(options.policy, options.capacity)
        name = options.name or "events"
        outcomes = self._outcomes(name)
        has_synced = Latch(f"{outcomes.name} has synced")
        inbox = Inbox(mailbox, has_synced)
        subscription = self._subscribe(name, options, mailbox, inbox, outcomes, has_synced)
        stream = EventStream(
            subscription, inbox, EventProjection(from_entry or self._from_entry, options.filter)
        )
        self._admit(subscription, replay, synced=synced)
        return stream

    def deliver(self, changes: Sequence[Change], *, all_updates: bool = False) -> bool:
        """Put changes into all mailboxes. Updates to the same version go only where accepted.

        With ``all_updates`` they go everywhere: the same version is not the same state.

        Returns whether a subscriber with the policy ``block`` is full; then await
        ``wait_for_capacity``. Call ``run_inline_handlers`` afterwards to run inline handlers.
        """
        is_full = False
        changed: Sequence[Change] | None = None
        for subscription in self._subscriptions:
            mailbox = subscription.mailbox
            if mailbox.is_closed:
                subscription.remove()
                continue
            if all_updates or subscription.accepts_unchanged:
                accepted = changes
            else:
                if changed is None:
                    changed = self._without_unchanged(changes)
                accepted = changed
            if accepted:
                mailbox.put(accepted)
                if subscription.runner.run_inline is None:
                    subscription.runner.notify()
            if subscription.is_blocking and mailbox.wait_for_capacity() is not None:
                is_full = True
        if self._metrics is not NO_METRICS:
            for subscription in self._subscriptions:
                depth = subscription.mailbox.depth
                self._metrics.handler_depth(self._name, subscription.metrics_name, depth)
        return is_full

    def run_inline_handlers(self) -> None:
        """Run the handlers that process deliveries inline. Call this without holding a lock."""
        for subscription in self._subscriptions:
            if subscription.runner.run_inline is not None:
                subscription.runner.run_inline()

    @property
    def accepts_unchanged(self) -> bool:
        """Whether a subscriber accepts unchanged updates."""
        return any(each.accepts_unchanged for each in self._current())

    def mark_synced(self) -> None:
        """Note that the first complete list has been delivered."""
        for subscription in self._current():
            subscription.put_synced()

    def resync(self, changes_for: Callable[[], Sequence[Change]]) -> None:
        """Resync the subscribers that are due. ``changes_for`` is called only if there are any."""
        if self._loop is None:
            return
        now = self._loop.time()
        due = [each for each in self._current() if each.is_due(now)]
        if not due:
            return
        changes = changes_for()
        for subscription in due:
            subscription.resync(changes, now)

    def next_resync(self) -> float | None:
        """Return the loop time of the next resync; ``None`` if no subscriber has resyncs."""
        times = (each.next_resync for each in self._current())
        return min((time for time in times if time is not None), default=None)

    async def wait_for_capacity(self) -> None:
        """Wait until no mailbox with the policy ``block`` is full."""
        while True:
            latches = (each.mailbox.wait_for_capacity() for each in self._current())
            has_capacity = next((latch for latch in latches if latch is not None), None)
            if has_capacity is None:
                return
            await has_capacity

    def prepare(self) -> None:
        """Announce a start: handlers added from now on belong to it."""
        with self._lock:
            self._is_stopped = False

    def start(self) -> None:
        """Start all consumers, with the pending changes. May be called again after a stop."""
        loop = asyncio.get_running_loop()
        with self._lock:
            self._loop = loop
            self._is_stopped = False
        for subscription in self._current():
            subscription.start(loop)

    async def stop(self) -> None:
        """Stop delivery and return when all consumers have ended, within a second.

        Pending changes are delivered after the next start. Running callbacks have half a second to
        finish; then their tasks are cancelled, even that of a handler waiting for this stop. A
        thread still blocked in a handler is abandoned with a warning and ends when the handler
        returns.
        """
        with self._lock:
            self._loop = None
            self._is_stopped = True
            subscriptions = self._subscriptions + self._removed
        running: dict[Subscription, Latch] = {}
        for subscription in subscriptions:
            ended = Latch(f"{subscription.name} has ended")
            subscription.halt(ended.set)
            running[subscription] = ended
        try:
            await _all_set(running, _FINISH)
        finally:
            for subscription, ended in running.items():
                if not ended:
                    subscription.runner.cancel()
        await _all_set(running, _GIVE_UP)
        for subscription, ended in running.items():
            if ended:
                subscription.runner.join()
            else:
                _log.warning(
                    "handler %s is still running after the stop; it ends when its callback returns",
                    subscription.name,
                )

    def _without_unchanged(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Return all changes except updates to the same version."""
        version, changed = self._version, []
        for change in changes:
            if change.type is _UPDATED and change.old is not None:
                before = version(change.old)
                # Without versions, an update cannot be recognised as unchanged.
                if before and before == version(change.new):
                    continue
            changed.append(change)
        return changed

    def _measure(self, handler: str, mailbox: Mailbox) -> Callable[[float, bool], None] | None:
        if self._metrics is NO_METRICS:
            return None

        def measure(seconds: float, ok: bool) -> None:
            if mailbox.is_closed:
                return  # removed in the meantime: do not recreate its metrics
            self._metrics.handler_done(self._name, handler, ok, seconds)
            self._metrics.handler_depth(self._name, handler, mailbox.depth)

        return measure

    def _outcomes(self, name: str) -> Outcomes:
        return Outcomes(self._full_name(name), self._on_error)

    def _full_name(self, name: str) -> str:
        return f"{self._name}/{name}" if self._name else name

    def _subscribe(
        self,
        name: str,
        options: SubscriptionOptions[T],
        mailbox: Mailbox,
        runner: Runner,
        outcomes: Outcomes,
        has_synced: Latch,
    ) -> Subscription:
        return Subscription(
            options,
            metrics_name=name,
            mailbox=mailbox,
            runner=runner,
            outcomes=outcomes,
            has_synced=has_synced,
            on_removed=self._remove,
            on_stopped=self._forget,
        )

    def _admit(
        self, subscription: Subscription, replay: Sequence[Change] | None, *, synced: bool
    ) -> None:
        if replay:
            subscription.put(replay)
        if synced:
            subscription.put_synced()
        with self._lock:
            self._subscriptions += (subscription,)
            # Under the lock, so a concurrent stop either prevents this start or ends the handler.
            if self._loop is not None:
                subscription.start(self._loop)
        if self._is_stopped and self._loop is None:
            # The run is over: a stream ends, a handler waits for the next start.
            subscription.halt(lambda: None)

    def _remove(self, subscription: Subscription) -> None:
        self._metrics.handler_removed(self._name, subscription.metrics_name)
        with self._lock:
            self._subscriptions = tuple(
                each for each in self._subscriptions if each is not subscription
            )
            # Its callback may still be running, so a stop waits for it too.
            self._removed += (subscription,)

    def _forget(self, subscription: Subscription) -> None:
        """Release a removed subscription after its last callback has returned."""
        with self._lock:
            self._removed = tuple(each for each in self._removed if each is not subscription)

    def _current(self) -> tuple[Subscription, ...]:
        """Return all subscriptions after removing those whose owner was garbage-collected."""
        subscriptions = self._subscriptions
        for subscription in subscriptions:
            if subscription.mailbox.is_closed:
                subscription.remove()
                subscriptions = self._subscriptions
        return subscriptions


async def _all_set(latches: Mapping[Subscription, Latch], timeout: float) -> None:
    """Wait until all latches are set or the timeout is over."""
    try:
        async with asyncio.timeout(timeout):
            for latch in latches.values():
                await latch
    except TimeoutError:
        return


def _warn_about_asyncio(name: str, options: HandlerOptions[T]) -> None:
    """Warn about a handler on a thread that uses objects of asyncio."""
    for event, function in options.functions().items():
        found = find_asyncio_object(function)
        if found is not None:
            _log.warning(
                "handler %s runs on a thread, but its %s uses %s, which is not thread-safe: the "
                "event loop may not notice. Register it with run_on='loop' if that is your loop, "
                "or use loop.call_soon_threadsafe",
                name,
                event,
                found,
            )
            return
