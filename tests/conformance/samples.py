"""Names in, small valid objects out. Valid for a real server, which checks them."""

from __future__ import annotations

import secrets
from typing import Any

from tests.conformance.harness import Json

GROUP = "conformance.kinform.test"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def config_map(name: str, *, labels: Json | None = None, **data: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "data": data,
    }


def finalized(name: str, *finalizers: str) -> Json:
    """A config map that stays, when deleted, until somebody removes its finalizers."""
    made = config_map(name)
    made["metadata"]["finalizers"] = list(finalizers or ["kinform.test/hold"])
    return made


def pod(name: str, *, node: str | None = None, grace: int = 30) -> Json:
    spec: Json = {
        "containers": [{"name": "main", "image": "example.test/main:1"}],
        "terminationGracePeriodSeconds": grace,
    }
    if node is not None:
        spec["nodeName"] = node
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deployment(name: str, *, replicas: int = 1) -> Json:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": "example.test/main:1"}]},
            },
        },
    }


def event(name: str, namespace: str) -> Json:
    """An event: the one kind that a real server reads from etcd, never from a cache."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name},
        "involvedObject": {"kind": "Pod", "namespace": namespace, "name": "someone"},
        "reason": "Tested",
        "message": "said a test",
        "type": "Normal",
    }


def lease(name: str) -> Json:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name},
        "spec": {"holderIdentity": "nobody"},
    }


def custom_resource_definition(
    plural: str,
    kind: str,
    *,
    group: str = GROUP,
    scope: str = "Namespaced",
    versions: tuple[str, ...] = ("v1",),
    **each_version: Any,
) -> Json:
    """Takes any spec and status; the last of its versions is the stored one."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    spec = {**anything, "properties": {"color": {"type": "string"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": anything}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {
                "plural": plural,
                "singular": kind.lower(),
                "kind": kind,
                "listKind": f"{kind}List",
                "shortNames": [plural[:3]],
                "categories": ["conformance"],
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": version == versions[-1],
                    "schema": {"openAPIV3Schema": schema},
                    **each_version,
                }
                for version in versions
            ],
        },
    }


def new_group() -> str:
    """A group nobody else uses, for tests that define and remove a kind of their own."""
    return f"g{secrets.token_hex(4)}.kinform.test"


def widget(name: str, *, version: str = "v1", status: Json | None = None, **spec: Any) -> Json:
    made: Json = {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": spec,
    }
    if status is not None:
        made["status"] = status
    return made


def gadget(name: str, *, status: Json | None = None, **spec: Any) -> Json:
    return {**widget(name, status=status, **spec), "kind": "Gadget"}
