"""A cluster as controllers see it: a live client, a cache, and a client that reads from it."""

from __future__ import annotations

from kinform._checks import expect, expect_client
from kinform.cache import Cache, CachedClient
from kinform.client import ClusterClient


class Cluster:
    """The clients and the cache of one cluster. Its owner starts and stops the cache.

    Args:
        client: The client of the cluster.
        cache: The cache to read from; by default one of all namespaces. Several clusters can share
            a cache, and write with clients of different identities.
        name: The name of the cluster, if a program has several. It becomes part of the requests
            that its events cause.

    Raises:
        ConfigError: This is not a client, or not a cache, or they belong to different servers.

    Attributes:
        name: The name of the cluster; empty for the only one.
        live: The client that reads from the server.
        cache: The cache.
        client: Reads from the cache, sees its own writes, and writes to the server.
    """

    def __init__(
        self, client: ClusterClient, *, cache: Cache | None = None, name: str = ""
    ) -> None:
        expect_client(client, ClusterClient, receiver="Cluster")
        if cache is not None:
            expect(cache, Cache, receiver="cache=", expected="a kinform.Cache")
        self.name = name
        self.live = client
        self.cache = Cache(client) if cache is None else cache
        self.client: CachedClient = self.cache.client(through=client)

    def __repr__(self) -> str:
        return f"<Cluster {self.name!r}>"
