"""In which form objects are asked for, and that the answer decides what they are read as."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform import Client, SharedInformerFactory
from kinform.api import GVK, GVR
from kinform.client import WireFormat
from kinform.errors import ConfigError
from kinform.models.core.v1 import ConfigMap, Secret
from kinform.objects import Handle, Unstructured
from kinform.testing import ApiServer
from tests.support.answers import json_answer
from tests.support.definitions import definition
from tests.support.memory_transport import MemoryTransport

MAPS = GVR("", "v1", "configmaps")
MAP = GVK("", "v1", "ConfigMap")
GEARS = GVR("clocks.example.com", "v1", "gears")


@pytest.fixture
def server(kinform_api: ApiServer) -> ApiServer:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "1"}}
    kinform_api.create({**body, "metadata": {"name": "a", "namespace": "default"}})
    kinform_api.create(definition("gears", "Gear", GEARS.group))
    gear = {"apiVersion": "clocks.example.com/v1", "kind": "Gear", "spec": {"teeth": 12}}
    kinform_api.create({**gear, "metadata": {"name": "a", "namespace": "default"}})
    return kinform_api


async def _forms(verbs: Any, what: Any) -> set[str]:
    """What one object, a list and a watch of it came as."""
    found: list[Handle] = [await verbs.get(what, "a", namespace="default")]
    found += await verbs.list(what, namespace="default")
    async with verbs.watch(what, namespace="default", resource_version="0") as watch:
        async for event in watch:
            found.append(event.object)
            break
    assert len(found) == 3
    return {each.record.codec.name for each in found if each.record is not None}


@pytest.mark.parametrize(
    ("wire_format", "typed", "metadata", "dynamic"),
    [
        ("auto", "protobuf", "protobuf", "json"),
        ("json", "json", "json", "json"),
        ("protobuf", "protobuf", "protobuf", "protobuf"),
    ],
)
async def test_a_format_is_what_is_asked_for(
    server: ApiServer, wire_format: WireFormat, typed: str, metadata: str, dynamic: str
) -> None:
    async with Client(server.config, wire_format=wire_format) as client:
        assert await _forms(client, ConfigMap) == {typed}
        assert await _forms(client.metadata, MAPS) == {metadata}
        assert await _forms(client, MAPS) == {dynamic}
        assert await _forms(client, MAP) == {dynamic}
        # What it is made of nobody knows, but the metadata of everything is made of the same.
        assert await _forms(client, GEARS) == {"json"}
        assert await _forms(client.metadata, GEARS) == {metadata}


async def test_what_is_unknown_is_no_format(server: ApiServer) -> None:
    wrong: Any = "yaml"
    with pytest.raises(ConfigError, match="'auto', 'json' or 'protobuf', not 'yaml'"):
        Client(server.config, wire_format=wrong)


async def test_the_answer_decides_and_is_remembered_for_its_resource(
    memory: MemoryTransport, client: Client
) -> None:
    for plural, kind in (("configmaps", "ConfigMap"), ("secrets", "Secret")):
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "x"}}
        memory.on(f"/api/v1/namespaces/x/{plural}/a", json_answer(body))
    for model in (ConfigMap, ConfigMap, Secret):
        found = await client.get(model, "a", namespace="x")
        assert found.record is not None
        assert found.record.codec.name == "json"
    asked = ["protobuf" in request.headers["Accept"] for request in memory.requests]
    assert asked == [True, False, True]
    assert all("application/json" in request.headers["Accept"] for request in memory.requests)


@pytest.fixture
async def factory(server: ApiServer) -> AsyncIterator[SharedInformerFactory]:
    async with Client(server.config) as client:
        factory = SharedInformerFactory(client)
        yield factory
        await factory.shutdown()


async def test_what_is_cached_as_protobuf_is_seen_unstructured_all_the_same(
    server: ApiServer, factory: SharedInformerFactory
) -> None:
    typed = factory.core.v1.config_maps
    dynamic = factory.for_resource(MAPS, form=Unstructured)
    factory.start()
    assert await factory.wait_for_cache_sync(timeout=20)
    (seen,) = dynamic.lister.list()
    (known,) = typed.lister.list()
    assert len(server.requests.watches(MAPS)) == 1
    assert seen.record is known.record
    assert seen.record is not None
    assert seen.record.codec.name == "protobuf"
    async with Client(server.config, wire_format="json") as client:
        text = await client.get(MAPS, "a", namespace="default")
    assert text.record is not None
    assert text.record.codec.name == "json"
    assert seen.to_dict() == known.to_dict() == text.to_dict()
    assert seen["data"] == {"a": "1"}
