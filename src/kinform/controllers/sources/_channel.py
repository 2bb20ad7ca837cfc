"""A source that the program feeds itself, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

from kinform._checks import check_plain
from kinform.controllers._cluster import Cluster
from kinform.controllers.sources._mapping import keys_in
from kinform.controllers.sources._source import OpenSource, Source
from kinform.errors import StateError
from kinform.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)


class Channel(Source[K], Generic[K]):
    """Reconciles what the program sends, such as for webhooks and messages of other systems.

        channel = Channel()
        controller = Controller("web", reconcile, for_=Web, watches=[channel])
        channel.send(Request("default", "shop"))

    What is sent before the controller has started is kept, each key once. Sending never blocks.

    Args:
        map: Returns the keys to reconcile for an item; by default, the item is the key.
        name: The name used in logs and debug pages.

    Raises:
        ConfigError: ``map`` is not a function, or it is async.
    """

    def __init__(
        self, *, map: Callable[[Any], Iterable[K]] | None = None, name: str = "channel"
    ) -> None:
        check_plain("map", map)
        self.name = name
        self._map = map
        self._lock = threading.Lock()
        self._queue: WorkQueue[K] | None = None
        self._kept: dict[K, int] = {}

    def send(self, item: Any, *, priority: int = 0) -> None:
        """Reconcile an item soon. Thread-safe. Exceptions of ``map`` are raised here."""
        keys: list[K] = [item] if self._map is None else list(keys_in(self._map(item)))
        with self._lock:
            queue = self._queue
            if queue is None:
                for key in keys:
                    self._kept[key] = max(priority, self._kept.get(key, priority))
                return
        for key in keys:
            queue.add(key, priority=priority)

    def open(self, queue: WorkQueue[K], cluster: Cluster) -> OpenSource:
        with self._lock:
            if self._queue is not None:
                raise StateError(
                    f"{self.name} feeds a controller already; each needs a Channel of its own"
                )
            self._queue = queue
            kept, self._kept = self._kept, {}
        for key, priority in kept.items():
            queue.add(key, priority=priority)
        source = _OpenChannel(self)
        source.has_synced.set()
        return source

    def _keep_again(self) -> None:
        with self._lock:
            self._queue = None


class _OpenChannel(OpenSource):
    def __init__(self, channel: Channel[Any]) -> None:
        super().__init__(channel.name)
        self._channel = channel

    async def close(self) -> None:
        self._channel._keep_again()
        await super().close()
