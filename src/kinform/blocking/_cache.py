"""The blocking cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypedDict, TypeVar, Unpack, overload

from kinform.api import ObjectName
from kinform.blocking._cached_client import CachedClient
from kinform.blocking._client import Client, inner_client
from kinform.blocking._facade import blocking_method, direct_method, loop_method
from kinform.blocking._owner import Owner
from kinform.blocking._runnable import RunnableFacade, stop_and_wait
from kinform.blocking._shared_informer import InformerFacades, SharedIndexInformer
from kinform.cache import Cache as AsyncCache
from kinform.cache import (
    FieldQuery,
    KindReader,
    NamespaceSelector,
    OwnWritesMode,
    UndeclaredReads,
)
from kinform.client import Labels, ObjectList, Resource, ResourceOrModel
from kinform.errors import CacheSyncError, InvalidNameError, ResourceNotCachedError
from kinform.informers import (
    HandlerFailure,
    InformerMap,
    KindOptions,
    Namespaces,
    ReflectorOptions,
    Transform,
    WatchFailure,
)
from kinform.metrics import Metrics
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)


class CacheOptions(TypedDict, total=False):
    """The options of ``kinform.Cache``, documented there."""

    namespace: Namespaces | NamespaceSelector
    kinds: Iterable[ResourceOrModel]
    by_kind: Mapping[Any, KindOptions[Any]] | None
    transform: Transform[Any] | None
    default_resync: float
    undeclared_reads: UndeclaredReads
    sync_timeout: float
    idle_timeout: float | None
    soft_memory_limit: int | None
    on_watch_error: Callable[[WatchFailure], object] | None
    on_handler_error: Callable[[HandlerFailure], None] | None
    options: ReflectorOptions | None
    metrics: Metrics
    name: str
    informer_map: InformerMap | None


class Cache(RunnableFacade):
    """Reads objects of any kind from memory. An informer is created for a kind on first use.

        cache = blocking.Cache(client, namespace=["web", "jobs"])
        cache.index_field(Pod, "spec.nodeName")
        with cache:
            pod = cache.get(Pod, "web/frontend-0")
            pods = cache.list(Pod, fields={"spec.nodeName": "node-1"})

    Everything behaves as in ``kinform.Cache``. Reads run on the calling thread if the kind is
    complete, and wait for the loop thread of the client otherwise. Keep a reference to the cache or
    to one of its clients or informers: without one, it stops.

    Args:
        client: The client of the cluster.
        options: The options of ``kinform.Cache``.

    Raises:
        ConfigError: ``client`` is not a blocking client, or an option is invalid.
    """

    _inner: AsyncCache

    def __init__(self, client: Client, **options: Unpack[CacheOptions]) -> None:
        inner = AsyncCache(inner_client(client, receiver="Cache"), **options)
        owner = Owner(
            partial(stop_and_wait, inner),
            name=f"the blocking {inner.name} of {client.config.server}",
            instead="kinform.Cache",
            loop=client._owner.loop,
            needs=client._owner,
        )
        super().__init__(inner, owner)
        self._client = client
        self._facades = InformerFacades(owner)

    # -- reading -----------------------------------------------------------------------------

    @overload
    def get(
        self,
        resource: type[M],
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: None = None,
        timeout: float | None = None,
    ) -> M: ...
    @overload
    def get(
        self,
        resource: Resource,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: None = None,
        timeout: float | None = None,
    ) -> Unstructured: ...
    @overload
    def get(
        self,
        resource: ResourceOrModel,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[H],
        timeout: float | None = None,
    ) -> H: ...
    def get(
        self,
        resource: Any,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[Handle] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Return one object, by ``namespace/name``, or by name and namespace."""
        reader = self._ready_reader(resource, form)
        if reader is not None:
            try:
                return reader.get(name, namespace=namespace)
            except CacheSyncError:
                reader = None  # a namespace was added, which is waited for
        # The type of the argument selects an overload, which is not known here.
        read: Any = self._inner.get
        return self._owner.run(
            read(resource, name, namespace=namespace, form=form, timeout=timeout)
        )

    @overload
    def list(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
        form: None = None,
        timeout: float | None = None,
    ) -> ObjectList[M]: ...
    @overload
    def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
        form: None = None,
        timeout: float | None = None,
    ) -> ObjectList[Unstructured]: ...
    @overload
    def list(
        self,
        resource: ResourceOrModel,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
        form: type[H],
        timeout: float | None = None,
    ) -> ObjectList[H]: ...
    def list(
        self,
        resource: Any,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
        form: type[Handle] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Return all objects that match, ordered by key, as of one version of the store."""
        reader = self._ready_reader(resource, form)
        if reader is not None:
            try:
                return reader.list(namespace=namespace, labels=labels, fields=fields, limit=limit)
            except CacheSyncError:
                reader = None
        read: Any = self._inner.list
        return self._owner.run(
            read(
                resource,
                namespace=namespace,
                labels=labels,
                fields=fields,
                limit=limit,
                form=form,
                timeout=timeout,
            )
        )

    def _ready_reader(self, resource: Any, form: Any) -> KindReader[Any] | None:
        """Return the reader of a kind that can be read without waiting, on this thread."""
        if self._owner.loop.is_forked:
            return None
        try:
            reader: KindReader[Any] = self._inner.peek(resource, form=form)
        except (ResourceNotCachedError, CacheSyncError, InvalidNameError):
            return None
        return reader

    @overload
    def peek(self, resource: type[M], *, form: None = None) -> KindReader[M]: ...
    @overload
    def peek(self, resource: Resource, *, form: None = None) -> KindReader[Unstructured]: ...
    @overload
    def peek(self, resource: ResourceOrModel, *, form: type[H]) -> KindReader[H]: ...
    def peek(self, resource: Any, *, form: Any = None) -> KindReader[Any]:
        """Return the reader of a kind, whose reads never wait, on any thread."""
        reader: KindReader[Any] = self._inner.peek(resource, form=form)
        return reader

    def client(
        self,
        *,
        own_writes: OwnWritesMode = "wait",
        live: Iterable[ResourceOrModel] = (),
        timeout: float | None = None,
        through: Client | None = None,
    ) -> CachedClient:
        """Return a client that reads from this cache, and writes to the server.

        ``through`` has to share the loop thread of the cache's client.
        """
        writer = None if through is None else inner_client(through, receiver="Cache.client")
        inner = self._owner.call(
            lambda: self._inner.client(
                own_writes=own_writes, live=live, timeout=timeout, through=writer
            )
        )
        return CachedClient(inner, self._owner, through or self._client)

    caught_up = blocking_method(AsyncCache.caught_up)

    # -- kinds and indexes -------------------------------------------------------------------

    declare = direct_method(AsyncCache.declare)
    index_field = direct_method(AsyncCache.index_field)
    index_label = direct_method(AsyncCache.index_label)

    @overload
    def get_informer(
        self,
        resource: type[M],
        *,
        form: None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> SharedIndexInformer[M]: ...
    @overload
    def get_informer(
        self,
        resource: Resource,
        *,
        form: None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> SharedIndexInformer[Unstructured]: ...
    @overload
    def get_informer(
        self,
        resource: ResourceOrModel,
        *,
        form: type[H],
        wait: bool = True,
        timeout: float | None = None,
    ) -> SharedIndexInformer[H]: ...
    def get_informer(self, resource: Any, **options: Any) -> SharedIndexInformer[Any]:
        """Return the informer of a kind, for event handlers. The kind counts as declared."""
        return self._facades.of(self._owner.run(self._inner.get_informer(resource, **options)))

    remove_informer = blocking_method(AsyncCache.remove_informer)
    release_idle_informers = blocking_method(AsyncCache.release_idle_informers)

    @property
    def informers(self) -> Mapping[str, SharedIndexInformer[Any]]:
        """All informers of the cache by kind."""
        return {kind: self._facades.of(each) for kind, each in self._inner.informers.items()}

    status = direct_method(AsyncCache.status)
    # On the loop thread: if that is blocked or has ended, the informers are not alive either.
    health = loop_method(AsyncCache.health)

    # -- the scope ---------------------------------------------------------------------------

    add_namespace = blocking_method(AsyncCache.add_namespace)
    remove_namespace = blocking_method(AsyncCache.remove_namespace)
    set_selectors = blocking_method(AsyncCache.set_selectors)
    preflight = blocking_method(AsyncCache.preflight)

    wait_for_cache_sync = blocking_method(AsyncCache.wait_for_cache_sync)

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"
