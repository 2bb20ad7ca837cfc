"""The defaults that users rely on: completes a spec as the server does."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable
from typing import Any

from kinform.testing.storage import ObjectDocument

Json = dict[str, Any]


def apply_defaults(resource: str, document: ObjectDocument) -> None:
    """Set the defaults of this kind for the fields that a client omitted."""
    if complete := _SPEC.get(resource):
        spec = document.edit("spec")
        complete(spec)
    elif resource == "secrets":
        _complete_secret(document)


def _complete_secret(document: ObjectDocument) -> None:
    if not document.read("type"):
        document.set("type", "Opaque")
    if plain := document.read("stringData"):
        # Write-only: it is stored and read as data.
        data = document.edit("data")
        for key, text in plain.items():
            data[key] = base64.b64encode(str(text).encode()).decode()
    document.remove("stringData")


def initial_status(resource: str) -> Json | None:
    """Return the initial status of a new object of a kind."""
    status = _STATUS.get(resource)
    return None if status is None else dict(status)


def _setter(**defaults: Any) -> Callable[[Json], None]:
    def complete(spec: Json) -> None:
        for key, value in defaults.items():
            if spec.get(key) is None:
                spec[key] = dict(value) if isinstance(value, dict) else value

    return complete


_pod_spec = _setter(
    restartPolicy="Always",
    terminationGracePeriodSeconds=30,
    dnsPolicy="ClusterFirst",
    securityContext={},
    schedulerName="default-scheduler",
)


def _templated(complete: Callable[[Json], None]) -> Callable[[Json], None]:
    def completed(spec: Json) -> None:
        complete(spec)
        template = spec.get("template")
        if isinstance(template, dict) and isinstance(template.get("spec"), dict):
            _pod_spec(template["spec"])

    return completed


_service = _setter(type="ClusterIP", sessionAffinity="None")
_addresses = itertools.count(2)


def _complete_service(spec: Json) -> None:
    _service(spec)
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
        number = next(_addresses)
        spec["clusterIP"] = f"10.0.{number // 256 % 256}.{number % 256}"
    if spec.get("clusterIP"):
        spec.setdefault("clusterIPs", [spec["clusterIP"]])


def _complete_namespace(spec: Json) -> None:
    spec.setdefault("finalizers", ["kubernetes"])


_SPEC: dict[str, Callable[[Json], None]] = {
    "namespaces": _complete_namespace,
    "pods": _pod_spec,
    "services": _complete_service,
    "replicationcontrollers": _templated(_setter(replicas=1)),
    "deployments.apps": _templated(
        _setter(replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    ),
    "replicasets.apps": _templated(_setter(replicas=1)),
    "statefulsets.apps": _templated(
        _setter(replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady")
    ),
    "daemonsets.apps": _templated(_setter(revisionHistoryLimit=10)),
    "jobs.batch": _templated(_setter(parallelism=1, completions=1, backoffLimit=6, suspend=False)),
    "cronjobs.batch": _setter(
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    ),
    "horizontalpodautoscalers.autoscaling": _setter(minReplicas=1),
    "persistentvolumes": _setter(persistentVolumeReclaimPolicy="Retain", volumeMode="Filesystem"),
    "persistentvolumeclaims": _setter(volumeMode="Filesystem"),
}

_STATUS: dict[str, Json] = {
    "namespaces": {"phase": "Active"},
    "pods": {"phase": "Pending", "qosClass": "BestEffort"},
    "services": {"loadBalancer": {}},
    "persistentvolumes": {"phase": "Pending"},
    "persistentvolumeclaims": {"phase": "Pending"},
    "deployments.apps": {},
    "jobs.batch": {},
    "cronjobs.batch": {},
    "replicasets.apps": {"replicas": 0},
    "replicationcontrollers": {"replicas": 0},
    "statefulsets.apps": {"replicas": 0, "availableReplicas": 0},
    "daemonsets.apps": {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
}
