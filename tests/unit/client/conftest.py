"""A client over prepared answers, with and without sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinform.client import Client
from kinform.transport import ClusterConfig
from tests.support.memory_transport import MemoryTransport
from tests.support.scripted_server import ScriptedServer


@pytest.fixture
def memory() -> MemoryTransport:
    """Discovery of a few resources, and whatever the test adds."""
    return MemoryTransport()


@pytest.fixture
async def client(memory: MemoryTransport) -> AsyncIterator[Client]:
    """Over ``memory``; its own namespace is ``home``."""
    config = ClusterConfig(server="https://cluster.test", namespace="home")
    async with Client(config, transport=memory, page_size=2, max_retries=3) as client:
        yield client


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer() as server:
        yield server


@pytest.fixture
async def http_client(server: ScriptedServer) -> AsyncIterator[Client]:
    """Over real sockets to ``server``."""
    async with Client(server.config, timeout=10.0) as client:
        yield client
