"""The blocking shared informer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack
from weakref import WeakValueDictionary

from kinform.blocking._facade import (
    BlockingIterator,
    ForwardedAttribute,
    direct_method,
    wrapping_method,
)
from kinform.blocking._owner import Owner
from kinform.blocking._runnable import RunnableFacade, owner_of
from kinform.blocking._source import ListWatch, inner_sources
from kinform.errors import StateError
from kinform.informers import EventStream as AsyncEventStream
from kinform.informers import (
    HandlerFailure,
    HandlerStats,
    Indexer,
    Indexers,
    InformerEvent,
    Latch,
    QuarantinedObject,
    ReflectorOptions,
    Registration,
    RunOn,
    Scope,
    Transform,
    WatchFailure,
)
from kinform.informers import SharedIndexInformer as AsyncInformer
from kinform.metrics import Metrics
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)
V = TypeVar("V", bound=Handle)


class EventStream(BlockingIterator[InformerEvent[T]]):
    """The current objects of the cache, then all changes in order.

        for event in informer.events(): ...

        with informer.events() as events:      # closes the stream when leaving early
            for event in events: ...

    The stream ends when any thread closes it, when the informer stops, or when it is garbage
    collected. Ctrl-C interrupts the wait without losing an event. Threads may share a stream: each
    event goes to one of them.
    """

    _inner: AsyncEventStream[T]

    def __init__(self, inner: AsyncEventStream[T], owner: Owner) -> None:
        super().__init__(inner, owner)

    name = ForwardedAttribute[str]()
    is_closed = ForwardedAttribute[bool]()
    stats = ForwardedAttribute[HandlerStats]()
    has_synced = ForwardedAttribute[Latch]()

    def __next__(self) -> InformerEvent[T]:
        try:
            return super().__next__()
        except StateError:
            if self.is_closed:
                # The stream has ended, which does not require a running loop.
                raise StopIteration from None
            raise

    def close(self) -> None:
        """End the iteration and discard pending events. Idempotent and thread-safe."""
        self._inner.close()
        self._ahead.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class SharedIndexInformerOptions(TypedDict, Generic[T], total=False):
    """The options of ``kinform.SharedIndexInformer``, documented there."""

    scope: Scope | None
    name: str
    metrics_name: str
    indexers: Indexers[T] | None
    resync_period: float
    transform: Transform[T] | None
    on_watch_error: Callable[[WatchFailure], object] | None
    on_handler_error: Callable[[HandlerFailure], None] | None
    options: ReflectorOptions | None
    metrics: Metrics


class SharedIndexInformer(RunnableFacade, Generic[T]):
    """One list and watch, one indexed store and any number of event handlers; blocking.

        source = blocking.ListWatch.for_resource(client, GVR("", "v1", "pods"))
        with blocking.SharedIndexInformer(source) as pods:      # start ... stop
            pods.has_synced.wait(timeout=30)
            print(pods.store.list())

    Except for ``start``, ``run`` and iterating over ``events``, everything behaves as in
    ``kinform.SharedIndexInformer``. Each ``def`` handler has its own thread; ``async def`` handlers
    and those with ``run_on="loop"`` run on the loop thread. It can be started again after a stop.
    """

    _inner: AsyncInformer[T]

    def __init__(
        self,
        source: ListWatch[T] | Sequence[ListWatch[T]],
        **options: Unpack[SharedIndexInformerOptions[T]],
    ) -> None:
        sources = list(source) if isinstance(source, Sequence) else [source]
        inner = AsyncInformer(inner_sources(*sources), **options)
        inner.default_run_on = "thread"
        super().__init__(inner, owner_of(inner, sources, instead="SharedIndexInformer"))

    @classmethod
    def _over(cls, inner: AsyncInformer[V], owner: Owner) -> SharedIndexInformer[V]:
        """Create the facade of an existing informer, which lives as long as its owner."""
        inner.default_run_on = "thread"
        informer: SharedIndexInformer[V] = SharedIndexInformer.__new__(SharedIndexInformer)
        RunnableFacade.__init__(informer, inner, owner)
        return informer

    form = ForwardedAttribute[type[T]]()
    default_run_on = ForwardedAttribute[RunOn]()
    indexer = ForwardedAttribute[Indexer[T]]()
    store = ForwardedAttribute[Indexer[T]]()
    has_synced = ForwardedAttribute[Latch]()
    registrations = ForwardedAttribute[tuple[Registration[T], ...]]()
    last_sync_resource_version = ForwardedAttribute[str]()
    namespaces = ForwardedAttribute[tuple[str, ...]]()
    quarantine = ForwardedAttribute[Mapping[str, QuarantinedObject]]()
    staleness = ForwardedAttribute[float | None]()

    scope = ForwardedAttribute[Scope]()
    scope_guard = ForwardedAttribute[Callable[[Scope], None] | None]()

    def view(self, form: type[V]) -> SharedIndexInformer[V]:
        """Return the same informer with objects of another class."""
        return SharedIndexInformer._over(self._inner.view(form), self._owner)

    def shares_store(self, other: SharedIndexInformer[Any]) -> bool:
        """Whether this and ``other`` are views of one informer."""
        return self._inner.shares_store(other._inner)

    events = wrapping_method(AsyncInformer[T].events, EventStream[T])
    add_event_handler = direct_method(AsyncInformer[T].add_event_handler)
    add_indexers = direct_method(AsyncInformer[T].add_indexers)
    wait_for_rv = direct_method(AsyncInformer[T].wait_for_rv)
    has_reached = direct_method(AsyncInformer[T].has_reached)
    is_complete_in = direct_method(AsyncInformer[T].is_complete_in)
    wait_until = direct_method(AsyncInformer[T].wait_until)
    add_namespace = direct_method(AsyncInformer[T].add_namespace)
    remove_namespace = direct_method(AsyncInformer[T].remove_namespace)
    set_selectors = direct_method(AsyncInformer[T].set_selectors)
    set_scope = direct_method(AsyncInformer[T].set_scope)
    reset = direct_method(AsyncInformer[T].reset)
    set_transform = direct_method(AsyncInformer[T].set_transform)
    set_watch_error_handler = direct_method(AsyncInformer[T].set_watch_error_handler)
    sync_status = direct_method(AsyncInformer[T].sync_status)
    status = direct_method(AsyncInformer[T].status)
    is_fresh = direct_method(AsyncInformer[T].is_fresh)

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


class InformerFacades:
    """The blocking informers of a factory or cache: one for each informer. Thread-safe.

    Args:
        owner: Controls the lifetime of the informers.
    """

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        # The same facade for the same informer while it is referenced.
        self._known: WeakValueDictionary[AsyncInformer[Any], SharedIndexInformer[Any]]
        self._known = WeakValueDictionary()
        self._lock = threading.RLock()

    def of(self, inner: AsyncInformer[T]) -> SharedIndexInformer[T]:
        """Return the blocking informer of an async one."""
        with self._lock:
            found = self._known.get(inner)
            if found is None:
                found = self._known[inner] = SharedIndexInformer._over(inner, self._owner)
            return found

    def adopt(self, informer: SharedIndexInformer[T]) -> AsyncInformer[T]:
        """Use this informer from now on, with the lifetime of the others; return the async one."""
        with self._lock:
            informer._owner = self._owner
            self._known[informer._inner] = informer
            return informer._inner
