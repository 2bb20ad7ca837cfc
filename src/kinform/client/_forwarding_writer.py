"""Forwards writes to another client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, Unpack, overload

from kinform.client._keywords import (
    ApplyKeywords,
    DeleteCollectionKeywords,
    DeleteKeywords,
    PatchKeywords,
    WriteKeywords,
)
from kinform.client._object_writer import ObjectOrMapping
from kinform.client._protocols import Writer
from kinform.client._resources import Resource, ResourceOrModel
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)


class ForwardingWriter:
    """Base class of clients that read elsewhere and write through another client.

    Args:
        writer: Receives all writes.
    """

    def __init__(self, writer: Writer) -> None:
        # Untyped, because the arguments of an overload cannot be forwarded as they are.
        self._writer: Any = writer

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
        written: Handle = await self._writer.create(obj, form=form, **options)
        return written

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
        written: Handle = await self._writer.update(obj, form=form, **options)
        return written

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
        written: Handle = await self._writer.apply(obj, form=form, **options)
        return written

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
        written: Handle = await self._writer.patch(resource, name, patch, form=form, **options)
        return written

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
        written: Handle | None = await self._writer.delete(resource, name, **options)
        return written

    async def delete_collection(
        self, resource: ResourceOrModel, **options: Unpack[DeleteCollectionKeywords]
    ) -> None:
        """Delete all matching objects."""
        await self._writer.delete_collection(resource, **options)
