"""The shared informer: mirrors a source in an indexed store and delivers changes to handlers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from kinform._checks import check_plain, expect
from kinform.errors import AlreadyStartedError, AlreadyStoppedError, CacheError
from kinform.informers._changes import DeletedObject
from kinform.informers._controller import Controller, ControllerConfig
from kinform.informers._delta_applier import DeltaApplier, replay_changes
from kinform.informers._observed_informer import ObservedInformer
from kinform.informers._resyncing import Resyncing, check_resync_period
from kinform.informers._source_state import SourceState, sources_of
from kinform.informers._store_metrics import StoreMetrics
from kinform.informers.dispatch._dispatch import Dispatcher
from kinform.informers.dispatch._events import EventStream
from kinform.informers.dispatch._handlers import AnyHandler, HandlerOptions, SubscriptionOptions
from kinform.informers.dispatch._invoker import HandlerFailure
from kinform.informers.dispatch._mailbox import Policy
from kinform.informers.dispatch._projection import Filter
from kinform.informers.dispatch._registration import Registration
from kinform.informers.queue._delta_fifo import DeltaFIFO
from kinform.informers.queue._deltas import Deltas, DeltasKind
from kinform.informers.reflector._admission import Admission, Transform
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._state import WatchFailure
from kinform.informers.sources._listwatch import ListWatch
from kinform.informers.store._entries import Handles
from kinform.informers.store._index_functions import NAMESPACE_INDEX, Indexers, namespace_index
from kinform.informers.store._indexer import Indexer
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.objects import Handle

logger = logging.getLogger("kinform.informer")

T = TypeVar("T", bound=Handle)


class SharedIndexInformer(ObservedInformer[T]):
    """One list and watch, one indexed store and any number of event handlers.

    The store is updated before an event is delivered, so it may be ahead of the event that a
    handler is processing. Each handler receives its events in order and at its own pace.
    Start the informer on an event loop; registering, reading and stopping are thread-safe.

    Args:
        source: The resource to list and watch. Several sources, such as one per namespace,
            share one store.
        name: The name used in logs, errors and metrics.
        indexers: Index functions by name. An index by namespace is always present.
        resync_period: Default number of seconds between resyncs of a handler; 0 disables them.
        transform: Called once for each version of an object, before it is stored.
        on_watch_error: Called on the event loop for every lost connection and every refusal.
        on_handler_error: Called for every exception a handler raises, on the thread or loop
            of that handler.
        options: Reflector settings such as page size and backoff.
        metrics: Receives the informer's metrics.

    Attributes:
        form: The class of the objects that readers and handlers receive.
        has_synced: Set once the store holds the first complete list; never reset.
    """

    def __init__(
        self,
        source: ListWatch[T] | Sequence[ListWatch[T]],
        *,
        name: str = "",
        indexers: Indexers[T] | None = None,
        resync_period: float = 0.0,
        transform: Transform[T] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        on_handler_error: Callable[[HandlerFailure], None] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        sources = sources_of(source)
        check_resync_period(resync_period)
        check_plain("on_watch_error", on_watch_error)
        check_plain("on_handler_error", on_handler_error)
        check_plain("transform", transform)
        if options is not None:
            expect(
                options,
                ReflectorOptions,
                receiver="options=",
                expected="kinform.informers.ReflectorOptions",
            )
        form, name = sources[0].form, name or sources[0].name
        metrics = guarded(metrics)
        adapter = Handles(form)
        super().__init__(
            name,
            sources,
            Indexer(form, indexers={NAMESPACE_INDEX: namespace_index, **(indexers or {})}),
            Dispatcher(
                name=name,
                from_entry=adapter.from_entry,
                version=adapter.version,
                on_error=on_handler_error,
                metrics=metrics,
            ),
        )
        self._resync_period = resync_period
        self._transform = transform
        self._on_watch_error = on_watch_error
        self._options = options or ReflectorOptions()
        self._metrics = metrics

        self._applier = DeltaApplier(self.indexer.table, adapter)
        self._resyncing = Resyncing(self._dispatcher, self.indexer.table, self._lock)
        self._store_metrics = StoreMetrics(name, self.indexer.table, metrics)

    # -- handlers ----------------------------------------------------------------------------

    def add_event_handler(
        self,
        handler: AnyHandler[T] | None = None,
        *,
        on_add: Callable[[T], object] | None = None,
        on_update: Callable[[T, T], object] | None = None,
        on_delete: Callable[[DeletedObject[T]], object] | None = None,
        filter: Filter[T] | None = None,
        resync_period: float | None = None,
        policy: Policy = "unbounded",
        capacity: int = 1000,
        unchanged_updates: bool = False,
        name: str | None = None,
    ) -> Registration[T]:
        """Register a handler for the objects in the store and for every later change.

        A ``def`` handler runs on its own thread, an ``async def`` handler in its own task.
        Handlers registered after start receive the current objects as adds. Exceptions raised by
        a handler are logged and counted.

        Args:
            handler: An object with any of ``on_add(obj, is_in_initial_list)``,
                ``on_update(old, new)`` and ``on_delete(deleted)``. Alternatively, pass functions
                by keyword.
            on_add: Called with the object.
            on_update: Called with the previous and the current state.
            on_delete: Called with a ``DeletedObject``.
            filter: A predicate or label selector; deliver only objects that match. An update that
                starts to match is delivered as an add, one that stops matching as a delete.
            resync_period: Seconds between deliveries of every object in the store; ``None`` uses
                the informer's default, 0 disables resyncs.
            policy: How to treat a slow handler: buffer all events (``unbounded``), pause the
                informer (``block``), or merge pending events per key (``coalesce``).
            capacity: The number of pending events at which ``block`` pauses the informer.
            unchanged_updates: Also deliver updates that repeat a known resource version.
            name: The name used in logs and statistics. A duplicate gets the suffix ``(2)``.

        Raises:
            ConfigError: An option is invalid.
            AlreadyStoppedError: The informer has stopped. Start it again first.
        """
        period = self._resync_period if resync_period is None else resync_period
        options = HandlerOptions(
            handler=handler,
            on_add=on_add,
            on_update=on_update,
            on_delete=on_delete,
            filter=filter,
            resync_period=period,
            policy=policy,
            capacity=capacity,
            unchanged_updates=unchanged_updates,
            name=name,
        )
        with self._lock:
            self._require_not_stopped("a handler")
            replay = replay_changes(self.indexer.table) if len(self.indexer) else None
            options = replace(options, name=self._dispatcher.free_name(options.callbacks().name))
            registration = self._dispatcher.add(
                options, from_entry=self.form.over, replay=replay, synced=bool(self.has_synced)
            )
        self._call_on_loop(self._resyncing.look_again)
        return registration

    def events(
        self,
        *,
        filter: Filter[T] | None = None,
        policy: Policy = "unbounded",
        capacity: int = 1000,
        resync_period: float = 0.0,
        unchanged_updates: bool = False,
        name: str | None = None,
    ) -> EventStream[T]:
        """Return an iterator over the current objects and all later changes.

        The stream ends when the informer stops. The options are those of ``add_event_handler``,
        except that resyncs are off by default.

        Raises:
            ConfigError: An option is invalid.
            AlreadyStoppedError: The informer has stopped. Start it again first.
        """
        options = SubscriptionOptions[T](
            filter=filter,
            policy=policy,
            capacity=capacity,
            resync_period=resync_period,
            unchanged_updates=unchanged_updates,
        )
        with self._lock:
            self._require_not_stopped("an event stream")
            options = replace(options, name=self._dispatcher.free_name(name or "events"))
            replay = replay_changes(self.indexer.table) if len(self.indexer) else None
            stream = self._dispatcher.open_stream(
                options, from_entry=self.form.over, replay=replay, synced=bool(self.has_synced)
            )
        self._call_on_loop(self._resyncing.look_again)
        return stream

    # -- the store ---------------------------------------------------------------------------

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """Add indices, before or after the informer has started.

        Raises:
            CacheError: An index of one of these names exists. No index is added.
        """
        self.indexer.add_indexers(indexers)

    # -- settings, before the start ----------------------------------------------------------

    def set_transform(self, transform: Transform[T] | None) -> None:
        """Set the function that is called once for each version of an object before it is stored.

        Raises:
            AlreadyStartedError: The informer has been started and may hold objects already.
            ConfigError: The function is async.
        """
        self._require_never_started("the transform")
        check_plain("transform", transform)
        self._transform = transform

    def set_watch_error_handler(self, handler: Callable[[WatchFailure], object] | None) -> None:
        """Set the callback for lost connections and refusals, replacing the previous one.

        Raises:
            AlreadyStartedError: The informer has been started.
            ConfigError: The callback is async.
        """
        self._require_never_started("the watch error handler")
        check_plain("on_watch_error", handler)
        self._on_watch_error = handler

    # -- lifecycle ---------------------------------------------------------------------------

    def _before_start(self) -> None:
        self._fault = None
        with self._lock:
            self._waiters.begin()
        self._dispatcher.prepare()
        for part in self._parts:
            part.controller = self._make_controller(part)

    def _after_end(self) -> None:
        with self._lock:
            self._waiters.end()

    async def _live(self) -> None:
        logger.debug("%s starts", self.name)
        self._store_metrics.started(lambda: self.staleness)
        self._dispatcher.start()
        try:
            async with asyncio.TaskGroup() as group:
                for part in self._parts:
                    assert part.controller is not None
                    group.create_task(part.controller.run(), name=f"part {part.source.name}")
                group.create_task(self._resyncing.run(), name=f"resync {self.name}")
        except asyncio.CancelledError:
            logger.debug("%s stops", self.name)
        except BaseExceptionGroup as fault:
            self._fault = CacheError(f"{self.name} ended by a fault of its own: {fault}")
            self._fault.__cause__ = fault
            logger.exception("%s ended by a fault of its own", self.name)
        finally:
            await self._dispatcher.stop()
            self._store_metrics.stopped()

    def _make_controller(self, part: SourceState[T]) -> Controller[T]:
        # One name in logs and metrics; with several sources, each is reported separately.
        name = self.name if len(self._parts) == 1 else part.source.name
        return Controller(
            ControllerConfig(
                source=part.source,
                process=partial(self._process, part),
                queue=DeltaFIFO(known_objects=part.known, name=name),
                name=name,
                admission=Admission(
                    part.source.form,
                    transform=self._transform,
                    known=self.indexer.table,
                    quarantine=self._quarantine,
                    keeps_records=True,
                ),
                # After a restart, handlers must not receive an older state than before.
                resource_version=part.resource_version,
                on_watch_error=self._on_watch_error,
                options=self._options,
                metrics=self._metrics,
            )
        )

    # -- processing --------------------------------------------------------------------------

    def _process(self, part: SourceState[T], deltas: Deltas[T]) -> Awaitable[None] | None:
        """Apply one item of the queue to the store, then deliver it; return what to wait for."""
        started = time.monotonic()
        with self._lock:
            is_list = deltas.kind is DeltasKind.REPLACE
            changes = self._applier.apply(
                deltas,
                initial=is_list and not part.synced,
                unchanged=is_list and self._dispatcher.wants_unchanged,
            )
            is_crowded = self._dispatcher.deliver(changes) if changes else False
            # The version of this source; the store's version may come from another source.
            part.resource_version = self._applier.resource_version or part.resource_version
            if self._waiters.waiting:
                self._waiters.look()
            if is_list:
                self._note_list(part)
            if self._store_metrics.is_wanted:
                self._store_metrics.applied(
                    changes,
                    is_list=is_list,
                    queue_depth=self._queue_depth,
                    seconds=time.monotonic() - started,
                )
        if changes:
            self._dispatcher.rouse()
        return self._dispatcher.wait_for_capacity() if is_crowded else None

    def _note_list(self, part: SourceState[T]) -> None:
        part.synced = True
        if all(part.synced for part in self._parts):
            # After the mailboxes received the list: a handler syncs once it has processed it.
            self._dispatcher.mark_synced()
            self.has_synced.set()

    def _require_not_stopped(self, what: str) -> None:
        if self.is_stopped:
            raise AlreadyStoppedError(
                f"informer {self.name} has stopped, so {what} would hear nothing; "
                "start it again first"
            )

    def _require_never_started(self, what: str) -> None:
        if self.was_started:
            raise AlreadyStartedError(
                f"informer {self.name} has been started; set {what} before that"
            )
