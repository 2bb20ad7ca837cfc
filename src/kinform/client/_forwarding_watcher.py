"""Forwards lists of single pages and watches to another client."""

from __future__ import annotations

from typing import Any, TypeVar, Unpack, overload

from kinform.api import ListOptions
from kinform.client._keywords import PageKeywords, WatchKeywords
from kinform.client._lists import ObjectList
from kinform.client._protocols import Watcher
from kinform.client._resources import Resource, ResourceOrModel
from kinform.client._watch import Watch
from kinform.objects import TypedObject, Unstructured

M = TypeVar("M", bound=TypedObject)


class ForwardingWatcher:
    """Base class of clients that read elsewhere and watch through another client.

    Args:
        watcher: Receives all requests for pages and watches.
    """

    def __init__(self, watcher: Watcher) -> None:
        # Untyped, because the arguments of an overload cannot be forwarded as they are.
        self._watcher: Any = watcher

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
        """Request one page of a list from the server; see ``Client.page``."""
        page: ObjectList[Any] = await self._watcher.page(resource, options, **more)
        return page

    @overload
    def watch(
        self, resource: type[M], options: ListOptions | None = None, **more: Unpack[WatchKeywords]
    ) -> Watch[M]: ...
    @overload
    def watch(
        self, resource: Resource, options: ListOptions | None = None, **more: Unpack[WatchKeywords]
    ) -> Watch[Unstructured]: ...
    def watch(
        self,
        resource: ResourceOrModel,
        options: ListOptions | None = None,
        **more: Unpack[WatchKeywords],
    ) -> Watch[Any]:
        """Watch changes on the server; see ``Client.watch``."""
        watch: Watch[Any] = self._watcher.watch(resource, options, **more)
        return watch
