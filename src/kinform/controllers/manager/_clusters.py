"""The clusters of a manager: their caches start before all controllers and stop after them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from kinform._runtime import Latch
from kinform.client import ClusterClient, WriteHook
from kinform.controllers._cluster import Cluster
from kinform.controllers.manager._grace_period import GracePeriod
from kinform.errors import CacheSyncError, ConfigError
from kinform.informers import Health, InformerFactory


class OwnedClient(ClusterClient, Protocol):
    """A client that can be closed."""

    async def close(self) -> None: ...


class ClusterSet:
    """Clusters by name. The first one is the manager's own, and has no name.

    Args:
        guard: A hook for all writes, installed while the manager runs.

    Attributes:
        started: Set when all caches and factories were started.
    """

    def __init__(self, guard: WriteHook | None) -> None:
        self._guard = guard
        self._clusters: dict[str, Cluster] = {}
        self._optional: set[str] = set()
        # A cache that ran before, or a shared one, is left alone.
        self._started: list[Cluster] = []
        self._factories: list[InformerFactory[Any]] = []
        self._clients: list[OwnedClient] = []
        self._is_running = False
        self.started = Latch("informers have been started")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._clusters)

    @property
    def by_name(self) -> Mapping[str, Cluster]:
        return self._clusters

    def add(self, cluster: Cluster, *, essential: bool) -> None:
        """Add a cluster, and start its cache if the manager runs.

        Raises:
            ConfigError: There is a cluster of this name.
        """
        if cluster.name in self._clusters:
            raise ConfigError(f"there is a cluster {cluster.name!r} already; choose another name")
        self._clusters[cluster.name] = cluster
        if not essential:
            self._optional.add(cluster.name)
        if self._is_running:
            self._start(cluster)

    def add_factory(self, factory: InformerFactory[Any]) -> None:
        """Start and stop the informers of a factory together with the caches."""
        self._factories.append(factory)

    def add_client(self, client: OwnedClient) -> None:
        """Guard the writes of one more client of the clusters, and close it at the end."""
        self._clients.append(client)

    def get(self, name: str) -> Cluster:
        """Return a cluster.

        Raises:
            ConfigError: There is none of this name.
        """
        found = self._clusters.get(name)
        if found is None:
            known = ", ".join(repr(each) for each in self._clusters if each) or "none"
            raise ConfigError(f"there is no cluster {name!r}; added: {known}")
        return found

    def start(self) -> None:
        """Start all caches, and from now on those that are added."""
        self._is_running = True
        for cluster in self._clusters.values():
            self._start(cluster)
        if self._guard is not None:
            for client in self._clients:
                client.add_write_hook(self._guard)
        for factory in self._factories:
            factory.start()
        self.started.set()

    async def wait_until_synced(self, timeout: float | None) -> None:
        """Wait until the caches of all essential clusters, and all factories, have synced.

        Raises:
            CacheSyncError: They have not; the message names informers and reasons.
        """
        wanted = [each.cache for name, each in self._clusters.items() if name not in self._optional]
        results = await asyncio.gather(
            *(cache.wait_for_cache_sync(timeout, strict=True) for cache in wanted),
            *(each.wait_for_cache_sync(timeout, strict=True) for each in self._factories),
            return_exceptions=True,
        )
        errors = [each for each in results if isinstance(each, BaseException)]
        for error in errors:
            if not isinstance(error, CacheSyncError):
                raise error
        if errors:
            raise CacheSyncError("; ".join(map(str, errors))) from errors[0]

    async def stop(self, grace: GracePeriod) -> None:
        """Stop all caches and factories, and close the clients that were added."""
        self._is_running = False
        await self._stop(list(self._clusters.values()), grace)
        await grace.clean_up({each.name: each.shutdown() for each in self._factories})
        closing = enumerate(self._clients, start=1)
        await grace.clean_up({f"client {number}": each.close() for number, each in closing})

    async def remove(self, name: str, grace: GracePeriod) -> None:
        """Stop the cache of a cluster and forget the cluster."""
        cluster = self.get(name)
        await self._stop([cluster], grace)
        self._clusters.pop(name, None)
        self._optional.discard(name)

    def health(self, max_staleness: float | None) -> Mapping[str, Health]:
        """Return the health of each cache, by cluster."""
        return {
            name: cluster.cache.health(max_staleness=max_staleness)
            for name, cluster in self._clusters.items()
        }

    def is_essential(self, name: str) -> bool:
        return name not in self._optional

    def _start(self, cluster: Cluster) -> None:
        if self._guard is not None:
            cluster.live.add_write_hook(self._guard)
        if not cluster.cache.is_running:
            cluster.cache.start()
            self._started.append(cluster)

    async def _stop(self, clusters: Iterable[Cluster], grace: GracePeriod) -> None:
        own = [each for each in clusters if each in self._started]
        for cluster in own:
            self._started.remove(cluster)
            cluster.cache.stop()
        await grace.clean_up({_cache_name(each): _stopped(each) for each in own})
        for cluster in clusters:
            if self._guard is not None:
                cluster.live.remove_write_hook(self._guard)


def _cache_name(cluster: Cluster) -> str:
    return f"cache of cluster {cluster.name}" if cluster.name else "cache"


async def _stopped(cluster: Cluster) -> None:
    await cluster.cache.stopped
