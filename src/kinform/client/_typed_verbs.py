"""Verbs with typed results: a model class as the resource returns objects of that class."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, TypeVar, Unpack, overload

from kinform.api import ListOptions
from kinform.client._keywords import (
    DeleteCollectionKeywords,
    DeleteKeywords,
    GetKeywords,
    ListKeywords,
    PageKeywords,
    PatchKeywords,
    WatchKeywords,
)
from kinform.client._lists import ObjectList
from kinform.client._resolver import Resource, ResourceOrModel, place_of
from kinform.client._verbs import Verbs
from kinform.client._watch import Watch
from kinform.errors import ConfigError
from kinform.objects import Handle, PartialObjectMetadata, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)


class TypedVerbs(Verbs[Unstructured]):
    """The verbs of ``Verbs``, returning objects of the model class they are called with.

    ``form`` is for responses of another kind than the resource, such as the ``Scale`` of a
    ``Deployment``.
    """

    def view(self, form: type[H]) -> Verbs[H]:
        """Return the same verbs with all objects as ``form``.

        Raises:
            ConfigError: ``form`` is not a class of objects.
        """
        return Verbs(
            checked_form(form),
            self._exchange,
            self.discovery,
            self._negotiation,
            self.namespace,
            self._page_size,
        )

    @overload
    async def get(self, resource: type[M], name: str, **options: Unpack[GetKeywords]) -> M: ...
    @overload
    async def get(
        self, resource: Resource, name: str, **options: Unpack[GetKeywords]
    ) -> Unstructured: ...
    @overload
    async def get(
        self, resource: ResourceOrModel, name: str, *, form: type[H], **options: Unpack[GetKeywords]
    ) -> H: ...
    async def get(
        self,
        resource: ResourceOrModel,
        name: str,
        *,
        form: type[Handle] | None = None,
        **options: Unpack[GetKeywords],
    ) -> Handle:
        """Return one object.

        Raises:
            NotFoundError: The object does not exist.
            DecodeError: The response is of another kind; the message names the ``form`` to pass.
        """
        return await self._view(resource, form).get(place_of(resource), name, **options)

    @overload
    async def list(self, resource: type[M], **options: Unpack[ListKeywords]) -> ObjectList[M]: ...
    @overload
    async def list(
        self, resource: Resource, **options: Unpack[ListKeywords]
    ) -> ObjectList[Unstructured]: ...
    async def list(
        self, resource: ResourceOrModel, **options: Unpack[ListKeywords]
    ) -> ObjectList[Any]:
        """Return all objects that match, as of one resource version. See ``Verbs.list``."""
        return await self._view(resource).list(place_of(resource), **options)

    @overload
    def pages(
        self,
        resource: type[M],
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
    ) -> AsyncGenerator[ObjectList[M], None]: ...
    @overload
    def pages(
        self,
        resource: Resource,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
    ) -> AsyncGenerator[ObjectList[Unstructured], None]: ...
    def pages(
        self,
        resource: ResourceOrModel,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
    ) -> AsyncGenerator[ObjectList[Any], None]:
        """Iterate over the pages of a list. See ``Verbs.pages``."""
        return self._view(resource).pages(place_of(resource), options, namespace=namespace)

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
        """Request one page. See ``Verbs.page``."""
        return await self._view(resource).page(place_of(resource), options, **more)

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
        """Watch changes after ``resource_version``. See ``Verbs.watch``."""
        return self._view(resource).watch(place_of(resource), options, **more)

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
        return await self._view(resource, form).patch(place_of(resource), name, patch, **options)

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
        """Delete an object; return it if the removal is delayed. See ``Verbs.delete``."""
        return await self._view(resource).delete(place_of(resource), name, **options)

    async def delete_collection(
        self, resource: ResourceOrModel, **options: Unpack[DeleteCollectionKeywords]
    ) -> None:
        """Delete all matching objects. See ``Verbs.delete_collection``."""
        await super().delete_collection(place_of(resource), **options)

    def _view(self, resource: ResourceOrModel, form: type[Handle] | None = None) -> Verbs[Handle]:
        return self.view(form or form_of(resource))


class MetadataVerbs(Verbs[PartialObjectMetadata]):
    """The same verbs for metadata only. A model class stands for its resource."""

    async def get(
        self, resource: ResourceOrModel, name: str, **options: Unpack[GetKeywords]
    ) -> PartialObjectMetadata:
        return await super().get(place_of(resource), name, **options)

    async def list(
        self, resource: ResourceOrModel, **options: Unpack[ListKeywords]
    ) -> ObjectList[PartialObjectMetadata]:
        return await super().list(place_of(resource), **options)

    def pages(
        self,
        resource: ResourceOrModel,
        options: ListOptions | None = None,
        *,
        namespace: str | None = None,
    ) -> AsyncGenerator[ObjectList[PartialObjectMetadata], None]:
        return super().pages(place_of(resource), options, namespace=namespace)

    async def page(
        self, resource: ResourceOrModel, options: ListOptions, **more: Unpack[PageKeywords]
    ) -> ObjectList[PartialObjectMetadata]:
        return await super().page(place_of(resource), options, **more)

    def watch(
        self,
        resource: ResourceOrModel,
        options: ListOptions | None = None,
        **more: Unpack[WatchKeywords],
    ) -> Watch[PartialObjectMetadata]:
        return super().watch(place_of(resource), options, **more)

    async def patch(
        self, resource: ResourceOrModel, name: str, patch: Any, **options: Unpack[PatchKeywords]
    ) -> PartialObjectMetadata:
        return await super().patch(place_of(resource), name, patch, **options)

    async def delete(
        self, resource: ResourceOrModel, name: str, **options: Unpack[DeleteKeywords]
    ) -> PartialObjectMetadata | None:
        return await super().delete(place_of(resource), name, **options)

    async def delete_collection(
        self, resource: ResourceOrModel, **options: Unpack[DeleteCollectionKeywords]
    ) -> None:
        await super().delete_collection(place_of(resource), **options)


def form_of(thing: object) -> type[Handle]:
    """Return the default class of the objects of a resource, a model class or an object."""
    asked = thing if isinstance(thing, type) else type(thing)
    return asked if issubclass(asked, TypedObject) else Unstructured


def checked_form(form: type[H]) -> type[H]:
    """Return ``form`` if it is a class of objects.

    Raises:
        ConfigError: ``form`` is not a class of objects.
    """
    if not _is_form(form):
        raise ConfigError(
            f"objects cannot come out as {form!r}; a form is a class of kinform.models, "
            "Unstructured or PartialObjectMetadata"
        )
    return form


def _is_form(form: object) -> bool:
    if not isinstance(form, type) or not issubclass(form, Handle):
        return False
    # TypedObject itself has no kind.
    return not issubclass(form, TypedObject) or hasattr(form, "class_gvk")
