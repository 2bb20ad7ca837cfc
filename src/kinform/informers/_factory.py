"""Informer factories: build informers and listers, and share one per resource and selector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, Self, TypedDict, TypeVar, overload

from msgspec import UNSET
from msgspec.structs import replace

from kinform._checks import expect, expect_client
from kinform._runtime import Latch
from kinform.api import GVR, ApiResource
from kinform.client import Fields, Labels, ResourceLike, Watcher, gvr_of, place_of
from kinform.errors import AlreadyStoppedError, CacheSyncError, ConfigError, NoMatchError
from kinform.informers._coverage import coverage_of
from kinform.informers._health import Health, health_of
from kinform.informers._informer_key import InformerKey, InformerOptions
from kinform.informers._informer_map import InformerMap
from kinform.informers._kind_options import KindOptions, chosen
from kinform.informers._lease import ResourceInformer
from kinform.informers._metrics_names import metrics_name_of_scope
from kinform.informers._namespace_options import Namespaces
from kinform.informers._read_guard import UnsyncedReads, check_unsynced_reads
from kinform.informers._resync_scheduler import check_resync_jitter, jittered
from kinform.informers._scope import ALL_NAMESPACES
from kinform.informers._shared_informer import SharedIndexInformer
from kinform.informers._sync_result import SyncResult
from kinform.informers.dispatch import HandlerFailure
from kinform.informers.reflector import ReflectorOptions, Transform, WatchFailure
from kinform.informers.sources import ListWatch, TweakListOptions
from kinform.metrics import NO_METRICS, Metrics
from kinform.objects import Handle, PartialObjectMetadata, Unstructured

T = TypeVar("T", bound=Handle)
V = TypeVar("V", bound=Handle)
H = TypeVar("H", bound=Handle)


class FactoryOptions(TypedDict, Generic[T], total=False):
    """The options that all factories accept. See ``InformerFactory``."""

    namespace: Namespaces
    tweak_list_options: TweakListOptions | None
    transform: Transform[T] | None
    by_kind: Mapping[ResourceLike, KindOptions[Any]] | None
    on_watch_error: Callable[[WatchFailure], object] | None
    on_handler_error: Callable[[HandlerFailure], None] | None
    options: ReflectorOptions | None
    metrics: Metrics
    name: str
    informer_map: InformerMap | None
    unsynced_reads: UnsyncedReads
    resync_jitter: float


class InformerFactory(ABC, Generic[T]):
    """Base class of the factories. ``async with factory:`` starts and shuts down its informers.

    Args:
        client: The client of the cluster to read from, or anything else that is a ``Watcher``.
        default_resync: Default number of seconds between resyncs of a handler; 0 disables
            them.
        namespace: The default namespaces of all namespaced kinds: one, several, or a dict of
            namespaces and ``NamespaceOptions``.
        tweak_list_options: Called with the options of every list and watch; returns the
            options to use.
        transform: Called once for each version of an object, before it is stored.
        by_kind: Options by resource or model class, overriding those above.
        on_watch_error: Called on the event loop for every lost connection and every refusal.
        on_handler_error: Called for every exception a handler raises, on the thread or loop
            of that handler.
        options: Reflector settings such as page size and backoff.
        metrics: Receives the metrics of all informers.
        name: The name used in errors.
        informer_map: The informers to share with other factories of the same client; by default,
            the factory has its own.
        unsynced_reads: What listers do if they are read before their informer has synced: log a
            warning once per informer (``warn``), raise ``CacheSyncError`` (``raise``), or nothing
            (``allow``).
        resync_jitter: The default resync period of each informer is drawn once from the period
            ± this fraction, so that the informers of many programs do not resync together.

    Raises:
        ConfigError: ``client`` is not a client, or an option is invalid.
    """

    def __init__(
        self,
        client: Watcher,
        default_resync: float = 0.0,
        *,
        namespace: Namespaces = None,
        tweak_list_options: TweakListOptions | None = None,
        transform: Transform[T] | None = None,
        by_kind: Mapping[ResourceLike, KindOptions[Any]] | None = None,
        on_watch_error: Callable[[WatchFailure], object] | None = None,
        on_handler_error: Callable[[HandlerFailure], None] | None = None,
        options: ReflectorOptions | None = None,
        metrics: Metrics = NO_METRICS,
        name: str = "",
        informer_map: InformerMap | None = None,
        unsynced_reads: UnsyncedReads = "warn",
        resync_jitter: float = 0.0,
    ) -> None:
        expect_client(client, Watcher, receiver=type(self).__name__)
        if options is not None:
            expect(
                options,
                ReflectorOptions,
                receiver="options=",
                expected="kinform.informers.ReflectorOptions",
            )
        self.client = client
        self.name = name or type(self).__name__
        self._options = options or ReflectorOptions()
        self._defaults: KindOptions[Any] = KindOptions(
            namespace=namespace,
            transform=transform,
            tweak_list_options=tweak_list_options,
            resync_period=default_resync,
            page_size=self._options.page_size,
            streaming=self._options.streaming,
        )
        self._by_kind = _by_resource(by_kind)
        self._on_watch_error = on_watch_error
        self._on_handler_error = on_handler_error
        self._metrics = metrics
        self._owns_map = informer_map is None
        self._map = InformerMap(self.name) if informer_map is None else informer_map
        self._unsynced_reads = check_unsynced_reads(unsynced_reads)
        self._resync_jitter = check_resync_jitter(resync_jitter)
        self._is_shut_down = False

    @abstractmethod
    def _form_of(self, resource: GVR) -> type[T]:
        """Return the default class of the objects of a resource.

        Raises:
            NoMatchError: This factory has no class for the resource.
        """

    # -- informers ---------------------------------------------------------------------------

    @overload
    def for_resource(
        self,
        resource: ResourceLike,
        *,
        form: None = None,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[T] | None = None,
    ) -> ResourceInformer[T]: ...
    @overload
    def for_resource(
        self,
        resource: ResourceLike,
        *,
        form: type[V],
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[Any] | None = None,
    ) -> ResourceInformer[V]: ...
    def for_resource(
        self,
        resource: ResourceLike,
        *,
        form: type[Handle] | None = None,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[Any] | None = None,
    ) -> ResourceInformer[Any]:
        """Return a lease of the informer for a resource, with a lister.

        Calls with the same resource, namespaces, selectors and options share one informer. It
        starts with the next ``start``, and stops when all its leases are released.

        Args:
            resource: A GVR, a string such as ``v1/pods`` or ``apps/v1/deployments``, or a model
                class.
            form: The class of the returned objects, instead of the factory's default. All classes
                of whole objects share one list and watch and one store.
            namespace: One or several namespaces, or a dict as in ``KindOptions``; defaults to those
                of the factory. ``""`` covers all namespaces.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector.
            options: Options of this request, overriding those of the factory.

        Raises:
            InvalidNameError: ``resource`` is not a valid resource name.
            NoMatchError: The resource has no model and no form was given, or a namespace was
                given for a cluster-scoped resource.
            ConfigError: The resource is not available in that form.
            SelectorError: A selector is invalid.
            AlreadyStoppedError: The factory was shut down, and has no such informer to read from.
        """
        key = self._key(resource, namespace, labels, fields, options)
        return self._lease(
            key,
            form or self._form_of(key.resource),
            lambda: self._make_informer(key, self._stored_form(key.resource)),
        )

    def _key(
        self,
        resource: ResourceLike,
        namespace: Namespaces = None,
        labels: Labels = "",
        fields: Fields = "",
        options: KindOptions[Any] | None = None,
        *,
        only_metadata: bool = False,
    ) -> InformerKey:
        gvr = gvr_of(resource)
        given: KindOptions[Any] = KindOptions(
            namespace=namespace,
            labels=UNSET if labels == "" else labels,
            fields=UNSET if fields == "" else fields,
        )
        for base in (options, self._by_kind.get(gvr)):
            if base is not None:
                expect(base, KindOptions, receiver="options=", expected="kinform.KindOptions")
                given = given.over(base)
        kind = given.over(self._defaults)
        is_namespaced = self._is_namespaced(resource)
        if not is_namespaced and given.has_namespaces and given.namespace != ALL_NAMESPACES:
            raise NoMatchError(f"{gvr} is cluster-scoped; omit the namespace")
        coverage = coverage_of(given, self._defaults, is_namespaced=is_namespaced)
        return InformerKey(
            gvr,
            coverage.scope,
            only_metadata or self._is_metadata_only,
            InformerOptions(
                transform=coverage.transform,
                transform_form=self._stored_form(gvr) if coverage.transform else None,
                tweak_list_options=chosen(kind.tweak_list_options),
                resync_period=chosen(kind.resync_period),
                page_size=chosen(kind.page_size),
                streaming=chosen(kind.streaming),
            ),
        )

    _is_metadata_only = False

    def _is_namespaced(self, resource: ResourceLike) -> bool:
        """Return false only for resources that are known to be cluster-scoped."""
        place = place_of(resource)
        return not isinstance(place, ApiResource) or place.namespaced

    def _stored_form(self, resource: GVR) -> type[Handle]:
        """Return the class the transform receives, independent of the first request's form."""
        return self._form_of(resource)

    def _lease(
        self, key: InformerKey, form: type[V], make: Callable[[], SharedIndexInformer[Any]]
    ) -> ResourceInformer[V]:
        # After a shutdown, the factory's own informers can still be read.
        if not (self._map.is_shut_down and key in self._map):
            self._require_open()
        return self._map.lease(key, form, make, owner=self, unsynced_reads=self._unsynced_reads)

    def _make_informer(self, key: InformerKey, form: type[H]) -> SharedIndexInformer[H]:
        view = self.client.view(form)
        options = key.options
        source: ListWatch[H] = ListWatch.for_resource(
            view, key.resource, tweak_list_options=options.tweak_list_options
        )
        return SharedIndexInformer(
            source,
            scope=key.scope,
            name=self._map.free_name(key),
            metrics_name=metrics_name_of_scope(source, key.scope),
            resync_period=self._resync_period_of(key),
            transform=options.transform,
            on_watch_error=self._on_watch_error,
            on_handler_error=self._on_handler_error,
            options=replace(
                self._options, page_size=options.page_size, streaming=options.streaming
            ),
            metrics=self._metrics,
        )

    def _resync_period_of(self, key: InformerKey) -> float:
        """Draw the default resync period of a new informer."""
        return jittered(key.options.resync_period, self._resync_jitter)

    @property
    def informers(self) -> Mapping[InformerKey, SharedIndexInformer[Any]]:
        """All informers that this factory has leases of."""
        found = ((key, self._map.get(key)) for key in self._map.keys(self))
        return {key: informer for key, informer in found if informer is not None}

    @property
    def informer_map(self) -> InformerMap:
        """The informers, to be shared with other factories of the same client."""
        return self._map

    def remove(self, key: InformerKey) -> Latch:
        """Stop an informer, whatever leases there are. ``informers`` has the keys.

        Returns:
            A latch that is set when the informer has stopped.

        Raises:
            StateError: There is no informer for the key.
        """
        return self._map.remove(key)

    # -- lifecycle ---------------------------------------------------------------------------

    def start(self) -> None:
        """Start all requested informers that are not running. Call again after further requests.

        The first call must be made where an event loop runs, unless the factory was created
        there; later ones may be made on any thread.

        Raises:
            AlreadyStoppedError: The factory was shut down.
            StateError: There is no event loop.
        """
        self._require_open()
        self._map.start(self._map.keys(self))

    async def shutdown(self) -> None:
        """Stop all informers and return when their tasks and threads have ended.

        Informers that other factories have leases of keep running. The factory cannot be started
        again. Idempotent; concurrent calls all wait.
        """
        self._is_shut_down = True
        if self._owns_map and not self._map.has_other_owners(self):
            await self._map.shutdown()
            return
        for informer in self._map.release_all(self):
            if informer.was_started:
                await informer.stopped

    async def wait_for_cache_sync(
        self, timeout: float | None = None, *, strict: bool = False
    ) -> SyncResult:
        """Wait until every started informer has synced, and return the state of each.

        An informer that cannot sync does not delay the others; after ``timeout`` the result names
        it and the reason. An informer that was requested but not started is not synced, and is not
        waited for.

        Args:
            timeout: Seconds to wait; ``None`` waits without limit.
            strict: Raise if an informer has not synced.

        Raises:
            CacheSyncError: With ``strict``, the informers that have not synced, and the reasons.
        """
        informers = self.informers
        result = await self._map.wait_for_sync(timeout, keys=list(informers))
        if strict:
            if informers and not any(each.was_started for each in informers.values()):
                raise CacheSyncError(f"{self.name}: no informer was started; call start() first")
            result.raise_for_unsynced()
        return result

    def health(self, *, max_staleness: float | None = None) -> Health:
        """Return whether the informers work, for liveness and readiness probes. Thread-safe.

        Liveness does not depend on the API server; readiness needs it for the first sync.

        Args:
            max_staleness: Not ready if a store was last known to be current more than this many
                seconds ago; by default, stale stores are ready. An idle server sends a bookmark
                about once a minute, so it should be at least 120.
        """
        return health_of(self.informers.values(), max_staleness)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.shutdown()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.informers)} informers at {self.client!r}>"

    def _require_open(self) -> None:
        if self._is_shut_down:
            raise AlreadyStoppedError(f"{self.name} was shut down; create another factory")


