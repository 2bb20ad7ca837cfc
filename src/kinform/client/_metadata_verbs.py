"""The verbs for metadata only."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Unpack

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
from kinform.client._resources import ResourceOrModel, place_of
from kinform.client._verbs import Verbs
from kinform.client._watch import Watch
from kinform.objects import PartialObjectMetadata


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
