"""The life of a factory: started again and again, waited for with reasons, shut down once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client
from kinform.api import GVR
from kinform.errors import (
    AlreadyStoppedError,
    CacheSyncError,
    ForbiddenError,
    NoMatchError,
    NotFoundError,
    StateError,
)
from kinform.informers import (
    DynamicSharedInformerFactory,
    InformerKey,
    Latch,
    Phase,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer, faults
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, Recorder
from tests.support.waiting import wait_until

SECRETS = GVR("", "v1", "secrets")
SERVICES = GVR("", "v1", "services")
WIDGETS = GVR("example.com", "v1", "widgets")


WIDGET_DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


@pytest.fixture
async def factory(client: Client) -> AsyncIterator[DynamicSharedInformerFactory]:
    factory = DynamicSharedInformerFactory(client, options=QUICK)
    yield factory
    await factory.shutdown()


# -- start and shutdown ----------------------------------------------------------------------


async def test_start_starts_what_does_not_run_and_leaves_the_rest(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    maps = factory.for_resource(MAPS)
    factory.start()
    factory.start()
    await factory.wait_for_cache_sync(timeout=20)
    secrets = factory.for_resource(SECRETS)
    assert not secrets.informer.is_running
    factory.start()
    assert list(await factory.wait_for_cache_sync(timeout=20)) == ["v1/configmaps", "v1/secrets"]
    assert len(kinform_api.requests.watches(MAPS)) == 1

    maps.informer.stop()
    await maps.informer.stopped
    factory.start()
    assert maps.informer.is_running
    assert secrets.informer.is_running


def test_start_needs_a_loop(client: Client) -> None:
    factory = DynamicSharedInformerFactory(client)
    factory.for_resource(MAPS)

    def start() -> None:
        with pytest.raises(StateError, match=r"kinform\.blocking"):
            factory.start()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()


async def test_a_shutdown_leaves_nothing_and_nothing_starts_after_it(client: Client) -> None:
    await client.list(MAPS)  # the connection is the client's
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    factory = DynamicSharedInformerFactory(client, name="mine")
    informers = [factory.for_resource(each).informer for each in (MAPS, SECRETS)]
    for informer in informers:
        informer.add_event_handler(Recorder())
    async with factory:
        await factory.wait_for_cache_sync(timeout=20)

    assert all(informer.is_stopped for informer in informers)
    assert {each for each in asyncio.all_tasks() - tasks if "v1/" in each.get_name()} == set()
    assert set(threading.enumerate()) - threads == set()
    with pytest.raises(AlreadyStoppedError, match="mine was shut down"):
        factory.start()
    with pytest.raises(AlreadyStoppedError, match="create another factory"):
        factory.for_resource("v1/services")
    await factory.shutdown()


async def test_all_who_shut_down_at_once_wait_until_it_is_done(
    client: Client, factory: DynamicSharedInformerFactory
) -> None:
    maps = factory.for_resource(MAPS).informer
    slow = Latch("slow")
    returned: list[bool] = []

    async def on_add(obj: Unstructured) -> None:
        slow.set()
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)

    maps.add_event_handler(on_add=on_add)
    await client.create(Unstructured(config_map("a")))
    factory.start()
    await slow

    async def shut_down() -> None:
        await factory.shutdown()
        returned.append(maps.is_stopped)

    await asyncio.gather(*(shut_down() for _ in range(5)))
    assert returned == [True] * 5


async def test_a_shutdown_before_the_start_is_final_too(client: Client) -> None:
    factory = DynamicSharedInformerFactory(client)
    maps = factory.for_resource(MAPS)
    await factory.shutdown()
    with pytest.raises(AlreadyStoppedError):
        factory.start()
    assert not maps.informer.was_started
    maps.release()


async def test_a_shutdown_ends_the_wait_for_what_could_never_sync(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    kinform_api.faults.inject(faults.forbidden(), resource="secrets", times=None)
    factory.for_resource(SECRETS)
    factory.start()
    waiting = asyncio.create_task(factory.wait_for_cache_sync())
    await wait_until(lambda: factory.informers[InformerKey(SECRETS)].sync_status().attempts > 0)
    await factory.shutdown()
    async with asyncio.timeout(20):
        result = await waiting

    assert result["v1/secrets"].phase is Phase.STOPPED


# -- waiting ---------------------------------------------------------------------------------


async def test_one_bad_resource_keeps_no_other_from_syncing_and_says_why(
    kinform_api: ApiServer, factory: DynamicSharedInformerFactory
) -> None:
    kinform_api.create(config_map("a"))
    kinform_api.faults.inject(faults.forbidden(), resource="secrets", times=None)
    maps = factory.for_resource(MAPS)
    factory.for_resource(SECRETS)
    kinform_api.faults.inject(faults.not_found(), resource="services", times=None)
    factory.for_resource(SERVICES)
    widgets = factory.for_resource(WIDGETS)
    factory.start()
    await maps.informer.has_synced
    await wait_until(
        lambda: (
            min(
                each.sync_status().attempts
                for key, each in factory.informers.items()
                if key.resource != MAPS
            )
            > 1
        )
    )

    result = await factory.wait_for_cache_sync(timeout=0.1)

    assert result[MAPS].synced
    assert list(result.unsynced) == [str(WIDGETS), "v1/secrets", "v1/services"]
    assert isinstance(result[SECRETS].error, ForbiddenError)
    assert isinstance(result[SERVICES].error, NotFoundError)
    assert isinstance(result[WIDGETS].error, NoMatchError)
    for status in result.unsynced.values():
        assert status.attempts > 1
        assert status.waiting > 0
        assert status.phase in (Phase.WAITING, Phase.STREAMING, Phase.LISTING)
    with pytest.raises(CacheSyncError, match=r"3 of 4.*widgets.*secrets.*services"):
        await factory.wait_for_cache_sync(timeout=0.1, strict=True)

    # When the cause is gone, so is the trouble; nobody has to be started again.
    kinform_api.faults.clear()
    kinform_api.create(WIDGET_DEFINITION)
    assert await factory.wait_for_cache_sync(timeout=20, strict=True)
    assert len(widgets.lister) == 0
    assert maps.lister.get("default/a").name == "a"


async def test_only_what_was_started_is_waited_for(factory: DynamicSharedInformerFactory) -> None:
    factory.for_resource(MAPS)
    assert str(await factory.wait_for_cache_sync()) == "v1/configmaps: not started"
    factory.start()
    factory.for_resource(SECRETS)
    result = await factory.wait_for_cache_sync()
    assert result[MAPS].synced
    assert str(result) == "v1/secrets: not started"
