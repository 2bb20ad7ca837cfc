"""The blocking reflector, controller and informer with a single handler.

Their callbacks run on the loop thread, so they must be short and must not block.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Generic, Self, TypedDict, TypeVar, Unpack

import msgspec

from kinform.blocking._owner import Owner
from kinform.blocking._runnable import BackgroundTask, RunnableFacade, owner_of
from kinform.blocking._source import ListWatch, inner_sources
from kinform.informers import (
    Admission,
    AnyHandler,
    DeletedObject,
    DeltaFIFO,
    Deltas,
    Indexer,
    Indexers,
    Latch,
    PlainStore,
    QuarantinedObject,
    ReflectorOptions,
    ReflectorStatus,
    ReflectorTarget,
    Transform,
    WatchFailure,
)
from kinform.informers import DeltaController as AsyncDeltaController
from kinform.informers import DeltaControllerConfig as AsyncDeltaControllerConfig
from kinform.informers import Informer as AsyncInformer
from kinform.informers import Reflector as AsyncReflector
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class ReflectorKeywords(TypedDict, Generic[T], total=False):
    """The keywords of ``kinform.Reflector``, documented there."""

    name: str
    admission: Admission[T] | None
    resource_version: str
    resume_from: str
    resync_period: float
    should_resync: Callable[[], bool] | None
    on_watch_error: Callable[[WatchFailure], object] | None
    options: ReflectorOptions | None
    metrics: Metrics


class Reflector(RunnableFacade, Generic[T]):
    """Mirrors a source in a store: the blocking ``kinform.Reflector``.

    ``with blocking.Reflector(source, store):`` starts and stops it. It runs once.
    """

    def __init__(
        self,
        source: ListWatch[T],
        store: ReflectorTarget[T] | DeltaFIFO[T] | PlainStore[T] | None = None,
        **keywords: Unpack[ReflectorKeywords[T]],
    ) -> None:
        (inner,) = inner_sources(source)
        reflector = AsyncReflector(inner, store, **keywords)
        runnable = BackgroundTask(reflector.name, reflector.run)
        self._init_facade(reflector, runnable, owner_of(runnable, [source], instead="Reflector"))

    @classmethod
    def _over(cls, reflector: AsyncReflector[T], runnable: BackgroundTask, owner: Owner) -> Self:
        facade = cls.__new__(cls)
        facade._init_facade(reflector, runnable, owner)
        return facade

    def _init_facade(
        self, reflector: AsyncReflector[T], runnable: BackgroundTask, owner: Owner
    ) -> None:
        super().__init__(runnable, owner)
        self._reflector = reflector
        self.status: Callable[[], ReflectorStatus] = reflector.status
        self.set_watch_error_handler = reflector.set_watch_error_handler

    @property
    def last_sync_resource_version(self) -> str:
        """The latest resource version received; empty before the first list."""
        return self._reflector.last_sync_resource_version

    @property
    def staleness(self) -> float | None:
        """Seconds since the store was last known to be current; ``None`` if it never was."""
        return self._reflector.staleness

    @property
    def quarantine(self) -> Mapping[str, QuarantinedObject]:
        """Objects of the server that could not be decoded or transformed."""
        return self._reflector.quarantine


class DeltaControllerConfig(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The configuration of a controller, as in ``kinform.informers.DeltaControllerConfig``."""

    source: ListWatch[T]
    process: Callable[[Deltas[T]], Awaitable[object] | object]
    queue: DeltaFIFO[T] | None = None
    name: str = ""
    full_resync_period: float = 0.0
    should_resync: Callable[[], bool] | None = None
    admission: Admission[T] | None = None
    resource_version: str = ""
    resume_from: str = ""
    on_watch_error: Callable[[WatchFailure], object] | None = None
    options: ReflectorOptions | None = None
    metrics: Metrics = NO_METRICS


class DeltaController(RunnableFacade, Generic[T]):
    """Passes the deltas of a source to a function, like the async class of this name. Runs once.

    An exception of ``process`` ends the controller; ``run`` or the end of the ``with`` block
    raises it.
    """

    def __init__(self, config: DeltaControllerConfig[T]) -> None:
        (source,) = inner_sources(config.source)
        fields = {**msgspec.structs.asdict(config), "source": source}
        controller = AsyncDeltaController(AsyncDeltaControllerConfig(**fields))
        runnable = BackgroundTask(controller.name, controller.run)
        owner = owner_of(runnable, [config.source], instead="DeltaController")
        self._init_facade(controller, config, runnable, owner)

    @classmethod
    def _over(
        cls,
        controller: AsyncDeltaController[T],
        source: ListWatch[T],
        runnable: BackgroundTask,
        owner: Owner,
    ) -> Self:
        facade = cls.__new__(cls)
        options = msgspec.structs.asdict(controller.config)
        config = DeltaControllerConfig(**{**options, "source": source})
        facade._init_facade(controller, config, runnable, owner)
        return facade

    def _init_facade(
        self,
        controller: AsyncDeltaController[T],
        config: DeltaControllerConfig[T],
        runnable: BackgroundTask,
        owner: Owner,
    ) -> None:
        super().__init__(runnable, owner)
        self.config = config
        self.queue = controller.queue
        self.reflector = Reflector._over(controller.reflector, runnable, owner)

    @property
    def has_synced(self) -> Latch:
        """Set once the first list has been processed."""
        return self.queue.has_synced

    @property
    def last_sync_resource_version(self) -> str:
        return self.reflector.last_sync_resource_version


class InformerKeywords(TypedDict, Generic[T], total=False):
    """The options of ``kinform.informers.Informer``, documented there."""

    on_add: Callable[[T], object] | None
    on_update: Callable[[T, T], object] | None
    on_delete: Callable[[DeletedObject[T]], object] | None
    indexers: Indexers[T] | None
    resync_period: float
    transform: Transform[T] | None
    on_watch_error: Callable[[WatchFailure], object] | None
    options: ReflectorOptions | None
    metrics: Metrics


class Informer(RunnableFacade, Generic[T]):
    """A store and one handler that runs in step with it: ``kinform.informers.Informer``. Runs once.

    The handler runs on the loop thread. An exception of the handler ends the informer; ``run`` or
    the end of the ``with`` block raises it.
    """

    def __init__(
        self,
        source: ListWatch[T],
        handler: AnyHandler[T] | None = None,
        **options: Unpack[InformerKeywords[T]],
    ) -> None:
        (inner,) = inner_sources(source)
        informer = AsyncInformer(inner, handler, **options)
        runnable = BackgroundTask(informer.controller.name, informer.run)
        super().__init__(runnable, owner_of(runnable, [source], instead="Informer"))
        self.store: Indexer[T] = informer.store
        self.controller: DeltaController[T] = DeltaController._over(
            informer.controller, source, runnable, self._owner
        )

    @property
    def has_synced(self) -> Latch:
        """Set once the store holds the first list and the handler has received it."""
        return self.controller.has_synced
