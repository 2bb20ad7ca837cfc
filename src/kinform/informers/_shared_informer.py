"""A source in; one store that mirrors it, and any number of handlers that hear of it, out."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from kinform.errors import AlreadyStartedError, AlreadyStoppedError, CacheError, ConfigError
from kinform.informers._applying import Applying, replay_changes, resync_changes
from kinform.informers._awaited_versions import AwaitedVersions, oldest
from kinform.informers._changes import DeletedObject
from kinform.informers._controller import Controller, ControllerConfig
from kinform.informers._counting import Counting
from kinform.informers._informer_status import InformerStatus, SyncStatus, worst
from kinform.informers._latch import Latch
from kinform.informers._parts import Part
from kinform.informers._running import Running
from kinform.informers.dispatch._dispatch import Dispatcher
from kinform.informers.dispatch._events import EventStream
from kinform.informers.dispatch._handlers import (
    AnyHandler,
    HandlerOptions,
    SubscriptionOptions,
    is_async_callable,
)
from kinform.informers.dispatch._lens import Filter
from kinform.informers.dispatch._mailbox import Policy
from kinform.informers.dispatch._registration import Registration
from kinform.informers.dispatch._telling import HandlerFailure
from kinform.informers.queue._delta_fifo import DeltaFIFO
from kinform.informers.queue._deltas import Deltas, DeltasKind
from kinform.informers.reflector._admission import Admission, Transform
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._quarantine import Quarantine, QuarantinedObject
from kinform.informers.reflector._vitals import WatchFailure
from kinform.informers.sources._listwatch import ListWatch
from kinform.informers.store._index_functions import NAMESPACE_INDEX, Indexers, namespace_index
from kinform.informers.store._indexer import Indexer
from kinform.informers.store._resting import Handles
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.objects import Handle

logger = logging.getLogger("kinform.informer")

T = TypeVar("T", bound=Handle)


class SharedIndexInformer(Running, Generic[T]):
    """One list and watch, one indexed store, any number of handlers.

    Handlers are told of a change after the store has it, each in order and at its own pace; the
    store may be ahead of what a handler is told. Registering, reading and stopping may be done
    from any thread; starting is done on an event loop, which then drives it.

    Args:
        source: What to list and watch; several sources (one for each namespace) share the store.
        name: What it is called in logs, errors and metrics.
        indexers: Index functions by name; an index by namespace is always there.
        resync_period: Seconds between resyncs, for handlers that do not say; 0 for never.
        transform: Changes each version of an object once, before anybody sees it.
        on_watch_error: Hears every lost connection and refusal, on the loop.
        on_handler_error: Hears every failure of a handler, where the handler runs.
        options: How its reflectors go about it: page size, backoff and the like.
        metrics: Is told what happens.

    Attributes:
        form: What objects come out as.
        has_synced: Set when the store has had the first complete list; never reverts.
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
        sources = _check_sources(source)
        if not resync_period >= 0:
            raise ConfigError(f"resync_period must be 0 (never) or more, not {resync_period!r}")
        _check_plain("on_watch_error", on_watch_error)
        _check_plain("on_handler_error", on_handler_error)
        _check_plain("transform", transform)
        form = sources[0].form
        super().__init__(name or sources[0].name)
        self.form = form
        self._resync_period = resync_period
        self._transform = transform
        self._on_watch_error = on_watch_error
        self._options = options or ReflectorOptions()
        metrics = guarded(metrics)
        self._metrics = metrics

        self.indexer: Indexer[T] = Indexer(
            form, indexers={NAMESPACE_INDEX: namespace_index, **(indexers or {})}
        )
        resting = Handles(form)
        self._applying = Applying(self.indexer.table, resting)
        self._quarantine = Quarantine()
        self._parts = [Part(each, self.indexer, is_whole=len(sources) == 1) for each in sources]
        self._dispatcher: Dispatcher[T] = Dispatcher(
            name=self.name,
            wake=resting.wake,
            version=resting.version,
            on_error=on_handler_error,
            metrics=metrics,
        )
        self._counting = Counting(self.name, self.indexer.table, metrics)
        # Held while the store changes and its mailboxes are filled, so that who registers
        # meanwhile finds every change in the replay or after it, and none in both.
        self._lock = threading.RLock()
        self.has_synced = Latch(f"{self.name} has synced")
        self._resync_wanted: asyncio.Event | None = None
        self._fault: CacheError | None = None
        self._awaited = AwaitedVersions(self.name, self._parts)

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
        """Have a handler told of everything there is, and then of every change.

        ``def`` handlers run on a thread of their own, ``async def`` ones in a task. Who comes late
        is told of the store first, as additions. What a handler raises is logged and counted.

        Args:
            handler: An object with any of ``on_add(obj, is_in_initial_list)``,
                ``on_update(old, new)`` and ``on_delete(deleted)``; or say it by keywords.
            on_add: Gets the object.
            on_update: Gets the state before and the state now.
            on_delete: Gets a ``DeletedObject``.
            filter: Only objects that it lets through; crossing it is an addition or a deletion.
            resync_period: Seconds between reminders of everything in the store; ``None`` for the
                informer's, 0 for never.
            policy: What to do when the handler falls behind: keep everything (``unbounded``),
                hold the informer back (``block``), or keep one outcome per key (``coalesce``).
            capacity: From how many pending changes on ``block`` holds back.
            unchanged_updates: Also updates that a list or watch repeats with the same version.
            name: What it is called in logs and statistics; a second one of that name is ``(2)``.

        Raises:
            ConfigError: An option cannot be meant.
            AlreadyStoppedError: The informer has stopped; start it first.
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
            options = replace(options, name=self._free_name(options.callbacks().name))
            registration = self._dispatcher.add(
                options, replay=replay, synced=bool(self.has_synced)
            )
        self._reschedule_resync()
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
        """What is there and then what changes, to iterate over; ends when the informer stops.

        Raises:
            ConfigError: An option cannot be meant.
            AlreadyStoppedError: The informer has stopped; start it first.
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
            options = replace(options, name=self._free_name(name or "events"))
            replay = replay_changes(self.indexer.table) if len(self.indexer) else None
            stream = self._dispatcher.open_stream(
                options, replay=replay, synced=bool(self.has_synced)
            )
        self._reschedule_resync()
        return stream

    def _free_name(self, name: str) -> str:
        """Statistics and metrics go by name, so that no two handlers may share one."""
        taken = {each.name for each in self.registrations}
        free, number = name, 1
        while (f"{self.name}/{free}" if self.name else free) in taken:
            number += 1
            free = f"{name} ({number})"
        return free

    @property
    def registrations(self) -> tuple[Registration[T], ...]:
        """The handlers that are told of changes now."""
        return self._dispatcher.registrations

    # -- the store ---------------------------------------------------------------------------

    @property
    def store(self) -> Indexer[T]:
        """The indexer, for who calls it a store."""
        return self.indexer

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """Add indices, before or after the start.

        Raises:
            CacheError: There is an index of such a name. None of them is added.
        """
        self.indexer.add_indexers(indexers)

    @property
    def last_sync_resource_version(self) -> str:
        """How far the store has come; of several sources, the one that has come least far."""
        return oldest([part.resource_version for part in self._parts])

    def wait_for_rv(self, resource_version: str, *, namespace: str | None = None) -> Latch:
        """Set when the store has everything up to this version: reads then see that write.

            created = await client.create(pod)
            await informer.wait_for_rv(created.resource_version)

        An informer of several namespaces waits for all of them, which takes until each had an
        event or a bookmark; ``namespace`` waits for one.

        Raises:
            CacheError: Versions of this server have no order, so none can be waited for; or this
                informer has no such namespace.
        """
        with self._lock:
            return self._awaited.latch(resource_version, namespace)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that it is limited to; empty for all."""
        return tuple(part.name for part in self._parts if part.name)

    @property
    def quarantine(self) -> Mapping[str, QuarantinedObject]:
        """Objects that the server has and that could not be read or transformed."""
        return self._quarantine

    # -- settings, before the start ----------------------------------------------------------

    def set_transform(self, transform: Transform[T] | None) -> None:
        """Change each version of an object once, before anybody sees it.

        Raises:
            AlreadyStartedError: There may be objects in the store already.
            ConfigError: It is a coroutine function, which nobody would await.
        """
        self._require_never_started("the transform")
        _check_plain("transform", transform)
        self._transform = transform

    def set_watch_error_handler(self, handler: Callable[[WatchFailure], object] | None) -> None:
        """Whom to tell of every lost connection and refusal; the last one set.

        Raises:
            AlreadyStartedError: It has been started.
            ConfigError: It is a coroutine function, which nobody would await.
        """
        self._require_never_started("the watch error handler")
        _check_plain("on_watch_error", handler)
        self._on_watch_error = handler

    # -- life --------------------------------------------------------------------------------

    def _before_start(self) -> None:
        self._resync_wanted = asyncio.Event()
        self._fault = None
        self._dispatcher.prepare()
        for part in self._parts:
            part.controller = self._make_controller(part)

    async def _live(self) -> None:
        logger.debug("%s starts", self.name)
        self._dispatcher.start()
        try:
            async with asyncio.TaskGroup() as group:
                for part in self._parts:
                    assert part.controller is not None
                    group.create_task(part.controller.run(), name=f"part {part.source.name}")
                group.create_task(self._keep_resyncing(), name=f"resync {self.name}")
        except asyncio.CancelledError:
            logger.debug("%s stops", self.name)
        except BaseExceptionGroup as fault:
            self._fault = CacheError(f"{self.name} ended by a fault of its own: {fault}")
            self._fault.__cause__ = fault
            logger.exception("%s ended by a fault of its own", self.name)
        finally:
            await self._dispatcher.stop()
            self._counting.stopped()

    def _make_controller(self, part: Part[T]) -> Controller[T]:
        # Under one name in logs and metrics; of several namespaces each says which it is.
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
                ),
                # After a restart: what handlers have heard must not be taken back.
                resource_version=part.resource_version,
                on_watch_error=self._on_watch_error,
                options=self._options,
                metrics=self._metrics,
            )
        )

    # -- what flows --------------------------------------------------------------------------

    async def _process(self, part: Part[T], deltas: Deltas[T]) -> None:
        """One pop of a queue: into the store first, then to everybody."""
        started = time.monotonic()
        with self._lock:
            is_list = deltas.kind is DeltasKind.REPLACE
            changes = self._applying.apply(
                deltas,
                initial=is_list and not part.synced,
                unchanged=is_list and self._dispatcher.wants_unchanged,
            )
            if changes:
                self._dispatcher.deliver(changes)
            part.note_version(deltas)
            self._awaited.look()
            if is_list:
                self._note_list(part)
            if self._counting.is_wanted:
                self._counting.applied(
                    changes,
                    is_list=is_list,
                    queue_depth=self._queue_depth,
                    seconds=time.monotonic() - started,
                )
        if changes and self._dispatcher.is_crowded:
            await self._dispatcher.room()

    def _note_list(self, part: Part[T]) -> None:
        part.synced = True
        if all(part.synced for part in self._parts):
            # After the mailboxes have the list: a handler is synced when it has been told.
            self._dispatcher.mark_synced()
            self.has_synced.set()

    async def _keep_resyncing(self) -> None:
        """Remind those who are due, of what the store has then."""
        wanted = self._resync_wanted
        assert wanted is not None
        while True:
            due = self._dispatcher.next_resync()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await wanted.wait()
            wanted.clear()
            with self._lock:
                self._dispatcher.resync(lambda: resync_changes(self.indexer.table))
            await self._dispatcher.room()

    def _reschedule_resync(self) -> None:
        if self._resync_wanted is not None:
            self._call_on_loop(self._resync_wanted.set)

    # -- seen from outside -------------------------------------------------------------------

    def sync_status(self) -> SyncStatus:
        """Whether it has synced, and if not, why not. Any thread."""
        part = worst([part.status() for part in self._parts])
        return SyncStatus(
            synced=bool(self.has_synced),
            phase=part.phase,
            error=self._fault or (part.last_error if part.attempts else None),
            attempts=part.attempts,
            waiting=self.running_for,
        )

    def status(self) -> InformerStatus:
        """Everything there is to know; adds up the bytes of all objects. Any thread."""
        parts = {part.name: part.status() for part in self._parts}
        return InformerStatus(
            name=self.name,
            sync=self.sync_status(),
            is_running=self.is_running,
            mode=worst(list(parts.values())).mode,
            objects=len(self.indexer),
            bytes=self.indexer.memory,
            index_bytes=self.indexer.index_memory,
            resource_version=self.last_sync_resource_version,
            queue_depth=self._queue_depth,
            quarantined=len(self._quarantine),
            parts=parts,
            handlers={each.name: each.stats for each in self.registrations},
        )

    @property
    def _queue_depth(self) -> int:
        return sum(len(part.controller.queue) for part in self._parts if part.controller)

    def is_fresh(self, max_age: float) -> bool:
        """Whether it runs, has synced, and the server gave a sign within ``max_age`` seconds.

        A sign is an event, a bookmark (about one a minute, where the server sends them), a list or
        an opened watch: ``is_fresh(180)`` serves as a liveness check.
        """
        if not (self.is_running and self.has_synced):
            return False
        ages = [part.status().contact_age for part in self._parts]
        return all(age is not None and age <= max_age for age in ages)

    def __repr__(self) -> str:
        return (
            f"<SharedIndexInformer {self.name}: {len(self.indexer)} objects, {self.sync_status()}>"
        )

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


def _check_sources(source: ListWatch[T] | Sequence[ListWatch[T]]) -> list[ListWatch[T]]:
    sources = [source] if isinstance(source, ListWatch) else list(source)
    if not sources:
        raise ConfigError("an informer needs a source; pass a ListWatch")
    if len(sources) == 1:
        return sources
    namespaces = [each.namespace for each in sources]
    if not all(namespaces) or len(set(namespaces)) < len(namespaces):
        raise ConfigError(
            f"several sources must each be of a namespace of its own, not {namespaces!r}"
        )
    if len({each.form for each in sources}) > 1:
        raise ConfigError("several sources must give objects of the same form")
    return sources


def _check_plain(option: str, function: Callable[..., object] | None) -> None:
    if function is not None and is_async_callable(function):
        raise ConfigError(
            f"{option} is called, not awaited: pass a plain def (it may start a task)"
        )
