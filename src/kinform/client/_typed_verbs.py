"""Verbs with typed results: a model class as the resource returns objects of that class."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from typing import Any, TypeVar, Unpack, overload

from kinform.api import ListOptions
from kinform.client._forms import checked_form, form_of
from kinform.client._keywords import (
    ApplyKeywords,
    DeleteCollectionKeywords,
    DeleteKeywords,
    GetKeywords,
    ListKeywords,
    PageKeywords,
    PatchKeywords,
    WatchKeywords,
    WriteKeywords,
)
from kinform.client._lists import ObjectList
from kinform.client._object_writer import ObjectOrMapping, ObjectWriter
from kinform.client._resources import Resource, ResourceOrModel, place_of
from kinform.client._shared_parts import SharedParts
from kinform.client._verbs import Verbs
from kinform.client._watch import Watch
from kinform.errors import InvalidNameError
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)


class TypedVerbs(Verbs[Unstructured]):
    """The verbs of ``Verbs``, returning objects of the model class they are called with.

    ``form`` is for responses of another kind than the resource, such as the ``Scale`` of a
    ``Deployment``.

    ``create``, ``update`` and ``apply`` send whole objects and return objects of the class that was
    sent. Their keywords:

        form: The class of the returned object, if the response is of another kind.
        resource: The resource to send to, if it differs from that of the object's kind.
        namespace: The namespace; defaults to that of the object, then to that of the client.
        name: The name of the object whose subresource is written, if the object has none.
        subresource: A subresource such as ``status``, ``scale`` or ``eviction``.
        field_manager: The name under which the server records the ownership of fields.
        field_validation: ``Strict``, ``Warn`` or ``Ignore`` for unknown fields.
        dry_run: Process the request without storing the result.

    They raise ``EncodeError`` if a value cannot be encoded or does not match its model.
    """

    def __init__(self, state: SharedParts) -> None:
        super().__init__(Unstructured, state)
        self._object_writer = ObjectWriter(state, self._requester)

    def view(self, form: type[H]) -> Verbs[H]:
        """Return the same verbs with all objects as ``form``.

        Raises:
            ConfigError: ``form`` is not a class of objects.
        """
        return Verbs(checked_form(form), self._state)

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
        """Create an object, or a subresource of the object ``name``: ``subresource="eviction"``.

        If the server only confirms success, as for an eviction, the object that was sent is
        returned. Pass ``form=Status`` to get the confirmation itself.

        Raises:
            AlreadyExistsError: An object of this name exists.
        """
        name, subresource = options.get("name"), options.get("subresource")
        if subresource and not name:
            raise InvalidNameError(f"{subresource!r} of which object? pass name=")
        if name and not subresource:
            raise InvalidNameError(
                f"name={name!r} is only for subresources; set the name in the object's metadata"
            )
        return await self._object_writer.write("create", obj, form, **options)

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
        """Replace an object, or a subresource of it such as ``status``.

        If the object was read with fields that its model does not know, the update is sent as a
        patch of the edits, so that these fields are kept.

        Raises:
            ConflictError: The object changed since it was read. Read, edit and update it again.
        """
        return await self._object_writer.write("update", obj, form, **options)

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
        """Server-side apply: create the object, or set the given fields and own them.

        Raises:
            ConflictError: Another manager owns one of the fields; ``force`` takes ownership.
        """
        return await self._object_writer.write("apply", obj, form, **options)

    def _view(self, resource: ResourceOrModel, form: type[Handle] | None = None) -> Verbs[Handle]:
        return self.view(form or form_of(resource))
