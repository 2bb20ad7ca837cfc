"""The kinds of a cache: creates, opens and releases their informers."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from kinform._runtime import Backoff, Latch, Runnable, running_loop
from kinform.api import GVR, ApiResource
from kinform.cache._informers import CacheInformers
from kinform.cache._kind import CachedKind
from kinform.cache._namespace_follower import NamespaceFollower, NamespaceSelector
from kinform.cache._options import KindTable
from kinform.cache._own_writes import OwnWrites
from kinform.client import ClusterReader
from kinform.errors import AlreadyStoppedError, CacheSyncError, ForbiddenError, KinformError
from kinform.informers import (
    ALL_NAMESPACES,
    Health,
    KindOptions,
    WatchFailure,
    health_of,
)
from kinform.informers.sources import metrics_name
from kinform.metrics import NO_METRICS, Metrics, guarded
from kinform.models import model_for
from kinform.objects import Handle, PartialObjectMetadata, Unstructured

logger = logging.getLogger("kinform.cache")

# Seconds between two looks at idle informers and memory.
_HOUSEKEEPING = 5.0


class KindRegistry:
    """The kinds of a cache. All methods are thread-safe; coroutines run on any loop.

    Args:
        client: Asks the server for resources.
        informers: Creates informers.
        options: The options of each kind.
        name: The name of the cache, for logs and errors.
        released: Called with each kind whose informer is released.
        namespaces: Selects the default namespaces, which may change.
        metrics: Receives the numbers of each kind.
    """

    def __init__(
        self,
        client: ClusterReader,
        informers: CacheInformers,
        options: KindTable,
        *,
        name: str,
        released: Callable[[CachedKind], None],
        namespaces: NamespaceSelector | None = None,
        metrics: Metrics = NO_METRICS,
    ) -> None:
        self.name = name
        self._client = client
        self._informers = informers
        self._options = options
        self._released = released
        self._metrics = metrics
        self._lock = threading.RLock()
        self._kinds: dict[tuple[GVR, bool], CachedKind] = {}
        self._own_writes: dict[tuple[GVR, bool], OwnWrites] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._group: asyncio.TaskGroup | None = None
        self._follower: NamespaceFollower | None = None
        if namespaces is not None:
            self._follower = NamespaceFollower(namespaces, self._follow_namespaces)

    @property
    def kinds(self) -> list[CachedKind]:
        with self._lock:
            return list(self._kinds.values())

    def find(self, gvr: GVR, form: type[Handle]) -> CachedKind | None:
        """Return the kind that serves a form: metadata comes from whole objects, if there are."""
        with self._lock:
            whole = self._kinds.get((gvr, False))
            if form is not PartialObjectMetadata:
                return whole
            metadata = self._kinds.get((gvr, True))
            # What was declared or opened first stays in use: it has indexes, handlers and readers.
            is_used = metadata is not None and (metadata.lease or metadata.is_declared)
            return metadata if whole is None or is_used else whole

    def ensure(self, gvr: GVR, form: type[Handle]) -> CachedKind:
        """Return the kind that serves a form, and create it if there is none."""
        with self._lock:
            found = self.find(gvr, form)
            if found is None:
                only_metadata = form is PartialObjectMetadata
                found = self._kinds[(gvr, only_metadata)] = CachedKind(
                    gvr,
                    only_metadata=only_metadata,
                    default_namespace=self._client.namespace,
                    own_writes=self._own_writes_of(gvr, only_metadata),
                    metrics=self._metrics_of(gvr, only_metadata),
                )
            return found

    def own_writes(self, gvr: GVR) -> list[OwnWrites]:
        """Return the own writes of a resource, for each form in which it may be cached."""
        with self._lock:
            return [self._own_writes_of(gvr, only_metadata) for only_metadata in (False, True)]

    def _own_writes_of(self, gvr: GVR, only_metadata: bool) -> OwnWrites:
        # Also for kinds that are not cached yet: their first list must have what was written.
        found = self._own_writes.get((gvr, only_metadata))
        if found is None:
            found = self._own_writes[(gvr, only_metadata)] = OwnWrites(
                str(gvr), self._metrics_of(gvr, only_metadata)
            )
        return found

    def _metrics_of(self, gvr: GVR, only_metadata: bool) -> Metrics:
        form = PartialObjectMetadata if only_metadata else Unstructured
        return guarded(self._metrics, metrics_name(gvr, form))

    def declare(self, gvr: GVR, form: type[Handle]) -> CachedKind:
        """Like ``ensure``, for a kind that is to be cached whether it is read or not."""
        kind = self.ensure(gvr, form)
        kind.is_declared = kind.is_wanted = True
        return kind

    # -- running -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Open all wanted kinds, and look after them until this is cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                if self._follower is not None:
                    group.create_task(self._follower.run(self._informers), name="namespaces")
                    await self._follower.has_synced
                with self._lock:
                    self._loop, self._group = asyncio.get_running_loop(), group
                    for kind in self._kinds.values():
                        if kind.is_wanted:
                            self.begin(kind)
                while True:
                    await asyncio.sleep(_HOUSEKEEPING)
                    await self.release_idle(time.monotonic())
                    self.check_memory()
        finally:
            with self._lock:
                self._group = None
            await self._informers.shutdown()
            for kind in self.kinds:
                kind.opened.give_up(f"{self.name} has stopped")

    def _spawn(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """Run a coroutine in the background, on the loop of the cache."""
        assert self._loop is not None

        def create() -> None:
            if self._group is not None:
                self._group.create_task(work(), name=name)

        self._loop.call_soon_threadsafe(create)

    # -- opening -----------------------------------------------------------------------------

    def begin(self, kind: CachedKind) -> None:
        """Open the informer of a kind, unless it is open or the cache does not run."""
        with self._lock:
            if kind.is_opening or kind.opened or self._group is None:
                return
            if kind.resource is None:
                model = model_for(kind.gvr)
                kind.resource = None if model is None else model.resource
            is_stopping = kind.informer is not None and kind.informer.is_running
            # Informers run on the loop of the cache, so other threads leave the start to it.
            is_here = running_loop() is self._loop
            if kind.resource is not None and is_here and not is_stopping:
                self.open(kind, kind.resource)
                return
            kind.is_opening = True
            self._spawn(lambda: self._open_when_known(kind), f"open {kind}")

    async def _open_when_known(self, kind: CachedKind) -> None:
        """Ask for the resource until the server has it, then open the informer."""
        pauses = Backoff(0.2, cap=10.0)
        try:
            if kind.informer is not None and kind.informer.is_running:
                await kind.informer.stopped  # it was released a moment ago
            while kind.resource is None and kind.is_wanted:
                try:
                    kind.resource = await self._client.discovery.for_resource(kind.gvr)
                except KinformError as error:
                    if kind.problem is None:
                        logger.warning("%s: waiting for %s: %s", self.name, kind, error)
                    kind.problem = error
                    await asyncio.sleep(pauses.next())
        finally:
            kind.is_opening = False
        with self._lock:
            if kind.resource is None:
                if kind.is_wanted:  # again, since a moment ago
                    self.begin(kind)
            elif not kind.opened and kind.is_wanted and self._group is not None:
                try:
                    self.open(kind, kind.resource)
                except KinformError as error:  # such as namespaces of a cluster-scoped kind
                    logger.error("%s: no informer for %s: %s", self.name, kind, error)
                    kind.problem = error

    def open(self, kind: CachedKind, resource: ApiResource) -> None:
        """Lease the informer of a kind, and start it if the cache runs."""
        with self._lock:
            kind.resource = resource
            key = kind.key or self._informers.key(resource, only_metadata=kind.only_metadata)
            if kind.lease is None:
                kind.open(key, self._informers.lease(key, reuse=kind.informer))
            if self._group is None:
                return
            self._informers.start_one(key)
            kind.started()
            if not self.is_expected(kind):
                kind.metrics.cache_created_informer(str(kind))
                self._spawn(lambda: self._report_created(kind), f"report {kind}")

    def is_expected(self, kind: CachedKind) -> bool:
        """Whether the program declared the kind, or has options for it."""
        return kind.is_declared or kind.gvr in self._options

    async def wait_until_open(self, kind: CachedKind, timeout: float) -> None:
        """Wait until a kind has an informer.

        Raises:
            CacheSyncError: It has none in time; the message has the reason.
        """
        try:
            async with asyncio.timeout(timeout):
                await kind.opened
        except TimeoutError:
            raise CacheSyncError(
                f"{kind} has no informer after {timeout:.1f} s: {self._why_closed(kind)}"
            ) from kind.problem

    def _why_closed(self, kind: CachedKind) -> str:
        follower = self._follower
        if follower is not None and not follower.has_synced and follower.informer is not None:
            return f"its namespaces are not known yet: {follower.informer.sync_status()}"
        return str(kind.problem or "the cache is starting")

    async def wait_until_ready(self, kind: CachedKind, timeout: float) -> None:
        """Wait until a kind is complete.

        Raises:
            CacheSyncError: It is not complete in time; the message has the reason.
        """
        if kind.is_ready:
            return
        started = time.monotonic()
        with self._lock:
            kind.waiting_reads += 1
        try:
            await self._wait_until_ready(kind, timeout, started)
        finally:
            kind.metrics.cache_waited(str(kind), time.monotonic() - started)
            with self._lock:
                kind.waiting_reads -= 1
                if not (kind.waiting_reads or kind.opened or self.is_expected(kind)):
                    kind.is_wanted = False  # probably misspelt; the next read tries again

    async def _wait_until_ready(self, kind: CachedKind, timeout: float, started: float) -> None:
        await self.wait_until_open(kind, timeout)
        key = kind.key
        assert key is not None
        left = max(0.0, timeout - (time.monotonic() - started))
        result = await self._informers.informer_map.wait_for_sync(left, keys=[key])
        if result and not kind.is_ready:
            left = max(0.0, timeout - (time.monotonic() - started))
            with suppress(TimeoutError, AlreadyStoppedError):
                async with asyncio.timeout(left):
                    await kind.caught_up
        if not kind.is_ready:
            if self._group is None:
                raise AlreadyStoppedError(f"{self.name} has stopped")
            why = "it has not caught up" if result else str(result)
            if kind.lease is None:
                why = "its informer was removed"
            raise CacheSyncError(
                f"{kind} is not complete after {time.monotonic() - started:.1f} s: {why}"
            )

    # -- the scope ---------------------------------------------------------------------------

    def apply_scopes(self) -> list[Latch]:
        """Bring all informers to the scope of the current options.

        Returns:
            Latches that are set when the stores have what their scopes cover.
        """
        with self._lock:
            latches = []
            for kind in self._kinds.values():
                if kind.informer is None or kind.resource is None:
                    continue
                scope = self._informers.key(kind.resource, only_metadata=kind.only_metadata).scope
                if scope != kind.informer.scope:
                    latch = kind.informer.set_scope(scope)
                    if kind.informer.is_running:
                        latches.append(latch)
            return latches

    def watch_failed(self, failure: WatchFailure) -> None:
        """Fall back to single namespaces if all namespaces together are forbidden."""
        if not isinstance(failure.error, ForbiddenError):
            return
        for kind in self.kinds:
            informer = kind.informer
            if informer is None or informer.name != failure.name or informer.has_synced:
                continue
            scope = informer.scope
            names = set(self._options.fallback_namespaces(kind.gvr)) - set(scope.excluded)
            if names and list(scope.selectors) == [ALL_NAMESPACES]:
                logger.warning(
                    "%s: %s may not be read in all namespaces, so only %s are cached: %s",
                    self.name,
                    kind,
                    ", ".join(sorted(names)),
                    failure.error,
                )
                self._informers.set_kind_options(kind.gvr, KindOptions(namespace=sorted(names)))
                self.apply_scopes()

    def _follow_namespaces(self, names: frozenset[str]) -> None:
        self._informers.set_default_namespaces(names)
        self.apply_scopes()

    # -- releasing ---------------------------------------------------------------------------

    async def release(self, kind: CachedKind) -> None:
        """Release the informer of a kind; return when it has stopped, if nobody else uses it."""
        with self._lock:
            kind.is_wanted = False
            lease = kind.close()
            self._released(kind)
        if lease is None:
            return
        await lease.close()
        with self._lock:
            # Handlers receive the differences if it runs again, so it keeps its objects for them.
            if kind.lease is None and not lease.informer.is_running and not kind.has_handlers:
                lease.informer.reset()

    async def release_idle(self, now: float) -> None:
        """Release the informers that have no handlers and were not read for long."""
        for kind in self.kinds:
            limit = self._options.idle_timeout(kind.gvr)
            if limit is None or not kind.is_ready or kind.has_handlers:
                continue
            if now - kind.last_used > limit:
                logger.info(
                    "%s: released the informer of %s, unused for %g s", self.name, kind, limit
                )
                await self.release(kind)

    # -- reports -----------------------------------------------------------------------------

    def health(self, cache: Runnable, max_staleness: float | None) -> Health:
        """Return the health of the kinds that are wanted, and of the task of the cache."""
        wanted = [kind for kind in self.kinds if kind.is_wanted]
        informers = [kind.informer for kind in wanted if kind.informer and kind.lease]
        if self._follower is not None and self._follower.informer is not None:
            informers.append(self._follower.informer)
        health = health_of(informers, max_staleness)
        missing = {
            str(kind): f"no informer yet: {kind.problem or 'the cache has not started it'}"
            for kind in wanted
            if kind.lease is None
        }
        own: dict[str, str] = {}
        if cache.has_failed:
            own[self.name] = "failed: its task has ended"
        elif not cache.is_running:
            own[self.name] = "stopped" if cache.is_stopped else "not started"
        return Health(
            live=health.live and not cache.has_failed,
            ready=health.ready and not missing and not own,
            staleness=None if missing else health.staleness,
            problems={**health.problems, **missing, **own},
        )

    async def _report_created(self, kind: CachedKind) -> None:
        informer = kind.informer
        assert informer is not None
        with suppress(AlreadyStoppedError):
            await informer.wait_until(lambda: bool(informer.has_synced), "synced")
        if not informer.has_synced:
            return  # it was removed before
        logger.info(
            "%s: %s was created by a read, and holds %d objects with %d bytes; declare it with "
            "kinds=[...] if this is intended",
            self.name,
            informer.name,
            len(informer.indexer),
            informer.indexer.memory,
        )

    def check_memory(self) -> None:
        """Log a warning for each kind that has grown beyond its limit."""
        for kind in self.kinds:
            limit = self._options.soft_memory_limit(kind.gvr)
            if limit is not None and kind.is_ready:
                kind.check_memory(limit, self.name)
