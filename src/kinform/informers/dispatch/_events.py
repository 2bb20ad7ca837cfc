"""The event stream: iterates over the current objects, then over all later changes."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from kinform._runtime import Latch, wake
from kinform.errors import StateError
from kinform.informers._changes import Change
from kinform.informers.dispatch._informer_event import InformerEvent, informer_event
from kinform.informers.dispatch._mailbox import SYNCED, Mailbox
from kinform.informers.dispatch._projection import EventProjection
from kinform.informers.dispatch._registration import HandlerStats, Subscription
from kinform.informers.dispatch._runner import Runner

T = TypeVar("T")


class Inbox(Runner):
    """Connects a mailbox to an iterating consumer: wakes it, and ends its iteration."""

    def __init__(self, mailbox: Mailbox, has_synced: Latch) -> None:
        super().__init__(mailbox)
        self._has_synced = has_synced
        self._waiter: asyncio.Future[None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start nothing: the iterating task is the consumer."""
        self.notify()

    def notify(self) -> None:
        self.check_synced()
        self._launch()

    def halt(self, ended: Callable[[], None]) -> None:
        # An iteration that has ended must not continue when the informer starts again.
        self._mailbox.close()
        self._launch()
        ended()

    def check_synced(self) -> None:
        """Set ``has_synced`` if only the sync marker is left in the mailbox."""
        if self._mailbox.awaits_synced and self._mailbox.next_is_synced:
            self._has_synced.set()

    async def wait(self) -> None:
        """Wait until the mailbox has an item or is closed."""
        if self._waiter is not None:
            raise StateError("an event stream has one consumer; open another stream for the second")
        more = self._waiter = asyncio.get_running_loop().create_future()
        try:
            # Checked after the waiter is visible: items that arrive from now on wake it.
            if not self._mailbox and not self._mailbox.is_closed:
                await more
        finally:
            self._waiter = None

    def _launch(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            wake(waiter)


class EventStream(Generic[T]):
    """An asynchronous iterator over the current objects, then over all changes, in order.

        async for event in informer.events(): ...

        async with informer.events() as events:      # closes the stream when the block is left
            async for event in events: ...

    The stream ends when it is closed, garbage-collected, or when the informer stops.

    Attributes:
        has_synced: Set when the last event of the initial objects has been read.
    """

    def __init__(
        self, subscription: Subscription, inbox: Inbox, projection: EventProjection[T]
    ) -> None:
        self._subscription = subscription
        self._inbox = inbox
        self._projection = projection
        self.has_synced = subscription.has_synced
        # The dispatcher refers to the subscription and never to the stream.
        weakref.finalize(self, subscription.mailbox.close).atexit = False

    @property
    def name(self) -> str:
        return self._subscription.name

    @property
    def is_closed(self) -> bool:
        return self._subscription.is_removed

    @property
    def stats(self) -> HandlerStats:
        return self._subscription.stats()

    def close(self) -> None:
        """End the iteration and discard pending events. Idempotent and thread-safe."""
        self._subscription.remove()

    def __aiter__(self) -> EventStream[T]:
        return self

    async def __anext__(self) -> InformerEvent[T]:
        mailbox = self._subscription.mailbox
        while True:
            item = mailbox.take()
            if item is SYNCED:
                self.has_synced.set()
            elif item is not None:
                event = self._event(item)
                self._inbox.check_synced()
                if event is not None:
                    return event
            elif mailbox.is_closed:
                raise StopAsyncIteration
            else:
                await self._inbox.wait()

    async def __aenter__(self) -> EventStream[T]:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _event(self, change: Change) -> InformerEvent[T] | None:
        """Return the event, or ``None`` if the filter rejected it or raised."""
        outcomes = self._subscription.outcomes
        outcomes.processed += 1
        try:
            event = self._projection.project(change)
        except Exception as error:
            outcomes.fail(change, error)
            return None
        return None if event is None else informer_event(change, event)
