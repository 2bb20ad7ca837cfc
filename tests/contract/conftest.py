"""The servers on which the contract of the cache is tested."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinform import Client
from kinform.testing import ApiServer
from kinform.transport import ClusterConfig
from tests.contract.cache_server import CacheServer
from tests.support.cluster import RealCluster


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.cluster)])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[CacheServer]:
    """Each test runs against both servers, unchanged."""
    if request.param == "embedded":
        async with ApiServer() as api, Client(api.config) as client:
            yield CacheServer(client)
        return
    cluster: RealCluster = request.getfixturevalue("real_cluster")
    async with Client(ClusterConfig.from_kubeconfig(cluster.kubeconfig)) as client:
        yield CacheServer(client)
