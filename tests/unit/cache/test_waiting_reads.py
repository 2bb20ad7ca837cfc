"""19: reads that wait for a kind: several at once, and what ends their wait."""

from __future__ import annotations

import asyncio

import pytest

from kinform import GVR, Cache, Client
from kinform.errors import AlreadyStoppedError, CacheSyncError
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, faults
from tests.support.config_maps import config_map
from tests.support.definitions import definition
from tests.support.waiting import wait_until

GADGETS = GVR("late.example.com", "v1", "gadgets")


async def test_read_that_gives_up_leaves_the_kind_to_others(kinform_api: ApiServer) -> None:
    """19: the others wait on, and are answered when the definition is there."""
    async with Client(kinform_api.config) as client, Cache(client) as cache:
        patient = asyncio.ensure_future(cache.list(GADGETS, timeout=30))
        await wait_until(lambda: str(GADGETS) in cache.health().problems)
        with pytest.raises(CacheSyncError, match="no resource"):
            await cache.list(GADGETS, timeout=0.1)
        kinform_api.create(definition("gadgets", "Gadget", GADGETS.group))

        assert list(await patient) == []


async def test_kind_is_forgotten_with_its_last_read(kinform_api: ApiServer) -> None:
    """19: also if that read is cancelled."""
    async with Client(kinform_api.config) as client, Cache(client) as cache:
        reads = [asyncio.ensure_future(cache.list(GADGETS, timeout=30)) for _ in range(2)]
        await wait_until(lambda: str(GADGETS) in cache.health().problems)
        for read, problems in zip(reads, (1, 0), strict=True):
            read.cancel()
            await asyncio.wait([read])
            assert len(cache.health().problems) == problems


async def test_removal_of_the_informer_ends_a_first_read(kinform_api: ApiServer) -> None:
    """19: the error says so; the next read creates it again."""
    kinform_api.create(config_map("a"))
    hung = kinform_api.faults.inject(faults.hang(), resource="configmaps", times=None)
    async with Client(kinform_api.config) as client, Cache(client) as cache:
        read = asyncio.ensure_future(cache.list(ConfigMap))
        await wait_until(lambda: hung.hits > 0)
        await cache.remove_informer(ConfigMap)
        with pytest.raises(CacheSyncError, match="its informer was removed"):
            await read
        hung.remove()
        assert [each.name for each in await cache.list(ConfigMap)] == ["a"]


async def test_stop_of_the_cache_ends_first_reads(kinform_api: ApiServer) -> None:
    """19: whatever they wait for."""
    hung = kinform_api.faults.inject(faults.hang(), resource="configmaps", times=None)
    async with Client(kinform_api.config) as client:
        cache = Cache(client)
        cache.start()
        reads = [asyncio.ensure_future(cache.list(kind)) for kind in (ConfigMap, GADGETS)]
        await wait_until(lambda: hung.hits > 0 and str(GADGETS) in cache.health().problems)
        cache.stop()
        for read in reads:
            with pytest.raises(AlreadyStoppedError, match="cache has stopped"):
                await read
        await cache.stopped
