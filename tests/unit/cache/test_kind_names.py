"""Names of kinds, with and without a request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from kinform.api import GVK, GVR
from kinform.cache._kind_names import KindNames, form_of
from kinform.client import Client
from kinform.errors import CacheSyncError, InvalidNameError, NoMatchError
from kinform.models.core.v1 import ConfigMap
from kinform.objects import PartialObjectMetadata, Unstructured
from kinform.testing import ApiServer
from tests.support.definitions import definition

MAPS = GVR("", "v1", "configmaps")
WIDGETS = GVR("example.com", "v1", "widgets")
WIDGET = GVK("example.com", "v1", "Widget")


@pytest.fixture
async def names() -> AsyncIterator[KindNames]:
    async with ApiServer() as api, Client(api.config) as client:
        api.create(definition("widgets", "Widget", "example.com"))
        yield KindNames(client)


async def test_names_that_need_no_request(names: KindNames) -> None:
    for kind in (ConfigMap, "v1/configmaps", MAPS, GVK("", "v1", "ConfigMap"), ConfigMap.resource):
        assert kind is not None
        assert names.known_gvr(kind) == MAPS == await names.gvr(kind)


async def test_kind_without_a_model_is_resolved_once(names: KindNames) -> None:
    with pytest.raises(InvalidNameError, match="pass its GVR"):
        names.known_gvr(WIDGET)
    assert await names.gvr(WIDGET) == WIDGETS
    assert names.known_gvr(WIDGET) == WIDGETS
    assert (await names.resource(WIDGETS)).kind == "Widget"


async def test_kind_that_comes_later_is_waited_for() -> None:
    async with ApiServer() as api, Client(api.config) as client:
        names = KindNames(client)
        with pytest.raises(
            CacheSyncError, match=r"Widget.* has no informer after 0\.1 s: "
        ) as late:
            await names.wait_for_gvr(WIDGET, 0.1)
        assert isinstance(late.value.__cause__, NoMatchError)
        waiting = asyncio.ensure_future(names.wait_for_gvr(WIDGET, 20))
        await asyncio.sleep(0.05)
        api.create(definition("widgets", "Widget", "example.com"))
        assert await waiting == WIDGETS
        # What is known needs no time.
        assert await names.wait_for_gvr(WIDGET, 0) == await names.wait_for_gvr(WIDGETS, 0)


async def test_unknown_kinds(names: KindNames) -> None:
    with pytest.raises(NoMatchError):
        await names.gvr(GVK("example.com", "v1", "Nothing"))
    with pytest.raises(NoMatchError):
        await names.resource(GVR("example.com", "v1", "nothings"))
    with pytest.raises(InvalidNameError):
        names.known_gvr("nothing")


def test_form() -> None:
    assert form_of(ConfigMap, None) is ConfigMap
    assert form_of(MAPS, None) is Unstructured
    assert form_of(ConfigMap, PartialObjectMetadata) is PartialObjectMetadata
