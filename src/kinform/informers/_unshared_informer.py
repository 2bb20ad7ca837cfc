"""The unshared informer: a store, and one handler that runs in step with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kinform._runtime import Latch
from kinform.errors import ConfigError
from kinform.informers._changes import Change, ChangeSource, ChangeType, DeletedObject
from kinform.informers._delta_applier import DeltaApplier
from kinform.informers._delta_controller import DeltaController, DeltaControllerConfig
from kinform.informers._source_state import expect_source
from kinform.informers.dispatch import AnyHandler, HandlerOptions
from kinform.informers.queue import DeltaFIFO, Deltas, DeltasKind
from kinform.informers.reflector import Admission, ReflectorOptions, Transform, WatchFailure
from kinform.informers.sources import Source
from kinform.informers.store import HandleAdapter, Indexer, Indexers
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)


class Informer(Generic[T]):
    """A store with its controller and one handler, which runs on the loop between changes.

    Use ``SharedIndexInformer`` unless you need exactly this: the handler must be a short ``def``
    function, and its exceptions end ``run``. Runs once.

    Args:
        source: The resource to list and watch.
        handler, on_add, on_update, on_delete: As for ``SharedIndexInformer.add_event_handler``.
        indexers: Index functions by name.
        resync_period: Seconds between updates for every object in the store; 0 disables them.
        transform, on_watch_error, options, metrics: As for ``SharedIndexInformer``.

    Attributes:
        store: The local cache.
        controller: The controller that runs the informer.
    """

    def __init__(
        self,
        source: Source[T],
        handler: AnyHandler[T] | None = None,
        *,
        on_add: Callable[[T], object] | None = None,
        on_update: Callable[[T, T], object] | None = None,
        on_delete: Callable[[DeletedObject[T]], object] | None = None,
        indexers: Indexers[T] | None = None,
        resync_period: float = 0.0,
        transform: Transform[T] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        expect_source(source)
        self._callbacks = HandlerOptions(
            handler=handler, on_add=on_add, on_update=on_update, on_delete=on_delete
        ).callbacks()
        if self._callbacks.is_async:
            raise ConfigError(
                f"{self._callbacks.name} is async def, but the handler of an Informer must be def; "
                "change it, or use a SharedIndexInformer"
            )
        self.store: Indexer[T] = Indexer(source.form, indexers=indexers or {})
        self._adapter = HandleAdapter(source.form)
        self._applier = DeltaApplier(self.store.table, self._adapter)
        self._synced = False
        self.controller: DeltaController[T] = DeltaController(
            DeltaControllerConfig(
                source=source,
                process=self._process,
                queue=DeltaFIFO(known_objects=self.store, name=source.name),
                full_resync_period=resync_period,
                admission=Admission(
                    source.form, transform=transform, known=self.store.table, keeps_records=True
                ),
                on_watch_error=on_watch_error,
                options=options,
                metrics=metrics,
            )
        )

    @property
    def has_synced(self) -> Latch:
        """Set when the first list is in the store and has been delivered to the handler."""
        return self.controller.has_synced

    async def run(self) -> None:
        """Run until cancelled, or until the handler raises. Raises AlreadyStartedError."""
        await self.controller.run()

    def _process(self, deltas: Deltas[T]) -> None:
        source = ChangeSource.RELIST if self._synced else ChangeSource.INITIAL
        self._synced = self._synced or deltas.kind is DeltasKind.REPLACE
        for change in self._applier.apply(deltas, list_source=source, unchanged=False):
            self._invoke_handler(change)

    def _invoke_handler(self, change: Change) -> None:
        callbacks, from_entry = self._callbacks, self._adapter.from_entry
        if change.type is ChangeType.ADDED:
            if callbacks.on_add is not None:
                callbacks.on_add(from_entry(change.new), change.source is ChangeSource.INITIAL)
        elif change.type is ChangeType.UPDATED:
            if callbacks.on_update is not None:
                callbacks.on_update(from_entry(change.old), from_entry(change.new))
        elif callbacks.on_delete is not None:
            last = change.old if change.new is None else change.new
            gone = None if last is None else from_entry(last)
            callbacks.on_delete(DeletedObject(change.key, gone, change.new is None))
