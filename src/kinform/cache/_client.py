"""A client that reads from a cache and writes to the server, and reads its own writes."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, TypeVar, overload

from kinform.api import ObjectName
from kinform.cache._field_index import FieldQuery
from kinform.cache._live_read import LiveRead
from kinform.cache._own_writes import OwnWrite
from kinform.cache._reader import KindReader, wait_for_namespace
from kinform.client import (
    ClusterClient,
    ClusterView,
    Discovery,
    ForwardingWatcher,
    ForwardingWriter,
    Labels,
    ObjectList,
    Reachability,
    Resource,
    ResourceOrModel,
    WriteHook,
)
from kinform.errors import CacheSyncError
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)

OwnWritesMode = Literal["wait", "overlay", "ignore"]
"""What reads do about own writes that the cache does not have yet: wait for them, return the
written objects, or return what the cache has."""

ReadyReader = Callable[[Any, type[Handle] | None], "KindReader[Any] | None"]
FindReader = Callable[[Any, type[Handle] | None], Coroutine[Any, Any, "KindReader[Any] | LiveRead"]]


class CachedClient(ForwardingWriter, ForwardingWatcher):
    """A client whose ``get`` and ``list`` read from a cache; everything else goes to the server.

        client = cache.client()
        await client.create(pod)
        await client.get(Pod, pod.name)      # waits until the cache has the pod
        await client.live.get(Pod, pod.name)

    A read that follows a write of this client sees it, as do reads after writes of the client
    that the cache was made with. Only reads that the write concerns wait: the same object, or lists
    that cover its namespace.

    Args:
        live: The client of the cluster.
        ready_reader: Returns the reader of a kind that can be read now, or ``None``.
        find_reader: Returns the reader of a kind.
        own_writes: What reads do about writes that the cache does not have yet.
        timeout: Seconds that a read waits for own writes.

    Attributes:
        live: The client of the cluster, for reads that bypass the cache.
    """

    def __init__(
        self,
        live: ClusterClient,
        ready_reader: ReadyReader,
        find_reader: FindReader,
        *,
        own_writes: OwnWritesMode,
        timeout: float,
    ) -> None:
        ForwardingWriter.__init__(self, live)
        ForwardingWatcher.__init__(self, live)
        self.live = live
        self._ready_reader = ready_reader
        self._find_reader = find_reader
        self._mode = own_writes
        self._timeout = timeout

    # -- reading -----------------------------------------------------------------------------

    @overload
    async def get(
        self, resource: type[M], name: str | ObjectName, *, namespace: str | None = None
    ) -> M: ...
    @overload
    async def get(
        self, resource: Resource, name: str | ObjectName, *, namespace: str | None = None
    ) -> Unstructured: ...
    @overload
    async def get(
        self,
        resource: ResourceOrModel,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[H],
    ) -> H: ...
    async def get(
        self,
        resource: ResourceOrModel,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[Handle] | None = None,
    ) -> Handle:
        """Return one object from the cache; see ``Cache.get``.

        Raises:
            StaleReadError: The cache did not receive the own writes to the object in time.
        """
        reader = self._ready_reader(resource, form) or await self._find_reader(resource, form)
        if isinstance(reader, LiveRead):
            return await reader.get(name, namespace)
        if reader.own_writes and self._mode == "wait":
            key = reader.key_of(name, namespace)
            await reader.own_writes.wait(key=key, timeout=self._timeout)
        try:
            return self._get(reader, name, namespace)
        except CacheSyncError:
            place = reader.namespace_of(name, namespace)
            await wait_for_namespace(reader, place, self._timeout)
            return self._get(reader, name, namespace)

    def get_if_ready(
        self,
        resource: ResourceOrModel,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[Handle] | None = None,
    ) -> Handle | None:
        """Like ``get``, but ``None`` if it had to wait or to ask the server. On any thread."""
        reader = self._ready_reader(resource, form)
        if reader is None:
            return None
        if reader.own_writes and self._mode == "wait":
            key = reader.key_of(name, namespace)
            if not reader.own_writes.have_arrived(key=key):
                return None
        try:
            return self._get(reader, name, namespace)
        except CacheSyncError:
            return None

    def _get(
        self, reader: KindReader[Any], name: str | ObjectName, namespace: str | None
    ) -> Handle:
        found: Handle
        if reader.own_writes and self._mode == "overlay":
            for own in reader.own_writes.pending(key=reader.key_of(name, namespace)):
                found = reader.get_written(own)
                return found
        found = reader.get(name, namespace=namespace)
        return found

    @overload
    async def list(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
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
    ) -> ObjectList[Any]:
        """Return all objects of the cache that match; see ``Cache.list``.

        Raises:
            StaleReadError: The cache did not receive the own writes to the kind in time.
        """
        reader = self._ready_reader(resource, form) or await self._find_reader(resource, form)
        if isinstance(reader, LiveRead):
            return await reader.list(namespace, labels, fields, limit)
        if reader.own_writes and self._mode == "wait":
            await reader.own_writes.wait(namespace=namespace, timeout=self._timeout)
        try:
            return self._list(reader, namespace, labels, fields, limit)
        except CacheSyncError:
            await wait_for_namespace(reader, namespace, self._timeout)
            return self._list(reader, namespace, labels, fields, limit)

    def list_if_ready(
        self,
        resource: ResourceOrModel,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
        form: type[Handle] | None = None,
    ) -> ObjectList[Any] | None:
        """Like ``list``, but ``None`` if it had to wait or to ask the server. On any thread."""
        reader = self._ready_reader(resource, form)
        if reader is None or (
            reader.own_writes
            and self._mode == "wait"
            and not reader.own_writes.have_arrived(namespace=namespace)
        ):
            return None
        try:
            return self._list(reader, namespace, labels, fields, limit)
        except CacheSyncError:
            return None

    def _list(
        self,
        reader: KindReader[Any],
        namespace: str | None,
        labels: Labels,
        fields: FieldQuery,
        limit: int | None,
    ) -> ObjectList[Any]:
        overlay: Sequence[OwnWrite] = ()
        if reader.own_writes and self._mode == "overlay":
            overlay = reader.own_writes.pending(namespace=namespace)
        return reader.list(
            namespace=namespace, labels=labels, fields=fields, limit=limit, overlay=overlay
        )

    # -- the server --------------------------------------------------------------------------

    @property
    def discovery(self) -> Discovery:
        """The resources of the server."""
        return self.live.discovery

    @property
    def namespace(self) -> str:
        """The default namespace of verbs on a single object."""
        return self.live.namespace

    @property
    def reachability(self) -> Reachability:
        """The connection state of the server."""
        return self.live.reachability

    def view(self, form: type[H]) -> ClusterView[H]:
        """Return the verbs of the live client with all objects as ``form``."""
        return self.live.view(form)

    def add_write_hook(self, hook: WriteHook) -> None:
        """Call a hook before and after every write of the live client."""
        self.live.add_write_hook(hook)

    def remove_write_hook(self, hook: WriteHook) -> None:
        """Stop calling a hook. Idempotent."""
        self.live.remove_write_hook(hook)

    def __repr__(self) -> str:
        return f"<CachedClient of {self.live!r}>"
