"""18.13: liveness and readiness of informers. An outage of the API server is never fatal."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kinform import (
    Client,
    DynamicSharedInformerFactory,
    SharedIndexInformer,
    Unstructured,
    blocking,
)
from kinform.informers._health import health_of
from kinform.testing import ApiServer, BlockingApiServer, faults, virtual_time
from tests.support.answers import pod_list
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK, LoggedSource, informer_of
from tests.support.scripted_source import STAY, ScriptedSource, bookmark
from tests.support.waiting import wait_until


def factory_of(client: Client, **options: Any) -> DynamicSharedInformerFactory:
    return DynamicSharedInformerFactory(client, options=QUICK, **options)


async def test_synced_informers_are_live_and_ready(kinform_api: ApiServer) -> None:
    """18.13: the common case has no problem to report."""
    async with Client(kinform_api.config) as client:
        factory = factory_of(client)
        factory.for_resource(MAPS)
        async with factory:
            await factory.wait_for_cache_sync(timeout=30, strict=True)
            health = factory.health(max_staleness=60)

    assert (health.live, health.ready, str(health)) == (True, True, "ok")
    assert health.staleness is not None


async def test_an_api_outage_does_not_end_liveness(kinform_api: ApiServer) -> None:
    """18.13: a probe on it must not restart pods; by default they even stay ready."""
    async with Client(kinform_api.config) as client:
        factory = factory_of(client)
        factory.for_resource(MAPS)
        async with factory:
            await factory.wait_for_cache_sync(timeout=30, strict=True)
            await kinform_api.stop()
            await wait_until(lambda: bool(factory.health().problems))
            health, strict = factory.health(), factory.health(max_staleness=0.0)

    assert (health.live, health.ready) == (True, True)
    assert (strict.live, strict.ready) == (True, False)
    assert str(health).startswith("v1/configmaps: synced, but not updated for ")


async def test_an_informer_that_cannot_sync_is_live_and_not_ready(kinform_api: ApiServer) -> None:
    """18.13: a missing permission is a reason not to be ready, with its text."""
    kinform_api.faults.inject(faults.forbidden(), resource="configmaps", times=None)
    async with Client(kinform_api.config) as client:
        factory = factory_of(client)
        factory.for_resource(MAPS)
        waiting = factory.health()
        async with factory:
            await wait_until(lambda: "forbidden" in str(factory.health()).lower())
            refused = factory.health()

    assert (waiting.live, waiting.ready, str(waiting)) == (
        True,
        False,
        "v1/configmaps: not started",
    )
    assert (refused.live, refused.ready, refused.staleness) == (True, False, None)


async def test_a_shut_down_factory_is_live_and_not_ready(kinform_api: ApiServer) -> None:
    """18.13: a graceful stop takes the pod out of its service, and nothing restarts it."""
    async with Client(kinform_api.config) as client:
        factory = factory_of(client)
        factory.for_resource(MAPS)
        async with factory:
            await factory.wait_for_cache_sync(timeout=30, strict=True)
    health = factory.health()

    assert (health.live, health.ready, str(health)) == (True, False, "v1/configmaps: stopped")


async def test_an_informer_that_failed_is_not_live() -> None:
    """18.13: only a restart of the program helps after an internal error."""

    class Fault(BaseException):
        pass

    def fails(_pod: Unstructured) -> list[str]:
        raise Fault("of the machine")

    informer = informer_of(LoggedSource("a"), indexers={"bad": fails})
    async with asyncio.timeout(20):
        await informer.run()
    health = health_of([informer])

    assert (health.live, health.ready) == (False, False)
    assert "pods: failed: pods stopped because of an internal error" in str(health)


async def test_an_informer_whose_task_was_cancelled_is_not_live() -> None:
    """18.13: something else than ``stop`` ended it."""
    informer = informer_of(LoggedSource("a"))
    informer.start()
    await informer.has_synced
    [task] = [each for each in asyncio.all_tasks() if each.get_name() == informer.name]
    task.cancel()
    await informer.stopped

    failed = [informer.has_failed]
    assert str(health_of([informer])) == "pods: failed: its task was cancelled"
    informer.start()
    failed.append(informer.has_failed)
    informer.stop()
    await informer.stopped
    failed.append(informer.has_failed)

    assert failed == [True, False, False]


@virtual_time
async def test_readiness_ends_at_the_given_staleness() -> None:
    """18.13: a silent server, without any error; the oldest store counts."""
    quiet = ScriptedSource().lists(pod_list(rv="10")).watches([STAY])
    lively = ScriptedSource().lists(pod_list(rv="10")).watches([50.0, bookmark("11"), STAY])
    informers = [
        SharedIndexInformer(source.listwatch, name=name)
        for name, source in (("a", quiet), ("b", lively))
    ]
    async with informers[0], informers[1]:
        for informer in informers:
            await informer.has_synced
        await asyncio.sleep(60)
        within, beyond = health_of(informers, 65), health_of(informers, 30)

    assert (within.ready, str(within)) == (True, "ok")
    assert within.staleness == pytest.approx(60)
    assert (beyond.live, beyond.ready) == (True, False)
    assert str(beyond) == "a: synced, but not known to be current for 60 s"


def test_blocking_health_needs_the_loop_thread(kinform_server: BlockingApiServer) -> None:
    """18.13: a blocked loop thread does not answer, so that a probe times out."""
    kinform_server.create(config_map("a"))
    blocked, go_on = threading.Event(), threading.Event()

    async def block(_obj: Unstructured) -> None:
        blocked.set()
        go_on.wait(40)

    with blocking.Client(kinform_server.config) as client, ThreadPoolExecutor() as pool:
        factory = blocking.DynamicSharedInformerFactory(client)
        maps = factory.for_resource(MAPS)
        with factory:
            factory.wait_for_cache_sync(timeout=30, strict=True)
            assert factory.health().ready
            maps.informer.add_event_handler(on_add=block)
            assert blocked.wait(30)
            probe = pool.submit(factory.health)
            with pytest.raises(TimeoutError):
                probe.result(timeout=0.3)
            go_on.set()
            assert probe.result(timeout=30).live
