"""A client in, a picture that follows the cluster out: list, then watch, and again if need be."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any

from kinform.api import GVR
from kinform.cli._demo_cluster import DEPLOYMENTS, NODES, PODS, News, Picture
from kinform.client import Client
from kinform.errors import ExpiredError

_FOLLOWED = (NODES, DEPLOYMENTS, PODS)


class Follower:
    """Keeps the picture what the server says. ``on_news`` hears of what is worth telling."""

    def __init__(self, client: Client, picture: Picture) -> None:
        self._client = client
        self._picture = picture
        self.on_news: Callable[[News], None] = lambda news: None

    async def list_all(self) -> None:
        """One look at everything."""
        for gvr in _FOLLOWED:
            await self._list(gvr)

    def watches(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """What to run, one per resource, until cancelled."""
        return [functools.partial(self._follow, gvr) for gvr in _FOLLOWED]

    async def _follow(self, gvr: GVR) -> None:
        while True:
            version = await self._list(gvr)
            try:
                while True:
                    version = await self._watch(gvr, version)
            except ExpiredError:
                # The server no longer remembers where we were: look at everything again.
                continue

    async def _list(self, gvr: GVR) -> str:
        found = await self._client.list(gvr)
        self._picture.replace(gvr, found)
        self._picture.resource_version = found.resource_version
        return found.resource_version

    async def _watch(self, gvr: GVR, version: str) -> str:
        """One watch to its end; where the next one starts."""
        async with self._client.watch(gvr, resource_version=version) as watch:
            async for event in watch:
                version = event.object.resource_version
                news = self._picture.apply(gvr, event.type, event.object)
                if news is not None:
                    self.on_news(news)
        return version
