"""Keeps a picture of the cluster up to date, with three informers and a handler on each."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Self

from kinform.api import GVR
from kinform.cli.demo._ledger import Ledger
from kinform.cli.demo._picture import RESOURCES, Health, News, Picture
from kinform.client import Client
from kinform.informers import DeletedObject, DynamicSharedInformerFactory, SharedIndexInformer
from kinform.objects import Unstructured


class Follower:
    """Updates the picture and the ledger from the informers. ``on_news`` receives the news.

    It runs inside ``async with``; on entry, the picture is complete.
    """

    def __init__(self, client: Client, picture: Picture, ledger: Ledger) -> None:
        self.on_news: Callable[[News], None] = lambda news: None
        self._picture = picture
        self._factory = DynamicSharedInformerFactory(client)
        self.informers: dict[GVR, SharedIndexInformer[Unstructured]] = {
            gvr: self._factory.for_resource(gvr).informer for gvr in RESOURCES.values()
        }
        self._registrations = [
            informer.add_event_handler(_Handler(self, gvr, picture, ledger))
            for gvr, informer in self.informers.items()
        ]

    def announce(self, health: Health, subject: str, text: str) -> None:
        """Add news that did not come from the cluster."""
        news = News(health, subject, text)
        self._picture.news.append(news)
        self.on_news(news)

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

    def __init__(self, follower: Follower, gvr: GVR, picture: Picture, ledger: Ledger) -> None:
        self._follower = follower
        self._gvr = gvr
        self._picture = picture
        self._ledger = ledger

    async def on_add(self, obj: Unstructured, is_in_initial_list: bool) -> None:
        if is_in_initial_list:
            self._picture.put(self._gvr, obj)
        else:
            self._received(obj)

    async def on_update(self, old: Unstructured, new: Unstructured) -> None:
        self._received(new)

    async def on_delete(self, deleted: DeletedObject[Unstructured]) -> None:
        if deleted.object is None:
            return
        if deleted.final_state_unknown:
            self._ledger.received_deletion(self._gvr, deleted.key)
            self._apply(deleted.object, gone=True)
        else:
            self._received(deleted.object, gone=True)

    def _received(self, obj: Unstructured, *, gone: bool = False) -> None:
        self._ledger.received(self._gvr, obj.key, int(obj.resource_version))
        self._apply(obj, gone=gone)

    def _apply(self, obj: Unstructured, *, gone: bool) -> None:
        news = self._picture.apply(self._gvr, obj, gone=gone)
        if news is not None:
            self._follower.on_news(news)
