"""Stripped objects and a real server: what is kept is less, and what is written loses nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client, SharedInformerFactory
from kinform.informers import (
    DynamicSharedInformerFactory,
    MetadataSharedInformerFactory,
    strip_managed_fields,
)
from tests.cluster.informer_flows import (
    CONFIG_MAPS,
    PATIENCE,
    client_in_new_namespace,
    config_map,
)
from tests.support.cluster import RealCluster

pytestmark = pytest.mark.cluster


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    async with client_in_new_namespace(real_cluster) as client:
        yield client


@pytest.mark.parametrize(
    "factory_type",
    [SharedInformerFactory, DynamicSharedInformerFactory, MetadataSharedInformerFactory],
)
async def test_a_stripped_cache_is_the_servers_state_without_managed_fields(
    client: Client, factory_type: Any
) -> None:
    created = await client.create(config_map("a", app="web"))
    assert created.metadata["managedFields"]
    async with factory_type(
        client, transform=strip_managed_fields, namespace=client.namespace
    ) as factory:
        maps = factory.for_resource(CONFIG_MAPS)
        factory.start()
        assert await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        cached = maps.lister.namespace(client.namespace).get("a")
        expected = created.to_dict()["metadata"]
        del expected["managedFields"]
        assert cached.to_dict()["metadata"] == expected


async def test_an_update_of_a_stripped_object_takes_no_managers_away(client: Client) -> None:
    """The server takes managers from what it has if an update brings none."""
    await client.create(config_map("a"), field_manager="first")
    async with SharedInformerFactory(
        client, transform=strip_managed_fields, namespace=client.namespace
    ) as factory:
        maps = factory.core.v1.config_maps
        factory.start()
        assert await factory.wait_for_cache_sync(timeout=PATIENCE, strict=True)
        own = maps.lister.namespace(client.namespace).get("a").copy()
    own.metadata.annotations["note"] = "edited"
    updated = await client.update(own, field_manager="second")

    managers = {each.manager: bytes(each.fields_v1) for each in updated.metadata.managed_fields}
    assert set(managers) == {"first", "second"}
    assert b'"f:data"' in managers["first"]
    assert b'"f:note"' in managers["second"]
    assert b'"f:data"' not in managers["second"]
