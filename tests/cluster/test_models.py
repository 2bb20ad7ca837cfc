"""Every object that a real server holds, and Go's own samples of every kind, through the models."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import pytest

from kinform.api import GVK, ApiResource
from kinform.client import Client
from kinform.models import model_for
from kinform.models.meta.v1 import DeleteOptions
from kinform.objects import JSON, Model, Record, TypedObject, Unstructured
from tests.cluster.informer_flows import client_in_new_namespace
from tests.support.built import parametrize_samples
from tests.support.cluster import RealCluster
from tools.cluster_binaries import KUBERNETES
from tools.golden_files import newest_release
from tools.schema.table import PATH as SCHEMA

pytestmark = pytest.mark.cluster

_WEBHOOK = "the body of a call to a webhook; servers have no such kind"
_DISCOVERY = "read by discovery, as it is"
_PARAMETERS = "travels as the parameters of a URL"
NOT_GENERATED = {
    "admission.k8s.io.v1.AdmissionReview": _WEBHOOK,
    "admission.k8s.io.v1beta1.AdmissionReview": _WEBHOOK,
    "imagepolicy.k8s.io.v1alpha1.ImageReview": _WEBHOOK,
    "apidiscovery.k8s.io.v2.APIGroupDiscovery": _DISCOVERY,
    "apidiscovery.k8s.io.v2beta1.APIGroupDiscovery": _DISCOVERY,
    "core.v1.CreateOptions": _PARAMETERS,
    "core.v1.GetOptions": _PARAMETERS,
    "core.v1.ListOptions": _PARAMETERS,
    "core.v1.PatchOptions": _PARAMETERS,
    "core.v1.UpdateOptions": _PARAMETERS,
    "core.v1.WatchEvent": "the frame of a change, and no object",
}


def touch(obj: TypedObject) -> list[Any]:
    return [getattr(obj, part.attribute) for part in obj.parts.values()]


def exactly(tree: Any) -> str:
    """Trees as text, for ``True == 1 == 1.0``."""
    return json.dumps(tree, sort_keys=True, indent=1)


def check_that_nothing_is_lost(handle: TypedObject, tree: dict[str, Any]) -> TypedObject:
    """A copy, every part of which was decoded and is encoded again."""
    parts = touch(handle)
    copied = handle.copy()
    assert touch(copied) == parts
    assert exactly(copied.to_dict()) == exactly(tree)
    assert exactly(JSON.decode(copied.to_bytes())) == exactly(tree)
    return copied


# -- what a server holds ---------------------------------------------------------------------

POD_SPEC: dict[str, Any] = {
    "containers": [
        {
            "name": "main",
            "image": "web:1",
            "ports": [{"containerPort": 80, "name": "http"}],
            "env": [
                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                {"name": "EMPTY", "value": ""},
            ],
            "resources": {"limits": {"cpu": "500m", "memory": "64Mi"}},
            "readinessProbe": {"httpGet": {"path": "/", "port": "http"}},
            "livenessProbe": {"tcpSocket": {"port": 80}, "periodSeconds": 5},
            "securityContext": {"runAsNonRoot": False, "runAsUser": 0},
        }
    ],
    "volumes": [
        {"name": "scratch", "emptyDir": {}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "settings"}}]}},
    ],
    "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
}
SELECTED: dict[str, Any] = {"matchLabels": {"app": "web"}}
TEMPLATE = {"metadata": {"labels": SELECTED["matchLabels"]}, "spec": POD_SPEC}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
BODIES: list[dict[str, Any]] = [
    {"apiVersion": "v1", "kind": "Pod", "spec": POD_SPEC},
    {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": ""}, "binaryData": {"b": "AP8="}},
    {"apiVersion": "v1", "kind": "Secret", "data": {"a": "AP8=", "b": ""}, "immutable": False},
    {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 80, "targetPort": "x"}]}},
    {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": CLAIM},
    {"apiVersion": "v1", "kind": "ResourceQuota", "spec": {"hard": {"pods": 99, "cpu": "1e3"}}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"selector": SELECTED, "replicas": 0}},
    {"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"selector": SELECTED}},
    {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "spec": {
            "selector": SELECTED,
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": CLAIM}],
        },
    },
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "spec": {"selector": {}, "maxUnavailable": "50%"},
    },
    {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "spec": {"podSelector": {}, "ingress": [{}]},
    },
    {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"holderIdentity": "a", "renewTime": "2026-01-02T03:04:05.000000Z"},
    },
]


@pytest.fixture
async def client(real_cluster: RealCluster) -> AsyncIterator[Client]:
    async with client_in_new_namespace(real_cluster) as client:
        for body in BODIES:
            body = {**body, "metadata": {"name": "a"}}
            if body["kind"] in {"Deployment", "DaemonSet", "StatefulSet"}:
                body["spec"] = {"template": TEMPLATE, **body["spec"]}
            await client.create(body)
        yield client


async def held_by_the_server(client: Client) -> AsyncIterator[tuple[ApiResource, Record]]:
    for resource in await client.discovery.resources():
        if "list" in resource.verbs:
            for handle in await client.list(resource, namespace=""):
                assert isinstance(handle, Unstructured)
                assert handle.record is not None
                yield resource, handle.record


async def test_whatever_a_server_holds_goes_back_as_it_came(client: Client) -> None:
    seen = set()
    async for resource, record in held_by_the_server(client):
        model = model_for(resource.gvr)
        if model is None:  # of a CRD that another test has left
            assert "." in resource.gvr.group
            continue
        said = {"apiVersion": record.gvk.api_version, "kind": record.gvk.kind}
        check_that_nothing_is_lost(model.over(record), {**json.loads(record.payload), **said})
        seen.add(resource.kind)
    assert {body["kind"] for body in BODIES} <= seen
    assert {"APIService", "ClusterRole", "FlowSchema", "Namespace", "PriorityClass"} <= seen


async def test_a_copy_that_was_decoded_and_encoded_is_no_change_to_a_server(
    client: Client,
) -> None:
    for body in BODIES:
        model = model_for(GVK.of(body["apiVersion"], body["kind"]))
        assert model is not None
        handle = await client.get(model, "a")
        copied = handle.copy()
        touch(copied)
        updated = (await client.update(copied)).copy()
        # Servers write claims anew even if nothing changed.
        updated.resource_version = handle.resource_version
        assert exactly(updated.to_dict()) == exactly(handle.to_dict())


# -- Go's own samples ------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_samples(metafunc, ".json")


@cache
def served_versions() -> frozenset[tuple[str, str]]:
    table = json.loads(SCHEMA.read_text("utf-8"))
    return frozenset(
        (each["group"], each["version"]) for each in table["groupVersions"] if each.get("served")
    )


def model_of(sample: str) -> type[TypedObject]:
    group, version, kind = sample.rsplit(".", 2)
    group = "" if group == "core" else group
    if sample in NOT_GENERATED:
        pytest.skip(NOT_GENERATED[sample])
    model = DeleteOptions if kind == "DeleteOptions" else model_for(GVK(group, version, kind))
    if model is None and (group, version) not in served_versions():
        pytest.skip(f"no server of {KUBERNETES} serves {group}/{version}")
    assert model is not None, f"there is no model of {sample}, and no reason why"
    return model


def without_zeros(tree: Any) -> Any:
    """The tree without what is the same to a server as nothing."""
    if isinstance(tree, dict):
        pruned = {name: without_zeros(child) for name, child in tree.items()}
        return {name: child for name, child in pruned.items() if child or child == "0"}
    if isinstance(tree, list):
        return [without_zeros(child) for child in tree]
    return tree


def test_a_sample_goes_back_as_it_came(sample: str) -> None:
    model = model_of(sample)
    payload = (newest_release() / f"{sample}.json").read_bytes()
    tree = json.loads(payload)
    if "metadata" in tree and model.resource is not None:
        handle = model.over(Record.read(payload, JSON))
    else:
        handle = model.from_nested(tree)
        tree |= {"apiVersion": handle.api_version, "kind": handle.kind}
    check_that_nothing_is_lost(handle, tree)


def test_a_model_knows_every_field_of_a_sample(sample: str) -> None:
    model = model_of(sample)
    tree = json.loads((newest_release() / f"{sample}.json").read_bytes())
    obj = model.from_nested(tree)
    assert tree.keys() - {"apiVersion", "kind"} <= model.parts.keys()
    for part in model.parts.values():
        value = getattr(obj, part.attribute)
        if isinstance(value, Model):  # by itself, it has what it knows and nothing else
            assert exactly(without_zeros(value.to_dict())) == exactly(
                without_zeros(tree[part.name])
            )
