"""Reads of any kind, answered from informers that are created on first use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any, TypeVar, overload

from kinform._checks import expect_client
from kinform._runtime import Lifecycle
from kinform.api import ObjectName
from kinform.cache._client import CachedClient, OwnWritesMode
from kinform.cache._field_index import FieldQuery
from kinform.cache._kind import CachedKind
from kinform.cache._kind_names import KindNames, form_of, listed_kinds
from kinform.cache._live_read import LiveRead
from kinform.cache._options import KindTable
from kinform.cache._own_writes import WriteRecorder
from kinform.cache._reader import KindReader, wait_for_namespace
from kinform.cache._registry import KindRegistry
from kinform.client import (
    ClusterClient,
    ClusterReader,
    Labels,
    ObjectList,
    Resource,
    ResourceOrModel,
)
from kinform.errors import (
    AlreadyStoppedError,
    CacheNotStartedError,
    CacheSyncError,
    ConfigError,
    ResourceNotCachedError,
    StaleReadError,
)
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)

# Seconds within which a server sends a bookmark.
_BOOKMARKS = 90.0
_OWN_WRITES = ("wait", "overlay", "ignore")


class CacheReader:
    """Reads objects of any kind. A read of a kind waits until its informer is complete.

    Args:
        client: The client of the cluster.
        registry: The kinds, with their informers.
        options: The options of each kind.
        lifecycle: That of the cache.
        sync_timeout: Seconds that a read waits for a kind to become complete.
    """

    def __init__(
        self,
        client: ClusterReader,
        registry: KindRegistry,
        options: KindTable,
        lifecycle: Lifecycle,
        *,
        sync_timeout: float,
    ) -> None:
        self._client = client
        self._registry = registry
        self._options = options
        self._lifecycle = lifecycle
        self._sync_timeout = sync_timeout
        self._names = KindNames(client)
        self._recorder = WriteRecorder(registry.own_writes)
        # The clients whose writes are recorded.
        self._recorded: list[ClusterClient] = []
        # By the arguments of a read, for kinds that can be read without waiting.
        self._readers: dict[tuple[Any, type[Handle] | None], KindReader[Any]] = {}

    @overload
    async def get(
        self,
        resource: type[M],
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: None = None,
        timeout: float | None = None,
    ) -> M: ...
    @overload
    async def get(
        self,
        resource: Resource,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: None = None,
        timeout: float | None = None,
    ) -> Unstructured: ...
    @overload
    async def get(
        self,
        resource: ResourceOrModel,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[H],
        timeout: float | None = None,
    ) -> H: ...
    async def get(
        self,
        resource: ResourceOrModel,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[Handle] | None = None,
        timeout: float | None = None,
    ) -> Handle:
        """Return one object, by ``namespace/name``, or by name and namespace.

        Args:
            resource: The kind.
            name: The name, or ``namespace/name``.
            namespace: The namespace; defaults to that of the client.
            form: The class of the returned object, if it differs from that of ``resource``.
            timeout: Seconds to wait for the kind to become complete; defaults to that of the cache.

        Raises:
            NotFoundError: The object is not in the cache.
            OutOfScopeError: The cache does not cover the namespace.
            CacheSyncError: The kind did not become complete in time; the message has the reason.
            CacheNotStartedError: The cache was not started.
            AlreadyStoppedError: The cache has stopped.
            ResourceNotCachedError: The kind was not declared, and ``undeclared_reads`` is
                ``error``.
        """
        reader = self._ready_reader(resource, form)
        if reader is None:
            found = await self._reader_for(resource, form, timeout)
            if isinstance(found, LiveRead):
                return await found.get(name, namespace)
            reader = found
        obj: Handle
        try:
            obj = reader.get(name, namespace=namespace)
        except CacheSyncError:
            place = reader.namespace_of(name, namespace)
            await wait_for_namespace(reader, place, self._limit(timeout))
            obj = reader.get(name, namespace=namespace)
        return obj

    @overload
    async def list(
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
    async def list(
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
    async def list(
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
    async def list(
        self,
        resource: ResourceOrModel,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
        form: type[Handle] | None = None,
        timeout: float | None = None,
    ) -> ObjectList[Any]:
        """Return all objects that match, ordered by key, as of one version of the store.

        Args:
            resource: The kind.
            namespace: Only objects of this namespace.
            labels: Only objects that match this label selector.
            fields: Only objects that match this field selector. Each field needs an index.
            limit: Return at most this many objects.
            form: The class of the returned objects, if it differs from that of ``resource``.
            timeout: Seconds to wait for the kind to become complete; defaults to that of the cache.

        Raises:
            UnknownIndexError: A field has no index; the message says how to add it.
            SelectorError: A selector is invalid.
            OutOfScopeError, CacheSyncError, CacheNotStartedError, ResourceNotCachedError: As for
                ``get``.
        """
        reader = self._ready_reader(resource, form)
        if reader is None:
            found = await self._reader_for(resource, form, timeout)
            if isinstance(found, LiveRead):
                return await found.list(namespace, labels, fields, limit)
            reader = found
        try:
            return reader.list(namespace=namespace, labels=labels, fields=fields, limit=limit)
        except CacheSyncError:
            await wait_for_namespace(reader, namespace, self._limit(timeout))
            return reader.list(namespace=namespace, labels=labels, fields=fields, limit=limit)

    @overload
    def peek(self, resource: type[M], *, form: None = None) -> KindReader[M]: ...
    @overload
    def peek(self, resource: Resource, *, form: None = None) -> KindReader[Unstructured]: ...
    @overload
    def peek(self, resource: ResourceOrModel, *, form: type[H]) -> KindReader[H]: ...
    def peek(
        self, resource: ResourceOrModel, *, form: type[Handle] | None = None
    ) -> KindReader[Any]:
        """Return the reader of a kind, whose reads never wait. Callable from any thread.

        Raises:
            ResourceNotCachedError: The cache has no informer of the kind; nothing is created.
            CacheSyncError: The kind is not complete yet.
            CacheNotStartedError, AlreadyStoppedError: The cache does not run.
        """
        reader = self._ready_reader(resource, form)
        if reader is not None:
            return reader
        self._require_started()
        chosen = form_of(resource, form)
        kind = self._registry.find(self._names.known_gvr(resource), chosen)
        if kind is None or kind.lease is None:
            raise ResourceNotCachedError(
                f"{self._lifecycle.name} has no informer for {kind or resource}; peek() creates "
                "none; declare the kind with kinds=[...], or read it with get() or list() first"
            )
        if not kind.is_ready:
            raise CacheSyncError(f"{kind} is not complete yet: {kind.view(chosen).sync_status()}")
        return self._remember(resource, form, kind)

    def client(
        self,
        *,
        own_writes: OwnWritesMode = "wait",
        live: Iterable[ResourceOrModel] = (),
        timeout: float | None = None,
        through: ClusterClient | None = None,
    ) -> CachedClient:
        """Return a client that reads from this cache, and writes to the server.

        Several clients of one cache share its informers, and wait for the writes of each other.

        Args:
            own_writes: What reads do about own writes that the cache does not have yet: wait for
                them (``wait``), return the written objects (``overlay``), or nothing (``ignore``).
                Written objects are as the server returned them, without the transform.
            live: Kinds to read from the server.
            timeout: Seconds that a read waits for own writes; defaults to ``sync_timeout``.
            through: The client to write with, and to read kinds that are not cached; by default
                that of the cache. It may have another identity, but not another server.

        Raises:
            ConfigError: The client cannot write, it belongs to another server, or an option is
                invalid.
        """
        if own_writes not in _OWN_WRITES:
            raise ConfigError(
                f"own_writes must be one of {', '.join(_OWN_WRITES)}, not {own_writes!r}"
            )
        client: Any = self._client if through is None else through  # checked next
        expect_client(client, ClusterClient, receiver="Cache.client")
        self._require_same_server(client)
        for each in (self._client, client):
            self._record_writes_of(each)
        live_resources = frozenset(map(self._names.known_gvr, listed_kinds("live", live)))

        async def find_reader(
            resource: ResourceOrModel, form: type[Handle] | None
        ) -> KindReader[Any] | LiveRead:
            if live_resources and await self._names.gvr(resource) in live_resources:
                return LiveRead(client, await self._names.gvr(resource), form_of(resource, form))
            return await self._reader_for(resource, form, None, client)

        def ready_reader(
            resource: ResourceOrModel, form: type[Handle] | None
        ) -> KindReader[Any] | None:
            reader = self._ready_reader(resource, form)
            is_live = reader is not None and reader.resource.gvr in live_resources
            return None if is_live else reader

        return CachedClient(
            client,
            ready_reader,
            find_reader,
            own_writes=own_writes,
            timeout=self._limit(timeout),
        )

    async def caught_up(
        self, resource_version: str, *resources: ResourceOrModel, timeout: float | None = None
    ) -> None:
        """Wait until these kinds, or all, have reached a version.

        A kind without changes reaches it with the next bookmark, after about a minute, so the
        default timeout is 90 s. All kinds are those that the cache holds, without those that the
        server does not have yet.

        Raises:
            StaleReadError: A kind did not reach it in time.
            ResourceNotCachedError: The cache does not hold one of these kinds.
            CacheNotStartedError, AlreadyStoppedError: The cache does not run.
            CacheError: Versions of this server cannot be compared.
        """
        self._require_started()
        named = {await self._names.gvr(each) for each in resources}
        wanted = [kind for kind in self._registry.kinds if kind.is_wanted]
        missing = named - {kind.gvr for kind in wanted}
        if missing:
            names = ", ".join(sorted(map(str, missing)))
            raise ResourceNotCachedError(
                f"{self._lifecycle.name} has no informer for {names}; read it first"
            )
        limit = _BOOKMARKS if timeout is None else timeout
        deadline = asyncio.get_running_loop().time() + limit
        # Without names, kinds are left out that the server may never have.
        chosen = [k for k in wanted if (k.gvr in named if named else k.resource is not None)]
        for kind in chosen:
            try:
                async with asyncio.timeout_at(deadline):
                    await kind.catch_up(resource_version)
            except TimeoutError:
                version = kind.informer and kind.informer.last_sync_resource_version
                raise StaleReadError(
                    f"{kind} has not reached version {resource_version} after {limit:g} s; it is "
                    f"at {version or 'no version'}. Without "
                    "changes, it reaches the version with the next bookmark, after about a minute"
                ) from kind.problem
            except AlreadyStoppedError:
                if kind.is_wanted or named:
                    raise

    # -- private -----------------------------------------------------------------------------

    async def _reader_for(
        self,
        resource: ResourceOrModel,
        form: type[Handle] | None,
        timeout: float | None,
        live: ClusterReader | None = None,
    ) -> KindReader[Any] | LiveRead:
        """Return the reader of a kind once it is complete, or how to read it from the server."""
        limit, began = self._limit(timeout), time.monotonic()
        if self._options.default_undeclared_reads == "create" and self._lifecycle.is_running:
            gvr = await self._names.wait_for_gvr(resource, limit)
        else:
            gvr = await self._names.gvr(resource)
        chosen = form_of(resource, form)
        kind = self._registry.find(gvr, chosen)
        if kind is None or not self._registry.is_expected(kind):
            policy = self._options.undeclared_reads(gvr)
            if policy == "error":
                raise ResourceNotCachedError(
                    f"{self._lifecycle.name} does not hold {gvr}; declare it with kinds=[...], or "
                    'allow undeclared_reads="create" or "live"'
                )
            if policy == "live":
                return LiveRead(self._client if live is None else live, gvr, chosen)
            kind = self._registry.ensure(gvr, chosen)
        kind.is_wanted = True
        self._require_started()
        self._registry.begin(kind)
        left = max(0.0, limit - (time.monotonic() - began))
        await self._registry.wait_until_ready(kind, left)
        return self._remember(resource, form, kind)

    def _ready_reader(
        self, resource: ResourceOrModel, form: type[Handle] | None
    ) -> KindReader[Any] | None:
        try:
            return self._readers.get((resource, form))
        except TypeError:  # it has no hash, so it is not a kind; resolving it says so
            return None

    def _require_same_server(self, client: ClusterClient) -> None:
        own, other = (getattr(each, "config", None) for each in (self._client, client))
        servers = [getattr(each, "server", "") for each in (own, other)]
        if all(servers) and servers[0] != servers[1]:
            raise ConfigError(
                f"{self._lifecycle.name} reads from {servers[0]}, so its clients cannot write "
                f"through a client of {servers[1]}"
            )

    def _record_writes_of(self, client: Any) -> None:
        is_known = any(each is client for each in self._recorded)
        if not is_known and hasattr(client, "add_write_hook"):  # otherwise it cannot write
            client.add_write_hook(self._recorder)
            self._recorded.append(client)

    def _limit(self, timeout: float | None) -> float:
        return self._sync_timeout if timeout is None else timeout

    def _remember(
        self, resource: ResourceOrModel, form: type[Handle] | None, kind: CachedKind
    ) -> KindReader[Any]:
        reader = kind.reader(form_of(resource, form))
        self._readers[(resource, form)] = reader
        if not kind.is_ready:  # it was released in the meantime
            self._forget(kind)
        return reader

    def _forget(self, kind: CachedKind) -> None:
        for place, reader in list(self._readers.items()):
            if kind.owns(reader):
                self._readers.pop(place, None)

    def _require_started(self) -> None:
        if not self._lifecycle.was_started:
            raise CacheNotStartedError(
                f"{self._lifecycle.name} was not started; read inside its with block, or call "
                "start() first"
            )
        if self._lifecycle.is_stopping or self._lifecycle.is_stopped:
            raise AlreadyStoppedError(f"{self._lifecycle.name} has stopped; create another cache")

    def _conclude(self) -> None:
        """Forget all readers and stop recording writes, when the cache has stopped."""
        self._readers.clear()
        while self._recorded:
            self._recorded.pop().remove_write_hook(self._recorder)
