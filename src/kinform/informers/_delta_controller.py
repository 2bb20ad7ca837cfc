"""The delta controller: passes the deltas of a source to one function, in order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isawaitable, iscoroutine
from typing import Generic, TypeVar

import msgspec

from kinform._runtime import Demand, Latch
from kinform.errors import AlreadyStartedError
from kinform.informers.queue import Delta, DeltaFIFO, Deltas
from kinform.informers.reflector import (
    Admission,
    QueueTarget,
    Reflector,
    ReflectorOptions,
    TargetFailedError,
    WatchFailure,
)
from kinform.informers.sources import Source
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle

T = TypeVar("T", bound=Handle)

# The maximum number of events to apply before other tasks of the loop run.
_BATCH = 1000


class DeltaControllerConfig(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The configuration of a controller.

    Attributes:
        source: The resource to list and watch.
        process: Called with the items of the queue; may be a coroutine function. Its exceptions
            end the controller.
        queue: The queue to use; created if omitted.
        full_resync_period: Seconds between resyncs of the queue; 0 disables them.
        should_resync: Called before each resync; the resync is skipped if it returns false.
        admission, resource_version, resume_from, on_watch_error, options, metrics: See
            ``Reflector``. With ``resume_from``, the queue's known objects are the filled store.
    """

    source: Source[T]
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


class DeltaController(Generic[T]):
    """Runs a reflector that fills a queue, and passes the queue's items to a function. Runs once.

    Each batch of the watch is processed before the next one is read. The queue therefore never
    exceeds one batch, and a slow function delays reading instead of using memory.
    """

    def __init__(self, config: DeltaControllerConfig[T]) -> None:
        self.config = config
        self.name = config.name or config.source.name
        self.queue = config.queue if config.queue is not None else DeltaFIFO(name=self.name)
        self._processor = _QueueProcessor(self.queue, config.process)
        self.reflector = Reflector(
            config.source,
            self._processor,
            name=config.name,
            admission=config.admission,
            resource_version=config.resource_version,
            resume_from=config.resume_from,
            resync_period=config.full_resync_period,
            should_resync=config.should_resync,
            on_watch_error=config.on_watch_error,
            options=config.options,
            metrics=config.metrics,
        )
        self._started = False

    @property
    def has_synced(self) -> Latch:
        """Set when the first list has been processed."""
        return self.queue.has_synced

    @property
    def last_sync_resource_version(self) -> str:
        return self.reflector.last_sync_resource_version

    async def run(self) -> None:
        """Run until cancelled, or until ``process`` raises.

        Raises:
            AlreadyStartedError: The controller has already run; create another one.
        """
        if self._started:
            raise AlreadyStartedError(f"controller {self.name} has already run; create another one")
        self._started = True
        try:
            await self.reflector.run()
        finally:
            self.queue.close()
            self._processor.close()


class _QueueProcessor(QueueTarget[T]):
    """Puts changes into a queue and processes the whole queue after each batch."""

    def __init__(
        self, queue: DeltaFIFO[T], process: Callable[[Deltas[T]], Awaitable[object] | object]
    ) -> None:
        super().__init__(queue)
        self._process = process
        # Without it, the reflector and its resync could wait for entries the other has taken.
        self._emptying = asyncio.Lock()
        # The awaitable returned by the last call of ``process``.
        self._pending: Awaitable[object] | None = None

    def put(self, deltas: list[Delta[T]]) -> Demand:
        queue = self._queue
        queue.put_all(deltas)
        if self._pending is not None or self._emptying.locked():
            return Demand.STOP
        while len(queue):
            changes = queue.pop_changes(_BATCH)
            if changes is None:
                return Demand.STOP
            try:
                result = self._process(changes)
            except Exception as error:
                raise TargetFailedError(str(error)) from error
            if result is not None and isawaitable(result):
                self._pending = result
                return Demand.STOP
        return Demand.MORE

    async def wait_for_capacity(self) -> None:
        try:
            async with self._emptying:
                await self._empty()
        except Exception as error:
            raise TargetFailedError(str(error)) from error

    async def _empty(self) -> None:
        while True:
            if self._pending is not None:
                pending, self._pending = self._pending, None
                await pending
            elif len(self._queue):
                await self._queue.pop(self._process, limit=_BATCH)
            else:
                return

    async def wait_until_empty(self) -> None:
        await self.wait_for_capacity()

    def close(self) -> None:
        """Drop the pending awaitable, since nothing awaits it any more."""
        if iscoroutine(self._pending):
            self._pending.close()
        self._pending = None
