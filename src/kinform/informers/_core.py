"""The core of an informer: sources, reflectors, queues, table and dispatch, without types."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kinform._checks import check_plain
from kinform._runtime import Latch, Lifecycle
from kinform.api import is_older
from kinform.errors import AlreadyStartedError, AlreadyStoppedError, CacheError, StateError
from kinform.informers._changes import Change, ChangeSource
from kinform.informers._delta_applier import DeltaApplier, removal_changes, replay_changes
from kinform.informers._delta_controller import DeltaController, DeltaControllerConfig
from kinform.informers._informer_status import InformerStatus, SyncStatus, worst
from kinform.informers._live_scope import LiveScope
from kinform.informers._metrics_names import register
from kinform.informers._overlap import OverlapMerger
from kinform.informers._resync_scheduler import ResyncScheduler
from kinform.informers._scope import Scope, overlap
from kinform.informers._source_state import SourceState
from kinform.informers._source_versions import SourceVersions, oldest
from kinform.informers._store_metrics import StoreMetrics
from kinform.informers._store_waiters import StoreWaiters
from kinform.informers.dispatch import Dispatcher, HandlerFailure
from kinform.informers.queue import DeltaFIFO, Deltas, DeltasKind
from kinform.informers.reflector import (
    Admission,
    Quarantine,
    ReflectorOptions,
    Transform,
    WatchFailure,
)
from kinform.informers.sources import Source
from kinform.informers.store import NAMESPACE_INDEX, HandleAdapter, Indexer, namespace_index
from kinform.metrics import NO_METRICS, Metrics, guarded

logger = logging.getLogger("kinform.informer")


class InformerCore:
    """One informer, of which typed ``SharedIndexInformer`` objects are views.

    It stores records and delivers changes of records; views make handles of their own class from
    them. All state is here, so every view sees the same.

    Args:
        sources: What to list and watch: one source, or one for each namespace.
        scope: The namespaces and selectors to cover, by sources like the given one.
        name: The name used in logs and errors.
        metrics_name: The name used in metrics; another informer's gets a number.
        transform: Called once for each version of an object; receives the class of the sources.
        on_watch_error, on_handler_error, options, metrics: See ``SharedIndexInformer``.

    Attributes:
        resync_period: Default number of seconds between resyncs of a handler.
        form: The class of the sources' objects, which the transform receives.
        indexer: The store, as objects of ``form``.
        dispatcher: Delivers changes to handlers.
        lifecycle: Starts and stops it.
        lock: Held while the store changes and the mailboxes are filled, so that a handler
            registered concurrently receives each change exactly once: in the replay or after it.
        has_synced: Set once the store holds the first complete list; ``reset`` replaces it.
        scope: The namespaces and selectors it covers, which may change while it runs.
        has_warned_of_reads: Whether a read before the first sync was logged.
    """

    def __init__(
        self,
        sources: Sequence[Source[Any]],
        *,
        scope: Scope | None = None,
        name: str,
        metrics_name: str,
        resync_period: float = 0.0,
        transform: Transform[Any] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        on_handler_error: Callable[[HandlerFailure], None] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self.name = name
        self.metrics_name = metrics_name
        self.metrics = metrics
        self.lifecycle = Lifecycle(name, self._run, prepare=self._prepare, conclude=self._conclude)
        register(self)
        metrics = guarded(metrics, self.metrics_name)
        self.resync_period = resync_period
        self.form = sources[0].form
        adapter = HandleAdapter(self.form)
        self.indexer: Indexer[Any] = Indexer(self.form, indexers={NAMESPACE_INDEX: namespace_index})
        self.dispatcher: Dispatcher[Any] = Dispatcher(
            name=name,
            from_entry=adapter.from_entry,
            version=adapter.version,
            on_error=on_handler_error,
            metrics=metrics,
        )
        self.lock = threading.RLock()
        self.has_synced = Latch(f"{name} has synced")
        self.quarantine = Quarantine()
        self.scope = LiveScope(
            name,
            sources,
            scope,
            self.indexer,
            launch=self._launch,
            remove_objects=self._remove_objects,
            changed=self._scope_changed,
        )
        self._transform = transform
        self._on_watch_error = on_watch_error
        self._options = options or ReflectorOptions()
        self._fault: CacheError | None = None
        self.has_warned_of_reads = False
        self._group: asyncio.TaskGroup | None = None
        self._waiters = StoreWaiters(name)
        self._versions = SourceVersions(
            name, lambda: self.scope.sources, lambda: self.scope.requested
        )
        self._merger = OverlapMerger(self.indexer.table, lambda: self.scope.sources)
        self._applier = DeltaApplier(self.indexer.table, adapter)
        self._resync_scheduler = ResyncScheduler(self.dispatcher, self.indexer.table, self.lock)
        self._store_metrics = StoreMetrics(name, self.indexer.table, metrics)

    # -- subscribers -------------------------------------------------------------------------

    @contextlib.contextmanager
    def subscribing(self, what: str) -> Iterator[list[Change] | None]:
        """Hold the lock while a subscriber is added; yield what it receives first, if anything.

        Raises:
            AlreadyStoppedError: The informer has stopped. Start it again first.
        """
        with self.lock:
            if self.lifecycle.is_stopped:
                raise AlreadyStoppedError(
                    f"informer {self.name} has stopped, so {what} would receive nothing; "
                    "start it again first"
                )
            yield replay_changes(self.indexer.table) if len(self.indexer) else None
        self.lifecycle.call_on_loop(self._resync_scheduler.reschedule)

    # -- settings, before the start ----------------------------------------------------------

    def set_transform(self, transform: Transform[Any] | None) -> None:
        self._require_never_started("the transform")
        check_plain("transform", transform)
        self._transform = transform

    def set_watch_error_handler(self, handler: Callable[[WatchFailure], object] | None) -> None:
        self._require_never_started("the watch error handler")
        check_plain("on_watch_error", handler)
        self._on_watch_error = handler

    def reset(self) -> None:
        """Forget all objects and versions, as before the first start.

        Raises:
            StateError: The informer is running, or has handlers, which would miss deletions.
        """
        with self.lock:
            if self.lifecycle.is_running or self.dispatcher.registrations:
                raise StateError(
                    f"informer {self.name} is running or has handlers; stop it and remove them"
                )
            self.indexer.table.swap(self.indexer.list_keys(), {})
            self.quarantine.retain(())
            self.scope.reset()
            self.has_synced = Latch(self.has_synced.name)

    # -- state, from any thread --------------------------------------------------------------

    @property
    def resource_version(self) -> str:
        """The resource version of the store; with several sources, the oldest one."""
        return oldest([each.resource_version for each in self.scope.sources])

    def wait_for_rv(self, resource_version: str, namespace: str | None) -> Latch:
        condition = self._versions.condition(resource_version, namespace)
        return self.wait_until(condition, f"reached version {resource_version}")

    def has_reached(self, resource_version: str, namespace: str | None) -> bool:
        return self._versions.condition(resource_version, namespace)()

    def is_complete_in(self, namespace: str) -> bool:
        return bool(self.has_synced) and self.scope.is_complete_in(namespace)

    def wait_until(self, condition: Callable[[], bool], what: str) -> Latch:
        with self.lock:
            return self._waiters.latch(condition, what)

    def sync_status(self) -> SyncStatus:
        source = worst([each.status() for each in self.scope.sources])
        return SyncStatus(
            synced=bool(self.has_synced),
            phase=source.phase,
            error=self._fault or source.last_error,
            attempts=source.attempts,
            waiting=self.lifecycle.running_for,
            staleness=self.staleness,
        )

    def status(self) -> InformerStatus:
        sources = {self._label(each): each.status() for each in self.scope.sources}
        return InformerStatus(
            name=self.name,
            sync=self.sync_status(),
            is_running=self.lifecycle.is_running,
            mode=worst(list(sources.values())).mode,
            objects=len(self.indexer),
            bytes=self.indexer.memory,
            index_bytes=self.indexer.index_memory,
            resource_version=self.resource_version,
            queue_depth=self._queue_depth,
            quarantined=len(self.quarantine),
            sources=sources,
            handlers={each.name: each.stats for each in self.dispatcher.registrations},
        )

    def _label(self, source: SourceState) -> str:
        """Return the namespace of a source, with its selectors if there are several."""
        names = [each.name for each in self.scope.sources]
        is_only = names.count(source.name) < 2
        return source.name if is_only else f"{source.name} where {source.selectors}".strip()

    @property
    def is_filled(self) -> bool:
        """Whether the store has the first complete list; true before handlers receive it."""
        return bool(self.has_synced) or all(each.synced for each in self.scope.sources)

    @property
    def staleness(self) -> float | None:
        if not self.has_synced:
            return None
        ages = [each.staleness() for each in self.scope.sources]
        return None if None in ages else max((age for age in ages if age is not None), default=0.0)

    @property
    def _queue_depth(self) -> int:
        return sum(len(each.controller.queue) for each in self.scope.sources if each.controller)

    # -- lifecycle ---------------------------------------------------------------------------

    def _prepare(self) -> None:
        self._fault = None
        with self.lock:
            self._waiters.begin()
        self.dispatcher.prepare()
        for source in self.scope.all_sources:
            source.controller = self._make_controller(source)

    def _conclude(self) -> None:
        with self.lock:
            self._waiters.end()

    async def _run(self) -> None:
        logger.debug("%s started", self.name)
        self._store_metrics.started(lambda: self.staleness)
        self.dispatcher.start()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                for source in self.scope.all_sources:
                    self._run_source(source)
                # Also carries out what was requested before the tasks existed.
                self._apply_scope()
                group.create_task(self._resync_scheduler.run(), name=f"resync {self.name}")
                group.create_task(
                    self.dispatcher.backlog_monitor.run(), name=f"backlog {self.name}"
                )
        except asyncio.CancelledError:
            logger.debug("%s is stopping", self.name)
        except BaseExceptionGroup as fault:
            self._fault = CacheError(f"{self.name} stopped because of an internal error: {fault}")
            self._fault.__cause__ = fault
            logger.exception("%s stopped because of an internal error", self.name)
        finally:
            self._group = None
            await self.dispatcher.stop()
            self._store_metrics.stopped()

    def _launch(self, source: SourceState) -> None:
        """Start one more source, on the event loop of the informer."""
        if self._group is not None and not self.lifecycle.is_stopping:
            self._run_source(source)

    def _run_source(self, source: SourceState) -> None:
        assert self._group is not None
        controller = source.controller
        if controller is None:
            controller = source.controller = self._make_controller(source)
        source.task = self._group.create_task(controller.run(), name=f"source {source.source.name}")

    def _make_controller(self, source: SourceState) -> DeltaController[Any]:
        # With several sources, each is reported separately.
        name, metrics_name = self.name, self.metrics_name
        if len(self.scope.sources) > 1:
            name, metrics_name = source.source.name, f"{metrics_name}[{source.name or '*'}]"
        if source.keys is not None:
            name = f"{name} where {source.selectors}"
        return DeltaController(
            DeltaControllerConfig(
                source=source.source,
                process=partial(self._process, source),
                queue=DeltaFIFO(known_objects=source.known, name=name),
                name=name,
                admission=Admission(
                    source.source.form,
                    transform=self._transform,
                    known=self.indexer.table,
                    quarantine=self.quarantine,
                    keeps_records=True,
                ),
                # After a restart, handlers must not receive an older state than before.
                resource_version=source.list_version,
                on_watch_error=self._on_watch_error,
                options=self._options,
                metrics=guarded(self.metrics, metrics_name),
            )
        )

    # -- processing, on the event loop -------------------------------------------------------

    def _process(self, source: SourceState, deltas: Deltas[Any]) -> Awaitable[None] | None:
        """Apply one item of the queue to the store, then deliver it; return what to wait for."""
        started = time.monotonic()
        with self.lock:
            is_list = deltas.kind is DeltasKind.REPLACE
            if source.is_retired or (is_list and not self._is_list_due(source, deltas)):
                return None
            known = source.resource_version
            # The reflector passes an older list on only if the server's versions went back.
            went_back = is_list and is_older(deltas.resource_version, known)
            if source.keys is not None:
                deltas = self._merger.merge(source, deltas)
            changes = self._applier.apply(
                deltas,
                list_source=self._list_source(source) if is_list else ChangeSource.RELIST,
                unchanged=is_list and self.dispatcher.accepts_unchanged,
                selects=None if source.synced else source.selects,
                went_back=went_back,
            )
            if is_list:
                source.synced = True  # before delivery: a handler may read the store at once
            is_full = self.dispatcher.deliver(changes, all_updates=went_back) if changes else False
            # The version of this source; the store's version may come from another source.
            version = self._applier.resource_version
            if source.keys is not None:
                version = deltas.resource_version  # the last delta may have been skipped
            source.resource_version = version or source.resource_version
            if is_list:
                self.scope.settle()
                self._check_synced()
            if went_back:
                self._versions.went_back(known, source.resource_version)
            if self._waiters.waiting:
                self._waiters.check()
            if self._store_metrics.is_enabled:
                self._report(changes, is_list=is_list, seconds=time.monotonic() - started)
        if changes or is_list:
            self.dispatcher.run_inline_handlers()
        return self.dispatcher.wait_for_capacity() if is_full else None

    def _is_list_due(self, source: SourceState, deltas: Deltas[Any]) -> bool:
        """Whether a list may be applied; that of a successor must not go back in time."""
        return source.predecessor is None or self.scope.swap(source, deltas.resource_version)

    def _list_source(self, source: SourceState) -> ChangeSource:
        if not self.has_synced:
            return ChangeSource.RELIST if source.synced else ChangeSource.INITIAL
        return ChangeSource.RELIST if source.synced else ChangeSource.SCOPE

    def _check_synced(self) -> None:
        if not self.has_synced and all(each.synced for each in self.scope.sources):
            # After the mailboxes received the list: a handler syncs once it has processed it.
            self.dispatcher.mark_synced()
            self.has_synced.set()
            logger.info(
                "%s has synced: %d objects after %.1f s",
                self.name,
                len(self.indexer),
                self.lifecycle.running_for,
            )

    def _report(self, changes: Sequence[Change], *, is_list: bool, seconds: float) -> None:
        self._store_metrics.applied(
            changes, is_list=is_list, queue_depth=self._queue_depth, seconds=seconds
        )

    # -- changes of the scope, on the event loop ---------------------------------------------

    def _remove_objects(self, source: SourceState) -> None:
        """Remove the objects of a source that leaves the informer, and deliver the deletions."""
        with self.lock:
            changes = removal_changes(self.indexer.table, self._merger.release(source))
            if not any(overlap(each.name, source.name) for each in self.scope.sources):
                self.quarantine.retain((), namespace=source.source.namespace)
            if changes:
                self.dispatcher.deliver(changes)
            if self._store_metrics.is_enabled:
                self._report(changes, is_list=True, seconds=0.0)

    def _scope_changed(self) -> None:
        """Act on a new scope: soon on the loop if the informer runs, otherwise at once."""
        if self.lifecycle.is_running:
            self.lifecycle.call_on_loop(self._apply_scope)
        else:
            self._apply_scope()

    def _apply_scope(self) -> None:
        with self.lock:
            self.scope.follow()
            self._waiters.check()
            if self._group is not None:
                self._check_synced()
        # Without the lock, because handlers may run here.
        self.dispatcher.run_inline_handlers()

    def _require_never_started(self, what: str) -> None:
        if self.lifecycle.was_started:
            raise AlreadyStartedError(
                f"informer {self.name} has already been started; set {what} before start()"
            )
