"""Keeps a picture of the cluster up to date, with three informers and a handler on each."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from kinform.api import GVR
from kinform.cli.demo._picture import DEPLOYMENTS, NODES, PODS, News, Picture
from kinform.client import Client
from kinform.informers import DeletedObject, DynamicSharedInformerFactory
from kinform.objects import Unstructured


class Follower:
    """Updates the picture from the informers. ``on_news`` receives each notable change.

    It runs inside ``async with``; on entry, the picture is complete.
    """

    def __init__(self, client: Client, picture: Picture) -> None:
        self.on_news: Callable[[News], None] = lambda news: None
        self._factory = DynamicSharedInformerFactory(client)
        self._registrations = [
            self._factory.for_resource(gvr).informer.add_event_handler(_Handler(self, gvr, picture))
            for gvr in (NODES, DEPLOYMENTS, PODS)
        ]

    async def __aenter__(self) -> Self:
        self._factory.start()
        for registration in self._registrations:
            await registration.has_synced
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._factory.shutdown()


class _Handler:
    """Handles the events of one resource, on the loop, so that updates and painting alternate."""

    def __init__(self, follower: Follower, gvr: GVR, picture: Picture) -> None:
        self._follower = follower
        self._gvr = gvr
        self._picture = picture

    async def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
        if is_in_initial_list:
            self._picture.put(self._gvr, obj)
        else:
            self._apply(obj)

    async def on_update(self, old: Unstructured, new: Unstructured) -> None:
        self._apply(new)

    async def on_delete(self, deleted: DeletedObject[Unstructured]) -> None:
        if deleted.object is not None:
            self._apply(deleted.object, gone=True)

    def _apply(self, obj: Unstructured, *, gone: bool = False) -> None:
        news = self._picture.apply(self._gvr, obj, gone=gone)
        if news is not None:
            self._follower.on_news(news)