def _by_resource(
    by_kind: Mapping[ResourceLike, KindOptions[Any]] | None,
) -> dict[GVR, KindOptions[Any]]:
    expect(
        by_kind or {}, Mapping, receiver="by_kind=", expected="a dict of KindOptions by resource"
    )
    found: dict[GVR, KindOptions[Any]] = {}
    for resource, options in (by_kind or {}).items():
        gvr = gvr_of(resource)
        expect(options, KindOptions, receiver=f"by_kind[{gvr}]", expected="kinform.KindOptions")
        if gvr in found:
            raise ConfigError(f"by_kind has two entries for {gvr}; merge them")
        found[gvr] = options
    return found


class DynamicSharedInformerFactory(InformerFactory[Unstructured]):
    """Shared informers for any resource, with whole objects that need no model.

        factory = DynamicSharedInformerFactory(client, default_resync=30.0)
        blocks = factory.for_resource("crd.projectcalico.org/v1/ipamblocks")
        blocks.informer.add_event_handler(on_add=lambda block: print(block.key))
        async with factory:
            await factory.wait_for_cache_sync(timeout=30)
            print(blocks.lister.list())

    Objects are ``Unstructured``. Pass ``form=`` to ``for_resource`` for another class.
    """

    def _form_of(self, resource: GVR) -> type[Unstructured]:
        return Unstructured


class MetadataSharedInformerFactory(InformerFactory[PartialObjectMetadata]):
    """Shared informers that request only object metadata, which saves bandwidth and memory."""

    _is_metadata_only = True

    def _form_of(self, resource: GVR) -> type[PartialObjectMetadata]:
        return PartialObjectMetadata
