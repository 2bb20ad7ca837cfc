"""A source that reads keys from an asynchronous iterator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

from kinform._checks import check_callable, check_plain
from kinform._runtime import Backoff
from kinform.controllers._cluster import Cluster
from kinform.controllers.sources._mapping import keys_in
from kinform.controllers.sources._source import OpenSource, Source
from kinform.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)


class Stream(Source[K], Generic[K]):
    """Reconciles what an asynchronous iterator yields. If it raises, it is opened again.

        Stream(lambda: messages("web-changes"), map=lambda m: [Request("default", m.name)])

    Args:
        iterate: Returns the iterator; called again after a failure.
        map: Returns the keys to reconcile for an item; by default, the item is the key.
        name: The name used in logs and debug pages.

    Raises:
        ConfigError: An argument is not a function, or it is async.
    """

    def __init__(
        self,
        iterate: Callable[[], AsyncIterable[Any]],
        *,
        map: Callable[[Any], Iterable[K]] | None = None,
        name: str = "stream",
    ) -> None:
        check_callable("iterate", iterate)
        check_plain("iterate", iterate)
        check_plain("map", map)
        self.name = name
        self._iterate = iterate
        self._map = map

    def open(self, queue: WorkQueue[K], cluster: Cluster) -> OpenSource:
        source = OpenSource(self.name)
        source.has_synced.set()
        source.run(self._feed(source, queue))
        return source

    async def _feed(self, source: OpenSource, queue: WorkQueue[K]) -> None:
        pauses = Backoff(0.1, cap=15.0)
        while True:
            try:
                async for item in self._iterate():
                    pauses.reset()
                    self._add(source, queue, item)
                return
            except Exception as error:
                source.fail("its iterator", error)
            await asyncio.sleep(pauses.next())

    def _add(self, source: OpenSource, queue: WorkQueue[K], item: Any) -> None:
        try:
            for key in (item,) if self._map is None else keys_in(self._map(item)):
                queue.add(key)
        except Exception as error:
            source.fail("its map function", error)
