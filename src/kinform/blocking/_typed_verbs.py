"""The blocking verbs for model classes and for untyped resources.

The verbs and their keywords are documented in ``kinform.Client``.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar, Unpack, overload

from kinform.api import ListOptions
from kinform.blocking._facade import iterate
from kinform.blocking._verbs import Verbs
from kinform.blocking._watch import Watch
from kinform.blocking._writer import Writer
from kinform.client import Client as AsyncClient
from kinform.client import (
    DeleteCollectionKeywords,
    DeleteKeywords,
    GetKeywords,
    ListKeywords,
    ObjectList,
    PageKeywords,
    PatchKeywords,
    Resource,
    ResourceOrModel,
    WatchKeywords,
)
from kinform.client import MetadataVerbs as AsyncMetadataVerbs
from kinform.objects import Handle, PartialObjectMetadata, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)


class TypedVerbs(Writer, Verbs[Unstructured]):
    """The verbs of ``kinform.Client``: objects of a model class if one is given, or untyped."""

    _inner: AsyncClient

    def view(self, form: type[H]) -> Verbs[H]:
        """Return the same verbs for objects of the class ``form``."""
        return Verbs(self._inner.view(form), self._owner)

    @overload
    def get(self, resource: type[M], name: str, **options: Unpack[GetKeywords]) -> M: ...
    @overload
    def get(
        self, resource: Resource, name: str, **options: Unpack[GetKeywords]
    ) -> Unstructured: ...
    @overload
    def get(
        self, resource: ResourceOrModel, name: str, *, form: type[H], **options: Unpack[GetKeywords]
    ) -> H: ...
    def get(self, resource: Any, name: str, **options: Any) -> Any:
        """Return one object."""
        return self._owner.run(self._inner.get(resource, name, **options))

    @overload
    def list(self, resource: type[M], **options: Unpack[ListKeywords]) -> ObjectList[M]: ...
    @overload
    def list(
        self, resource: Resource, **options: Unpack[ListKeywords]
    ) -> ObjectList[Unstructured]: ...
    def list(self, resource: Any, **options: Any) -> Any:
        """Return all matching objects, at one resource version."""
        return self._owner.run(self._inner.list(resource, **options))

    @overload
    def pages(
        self, resource: type[M], options: ListOptions | None = None, *, namespace: str | None = None
    ) -> Generator[ObjectList[M], None, None]: ...
    @overload
    def pages(
        self,
        resource: Resource,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
    ) -> Generator[ObjectList[Unstructured], None, None]: ...
    def pages(
        self, resource: Any, options: ListOptions | None = None, *, namespace: str | None = None
    ) -> Generator[ObjectList[Any], None, None]:
        """Iterate over the pages of a list."""
        return iterate(self._inner.pages(resource, options, namespace=namespace), self._owner)

    @overload
    def page(
        self, resource: type[M], options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[M]: ...
    @overload
    def page(
        self, resource: Resource, options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[Unstructured]: ...
    def page(self, resource: Any, options: ListOptions, **more: Any) -> Any:
        """Return one page of a list with a single request."""
        return self._owner.run(self._inner.page(resource, options, **more))

    @overload
    def watch(
        self, resource: type[M], options: ListOptions | None = None, **more: Unpack[WatchKeywords]
    ) -> Watch[M]: ...
    @overload
    def watch(
        self, resource: Resource, options: ListOptions | None = None, **more: Unpack[WatchKeywords]
    ) -> Watch[Unstructured]: ...
    def watch(self, resource: Any, options: ListOptions | None = None, **more: Any) -> Watch[Any]:
        """Watch changes after ``resource_version``, or all existing objects and then changes."""
        return Watch(self._inner.watch(resource, options, **more), self._owner)


class MetadataVerbs(Verbs[PartialObjectMetadata]):
    """The verbs of ``kinform.Client.metadata``. A model class only names its resource."""

    _inner: AsyncMetadataVerbs

    def get(
        self, resource: ResourceOrModel, name: str, **options: Unpack[GetKeywords]
    ) -> PartialObjectMetadata:
        return self._owner.run(self._inner.get(resource, name, **options))

    def list(
        self, resource: ResourceOrModel, **options: Unpack[ListKeywords]
    ) -> ObjectList[PartialObjectMetadata]:
        return self._owner.run(self._inner.list(resource, **options))

    def pages(
        self,
        resource: ResourceOrModel,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
    ) -> Generator[ObjectList[PartialObjectMetadata], None, None]:
        return iterate(self._inner.pages(resource, options, namespace=namespace), self._owner)

    def page(
        self, resource: ResourceOrModel, options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[PartialObjectMetadata]:
        return self._owner.run(self._inner.page(resource, options, **more))

    def watch(
        self,
        resource: ResourceOrModel,
        options: ListOptions | None = None,
        **more: Unpack[WatchKeywords],
    ) -> Watch[PartialObjectMetadata]:
        return Watch(self._inner.watch(resource, options, **more), self._owner)

    def patch(
        self, resource: ResourceOrModel, name: str, patch: Any, **options: Unpack[PatchKeywords]
    ) -> PartialObjectMetadata:
        return self._owner.run(self._inner.patch(resource, name, patch, **options))

    def delete(
        self, resource: ResourceOrModel, name: str, **options: Unpack[DeleteKeywords]
    ) -> PartialObjectMetadata | None:
        return self._owner.run(self._inner.delete(resource, name, **options))

    def delete_collection(
        self, resource: ResourceOrModel, **options: Unpack[DeleteCollectionKeywords]
    ) -> None:
        self._owner.run(self._inner.delete_collection(resource, **options))
