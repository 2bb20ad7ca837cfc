"""Creates the bodies of nodes, namespaces, deployments and replica sets."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

Manifest = dict[str, Any]

KUBELET = "v1.37.1"
_ZONES = ("eu-north-1a", "eu-north-1b", "eu-north-1c")


@dataclass(frozen=True, slots=True)
class Application:
    """The application of a deployment."""

    name: str
    namespace: str
    image: str
    replicas: int
    tier: str


APPLICATIONS = (
    Application("web", "shop", "registry.example/shop/web", 5, "frontend"),
    Application("cart", "shop", "registry.example/shop/cart", 3, "backend"),
    Application("checkout", "shop", "registry.example/shop/checkout", 3, "backend"),
    Application("search", "catalog", "registry.example/catalog/search", 4, "backend"),
    Application("images", "catalog", "registry.example/catalog/images", 2, "backend"),
    Application("ingest", "data", "registry.example/data/ingest", 3, "batch"),
    Application("reports", "data", "registry.example/data/reports", 2, "batch"),
    Application("gateway", "edge", "registry.example/edge/gateway", 3, "frontend"),
)
"""The applications of the simulated cluster."""


def namespace_manifest(name: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def node_manifest(index: int, *, now: str) -> Manifest:
    name = f"node-{index + 1}"
    resources = {"cpu": "8", "memory": "32605736Ki", "pods": "110", "ephemeral-storage": "100Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": _ZONES[index % len(_ZONES)],
            },
        },
        "spec": {"podCIDR": f"10.244.{index}.0/24", "providerID": f"kinform:///{name}"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": f"10.0.0.{index + 10}"}],
            "allocatable": resources,
            "capacity": resources,
            "conditions": [node_ready_condition(ready=True, now=now)],
            "nodeInfo": {
                "architecture": "amd64",
                "kubeletVersion": KUBELET,
                "operatingSystem": "linux",
                "containerRuntimeVersion": "containerd://2.1.4",
            },
        },
    }


def node_ready_condition(*, ready: bool, now: str) -> Manifest:
    return {
        "type": "Ready",
        "status": "True" if ready else "Unknown",
        "reason": "KubeletReady" if ready else "NodeStatusUnknown",
        "message": "kubelet is posting ready status"
        if ready
        else "Kubelet stopped posting status.",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }


def deployment_manifest(app: Application, *, tag: str) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": app.name,
            "namespace": app.namespace,
            "labels": {"app": app.name, "tier": app.tier},
            "annotations": {"deployment.kubernetes.io/revision": "1"},
        },
        "spec": {
            "replicas": app.replicas,
            "selector": {"matchLabels": {"app": app.name}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": template_manifest(app, tag=tag),
        },
    }


def template_manifest(app: Application, *, tag: str) -> Manifest:
    return {
        "metadata": {"labels": {"app": app.name, "tier": app.tier}},
        "spec": {
            "containers": [
                {
                    "name": app.name,
                    "image": f"{app.image}:{tag}",
                    "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}},
                }
            ],
            "terminationGracePeriodSeconds": 30,
        },
    }


def owner_reference(owner: Manifest) -> Manifest:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


# The characters of generated names in Kubernetes: without vowels, they do not form words.
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def short_hash(text: str, *, length: int = 10) -> str:
    """Return a short name that only depends on the text, in the characters of Kubernetes."""
    number = zlib.crc32(text.encode()) * 2654435761
    letters = []
    for _ in range(length):
        number, digit = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "".join(letters)
