"""The shared informer: a typed view of an informer core, for handlers and readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from kinform._checks import check_plain, expect
from kinform._runtime import Latch, Runnable
from kinform.client import Fields, Labels
from kinform.errors import ConfigError
from kinform.informers._changes import DeletedObject
from kinform.informers._core import InformerCore
from kinform.informers._informer_status import InformerStatus, SyncStatus
from kinform.informers._metrics_names import metrics_name_of
from kinform.informers._resync_scheduler import check_resync_period
from kinform.informers._scope import Scope, Selectors, selections
from kinform.informers._source_state import sources_of
from kinform.informers.dispatch import (
    AnyHandler,
    EventStream,
    Filter,
    HandlerFailure,
    HandlerOptions,
    InformerEvent,
    Policy,
    Registration,
    RunOn,
    SubscriptionOptions,
)
from kinform.informers.reflector import QuarantinedObject, ReflectorOptions, Transform, WatchFailure
from kinform.informers.sources import Source
from kinform.informers.store import Indexer, Indexers
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle, PartialObjectMetadata

T = TypeVar("T", bound=Handle)
V = TypeVar("V", bound=Handle)


class SharedIndexInformer(Runnable, Generic[T]):
    """One list and watch, one indexed store and any number of event handlers.

    The store is updated before an event is delivered, so it may be ahead of the event that a
    handler is processing. Each handler receives its events in order and at its own pace.
    Everything is thread-safe. Start the informer on an event loop, or pass one to ``start``.

    Args:
        source: The resource to list and watch. Several sources, such as one per namespace,
            share one store.
        scope: The namespaces and selectors to cover, if they are not those of the source; each
            list and watch is made from it.
        name: The name used in logs and errors.
        metrics_name: The name used in metrics; by default ``name``, or the resource, with its
            namespace if it is one. Informers with equal names get numbers.
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
        indexer: The local cache.
        default_run_on: Where ``def`` handlers run if ``add_event_handler`` does not say: on the
            event loop, or for the informers of ``kinform.blocking`` on threads.
    """

    default_run_on: RunOn = "loop"

    def __init__(
        self,
        source: Source[T] | Sequence[Source[T]],
        *,
        scope: Scope | None = None,
        name: str = "",
        metrics_name: str = "",
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
        core = InformerCore(
            sources,
            scope=scope,
            name=name or sources[0].name,
            metrics_name=metrics_name or name or metrics_name_of(sources),
            resync_period=resync_period,
            transform=transform,
            on_watch_error=on_watch_error,
            on_handler_error=on_handler_error,
            options=options,
            metrics=metrics,
        )
        self._open(core, sources[0].form)
        if indexers is not None:
            self.indexer.add_indexers(indexers)

    def _open(self, core: InformerCore, form: type[T]) -> None:
        Runnable.__init__(self, core.lifecycle)
        self._core = core
        self.form = form
        self.indexer: Indexer[T] = core.indexer.view(form)

    def view(self, form: type[V]) -> SharedIndexInformer[V]:
        """Return the same informer with objects of another class.

        Both share one list and watch, one store, one lifecycle and one status. Handlers, event
        streams, index functions and listers of the view receive objects of its class.

        Raises:
            ConfigError: The informer stores metadata only, which has no other class.
        """
        if form is not self.form and issubclass(self._core.form, PartialObjectMetadata):
            raise ConfigError(
                f"{self.name} has metadata only, which cannot be read as {form.__name__}; "
                "use an informer of whole objects"
            )
        view: SharedIndexInformer[V] = SharedIndexInformer.__new__(SharedIndexInformer)
        view._open(self._core, form)
        view.default_run_on = self.default_run_on
        return view

    def shares_store(self, other: SharedIndexInformer[Any]) -> bool:
        """Whether this and ``other`` are views of one informer."""
        return self._core is other._core

    # -- handlers ----------------------------------------------------------------------------

    def add_event_handler(
        self,
        handler: AnyHandler[T] | None = None,
        *,
        on_add: Callable[[T], object] | None = None,
        on_update: Callable[[T, T], object] | None = None,
        on_delete: Callable[[DeletedObject[T]], object] | None = None,
        on_event: Callable[[InformerEvent[T]], object] | None = None,
        run_on: RunOn | None = None,
        filter: Filter[T] | None = None,
        resync_period: float | None = None,
        policy: Policy = "unbounded",
        capacity: int = 1000,
        unchanged_updates: bool = False,
        name: str | None = None,
    ) -> Registration[T]:
        """Register a handler for the objects in the store and for every later change.

        A ``def`` handler is called on the event loop, an ``async def`` handler runs in its own
        task there. A handler that may block needs ``run_on="thread"``. Handlers registered after
        start receive the current objects as adds. Exceptions raised by a handler are logged and
        counted.

        Args:
            handler: An object with any of ``on_add(obj, is_in_initial_list)``,
                ``on_update(old, new)`` and ``on_delete(deleted)``; or pass functions by keyword.
            on_add: Called with the object.
            on_update: Called with the previous and the current state.
            on_delete: Called with a ``DeletedObject``.
            on_event: Called with an ``InformerEvent`` for every change, instead of the others.
            run_on: Where a ``def`` handler runs: ``"loop"``, where it may use asyncio and must not
                block, or ``"thread"``, its own one, where it may block. ``None`` is the loop, in
                ``kinform.blocking`` a thread.
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
        period = self._core.resync_period if resync_period is None else resync_period
        options = HandlerOptions(
            handler=handler,
            on_add=on_add,
            on_update=on_update,
            on_delete=on_delete,
            on_event=on_event,
            run_on=run_on,
            filter=filter,
            resync_period=period,
            policy=policy,
            capacity=capacity,
            unchanged_updates=unchanged_updates,
            name=name,
        )
        core, callbacks = self._core, options.callbacks()
        if run_on is None and not callbacks.is_async:
            run_on = self.default_run_on
        with core.subscribing("a handler") as replay:
            options = replace(
                options, name=core.dispatcher.free_name(callbacks.name), run_on=run_on
            )
            return core.dispatcher.add(
                options, from_entry=self.form.over, replay=replay, synced=bool(self.has_synced)
            )

    @property
    def registrations(self) -> tuple[Registration[T], ...]:
        """The registered handlers, of all views."""
        return self._core.dispatcher.registrations

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
        core = self._core
        with core.subscribing("an event stream") as replay:
            options = replace(options, name=core.dispatcher.free_name(name or "events"))
            return core.dispatcher.open_stream(
                options, from_entry=self.form.over, replay=replay, synced=bool(self.has_synced)
            )

    # -- the store ---------------------------------------------------------------------------

    @property
    def store(self) -> Indexer[T]:
        """Alias of ``indexer``."""
        return self.indexer

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """Add indices at any time. Raises CacheError, and adds none, if a name is taken."""
        self.indexer.add_indexers(indexers)

    @property
    def last_sync_resource_version(self) -> str:
        """The resource version of the store; with several sources, the oldest one."""
        return self._core.resource_version

    def wait_for_rv(self, resource_version: str, *, namespace: str | None = None) -> Latch:
        """Return a latch that is set when the store includes this version, such as of an own write.

            created = await client.create(pod)
            await informer.wait_for_rv(created.resource_version)

        With several namespaces, the latch waits for an event or a bookmark of each; ``namespace``
        selects one of them. The informer may be started later. If it stops before it reaches the
        version, or the server's versions went back, waiting raises AlreadyStoppedError.

        Raises:
            CacheError: Versions of this server cannot be compared, or the informer does not have
                this namespace.
            AlreadyStoppedError: The informer stopped before it reached the version. Start it again
                first.
        """
        return self._core.wait_for_rv(resource_version, namespace)

    def has_reached(self, resource_version: str, *, namespace: str | None = None) -> bool:
        """Whether the store includes this version. Raises CacheError as ``wait_for_rv`` does."""
        return self._core.has_reached(resource_version, namespace)

    def is_complete_in(self, namespace: str) -> bool:
        """Whether the store has all selected objects of a namespace; not before its first list."""
        return self._core.is_complete_in(namespace)

    def wait_until(self, condition: Callable[[], bool], what: str) -> Latch:
        """Return a latch that is set when a condition on the store holds.

            await pods.wait_until(lambda: "default/web-0" not in pods.store, "removed web-0")

        The condition is called now, and after each batch of changes while the store is locked, so
        it must be quick and must not block. ``what`` is what the informer will have done then, for
        errors. The informer may be started later. If it stops before, or if the condition raises
        later, waiting raises AlreadyStoppedError.

        Raises:
            ConfigError: The condition is not a function, or is async.
            AlreadyStoppedError: The informer has stopped. Start it again first.
        """
        check_plain("condition", condition)
        return self._core.wait_until(condition, what)

    # -- the scope ---------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """The namespaces and selectors that were last requested."""
        return self._core.scope.requested

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces the informer is limited to; empty for all."""
        return self.scope.namespaces

    @property
    def scope_guard(self) -> Callable[[Scope], None] | None:
        """Called with each new scope before it is accepted; may raise to reject it."""
        return self._core.scope.before_change

    @scope_guard.setter
    def scope_guard(self, guard: Callable[[Scope], None] | None) -> None:
        self._core.scope.before_change = guard

    def add_namespace(
        self,
        namespace: str,
        *,
        labels: Labels = "",
        fields: Fields = "",
        any_of: Sequence[Selectors] | None = None,
    ) -> Latch:
        """Cover one more namespace, before or after the start.

            await informer.add_namespace("staging")

        Handlers receive its objects as adds. The returned latch is set when they are in the store.
        In a scope that lists some namespaces with their own selectors and covers all others, the
        namespace gets its own selectors instead of those of the others.

        Args:
            namespace: The namespace.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector.
            any_of: Only objects that match at least one of these, instead of ``labels`` and
                ``fields``.

        Raises:
            ConfigError: All namespaces are covered already, or this one is with other selectors;
                or the source was made from callables.
            StateError: The informer has several leases.
            SelectorError: A selector is invalid.
        """
        return self._core.scope.add_namespace(namespace, selections(labels, fields, any_of))

    def remove_namespace(self, namespace: str) -> Latch:
        """Stop covering a namespace, and remove its objects from the store.

        Handlers receive its objects as deletions that are marked ``out_of_scope``. The returned
        latch is set when they have left the store. In a scope that lists some namespaces with
        their own selectors and covers all others, the namespace becomes one of the others.

        Raises:
            ConfigError: The namespace is not covered, or only together with others.
            StateError: The informer has several leases.
        """
        return self._core.scope.remove_namespace(namespace)

    def set_selectors(
        self,
        *,
        labels: Labels = "",
        fields: Fields = "",
        any_of: Sequence[Selectors] | None = None,
        namespace: str | None = None,
    ) -> Latch:
        """Select other objects, in one namespace or in all that are covered.

        The current objects stay in the store until the new list is complete. Then handlers receive
        the differences once: adds, updates, and deletions that are marked ``out_of_scope``. The
        returned latch is set afterwards.

        With ``any_of``, each of the selectors is one list and one watch. An object that stops
        matching one of them and starts matching another is an update, or a deletion and an add if
        the two watches deliver it in that order.

        Args:
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector.
            any_of: Only objects that match at least one of these, instead of ``labels`` and
                ``fields``.
            namespace: The namespace; by default, all that are covered.

        Raises:
            ConfigError: The namespace is not covered by itself, or the source was made from
                callables.
            StateError: The informer has several leases.
            SelectorError: A selector is invalid.
        """
        return self._core.scope.set_selectors(selections(labels, fields, any_of), namespace)

    def set_scope(self, scope: Scope) -> Latch:
        """Cover exactly these namespaces and selectors. Guarantees and errors are as above."""
        return self._core.scope.set_scope(scope)

    # -- settings, before the start ----------------------------------------------------------

    def set_transform(self, transform: Transform[T] | None) -> None:
        """Set the function that is called once for each version of an object before it is stored.

        Raises:
            AlreadyStartedError: The informer has been started and may hold objects already.
            ConfigError: The function is async, or this is a view with another class than the
                informer stores.
        """
        if self.form is not self._core.form:
            raise ConfigError(
                f"{self.name}: the transform belongs to the store, which holds "
                f"{self._core.form.__name__} objects; set it on the factory, or on an informer "
                "with that class"
            )
        self._core.set_transform(transform)

    def set_watch_error_handler(self, handler: Callable[[WatchFailure], object] | None) -> None:
        """Set the callback for lost connections and refusals, replacing the previous one.

        Raises:
            AlreadyStartedError: The informer has been started.
            ConfigError: The callback is async.
        """
        self._core.set_watch_error_handler(handler)

    def reset(self) -> None:
        """Forget all objects, and replace ``has_synced``. Indices and scope are kept.

        Raises:
            StateError: The informer is running, or has handlers, which would miss deletions.
        """
        self._core.reset()

    # -- state -------------------------------------------------------------------------------

    @property
    def has_synced(self) -> Latch:
        """Set once the store holds the first complete list, and from then on."""
        return self._core.has_synced

    @property
    def quarantine(self) -> Mapping[str, QuarantinedObject]:
        """Objects on the server that could not be decoded or transformed, by key."""
        return self._core.quarantine

    def sync_status(self) -> SyncStatus:
        """Return whether the informer has synced, and the reason if not. Thread-safe."""
        return self._core.sync_status()

    def status(self) -> InformerStatus:
        """Return a full snapshot of the state. Adds up the size of all objects. Thread-safe."""
        return self._core.status()

    def is_fresh(self, max_age: float) -> bool:
        """Whether it runs, has synced, and was known to be current within ``max_age`` seconds.

        An idle server sends a bookmark about once a minute, so ``max_age`` should be at least 120.
        Not for liveness probes: it is false while the API server cannot be reached, and a restart
        does not help. ``InformerFactory.health`` is for probes.
        """
        staleness = self.staleness
        return self.is_running and staleness is not None and staleness <= max_age

    @property
    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` before the first sync.

        While a watch is open, this is the time since its last event or bookmark, otherwise since
        the connection was lost. With several namespaces, it is the largest value. Thread-safe.
        """
        return self._core.staleness

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.name}: {len(self.indexer)} objects, "
            f"{self.sync_status()}>"
        )
