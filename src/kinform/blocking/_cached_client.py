"""The blocking client that reads from a cache."""

from __future__ import annotations

from typing import Any, TypeVar, Unpack, overload

from kinform.api import ListOptions, ObjectName
from kinform.blocking._client import Client
from kinform.blocking._facade import direct_method
from kinform.blocking._owner import Owner
from kinform.blocking._verbs import Discovery, Verbs
from kinform.blocking._watch import Watch
from kinform.blocking._writer import Writer
from kinform.cache import CachedClient as AsyncCachedClient
from kinform.cache import FieldQuery
from kinform.client import (
    Labels,
    ObjectList,
    PageKeywords,
    Reachability,
    Resource,
    ResourceOrModel,
    WatchKeywords,
)
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)


class CachedClient(Writer):
    """A client whose ``get`` and ``list`` read from a cache; everything else goes to the server.

        client = cache.client()
        client.create(pod)
        client.get(Pod, pod.name)      # waits until the cache has the pod
        client.live.get(Pod, pod.name)

    Reads run on the calling thread, unless they have to wait. See ``kinform.cache.CachedClient``.

    Attributes:
        live: The client of the cluster, for reads that bypass the cache.
    """

    _inner: AsyncCachedClient

    def __init__(self, inner: AsyncCachedClient, owner: Owner, live: Client) -> None:
        super().__init__(inner, owner)
        self.live = live

    # -- reading -----------------------------------------------------------------------------

    @overload
    def get(
        self, resource: type[M], name: str | ObjectName, *, namespace: str | None = None
    ) -> M: ...
    @overload
    def get(
        self, resource: Resource, name: str | ObjectName, *, namespace: str | None = None
    ) -> Unstructured: ...
    @overload
    def get(
        self,
        resource: ResourceOrModel,
        name: str | ObjectName,
        *,
        namespace: str | None = None,
        form: type[H],
    ) -> H: ...
    def get(self, resource: Any, name: str | ObjectName, **options: Any) -> Any:
        """Return one object from the cache; see ``Cache.get``.

        Raises:
            StaleReadError: The cache did not receive the own writes to the object in time.
        """
        if not self._owner.loop.is_forked:
            found = self._inner.get_if_ready(resource, name, **options)
            if found is not None:
                return found
        return self._owner.run(self._inner.get(resource, name, **options))

    @overload
    def list(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: FieldQuery = "",
        limit: int | None = None,
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
    ) -> ObjectList[H]: ...
    def list(self, resource: Any, **options: Any) -> Any:
        """Return all objects of the cache that match; see ``Cache.list``.

        Raises:
            StaleReadError: The cache did not receive the own writes to the kind in time.
        """
        if not self._owner.loop.is_forked:
            found = self._inner.list_if_ready(resource, **options)
            if found is not None:
                return found
        return self._owner.run(self._inner.list(resource, **options))

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
        return self._inner.reachability

    def view(self, form: type[H]) -> Verbs[H]:
        """Return the verbs of the live client with all objects as ``form``."""
        return self.live.view(form)

    @overload
    def page(
        self, resource: type[M], options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[M]: ...
    @overload
    def page(
        self, resource: Resource, options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[Unstructured]: ...
    def page(self, resource: Any, options: ListOptions, **more: Any) -> Any:
        """Request one page of a list from the server."""
        return self.live.page(resource, options, **more)

    @overload
    def watch(
        self, resource: type[M], options: ListOptions | None = None, **more: Unpack[WatchKeywords]
    ) -> Watch[M]: ...
    @overload
    def watch(
        self, resource: Resource, options: ListOptions | None = None, **more: Unpack[WatchKeywords]
    ) -> Watch[Unstructured]: ...
    def watch(self, resource: Any, options: ListOptions | None = None, **more: Any) -> Watch[Any]:
        """Watch changes on the server."""
        return self.live.watch(resource, options, **more)

    add_write_hook = direct_method(AsyncCachedClient.add_write_hook)
    remove_write_hook = direct_method(AsyncCachedClient.remove_write_hook)

    def __repr__(self) -> str:
        return f"<blocking CachedClient of {self.live!r}>"
