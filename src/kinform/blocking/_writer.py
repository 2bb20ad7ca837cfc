"""The blocking writes for model classes and for untyped resources.

The verbs and their keywords are documented in ``kinform.Client``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, Unpack, overload

from kinform.blocking._facade import BlockingFacade
from kinform.client import (
    ApplyKeywords,
    DeleteCollectionKeywords,
    DeleteKeywords,
    ObjectOrMapping,
    PatchKeywords,
    Resource,
    ResourceOrModel,
    WriteKeywords,
)
from kinform.objects import Handle, TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)
H = TypeVar("H", bound=Handle)


class Writer(BlockingFacade):
    """The writes of ``kinform.Client``: objects of a model class if one is given, or untyped."""

    @overload
    def patch(
        self, resource: type[M], name: str, patch: Any, **options: Unpack[PatchKeywords]
    ) -> M: ...
    @overload
    def patch(
        self, resource: Resource, name: str, patch: Any, **options: Unpack[PatchKeywords]
    ) -> Unstructured: ...
    @overload
    def patch(
        self,
        resource: ResourceOrModel,
        name: str,
        patch: Any,
        *,
        form: type[H],
        **options: Unpack[PatchKeywords],
    ) -> H: ...
    def patch(self, resource: Any, name: str, patch: Any, **options: Any) -> Any:
        """Change part of an object: a dict to merge, or a list of JSON patch operations."""
        return self._owner.run(self._inner.patch(resource, name, patch, **options))

    @overload
    def delete(
        self, resource: type[M], name: str, **options: Unpack[DeleteKeywords]
    ) -> M | None: ...
    @overload
    def delete(
        self, resource: Resource, name: str, **options: Unpack[DeleteKeywords]
    ) -> Unstructured | None: ...
    def delete(self, resource: Any, name: str, **options: Any) -> Any:
        """Delete one object; return it if it still exists (finalizers, grace), else ``None``."""
        return self._owner.run(self._inner.delete(resource, name, **options))

    def delete_collection(
        self, resource: ResourceOrModel, **options: Unpack[DeleteCollectionKeywords]
    ) -> None:
        """Delete all matching objects; the server deletes them one by one."""
        self._owner.run(self._inner.delete_collection(resource, **options))

    @overload
    def create(self, obj: M, **options: Unpack[WriteKeywords]) -> M: ...
    @overload
    def create(self, obj: Mapping[str, Any], **options: Unpack[WriteKeywords]) -> Unstructured: ...
    @overload
    def create(
        self, obj: ObjectOrMapping, *, form: type[H], **options: Unpack[WriteKeywords]
    ) -> H: ...
    def create(self, obj: Any, **options: Any) -> Any:
        """Create an object, or a subresource of the object ``name``."""
        return self._owner.run(self._inner.create(obj, **options))

    @overload
    def update(self, obj: M, **options: Unpack[WriteKeywords]) -> M: ...
    @overload
    def update(self, obj: Mapping[str, Any], **options: Unpack[WriteKeywords]) -> Unstructured: ...
    @overload
    def update(
        self, obj: ObjectOrMapping, *, form: type[H], **options: Unpack[WriteKeywords]
    ) -> H: ...
    def update(self, obj: Any, **options: Any) -> Any:
        """Replace an object, or a subresource such as ``status``."""
        return self._owner.run(self._inner.update(obj, **options))

    @overload
    def apply(self, obj: M, **options: Unpack[ApplyKeywords]) -> M: ...
    @overload
    def apply(self, obj: Mapping[str, Any], **options: Unpack[ApplyKeywords]) -> Unstructured: ...
    @overload
    def apply(
        self, obj: ObjectOrMapping, *, form: type[H], **options: Unpack[ApplyKeywords]
    ) -> H: ...
    def apply(self, obj: Any, **options: Any) -> Any:
        """Server-side apply: create the object, or set the given fields and own them."""
        return self._owner.run(self._inner.apply(obj, **options))
