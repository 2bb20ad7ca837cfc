"""The cache: reads of any kind, answered from informers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

from kinform._checks import check_callable, check_plain, expect_client
from kinform._runtime import Lifecycle, Runnable
from kinform.cache._cache_reader import CacheReader
from kinform.cache._field_index import PathIndex, check_path, index_name
from kinform.cache._informers import CacheInformers
from kinform.cache._kind_names import form_of, listed_kinds
from kinform.cache._namespace_follower import NamespaceSelector
from kinform.cache._options import (
    KindTable,
    UndeclaredReads,
    check_positive,
    check_undeclared_reads,
)
from kinform.cache._preflight import (
    PreflightResult,
    needed_scopes,
    preflight,
    with_followed_namespaces,
)
from kinform.cache._registry import KindRegistry
from kinform.client import (
    ClusterReader,
    Fields,
    Labels,
    Resource,
    ResourceOrModel,
    Writer,
)
from kinform.errors import (
    AlreadyStartedError,
    CacheSyncError,
    ConfigError,
)
from kinform.informers import (
    HandlerFailure,
    Health,
    InformerMap,
    InformerStatus,
    KindOptions,
    Namespaces,
    ReflectorOptions,
    Selectors,
    SharedIndexInformer,
    SyncResult,
    Transform,
    WatchFailure,
)
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)

# Seconds between resyncs of handlers, as in controller-runtime: a day has at least two.
_RESYNC = 36_000.0
_OWN_WRITES = ("wait", "overlay", "ignore")


class Cache(CacheReader, Runnable):
    """Reads objects of any kind from memory. An informer is created for a kind on first use.

        cache = Cache(client, namespace=["web", "jobs"])
        cache.index_field(Pod, "spec.nodeName")
        async with cache:
            pod = await cache.get(Pod, "web/frontend-0")
            pods = await cache.list(Pod, fields={"spec.nodeName": "node-1"})

    Reads wait until the kind is complete, at most ``sync_timeout`` seconds, and then never touch
    the network. Returned objects are read-only views, so nothing is copied. A model class returns
    objects of that class, anything else ``Unstructured`` objects; both come from one list and
    watch and one store. ``form=PartialObjectMetadata`` caches metadata only, unless the cache has
    the whole objects.

    Args:
        client: The client of the cluster.
        namespace: The namespaces to cache, of kinds that have any; all by default. A
            ``NamespaceSelector`` follows the namespaces that match it.
        kinds: Kinds to cache from the start, before they are read.
        by_kind: Options by kind, overriding those of the cache.
        transform: Called once for each version of an object, before it is stored.
        default_resync: Seconds between resyncs of a handler; each informer varies it by 10 %.
        undeclared_reads: What a read does for a kind that is neither in ``kinds`` nor in
            ``by_kind``, and has no index and no informer: create an informer (``create``), ask the
            server (``live``), or raise ``ResourceNotCachedError`` (``error``).
        sync_timeout: Seconds that a read waits for a kind to become complete.
        idle_timeout: Seconds without a read after which an informer without handlers is released;
            ``None`` never.
        soft_memory_limit: Bytes of objects of one kind above which a warning is logged.
        on_watch_error: Called on the event loop for every lost connection and every refusal.
        on_handler_error: Called for every exception a handler raises.
        options: Reflector settings such as page size and backoff.
        metrics: Receives the metrics of all informers.
        name: The name used in logs and errors.
        informer_map: The informers to share with factories of the same client.

    Raises:
        ConfigError: ``client`` is not a client, or an option is invalid.
        NoMatchError: ``by_kind`` has namespaces for a cluster-scoped kind.
    """

    def __init__(
        self,
        client: ClusterReader,
        *,
        namespace: Namespaces | NamespaceSelector = None,
        kinds: Iterable[ResourceOrModel] = (),
        by_kind: Mapping[Any, KindOptions[Any]] | None = None,
        transform: Transform[Any] | None = None,
        default_resync: float = _RESYNC,
        undeclared_reads: UndeclaredReads = "create",
        sync_timeout: float = 30.0,
        idle_timeout: float | None = None,
        soft_memory_limit: int | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        on_handler_error: Callable[[HandlerFailure], None] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
        name: str = "cache",
        informer_map: InformerMap | None = None,
    ) -> None:
        expect_client(client, ClusterReader, receiver="Cache")
        check_undeclared_reads(undeclared_reads)
        check_positive("sync_timeout", sync_timeout)
        check_positive("idle_timeout", idle_timeout)
        check_positive("soft_memory_limit", soft_memory_limit)
        check_plain("on_watch_error", on_watch_error)
        self._on_watch_error = on_watch_error
        table = KindTable(
            by_kind,
            undeclared_reads=undeclared_reads,
            idle_timeout=idle_timeout,
            soft_memory_limit=soft_memory_limit,
        )
        selector = namespace if isinstance(namespace, NamespaceSelector) else None
        given = None if isinstance(namespace, NamespaceSelector) else namespace
        self._informers = CacheInformers(
            client,
            default_resync,
            namespace={} if selector is not None else given,
            transform=transform,
            by_kind=table.of_informers(),
            on_watch_error=self._watch_failed,
            on_handler_error=on_handler_error,
            options=options,
            metrics=metrics,
            name=name,
            informer_map=informer_map,
            unsynced_reads="allow",
            resync_jitter=0.1,
        )
        self._informers.check_options()
        registry = KindRegistry(
            client,
            self._informers,
            table,
            name=name,
            released=self._forget,
            namespaces=selector,
            metrics=metrics,
        )
        lifecycle = Lifecycle(
            name, registry.run, prepare=self._require_first_start, conclude=self._conclude
        )
        CacheReader.__init__(self, client, registry, table, lifecycle, sync_timeout=sync_timeout)
        Runnable.__init__(self, lifecycle)
        self._selector = selector
        for kind in listed_kinds("kinds", kinds):
            self.declare(kind)

    # -- kinds and indexes -------------------------------------------------------------------

    def declare(self, resource: ResourceOrModel, *, form: type[Handle] | None = None) -> None:
        """Cache a kind from now on, or from the start. Callable from any thread.

        Raises:
            InvalidNameError: This is not a kind, or a GVK without a model: pass its GVR.
        """
        kind = self._registry.declare(self._names.known_gvr(resource), form_of(resource, form))
        self._registry.begin(kind)

    def index_field(
        self,
        resource: ResourceOrModel,
        field: str,
        function: Callable[[Any], Iterable[str] | None] | None = None,
        *,
        form: type[Handle] | None = None,
    ) -> None:
        """Index a field, so that ``list`` accepts it in ``fields``. Callable at any time.

            cache.index_field(Pod, "spec.nodeName")
            cache.index_field(Pod, "images", lambda pod: [c.image for c in pod.spec.containers])

        An equal index that exists already is kept. The kind counts as declared.

        Args:
            resource: The kind.
            field: The path of the field, or any name if there is a function.
            function: Returns the values of an object.
            form: The class of the objects that the function receives.

        Raises:
            CacheError: The field is indexed already, with another function.
            InvalidNameError: The path is invalid or not in the model, or this is not a kind.
        """
        if function is not None:
            check_callable(f"index {field!r}", function)
        elif isinstance(resource, type) and form is None:
            check_path(resource, field)
        form = form_of(resource, form)
        kind = self._registry.declare(self._names.known_gvr(resource), form)
        kind.add_index(index_name(field), form, function or PathIndex(field))
        self._registry.begin(kind)

    def index_label(
        self, resource: ResourceOrModel, label: str, *, form: type[Handle] | None = None
    ) -> None:
        """Index a label, which makes selectors on it independent of the number of objects.

        Raises:
            InvalidNameError: This is not a kind.
        """
        kind = self._registry.declare(self._names.known_gvr(resource), form_of(resource, form))
        kind.add_label_index(label)
        self._registry.begin(kind)

    @overload
    async def get_informer(
        self,
        resource: type[M],
        *,
        form: None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> SharedIndexInformer[M]: ...
    @overload
    async def get_informer(
        self,
        resource: Resource,
        *,
        form: None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> SharedIndexInformer[Unstructured]: ...
    @overload
    async def get_informer(
        self,
        resource: ResourceOrModel,
        *,
        form: type[H],
        wait: bool = True,
        timeout: float | None = None,
    ) -> SharedIndexInformer[H]: ...
    async def get_informer(
        self,
        resource: ResourceOrModel,
        *,
        form: type[Handle] | None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> SharedIndexInformer[Any]:
        """Return the informer of a kind, for event handlers. The kind counts as declared.

        The cache owns the informer: it starts and stops it. Handlers stay registered if it is
        removed and created again.

        Args:
            resource: The kind.
            form: The class of the objects that handlers receive.
            wait: Whether to wait until it is complete, if the cache has been started.
            timeout: Seconds to wait; defaults to that of the cache.

        Raises:
            CacheSyncError: It did not become complete in time; the message has the reason.
            NoMatchError: The cache was not started, and the server does not have the kind.
        """
        limit, began = self._limit(timeout), time.monotonic()
        form = form_of(resource, form)
        if not self.is_running:
            gvr = await self._names.gvr(resource)
            kind = self._registry.declare(gvr, form)
            if kind.informer is None:
                self._registry.open(kind, await self._names.resource(gvr))
            return kind.view(form)
        kind = self._registry.declare(await self._names.wait_for_gvr(resource, limit), form)
        self._registry.begin(kind)
        left = max(0.0, limit - (time.monotonic() - began))
        if wait:
            await self._registry.wait_until_ready(kind, left)
        else:
            await self._registry.wait_until_open(kind, left)
        return kind.view(form)

    async def remove_informer(
        self, resource: ResourceOrModel, *, form: type[Handle] | None = None
    ) -> None:
        """Stop the informer of a kind, and return when it has stopped.

        The next read creates it again, with its indexes. If it has handlers, they receive the
        differences then, and its objects stay in memory for this. Unknown kinds are ignored.
        """
        kind = self._registry.find(await self._names.gvr(resource), form_of(resource, form))
        if kind is not None:
            await self._registry.release(kind)

    async def release_idle_informers(self) -> None:
        """Release informers that were idle for too long, now. The cache does this regularly."""
        await self._registry.release_idle(time.monotonic())

    @property
    def informers(self) -> Mapping[str, SharedIndexInformer[Any]]:
        """All informers of the cache by kind."""
        kinds = self._registry.kinds
        return {str(kind): kind.informer for kind in kinds if kind.informer is not None}

    def status(self) -> Mapping[str, InformerStatus]:
        """Return the status of every informer by kind. Thread-safe."""
        return {name: informer.status() for name, informer in self.informers.items()}

    def health(self, *, max_staleness: float | None = None) -> Health:
        """Return whether the cache works, for liveness and readiness probes. Thread-safe.

        Kinds count that were declared, or read and not released since. A kind that has no informer
        yet is a problem, and so is one that is not updated any more, which is served nevertheless.

        Args:
            max_staleness: Not ready if a store was last known to be current more than this many
                seconds ago; by default, stale stores are ready. An idle server sends a bookmark
                about once a minute, so it should be at least 120.
        """
        return self._registry.health(self, max_staleness)

    # -- the scope ---------------------------------------------------------------------------

    async def add_namespace(self, namespace: str) -> None:
        """Cache one more namespace, and return when its objects are in the cache.

        It is added to all kinds whose options have no namespaces of their own. Handlers receive
        its objects as adds.

        Raises:
            ConfigError: The cache covers all namespaces already, or has a ``NamespaceSelector``.
            CacheSyncError: The objects are not complete after ``sync_timeout`` seconds.
        """
        await self._set_namespaces(self._own_namespaces() | {namespace})

    async def remove_namespace(self, namespace: str) -> None:
        """Stop caching a namespace, and return when its objects have left the cache.

        Handlers receive its objects as deletions that are marked ``out_of_scope``.

        Raises:
            ConfigError: The cache does not cover the namespace by itself.
        """
        names = self._own_namespaces()
        if namespace not in names:
            covered = ", ".join(sorted(names)) or "no namespace"
            raise ConfigError(f"{self.name} does not cover {namespace!r}; it covers {covered}")
        await self._set_namespaces(names - {namespace})

    async def set_selectors(
        self,
        resource: ResourceOrModel,
        *,
        labels: Labels = "",
        fields: Fields = "",
        any_of: Sequence[Selectors] | None = None,
    ) -> None:
        """Select other objects of a kind, and return when the cache has them.

        Args:
            resource: The kind.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector of the server.
            any_of: Only objects that match at least one of these, instead.

        Raises:
            SelectorError: A selector is invalid.
            CacheSyncError: The objects are not complete after ``sync_timeout`` seconds.
        """
        change: KindOptions[Any] = (
            KindOptions(labels=labels, fields=fields)
            if any_of is None
            else KindOptions(any_of=any_of)
        )
        self._informers.set_kind_options(await self._names.gvr(resource), change)
        await self._follow_options()

    def _own_namespaces(self) -> frozenset[str]:
        names = self._informers.default_namespaces
        if self._selector is not None or names is None:
            what = "all namespaces" if self._selector is None else "a NamespaceSelector"
            raise ConfigError(
                f"{self.name} has {what}, so single namespaces cannot be added or removed; "
                "pass namespace=[...] to the cache"
            )
        return names

    async def _set_namespaces(self, names: frozenset[str]) -> None:
        self._informers.set_default_namespaces(names)
        await self._follow_options()

    async def _follow_options(self) -> None:
        """Wait until all informers have the scope of their options."""
        latches = self._registry.apply_scopes()
        try:
            async with asyncio.timeout(self._sync_timeout):
                for latch in latches:
                    await latch
        except TimeoutError:
            late = ", ".join(latch.name for latch in latches if not latch)
            raise CacheSyncError(
                f"not yet after {self._sync_timeout:g} s: {late}; it is still being tried"
            ) from None

    async def preflight(self) -> PreflightResult:
        """Ask the server whether the cache may list and watch what it is to hold.

            (await cache.preflight()).raise_for_missing()

        These are the declared kinds, those with options unless they are read live, and, for a
        ``NamespaceSelector``, namespaces.

        Raises:
            NoMatchError: The server does not have a kind.
            ConfigError: The client of the cache cannot write.
        """
        client: Any = self._client  # checked next
        expect_client(client, Writer, receiver="Cache.preflight")
        scopes = await needed_scopes(
            self._registry.kinds, self._options, self._informers, self._names
        )
        if self._selector is not None:
            scopes = await with_followed_namespaces(scopes, self._selector, self._client)
        return await preflight(client, scopes)

    # -- lifecycle ---------------------------------------------------------------------------

    async def wait_for_cache_sync(
        self, timeout: float | None = None, *, strict: bool = False
    ) -> SyncResult:
        """Wait until all informers of the cache have synced, and return the state of each.

        Args:
            timeout: Seconds to wait; ``None`` waits without limit.
            strict: Raise if an informer has not synced.

        Raises:
            CacheNotStartedError: The cache was not started.
            CacheSyncError: With ``strict``, the informers that have not synced, and the reasons.
        """
        self._require_started()
        started = time.monotonic()
        wanted = [kind for kind in self._registry.kinds if kind.is_wanted]
        try:
            async with asyncio.timeout(timeout):
                for kind in wanted:
                    await kind.opened
        except TimeoutError:
            if strict:
                missing = [f"{kind}: {kind.problem}" for kind in wanted if not kind.opened]
                raise CacheSyncError(
                    f"{self.name} has no informer yet for {'; '.join(missing)}"
                ) from None
        left = None if timeout is None else max(0.0, timeout - (time.monotonic() - started))
        return await self._informers.wait_for_cache_sync(left, strict=strict and bool(wanted))

    def _watch_failed(self, failure: WatchFailure) -> None:
        self._registry.watch_failed(failure)
        if self._on_watch_error is not None:
            self._on_watch_error(failure)

    def _require_first_start(self) -> None:
        if self.was_started:
            raise AlreadyStartedError(f"{self.name} was started before; create another cache")
