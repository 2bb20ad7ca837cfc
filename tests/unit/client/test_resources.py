"""Resources as text: every verb takes what ``for_resource`` of a factory takes."""

from __future__ import annotations

from typing import Any

import pytest

from kinform import Client, DynamicSharedInformerFactory, ListWatch, blocking
from kinform.api import GVK, GVR, ApiResource, ListOptions
from kinform.client import ResourceLike, ResourceOrModel, gvr_of, place_of
from kinform.errors import InvalidNameError, NotFoundError
from kinform.models.core.v1 import ConfigMap, PodExecOptions
from kinform.testing import ApiServer, BlockingApiServer
from kinform.transport import ClusterConfig
from tests.support.config_maps import MAPS, config_map

TEXT = "v1/configmaps"
MODEL_RESOURCE = ApiResource(MAPS, "ConfigMap", namespaced=True)


async def test_every_verb_of_a_client_takes_text(kinform_api: ApiServer) -> None:
    """18.27: only factories took ``v1/configmaps``."""
    async with Client(kinform_api.config) as client:
        await client.create(config_map("a"), resource=TEXT)
        assert (await client.get(TEXT, "a")).name == "a"
        assert [each.name for each in await client.list(TEXT)] == ["a"]
        assert [each.name for each in await client.page(TEXT, ListOptions())] == ["a"]
        assert [each.name async for page in client.pages(TEXT) for each in page] == ["a"]
        async with client.watch(TEXT) as watch:
            assert (await anext(watch)).object.name == "a"
        assert (await client.patch(TEXT, "a", {"data": {"k": "2"}}))["data"] == {"k": "2"}
        await client.delete(TEXT, "a")
        with pytest.raises(NotFoundError):
            await client.get(TEXT, "a")
        await client.create(config_map("b"))
        await client.delete_collection(TEXT, namespace="default")
        assert list(await client.list(TEXT)) == []


@pytest.mark.parametrize("view", ["metadata", "typed"])
async def test_every_verb_of_a_view_takes_text(kinform_api: ApiServer, view: str) -> None:
    """18.27: ``client.metadata`` and ``client.view(...)`` as well."""
    kinform_api.create(config_map("a"))
    async with Client(kinform_api.config) as client:
        verbs: Any = client.metadata if view == "metadata" else client.view(ConfigMap)
        assert (await verbs.get(TEXT, "a")).name == "a"
        assert [each.name for each in await verbs.list(TEXT)] == ["a"]
        assert [each.name for each in await verbs.page(TEXT, ListOptions())] == ["a"]
        assert [each.name async for page in verbs.pages(TEXT) for each in page] == ["a"]
        async with verbs.watch(TEXT) as watch:
            assert (await anext(watch)).object.name == "a"
        assert (await verbs.patch(TEXT, "a", {"data": {"k": "2"}})).name == "a"
        await verbs.delete(TEXT, "a")
        await verbs.delete_collection(TEXT, namespace="default")
    assert kinform_api.list(TEXT, "default") == []


def test_the_blocking_client_takes_text(kinform_server: BlockingApiServer) -> None:
    """18.27: the same verbs."""
    kinform_server.create(config_map("a"))
    with blocking.Client(kinform_server.config) as client:
        assert client.get(TEXT, "a").name == "a"
        assert [each.name for each in client.list(TEXT)] == ["a"]
        assert client.metadata.get(TEXT, "a").name == "a"
        with client.watch(TEXT) as watch:
            assert next(watch).object.name == "a"
        assert blocking.ListWatch.for_resource(client, TEXT).resource == MAPS


async def test_a_source_and_a_factory_take_the_same(kinform_api: ApiServer) -> None:
    """18.27: one conversion for all of them."""
    async with Client(kinform_api.config) as client:
        assert ListWatch.for_resource(client, TEXT).resource == MAPS
        factory = DynamicSharedInformerFactory(client)
        given: list[ResourceLike] = [TEXT, MAPS, ConfigMap, MODEL_RESOURCE]
        informers = {id(factory.for_resource(each).informer) for each in given}
        assert len(informers) == 1
        await factory.shutdown()


@pytest.mark.parametrize("given", [TEXT, MAPS, ConfigMap, MODEL_RESOURCE], ids=repr)
def test_all_forms_have_one_name(given: ResourceLike) -> None:
    """18.27: text, GVR, class and resource from discovery."""
    assert gvr_of(given) == MAPS


@pytest.mark.parametrize("given", ["configmaps", "a/b/c/d", "v1/ConfigMap", 5, int, PodExecOptions])
async def test_other_values_are_refused(given: Any) -> None:
    """18.27: with an error of this library, before anything is sent."""
    with pytest.raises(InvalidNameError):
        place_of(given)
    async with Client(ClusterConfig(server="http://127.0.0.1:1")) as client:
        with pytest.raises(InvalidNameError):
            await client.list(given)


def test_a_kind_has_no_name_without_discovery() -> None:
    """18.27: the error says what to pass instead."""
    kind: ResourceOrModel = GVK("apps", "v1", "Deployment")
    with pytest.raises(InvalidNameError, match="apps/v1/Deployment is a kind; pass its resource"):
        gvr_of(kind)  # type: ignore[arg-type]
    assert place_of(kind) == kind
    assert gvr_of("apps/v1/deployments") == GVR("apps", "v1", "deployments")
