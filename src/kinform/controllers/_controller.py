"""The controller: sources feed a queue, and workers reconcile its keys."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from kinform._checks import expect
from kinform._runtime import wait_for
from kinform.cache import Cache
from kinform.client import ResourceOrModel
from kinform.controllers._arguments import check_name, check_options, sources_of
from kinform.controllers._cluster import Cluster
from kinform.controllers._context import Environment
from kinform.controllers._loop_monitor import LoopMonitor
from kinform.controllers._reconciler import ReconcileCaller, ReconcileFunction, Reconciler
from kinform.controllers._recording import Recorder
from kinform.controllers._stats import ControllerStatus, ReconcileStats
from kinform.controllers._worker import Worker
from kinform.controllers.election import Leadership
from kinform.controllers.predicates import EventPredicate
from kinform.controllers.sources import OpenSource, Source
from kinform.errors import AlreadyStartedError, CacheSyncError, StateError
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.workqueue import RateLimiter, WorkQueue, default_rate_limiter

K = TypeVar("K", bound=Hashable)

_log = logging.getLogger("kinform.controllers")

# A reconcile without a timeout is a problem after this many seconds.
_STUCK = 300.0
# Threads of def reconcilers have this long to end after their last reconcile.
_END_OF_THREADS = 1.0


class Controller(Generic[K]):
    """Brings the state of a cluster closer to what objects demand.

        async def reconcile(request: Request, context: Context) -> Result:
            web = await context.client.get(Web, request.name, namespace=request.namespace)
            ...

        controller = Controller("web", reconcile, for_=Web, owns=[Deployment], workers=4)
        async with Cluster(client).cache as cache: ...   # or add it to a Manager

    Each event of a source puts keys into the queue, where a key is at most once. A worker takes a
    key and calls the reconciler with it. No key is reconciled by two workers at once. Workers start
    when every source has delivered the objects that existed. An exception is logged, and the key
    is tried again with backoff.

    Args:
        name: The name used in logs, metrics and debug pages.
        reconciler: A function of the request and the context, or an object with such a method
            ``reconcile``. ``async def`` runs on the event loop, ``def`` on threads.
        for_: The kind to reconcile.
        owns: Kinds that objects of ``for_`` own: reconcile the owner if one of them changes.
        watches: Other sources, or kinds whose objects are the keys.
        when: Predicates for the events of all kinds above; all must pass.
        workers: The number of reconciles at a time.
        timeout: Seconds that a reconcile may take. An ``async def`` reconciler is cancelled then;
            a ``def`` reconciler cannot be, and shows up as a problem.
        rate_limiter: The delays of retries; by default 5 ms, doubled for each attempt, at most
            1000 s.
        needs_leader: Whether a manager runs it on the leader only.
        sync_timeout: Seconds that the sources may take to deliver the existing objects.
        metrics: Receives the metrics; by default those of the manager.

    Raises:
        ConfigError: An argument is invalid, or there is no source.
    """

    def __init__(
        self,
        name: str,
        reconciler: ReconcileFunction | Reconciler[K],
        *,
        for_: ResourceOrModel | None = None,
        owns: Iterable[ResourceOrModel] = (),
        watches: Iterable[Source[K] | ResourceOrModel] = (),
        when: EventPredicate | Sequence[EventPredicate] = (),
        workers: int = 1,
        timeout: float | None = None,
        rate_limiter: RateLimiter[K] | None = None,
        needs_leader: bool = True,
        sync_timeout: float = 120.0,
        metrics: Metrics | None = None,
    ) -> None:
        check_name(name)
        check_options(
            workers=workers, timeout=timeout, sync_timeout=sync_timeout, rate_limiter=rate_limiter
        )
        self.name = name
        self.needs_leader = needs_leader
        self.metrics = metrics
        self._sources: list[Source[K]] = sources_of(name, for_, owns, watches, when)
        self._caller = ReconcileCaller(reconciler, name=name, threads=workers)
        self._workers = workers
        self._timeout = timeout
        self._rate_limiter = rate_limiter
        self._sync_timeout = sync_timeout
        self._stats = ReconcileStats()
        self._state = "new"
        self._queue: WorkQueue[K] | None = None
        self._cluster: Cluster | None = None
        self._recorder: Recorder | None = None
        self._open: list[OpenSource] = []
        self._tasks: dict[asyncio.Task[None], Worker[K]] = {}
        self._is_stopping = False
        self._is_ending = False
        # Set while neither warm_up nor work runs.
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing = asyncio.Lock()
        self._monitor: LoopMonitor | None = None

    # -- running -----------------------------------------------------------------------------

    async def run(
        self,
        cluster: Cluster,
        leadership: Leadership | None = None,
        *,
        recorder: Recorder | None = None,
    ) -> None:
        """Warm up, work until ``stop`` or until cancelled, and close.

        Raises:
            CacheSyncError: A source has not delivered the existing objects in time.
            AlreadyStartedError: The controller runs.
        """
        await self.warm_up(cluster, recorder=recorder)
        try:
            await self.work(leadership)
        finally:
            await self.close()

    async def warm_up(self, cluster: Cluster, *, recorder: Recorder | None = None) -> None:
        """Open the queue and all sources, and return when they have delivered what exists.

        The cache of the cluster has to run. Workers do not start yet.

        Raises:
            CacheSyncError: A source has not delivered the existing objects in time; the message has
                the reason. Everything is closed again.
            AlreadyStartedError: The controller runs.
        """
        expect(cluster, Cluster, receiver="warm_up", expected="a kinform.controllers.Cluster")
        if self._state not in ("new", "closed"):
            raise AlreadyStartedError(f"controller {self.name} is {self._state}; close it first")
        self._state = "warming up"
        self._is_stopping = self._is_ending = False
        # New ones, because a closed controller may be started on another event loop.
        self._idle, self._closing = asyncio.Event(), asyncio.Lock()
        self._stats = ReconcileStats()
        self._cluster, self._recorder = cluster, recorder
        queue: WorkQueue[K] = WorkQueue(
            self.name,
            rate_limiter=default_rate_limiter()
            if self._rate_limiter is None
            else self._rate_limiter,
            metrics=self._effective_metrics,
        )
        self._queue = queue
        try:
            for source in self._sources:
                self._open = [*self._open, source.open(queue, cluster)]
            await self._wait_for_sources()
            self._state = "standby"
        except BaseException:
            await self._release()
            self._state = "closed"
            raise
        finally:
            self._idle.set()

    async def _wait_for_sources(self) -> None:
        required = [source for source in self._open if source.is_required]
        try:
            await wait_for(
                *(source.has_synced for source in required),
                what=f"controller {self.name}",
                timeout=self._sync_timeout,
            )
        except CacheSyncError:
            late = [source.status() for source in required if not source.has_synced]
            raise CacheSyncError(
                f"controller {self.name} cannot start: after {self._sync_timeout:g} s, "
                + "; ".join(f"{each.name} has not synced: {each.problem}" for each in late)
            ) from None

    async def work(self, leadership: Leadership | None = None) -> None:
        """Reconcile until ``stop``, which lets running reconciles finish, or until cancelled.

        Cancelling cancels running reconciles; their keys stay in the queue. It may be called again
        afterwards, such as with the next leadership.

        Raises:
            LeadershipLostError: The leadership is not valid any more.
            StateError: The controller is not warmed up, or it works already.
        """
        queue, cluster = self._queue, self._cluster
        if self._state != "standby" or queue is None or cluster is None:
            raise StateError(
                f"controller {self.name} is {self._state}, so it cannot work; call warm_up() first"
            )
        loop = asyncio.get_running_loop()
        clusters = {cluster.name: cluster, **_other_clusters(self._sources)}
        environment = Environment(
            self.name,
            cluster,
            clusters,
            recorder=self._recorder,
            leadership=leadership,
            loop=loop,
        )
        self._state = "working"
        self._idle.clear()
        parent = asyncio.current_task()
        metrics = self._effective_metrics
        metrics.workers_started(self.name, self._workers, lambda: len(self._stats.active))
        self._monitor = monitor = LoopMonitor.of(loop)
        monitor.acquire()
        _log.info("controller %s works, with %d workers", self.name, self._workers)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(self._workers):
                    worker = Worker(
                        queue,
                        self._caller,
                        environment,
                        stats=self._stats,
                        metrics=metrics,
                        timeout=self._timeout,
                        is_cancelled=lambda: (
                            self._is_ending or (parent is not None and parent.cancelling() > 0)
                        ),
                    )
                    task = group.create_task(self._run(worker), name=f"{self.name}-{number}")
                    self._tasks[task] = worker
        except BaseExceptionGroup as errors:
            # One reason is enough: all workers stop for the same.
            raise errors.exceptions[0] from None
        finally:
            self._tasks.clear()
            self._is_ending = False
            self._state = "standby"
            monitor.release()
            metrics.workers_stopped(self.name)
            self._idle.set()

    async def _run(self, worker: Worker[K]) -> None:
        try:
            await worker.run(lambda: self._is_stopping)
        except asyncio.CancelledError:
            raise
        except BaseException:
            self._is_ending = True  # the task group cancels the others
            raise

    def stop(self) -> None:
        """Let the workers finish their current reconcile, and ``work`` return. Idempotent.

        It is final: ``work`` returns at once until the controller is closed and warmed up again.
        """
        self._is_stopping = True
        for task, worker in self._tasks.items():
            if worker.is_idle:
                task.cancel()

    async def close(self) -> None:
        """Close sources and queue, and return when nothing of the controller runs any more.

        Running reconciles are cancelled, as by cancelling ``work``, which returns. A ``warm_up``
        that has not finished raises AlreadyStoppedError. Idempotent. The controller may be warmed
        up again.

        Raises:
            StateError: A reconciler called it, and it would wait for itself; call ``stop``.
        """
        if asyncio.current_task() in self._tasks:
            raise StateError(f"a reconciler of {self.name} cannot close it; call stop() instead")
        async with self._closing:
            await self._end_work()
            await self._release()
            await self._idle.wait()
            self._state = "closed"

    async def _end_work(self) -> None:
        """Cancel running reconciles; those on threads have a moment to return, as anywhere."""
        while self._tasks:
            self._is_ending = True
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(list(self._tasks), timeout=_END_OF_THREADS)
            await asyncio.sleep(0)  # work itself

    async def _release(self) -> None:
        while self._open:  # also what watch() adds meanwhile
            opened, self._open = self._open, []
            for source in opened:
                await source.close()
        if self._queue is not None:
            self._queue.shutdown()
        if not await self._caller.close(_END_OF_THREADS):
            _log.error(
                "controller %s: %d reconciles on threads have not returned; they run on until they "
                "do",
                self.name,
                self._caller.abandoned,
            )

    # -- sources -----------------------------------------------------------------------------

    def declare(self, cache: Cache) -> None:
        """Declare the kinds of all sources, so that a cache lists them as soon as it starts.

        Without it, they are declared by ``warm_up``. Optional kinds, and those of other clusters,
        are left out.
        """
        for source in self._sources:
            source.declare(cache)

    async def watch(self, source: Source[K] | ResourceOrModel) -> OpenSource:
        """Add a source while the controller runs; ``close()`` of the result removes it again.

        Workers do not wait for it; await its ``has_synced`` if you need to.

        Raises:
            StateError: The controller is not warmed up: pass the source as ``watches=``.
        """
        if self._queue is None or self._cluster is None or self._state in ("new", "closed"):
            raise StateError(
                f"controller {self.name} is {self._state}; pass the source as watches= instead"
            )
        (added,) = sources_of(self.name, None, (), (source,), ())
        opened = added.open(self._queue, self._cluster)
        self._open = [each for each in self._open if not each.is_closed] + [opened]
        return opened

    # -- state -------------------------------------------------------------------------------

    @property
    def queue(self) -> WorkQueue[K]:
        """The queue, such as to add a key by hand.

        Raises:
            StateError: The controller was not warmed up.
        """
        if self._queue is None:
            raise StateError(f"controller {self.name} has no queue yet; call warm_up() first")
        return self._queue

    def status(self) -> ControllerStatus:
        """Return the state of the controller, for debug pages. Thread-safe."""
        stats = self._stats
        return ControllerStatus(
            name=self.name,
            state=self._state,
            workers=self._workers,
            active=stats.running_for(),
            outcomes={str(outcome): count for outcome, count in stats.outcomes.items()},
            timeouts=stats.timeouts,
            failures=tuple(stats.failures),
            queue=None if self._queue is None else self._queue.status(),
            sources=tuple(each.status() for each in self._open if not each.is_closed),
            problems=self.problems(),
        )

    def problems(self) -> tuple[str, ...]:
        """Return what is wrong, for readiness probes: empty if nothing is. Thread-safe.

        A failed reconcile is not a problem: it is tried again.
        """
        if self._state in ("new", "closed"):
            return (f"it is {self._state}",)
        found = []
        for source in self._open:
            if source.is_closed:
                continue
            status = source.status()
            if status.problem and (status.is_required or status.has_synced):
                found.append(f"{status.name}: {status.problem}")
        limit = _STUCK if self._timeout is None else self._timeout + 1.0
        for key, seconds in self._stats.running_for().items():
            if seconds > limit:
                found.append(f"the reconcile of {key} has been running for {seconds:.0f} s")
        monitor = self._monitor
        if self._state == "working" and monitor is not None and (problem := monitor.problem()):
            found.append(problem)
        return tuple(found)

    @property
    def _effective_metrics(self) -> Metrics:
        return NO_METRICS if self.metrics is None else guarded(self.metrics, self.name)

    def __repr__(self) -> str:
        return f"<Controller {self.name!r} {self._state}>"


def _other_clusters(sources: Iterable[Source[Any]]) -> dict[str, Cluster]:
    clusters = (getattr(source, "cluster", None) for source in sources)
    return {cluster.name: cluster for cluster in clusters if isinstance(cluster, Cluster)}
