"""18.27: running watches are ended on demand, all or some, cleanly or with a reset."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from kinform import Client, DynamicSharedInformerFactory
from kinform.client import ResourceLike
from kinform.errors import NoMatchError, TransportError
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, BlockingApiServer, faults
from tests.support import raw_http
from tests.support.config_maps import MAPS, config_map
from tests.support.waiting import wait_until

PATHS = (
    "/api/v1/configmaps",
    "/api/v1/namespaces/default/configmaps",
    "/api/v1/namespaces/kube-system/configmaps",
    "/api/v1/pods",
)


@pytest.mark.parametrize(
    ("resource", "namespace", "ended"),
    [
        (None, None, 4),
        ("configmaps", None, 3),
        ("v1/configmaps", None, 3),
        (MAPS, None, 3),
        (ConfigMap, None, 3),
        ("configmaps", "default", 1),
        ("configmaps", "", 1),
        (None, "", 2),
        ("pods", "default", 0),
        ("deployments.apps", None, 0),
    ],
    ids=str,
)
async def test_the_number_of_ended_watches_is_returned(
    kinform_api: ApiServer, resource: ResourceLike | None, namespace: str | None, ended: int
) -> None:
    """18.27: by resource, by namespace, or all."""
    async with AsyncExitStack() as stack:
        for path in PATHS:
            await stack.enter_async_context(
                raw_http.open_answer(kinform_api.url, f"{path}?watch=true")
            )
        watches = kinform_api.requests.watches()

        assert kinform_api.end_watches(resource, namespace=namespace) == ended
        assert kinform_api.end_watches(resource, namespace=namespace) == 0
        await wait_until(lambda: sum(not watch.is_open for watch in watches) == ended)


async def test_a_watch_ends_cleanly_after_its_last_event(kinform_api: ApiServer) -> None:
    """18.27: as after a timeout, without an error."""
    async with Client(kinform_api.config) as client, client.watch(MAPS) as watch:
        kinform_api.create(config_map("a"))
        assert kinform_api.end_watches() == 1
        names = [event.object.name async for event in watch]
    assert names == ["a"]


async def test_a_reset_is_an_error_of_the_client(kinform_api: ApiServer) -> None:
    """18.27: the connection is lost."""
    kinform_api.create(config_map("a"))
    async with Client(kinform_api.config) as client, client.watch(MAPS) as watch:
        await anext(watch)
        assert kinform_api.end_watches(reset=True) == 1
        with pytest.raises(TransportError):
            await anext(watch)


@pytest.mark.parametrize("reset", [False, True])
async def test_an_informer_watches_again(kinform_api: ApiServer, reset: bool) -> None:
    """18.27: nothing is lost."""
    async with Client(kinform_api.config) as client:
        factory = DynamicSharedInformerFactory(client)
        maps = factory.for_resource(MAPS)
        async with factory:
            await factory.wait_for_cache_sync(timeout=10)
            await kinform_api.requests.wait_for(verb="watch", resource=MAPS)
            await wait_until(lambda: kinform_api.end_watches(MAPS, reset=reset) == 1)
            kinform_api.create(config_map("late"))
            await wait_until(lambda: [each.name for each in maps.lister.list()] == ["late"])


async def test_a_silent_watch_is_ended_too(kinform_api: ApiServer) -> None:
    """18.27: a fault that sends nothing does not keep it."""
    kinform_api.faults.inject(faults.silence(), verb="watch")
    async with Client(kinform_api.config) as client, client.watch(MAPS) as watch:
        assert kinform_api.end_watches() == 1
        async with asyncio.timeout(10):
            assert [event async for event in watch] == []


async def test_an_unknown_resource_is_refused(kinform_api: ApiServer) -> None:
    """18.27: instead of ending nothing."""
    with pytest.raises(NoMatchError, match="'podz' is not served; did you mean v1/pods"):
        kinform_api.end_watches("podz")


def test_the_blocking_server_ends_watches(kinform_server: BlockingApiServer) -> None:
    """18.27: the same method."""
    assert kinform_server.end_watches(ConfigMap) == 0
