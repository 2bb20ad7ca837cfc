"""19: reads of a namespace that was added, before its first list is complete."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Cache, Client
from kinform.cache import NamespaceSelector
from kinform.errors import CacheSyncError, NotFoundError, OutOfScopeError
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, faults
from kinform.testing.faults import Injection
from tests.support.config_maps import config_map
from tests.support.informer_sources import QUICK
from tests.support.waiting import wait_until


def add_namespace(api: ApiServer, name: str, **labels: str) -> None:
    metadata = {"name": name, "labels": labels}
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})


@pytest.fixture
async def client(kinform_api: ApiServer) -> AsyncIterator[Client]:
    async with Client(kinform_api.config) as client:
        yield client


@pytest.fixture
def refusal(kinform_api: ApiServer) -> Injection:
    add_namespace(kinform_api, "other")
    kinform_api.create(config_map("a", "other"))
    return kinform_api.faults.inject(
        faults.forbidden(), resource="configmaps", namespace="other", times=None
    )


@pytest.mark.parametrize("is_client", [False, True], ids=["cache", "client"])
async def test_reads_wait_for_the_namespace(
    client: Client, refusal: Injection, is_client: bool
) -> None:
    async with Cache(client, namespace=["default"], options=QUICK) as cache:
        reader: Any = cache.client() if is_client else cache
        await reader.list(ConfigMap)
        adding = asyncio.ensure_future(cache.add_namespace("other"))
        reads = [
            asyncio.ensure_future(reader.get(ConfigMap, "other/a")),
            asyncio.ensure_future(reader.list(ConfigMap, namespace="other")),
        ]
        await wait_until(lambda: refusal.hits > 1)
        assert not any(each.done() for each in reads)
        assert list(await reader.list(ConfigMap, namespace="default")) == []
        refusal.remove()
        assert (await reads[0]).name == "a"
        assert [each.name for each in await reads[1]] == ["a"]
        with pytest.raises(NotFoundError):
            await reader.get(ConfigMap, "other/b")
        await adding


async def test_wait_is_bounded_and_says_why(client: Client, refusal: Injection) -> None:
    async with Cache(client, namespace=["default"], options=QUICK, sync_timeout=0.3) as cache:
        await cache.list(ConfigMap, timeout=20)
        with pytest.raises(CacheSyncError):
            await cache.add_namespace("other")
        expected = "not complete in namespace 'other' yet.*forbidden"
        for read in (
            cache.get(ConfigMap, "other/a", timeout=0.1),
            cache.list(ConfigMap, namespace="other", timeout=0.1),
            cache.list(ConfigMap, fields={"metadata.namespace": "other"}),
            cache.client(timeout=0.1).get(ConfigMap, "other/a"),
            cache.client(timeout=0.1).list(ConfigMap, namespace="other"),
        ):
            with pytest.raises(CacheSyncError, match=expected):
                await read
        peeked = cache.peek(ConfigMap)
        with pytest.raises(CacheSyncError, match=expected):
            peeked.get("other/a")
        with pytest.raises(CacheSyncError, match=expected):
            peeked.list(namespace="other")
        assert len(peeked.list()) == 0
        refusal.remove()


async def test_namespace_that_leaves_meanwhile_ends_the_wait(
    client: Client, refusal: Injection
) -> None:
    async with Cache(client, namespace=["default"], options=QUICK) as cache:
        await cache.list(ConfigMap)
        adding = asyncio.ensure_future(cache.add_namespace("other"))
        read = asyncio.ensure_future(cache.get(ConfigMap, "other/a"))
        await wait_until(lambda: refusal.hits > 1)
        await cache.remove_namespace("other")
        with pytest.raises(OutOfScopeError):
            await read
        await adding


async def test_namespaces_by_label_are_waited_for(
    kinform_api: ApiServer, client: Client, refusal: Injection
) -> None:
    """Nobody calls add_namespace there."""
    selector = NamespaceSelector("team=web")
    async with Cache(client, namespace=selector, options=QUICK) as cache:
        await cache.list(ConfigMap)
        label = {"metadata": {"labels": {"team": "web"}}}
        kinform_api.patch("v1/namespaces", "other", label)
        await wait_until(lambda: refusal.hits > 0)
        read = asyncio.ensure_future(cache.get(ConfigMap, "other/a"))
        await wait_until(lambda: refusal.hits > 2)
        assert not read.done()
        refusal.remove()
        assert (await read).name == "a"
