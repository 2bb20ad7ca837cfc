"""Pods: their bodies, their status, and large numbers of them with a given size for load."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from kinform.errors import ConfigError
from kinform.testing.cluster_life._manifests import Manifest, owner_reference

_EPOCH = "2026-01-01T00:00:00Z"
# Placeholders have the length of their values, so that every pod has the requested size.
_INDEX = b"@@INDEX@"
_NODE = b"@@NODE@@"
_ADDRESS = b"@@@ADDRESS@@@@"


def pod_manifest(replica_set: Manifest, *, suffix: str) -> Manifest:
    """Return a new pod of a replica set, unscheduled and pending."""
    template = replica_set["spec"]["template"]
    container = template["spec"]["containers"][0]
    name = replica_set["metadata"]["name"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{name}-{suffix}",
            "generateName": f"{name}-",
            "namespace": replica_set["metadata"]["namespace"],
            "labels": dict(template["metadata"]["labels"]),
            "ownerReferences": [owner_reference(replica_set)],
        },
        "spec": {
            "containers": [{**container, "imagePullPolicy": "IfNotPresent"}],
            "dnsPolicy": "ClusterFirst",
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
        },
        "status": {"phase": "Pending", "qosClass": "Burstable"},
    }


def pending_status(*, now: str) -> Manifest:
    """Return the status of a scheduled pod whose container is being created."""
    return {
        "phase": "Pending",
        "qosClass": "Burstable",
        "startTime": now,
        "conditions": _conditions(ready=False, now=now),
    }


def running_status(
    pod: Manifest, *, ready: bool, restarts: int, crashed: bool, pod_ip: str, now: str
) -> Manifest:
    """Return the status of a pod whose container runs, or has crashed and waits to restart."""
    container = pod["spec"]["containers"][0]
    exited = {"exitCode": 1, "reason": "Error", "startedAt": now, "finishedAt": now}
    waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off restarting"}}
    return {
        "phase": "Running",
        "qosClass": "Burstable",
        "podIP": pod_ip,
        "podIPs": [{"ip": pod_ip}],
        "startTime": now,
        "conditions": _conditions(ready=ready, now=now),
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": f"{container['image']}@sha256:0",
                "ready": ready,
                "started": not crashed,
                "restartCount": restarts,
                "state": waiting if crashed else {"running": {"startedAt": now}},
                "lastState": {"terminated": exited} if restarts else {},
            }
        ],
    }


def _conditions(*, ready: bool, now: str) -> list[Manifest]:
    states = {
        "PodReadyToStartContainers": True,
        "Initialized": True,
        "Ready": ready,
        "ContainersReady": ready,
        "PodScheduled": True,
    }
    return [
        {"type": name, "status": "True" if state else "False", "lastTransitionTime": now}
        for name, state in states.items()
    ]


def realistic_pod(index: int, *, size: int = 13_000, namespace: str = "load") -> Manifest:
    """Return a running pod whose JSON is exactly ``size`` bytes long.

    Pods differ in name, labels, node and address; as in real clusters, most of the size is
    environment variables and managed fields.

    Raises:
        ConfigError: The size is too small for a pod.
    """
    pod: Manifest = msgspec.json.decode(realistic_pod_json(index, size=size, namespace=namespace))
    return pod


def realistic_pod_json(index: int, *, size: int = 13_000, namespace: str = "load") -> bytes:
    """Return the same pod as bytes, much faster, to load hundreds of thousands of pods."""
    high, low = divmod(index, 150)
    higher, middle = divmod(high, 150)
    address = f"10.{100 + higher % 150}.{100 + middle}.{100 + low}"
    return (
        _template(size, namespace)
        .replace(_INDEX, b"%08d" % index)
        .replace(_NODE, b"node-%03d" % (index % 100))
        .replace(_ADDRESS, address.encode())
    )


@functools.lru_cache(maxsize=8)
def _template(size: int, namespace: str) -> bytes:
    pod = _small_pod(namespace)
    smallest = len(msgspec.json.encode(pod))
    if size < smallest:
        raise ConfigError(
            f"a realistic pod has at least {smallest} bytes; size={size} is too small"
        )
    container = pod["spec"]["containers"][0]
    fields = pod["metadata"]["managedFields"][0]["fieldsV1"]
    owned = fields["f:spec"]["f:containers"]['k:{"name":"app"}']["f:env"]
    for number in range(size):
        name = f"SETTING_{number:04d}"
        container["env"].append({"name": name, "value": f"value-of-{name.lower()}"})
        owned[f'k:{{"name":"{name}"}}'] = {".": {}, "f:name": {}, "f:value": {}}
        if len(msgspec.json.encode(pod)) > size:
            container["env"].pop()
            del owned[f'k:{{"name":"{name}"}}']
            break
    annotations = pod["metadata"]["annotations"]
    annotations["kinform.dev/checksum"] += "f" * (size - len(msgspec.json.encode(pod)))
    return msgspec.json.encode(pod)


def _small_pod(namespace: str) -> Manifest:
    container = {
        "name": "app",
        "image": "registry.example/load/app:1.0",
        "imagePullPolicy": "IfNotPresent",
        "env": [],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": {
            "limits": {"memory": "256Mi"},
            "requests": {"cpu": "100m", "memory": "128Mi"},
        },
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "nodeName": _NODE.decode(),
        "restartPolicy": "Always",
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        "volumes": [{"name": "token", "secret": {"secretName": "token"}}],
    }
    status = running_status(
        {"spec": spec}, ready=True, restarts=0, crashed=False, pod_ip=_ADDRESS.decode(), now=_EPOCH
    )
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "load-7d9c", "uid": "6f0c4a52-8f5e-4c59-9d0e-6a2b4f1c7d10"},
    }
    containers: Manifest = {'k:{"name":"app"}': {".": {}, "f:env": {".": {}}, "f:image": {}}}
    managed = {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "apiVersion": "v1",
        "time": _EPOCH,
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:metadata": {"f:labels": {}}, "f:spec": {"f:containers": containers}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"load-7d9c-{_INDEX.decode()}",
            "generateName": "load-7d9c-",
            "namespace": namespace,
            "labels": {"app": "load", "pod-template-hash": "7d9c", "index": _INDEX.decode()},
            "annotations": {"kinform.dev/checksum": ""},
            "ownerReferences": [owner_reference(owner)],
            "managedFields": [managed],
        },
        "spec": spec,
        "status": status,
    }
