"""Kinds from a cluster: by its definitions, by its OpenAPI document, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kinform.api import GVR, ApiResource
from kinform.client import Client
from kinform.errors import ConfigError, DecodeError, DiscoveryError, NoMatchError
from kinform.generate._cluster import read_cluster
from kinform.generate._package import render_package
from kinform.testing import ApiServer
from kinform.transport import AiohttpTransport, ClusterConfig
from tests.support.answers import json_answer, text_answer
from tests.support.custom_kinds import CERTIFICATE, CRON_TAB
from tests.support.memory_transport import MemoryTransport

_VERBS = frozenset({"get", "list", "watch"})
_DOCUMENT = "/openapi/v3/apis/metrics.example.com/v1"
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.0",
    "components": {
        "schemas": {
            "com.example.metrics.v1.Sample": {
                "type": "object",
                "x-kubernetes-group-version-kind": [
                    {"group": "metrics.example.com", "version": "v1", "kind": "Sample"}
                ],
                "properties": {
                    "apiVersion": {"type": "string"},
                    "kind": {"type": "string"},
                    "metadata": {"allOf": [{"$ref": "#/components/schemas/ObjectMeta"}]},
                    "window": {"$ref": "#/components/schemas/com.example.metrics.v1.Window"},
                },
            },
            "com.example.metrics.v1.SampleList": {
                "type": "object",
                "x-kubernetes-group-version-kind": [
                    {"group": "metrics.example.com", "version": "v1", "kind": "SampleList"}
                ],
            },
            "com.example.metrics.v1.Window": {
                "type": "object",
                "properties": {"seconds": {"type": "integer"}},
            },
        }
    },
}


def _refuse(message: str) -> None:
    raise AssertionError(message)


@pytest.fixture
def transport() -> MemoryTransport:
    """A cluster with an aggregated API and no definitions."""
    group, version = "metrics.example.com", "v1"
    transport = MemoryTransport(
        [
            ApiResource(GVR(group, version, "samples"), "Sample", True, verbs=_VERBS),
            ApiResource(GVR(group, version, "probes"), "Probe", False, verbs=frozenset({"get"})),
        ]
    )
    transport.on(_DOCUMENT, json_answer(DOCUMENT))
    return transport


@pytest.fixture
def client(transport: MemoryTransport) -> Client:
    return Client(ClusterConfig(server="https://cluster.example"), transport=transport)


async def test_a_group_version_of_definitions_is_read_from_them() -> None:
    async with ApiServer() as api:
        for text in (CRON_TAB, CERTIFICATE):
            api.create(yaml.safe_load(text))
        transport = AiohttpTransport(api.config)
        async with Client(api.config, transport=transport) as client:
            [found] = await read_cluster(client, transport, "stable.example.com/v1beta1")

    assert str(found) == "stable.example.com/v1beta1 CronTab"
    assert found.schema["properties"]["spec"]["properties"] == {"schedule": {"type": "string"}}


async def test_an_aggregated_api_is_read_from_its_document(
    client: Client, transport: MemoryTransport
) -> None:
    sample, probe = await read_cluster(client, transport, "metrics.example.com/v1")
    warnings: list[str] = []
    files = render_package([sample, probe], warnings.append)

    assert (sample.kind, sample.namespaced, sample.can_watch) == ("Sample", True, True)
    assert (probe.kind, probe.namespaced, probe.can_watch) == ("Probe", False, False)
    text = files["metrics_example_com/v1.py"]
    about = '    """Used in Sample.window."""\n\n'
    assert f"class Window(Model):\n{about}    seconds: int | None = None\n" in text
    assert 'window: Part[Window | None] = Part("window", Window)' in text
    assert "SampleList" not in text
    assert warnings == [
        "metrics.example.com/v1 Probe: the definition has no schema; "
        "spec and status are typed as Any"
    ]


async def test_without_permission_for_definitions_the_document_is_read(
    client: Client, transport: MemoryTransport
) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    transport.on(definitions, text_answer("no", 403))

    assert len(await read_cluster(client, transport, "metrics.example.com/v1")) == 2
    assert transport.requests_to(definitions)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ("metrics.example.com/v2", r"has no metrics\.example\.com/v2; did you mean metrics\.exam"),
        ("metric.example.com/v1", r"did you mean metrics\.example\.com/v1\?"),
        ("quite.another/v7", r"is its CustomResourceDefinition installed\?"),
    ],
)
async def test_an_unknown_group_version_is_answered_with_the_nearest(
    client: Client, transport: MemoryTransport, wanted: str, complaint: str
) -> None:
    with pytest.raises(NoMatchError, match=complaint):
        await read_cluster(client, transport, wanted)


@pytest.mark.parametrize("wanted", ["", "/", "a/b/c", "a.b/", "Group/V1", "v1/"])
async def test_an_invalid_group_version_is_rejected(
    client: Client, transport: MemoryTransport, wanted: str
) -> None:
    with pytest.raises(ConfigError, match="is not a group-version; write it as"):
        await read_cluster(client, transport, wanted)


async def test_an_invalid_document_is_rejected(client: Client, transport: MemoryTransport) -> None:
    for answer in (text_answer("<html>", 200), json_answer([])):
        transport.on(_DOCUMENT, answer)
        with pytest.raises(DecodeError, match=_DOCUMENT):
            await read_cluster(client, transport, "metrics.example.com/v1")
    transport.on(_DOCUMENT, text_answer("gone", 404))
    with pytest.raises(DiscoveryError, match=r"has no schemas at .* \(404\).*--crd"):
        await read_cluster(client, transport, "metrics.example.com/v1")
    assert all(response.closed for response in transport.responses)
