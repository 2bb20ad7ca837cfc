"""Guarded reads: a lister says so if its cache cannot have what was asked for."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kinform import Client
from kinform.errors import CacheError, CacheSyncError, ConfigError, NotFoundError
from kinform.informers import DynamicSharedInformerFactory
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK


def factory_of(client: Client, **options: Any) -> DynamicSharedInformerFactory:
    return DynamicSharedInformerFactory(client, options=QUICK, **options)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


# -- before the first sync -------------------------------------------------------------------


async def test_a_read_before_the_sync_is_logged_once_and_named(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """18.6: an empty cache must not pass for an empty cluster."""
    factory = factory_of(client)
    maps = factory.for_resource(MAPS)

    assert maps.lister.list() == []
    assert maps.lister.namespace("default").list() == []
    assert len(factory.for_resource(MAPS).lister) == 0

    (warning,) = warnings(caplog)
    assert warning.startswith("v1/configmaps was read before its first sync")
    assert "not started" in warning


async def test_a_read_before_the_sync_can_be_an_error(
    client: Client, kinform_api: ApiServer
) -> None:
    """18.6: the option decides; after the sync nothing is raised."""
    kinform_api.create(config_map("a"))
    factory = factory_of(client, unsynced_reads="raise")
    maps = factory.for_resource(MAPS)
    for read in (
        maps.lister.list,
        lambda: maps.lister.get("default/a"),
        lambda: maps.lister.namespace("default").get("a"),
        lambda: len(maps.lister),
        lambda: list(maps.lister),
    ):
        with pytest.raises(CacheSyncError, match="v1/configmaps was read before its first sync"):
            read()
    assert "Lister of 0" in repr(maps.lister)

    async with factory:
        await factory.wait_for_cache_sync(timeout=20, strict=True)
        assert maps.lister.get("default/a").name == "a"


async def test_a_read_before_the_sync_can_be_allowed(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    """18.6: programs that know what they do can turn the warning off."""
    assert factory_of(client, unsynced_reads="allow").for_resource(MAPS).lister.list() == []
    assert warnings(caplog) == []


async def test_another_choice_is_refused(client: Client) -> None:
    with pytest.raises(ConfigError, match="unsynced_reads must be one of warn, raise, allow"):
        factory_of(client, unsynced_reads="ignore")


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_handler_of_the_first_list_may_read_the_cache(
    client: Client, kinform_api: ApiServer, is_async: bool
) -> None:
    """18.6: the store is complete when a handler receives the first object."""
    kinform_api.create(config_map("a"))
    factory = factory_of(client, unsynced_reads="raise")
    maps = factory.for_resource(MAPS)
    found: list[int] = []

    async def on_add(_: Unstructured) -> None:
        found.append(len(maps.lister.list()))

    def on_add_in_thread(_: Unstructured) -> None:
        found.append(len(maps.lister.list()))

    handler = maps.informer.add_event_handler(on_add=on_add if is_async else on_add_in_thread)
    async with factory:
        async with asyncio.timeout(20):
            await handler.has_synced
    assert found == [1]
    assert handler.stats.failed == 0


async def test_an_informer_that_was_not_started_is_not_synced(client: Client) -> None:
    """18.6: ``strict`` names the informer that was requested after the start."""
    factory = factory_of(client)
    factory.for_resource(MAPS)
    async with factory:
        factory.for_resource("v1/secrets")
        with pytest.raises(CacheSyncError, match="1 of 2 informers: v1/secrets: not started"):
            await factory.wait_for_cache_sync(timeout=20, strict=True)
        factory.start()
        assert await factory.wait_for_cache_sync(timeout=20, strict=True)


# -- namespaces that are not covered ---------------------------------------------------------


async def test_a_namespace_that_is_not_covered_is_an_error(
    client: Client, kinform_api: ApiServer
) -> None:
    """18.7: an empty list would say that the namespace has no objects."""
    kinform_api.create(config_map("a"))
    factory = factory_of(client, namespace=["default", "shop"])
    maps = factory.for_resource(MAPS)
    async with factory:
        await factory.wait_for_cache_sync(timeout=20, strict=True)
        assert maps.lister.namespace("shop").list() == []
        assert [each.name for each in maps.lister.list()] == ["a"]
        with pytest.raises(NotFoundError):
            maps.lister.get("shop/x")
        for read in (
            maps.lister.namespace("other").list,
            lambda: list(maps.lister.namespace("other")),
            lambda: maps.lister.namespace("other").get("x"),
            lambda: maps.lister.get("other/x"),
        ):
            with pytest.raises(CacheError, match=r"'other'.*it covers default, shop"):
                read()


async def test_the_covered_namespaces_follow_the_scope(client: Client) -> None:
    """18.7: the scope of an informer may change while it runs."""
    factory = factory_of(client, namespace="default")
    maps = factory.for_resource(MAPS)
    other = maps.lister.namespace("other")
    async with factory:
        await factory.wait_for_cache_sync(timeout=20, strict=True)
        with pytest.raises(CacheError, match="it covers default"):
            other.list()
        await maps.informer.add_namespace("other")
        assert other.list() == []
        await maps.informer.remove_namespace("other")
        with pytest.raises(CacheError, match="it covers default"):
            other.list()


async def test_an_informer_of_all_namespaces_covers_each(client: Client) -> None:
    factory = factory_of(client)
    maps = factory.for_resource(MAPS)
    async with factory:
        await factory.wait_for_cache_sync(timeout=20, strict=True)
        assert maps.lister.namespace("other").list() == []
        with pytest.raises(NotFoundError):
            maps.lister.get("other/x")
