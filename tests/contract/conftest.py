"""The servers on which the contracts of the cache and of controllers are tested."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinform import Client
from kinform.testing import ApiServer
from kinform.transport import ClusterConfig
from tests.contract.cache_server import CacheServer
from tests.contract.controller_world import ControllerWorld, controller_world
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


@pytest.fixture
async def world(server: CacheServer) -> AsyncIterator[ControllerWorld]:
    """A namespace of its own on each server, and a cluster whose cache runs."""
    async with controller_world(server) as found:
        yield found
