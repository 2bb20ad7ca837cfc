"""What programs need of a client, as Protocols: ``Reader``, ``Writer`` and ``Watcher``.

``Client`` satisfies all three. Code that takes a Protocol accepts a caching, recording or
delegating client as well. ``ViewReader`` and ``ViewWatcher`` are their counterparts for objects of
one form, which ``client.metadata`` and ``client.view(...)`` satisfy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, Unpack, overload

from kinform._checks import expect_client
from kinform.api import ListOptions
from kinform.client._arguments import Fields, Labels
from kinform.client._discovery import Discovery
from kinform.client._forms import form_of
from kinform.client._keywords import (
    ApplyKeywords,
    DeleteCollectionKeywords,
    DeleteKeywords,
    PageKeywords,
    PatchKeywords,
    WatchKeywords,
    WriteKeywords,
)
from kinform.client._lists import ObjectList
from kinform.client._object_writer import ObjectOrMapping
from kinform.client._reachability import Reachability
from kinform.client._resources import Resource, ResourceOrModel
from kinform.client._watch import Watch
from kinform.client._write_hooks import WriteHook
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)
T = TypeVar("T", bound=Handle)


class Reader(Protocol):
    """Reads objects, from a server or from a cache."""

    @overload
    async def get(self, resource: type[M], name: str, *, namespace: str | None = None) -> M: ...
    @overload
    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None
    ) -> Unstructured: ...
    async def get(
        self, resource: ResourceOrModel, name: str, *, namespace: str | None = None
    ) -> Handle:
        """Return one object.

        Raises:
            NotFoundError: The object does not exist.
        """
        ...

    @overload
    async def list(
        self,
        resource: type[M],
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        limit: int | None = None,
    ) -> ObjectList[M]: ...
    @overload
    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        limit: int | None = None,
    ) -> ObjectList[Unstructured]: ...
    async def list(
        self,
        resource: ResourceOrModel,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        limit: int | None = None,
    ) -> ObjectList[Any]:
        """Return all objects that match, as of one resource version."""
        ...


class Writer(Protocol):
    """Writes objects. A subresource such as ``status`` is written with ``subresource=``."""

    @overload
    async def create(self, obj: M, **options: Unpack[WriteKeywords]) -> M: ...
    @overload
    async def create(
        self, obj: Mapping[str, Any], **options: Unpack[WriteKeywords]
    ) -> Unstructured: ...
    @overload
    async def create(
        self, obj: ObjectOrMapping, *, form: type[H], **options: Unpack[WriteKeywords]
    ) -> H: ...
    async def create(
        self,
        obj: ObjectOrMapping,
        *,
        form: type[Handle] | None = None,
        **options: Unpack[WriteKeywords],
    ) -> Handle:
        """Create an object, or a subresource of the object ``name``."""
        ...

    @overload
    async def update(self, obj: M, **options: Unpack[WriteKeywords]) -> M: ...
    @overload
    async def update(
        self, obj: Mapping[str, Any], **options: Unpack[WriteKeywords]
    ) -> Unstructured: ...
    @overload
    async def update(
        self, obj: ObjectOrMapping, *, form: type[H], **options: Unpack[WriteKeywords]
    ) -> H: ...
    async def update(
        self,
        obj: ObjectOrMapping,
        *,
        form: type[Handle] | None = None,
        **options: Unpack[WriteKeywords],
    ) -> Handle:
        """Replace an object, or a subresource of it."""
        ...

    @overload
    async def apply(self, obj: M, **options: Unpack[ApplyKeywords]) -> M: ...
    @overload
    async def apply(
        self, obj: Mapping[str, Any], **options: Unpack[ApplyKeywords]
    ) -> Unstructured: ...
    @overload
    async def apply(
        self, obj: ObjectOrMapping, *, form: type[H], **options: Unpack[ApplyKeywords]
    ) -> H: ...
    async def apply(
        self,
        obj: ObjectOrMapping,
        *,
        form: type[Handle] | None = None,
        **options: Unpack[ApplyKeywords],
    ) -> Handle:
        """Server-side apply: create the object, or set the given fields and own them."""
        ...

    @overload
    async def patch(
        self, resource: type[M], name: str, patch: Any, **options: Unpack[PatchKeywords]
    ) -> M: ...
    @overload
    async def patch(
        self, resource: Resource, name: str, patch: Any, **options: Unpack[PatchKeywords]
    ) -> Unstructured: ...
    @overload
    async def patch(
        self,
        resource: ResourceOrModel,
        name: str,
        patch: Any,
        *,
        form: type[H],
        **options: Unpack[PatchKeywords],
    ) -> H: ...
    async def patch(
        self,
        resource: ResourceOrModel,
        name: str,
        patch: Any,
        *,
        form: type[Handle] | None = None,
        **options: Unpack[PatchKeywords],
    ) -> Handle:
        """Patch an object with a dict to merge or a list of JSON patch operations."""
        ...

    @overload
    async def delete(
        self, resource: type[M], name: str, **options: Unpack[DeleteKeywords]
    ) -> M | None: ...
    @overload
    async def delete(
        self, resource: Resource, name: str, **options: Unpack[DeleteKeywords]
    ) -> Unstructured | None: ...
    async def delete(
        self, resource: ResourceOrModel, name: str, **options: Unpack[DeleteKeywords]
    ) -> Handle | None:
        """Delete an object; return it if finalizers or a grace period delay the removal."""
        ...

    async def delete_collection(
        self, resource: ResourceOrModel, **options: Unpack[DeleteCollectionKeywords]
    ) -> None:
        """Delete all matching objects."""
        ...


class ViewReader(Protocol[T]):
    """Reads objects in one form, whatever names the resource."""

    async def get(self, resource: Resource, name: str, *, namespace: str | None = None) -> T:
        """Return one object."""
        ...

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        labels: Labels = "",
        fields: Fields = "",
        limit: int | None = None,
    ) -> ObjectList[T]:
        """Return all objects that match, as of one resource version."""
        ...


class ViewWatcher(Protocol[T]):
    """Lists and watches objects in one form: what the source of an informer needs."""

    @property
    def form(self) -> type[T]:
        """The class of the returned objects."""
        ...

    @property
    def reachability(self) -> Reachability:
        """The connection state of the server, shared by all informers of a client."""
        ...

    async def page(
        self,
        resource: Resource,
        options: ListOptions,
        *,
        namespace: str | None = None,
        retry: bool = True,
    ) -> ObjectList[T]:
        """Request one page of a list."""
        ...

    def watch(
        self,
        resource: Resource,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
        retry: bool = True,
    ) -> Watch[T]:
        """Watch changes after a resource version."""
        ...


class Watcher(Protocol):
    """Lists and watches objects in any form: what informers need of a client."""

    @property
    def reachability(self) -> Reachability:
        """The connection state of the server, shared by all informers of a client."""
        ...

    def view(self, form: type[H]) -> ViewWatcher[H]:
        """Return the same verbs with all objects as ``form``.

        ``PartialObjectMetadata`` requests metadata only.
        """
        ...

    @overload
    async def page(
        self, resource: type[M], options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[M]: ...
    @overload
    async def page(
        self, resource: Resource, options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[Unstructured]: ...
    async def page(
        self, resource: ResourceOrModel, options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[Any]:
        """Request one page of a list."""
        ...

    @overload
    def watch(
        self,
        resource: type[M],
        options: ListOptions | None = None,
        **more: Unpack[WatchKeywords],
    ) -> Watch[M]: ...
    @overload
    def watch(
        self,
        resource: Resource,
        options: ListOptions | None = None,
        **more: Unpack[WatchKeywords],
    ) -> Watch[Unstructured]: ...
    def watch(
        self,
        resource: ResourceOrModel,
        options: ListOptions | None = None,
        **more: Unpack[WatchKeywords],
    ) -> Watch[Any]:
        """Watch changes after a resource version."""
        ...


class ClusterView(ViewReader[T], ViewWatcher[T], Protocol[T]):
    """Reads, lists and watches objects in one form."""


class ClusterReader(Reader, Watcher, Protocol):
    """Reads, lists and watches any object of a cluster: what a cache needs of a client."""

    @property
    def discovery(self) -> Discovery:
        """The resources of the server."""
        ...

    @property
    def namespace(self) -> str:
        """The default namespace of verbs on a single object."""
        ...

    def view(self, form: type[H]) -> ClusterView[H]:
        """Return the same verbs with all objects as ``form``."""
        ...


class ClusterClient(ClusterReader, Writer, Protocol):
    """Reads and writes any object of a cluster, and reports its writes to hooks."""

    def add_write_hook(self, hook: WriteHook) -> None:
        """Call a hook before and after every write."""
        ...

    def remove_write_hook(self, hook: WriteHook) -> None:
        """Stop calling a hook. Idempotent."""
        ...


def watcher_view(
    client: Watcher | ViewWatcher[Any], resource: object, *, receiver: str
) -> ViewWatcher[Any]:
    """Return the view of a client for informers of a resource or a model class.

    A view, such as ``client.metadata``, keeps its own form and is returned unchanged.

    Raises:
        ConfigError: It is neither a client nor a view; the message names ``receiver``.
    """
    if hasattr(client, "view"):
        expect_client(client, Watcher, receiver=receiver)
        return client.view(form_of(resource))
    expect_client(client, ViewWatcher, receiver=receiver)
    return client
