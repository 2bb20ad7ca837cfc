"""A source that repeats keys periodically."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

from kinform._checks import check_plain
from kinform.controllers._cluster import Cluster
from kinform.controllers.sources._mapping import keys_in
from kinform.controllers.sources._source import LOW_PRIORITY, OpenSource, Source
from kinform.errors import ConfigError
from kinform.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)


class Timer(Source[K], Generic[K]):
    """Reconciles keys at the start and then periodically.

        Timer(300, lambda: [Request("", "licenses")])

    Args:
        period: Seconds between two rounds.
        keys: The keys, or a function that returns them.
        jitter: The part of the period by which a round may be later.
        priority: The priority of the keys.
        name: The name used in logs and debug pages.

    Raises:
        ConfigError: ``period`` is not positive, ``jitter`` is negative, or ``keys`` is not a list.
    """

    def __init__(
        self,
        period: float,
        keys: Iterable[K] | Callable[[], Iterable[K]],
        *,
        jitter: float = 0.1,
        priority: int = LOW_PRIORITY,
        name: str = "timer",
    ) -> None:
        if not _is_number(period) or period <= 0:
            raise ConfigError(f"period must be a positive number of seconds, not {period!r}")
        if not _is_number(jitter) or jitter < 0:
            raise ConfigError(f"jitter must be a number of at least 0, not {jitter!r}")
        self._keys: Callable[[], Iterable[K]]
        if callable(keys):
            check_plain("keys", keys)
            self._keys = keys
        else:
            fixed = tuple(keys_in(keys, "keys"))
            self._keys = lambda: fixed
        self.name = name
        self._period = period
        self._jitter = jitter
        self._priority = priority

    def open(self, queue: WorkQueue[K], cluster: Cluster) -> OpenSource:
        source = OpenSource(self.name)
        source.has_synced.set()
        source.run(self._feed(source, queue))
        return source

    async def _feed(self, source: OpenSource, queue: WorkQueue[K]) -> None:
        while True:
            try:
                for key in keys_in(self._keys(), "keys"):
                    queue.add(key, priority=self._priority)
            except Exception as error:
                source.fail("its function of keys", error)
            await asyncio.sleep(self._period * (1 + self._jitter * random.random()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
