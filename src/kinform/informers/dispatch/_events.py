"""Changes in, events to iterate over out: the snapshot, then the tail."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

import msgspec

from kinform._runtime import Latch, wake
from kinform.errors import StateError
from kinform.informers._changes import Change, ChangeSource, ChangeType, DeletedObject
from kinform.informers.dispatch._invoker import is_in_initial_list
from kinform.informers.dispatch._mailbox import SYNCED, Mailbox
from kinform.informers.dispatch._projection import EventProjection, HandlerEvent
from kinform.informers.dispatch._registration import HandlerStats, Subscription
from kinform.informers.dispatch._runner import Runner

T = TypeVar("T")


class InformerEvent(msgspec.Struct, Generic[T], frozen=True):
    """One change of the cache.

    Attributes:
        type: What happened; a resync is an update to the same.
        key: ``namespace/name``.
        object: The state now; of a deletion the last one known, ``None`` if there is none.
        old: The state before an update.
        source: Why it is told.
        is_in_initial_list: An addition that was there when the stream was opened.
        final_state_unknown: A deletion that was noticed late: more may have happened before it.
    """

    type: ChangeType
    key: str
    object: T | None
    old: T | None
    source: ChangeSource
    is_in_initial_list: bool = False
    final_state_unknown: bool = False

    @property
    def deleted(self) -> DeletedObject[T] | None:
        """What a handler's ``on_delete`` gets; ``None`` if this is no deletion."""
        if self.type is not ChangeType.DELETED:
            return None
        return DeletedObject(self.key, self.object, self.final_state_unknown)


class Inbox(Runner):
    """Between a mailbox and one who asks for its items: knows who waits, and that it is over."""

    def __init__(self, mailbox: Mailbox, has_synced: Latch) -> None:
        super().__init__(mailbox)
        self._has_synced = has_synced
        self._waiter: asyncio.Future[None] | None = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Nothing to begin: the one who iterates is the consumer."""
        self.nudge()

    def nudge(self) -> None:
        self.look_for_synced()
        self._launch()

    def halt(self, ended: Callable[[], None]) -> None:
        # An iteration that has ended must not go on when the informer starts again.
        self._mailbox.close()
        self._launch()
        ended()

    def look_for_synced(self) -> None:
        """Before the marker itself is taken: nothing else is left to be."""
        if self._mailbox.awaits_synced and self._mailbox.next_is_synced:
            self._has_synced.set()

    async def wait(self) -> None:
        """Return when there may be something to take, or nothing will ever be."""
        if self._waiter is not None:
            raise StateError("an event stream has one consumer; open another one for the second")
        more = self._waiter = asyncio.get_running_loop().create_future()
        try:
            # Asked after the waiter can be seen: what comes from here on wakes it.
            if not self._mailbox and not self._mailbox.is_closed:
                await more
        finally:
            self._waiter = None

    def _launch(self) -> None:
        waiter = self._waiter
        if waiter is not None:
            wake(waiter)


class EventStream(Generic[T]):
    """The cache as it is, then all its changes, in order.

        async for event in informer.events(): ...

        async with informer.events() as events:      # to leave it early and go on elsewhere
            async for event in events: ...

    It ends when it is closed, or when the informer stops. One that nobody holds is closed.

    Attributes:
        has_synced: Set when the last event of what was there at the beginning has been taken.
    """

    def __init__(
        self, subscription: Subscription, inbox: Inbox, projection: EventProjection[T]
    ) -> None:
        self._subscription = subscription
        self._inbox = inbox
        self._projection = projection
        self.has_synced = subscription.has_synced
        # The dispatcher holds the subscription, never the stream.
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
        """End the iteration, and discard what waits. Idempotent; any thread."""
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
                self._inbox.look_for_synced()
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
        """``None`` if the filter hides it, or failed on it."""
        outcomes = self._subscription.outcomes
        outcomes.processed += 1
        try:
            event = self._projection.project(change)
        except Exception as error:
            outcomes.fail(change, error)
            return None
        return None if event is None else _event_of(change, event)


def _event_of(change: Change, event: HandlerEvent[T]) -> InformerEvent[T]:
    return InformerEvent(
        type=event.type,
        key=change.key,
        object=event.object,
        old=event.old,
        source=change.source,
        is_in_initial_list=is_in_initial_list(change, event),
        final_state_unknown=event.final_state_unknown,
    )
