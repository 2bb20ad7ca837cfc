"""The state of the simulation: the server's in-process API and a simulated clock."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from kinform.api import GVR
from kinform.errors import AlreadyExistsError, ConflictError, NotFoundError
from kinform.testing.cluster_life._manifests import Manifest

NAMESPACES = GVR("", "v1", "namespaces")
NODES = GVR("", "v1", "nodes")
PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
REPLICA_SETS = GVR("apps", "v1", "replicasets")


class ClusterApi(Protocol):
    """The part of ``ApiServer`` that the simulation uses. ``BlockingApiServer`` has it too."""

    def create(self, obj: Mapping[str, Any]) -> Manifest: ...

    def update(self, obj: Mapping[str, Any], *, subresource: str = "") -> Manifest: ...

    def list(self, gvr: GVR, namespace: str = "") -> list[Manifest]: ...

    def delete(
        self,
        gvr: GVR,
        name: str,
        namespace: str = "",
        *,
        grace_period: int | None = None,
    ) -> object: ...


class Simulation:
    """The current objects and how to change them, while other clients may change them too.

    Therefore nothing from the server is cached: every step reads again, and a write that fails
    because the object was changed or deleted is left for the next step.
    """

    def __init__(self, api: ClusterApi, *, seed: int) -> None:
        self._api = api
        self.random = random.Random(seed)
        self.elapsed = 0.0
        """Simulated seconds since the start."""
        self._start_time = datetime.now(UTC)
        # Namespaces that have, or had, a deployment, because it may leave pods behind.
        self._namespaces = {"default"}

    @property
    def now(self) -> str:
        moment = self._start_time + timedelta(seconds=self.elapsed)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def all(self, gvr: GVR) -> list[Manifest]:
        """Return all objects of a kind; pods only of ``default`` and namespaces of deployments.

        Other clients may have thousands of pods on the same server, which are ignored.
        """
        if gvr != PODS:
            return self._api.list(gvr)
        for deployment in self._api.list(DEPLOYMENTS):
            self._namespaces.add(deployment["metadata"]["namespace"])
        return [
            pod for namespace in sorted(self._namespaces) for pod in self._api.list(PODS, namespace)
        ]

    def create(self, manifest: Manifest) -> None:
        with suppress(AlreadyExistsError, NotFoundError):
            self._api.create(manifest)

    def update(self, manifest: Manifest, *, subresource: str = "") -> None:
        with suppress(ConflictError, NotFoundError):
            self._api.update(manifest, subresource=subresource)

    def bind(self, pod: Manifest) -> None:
        """Write the node and the status of an unscheduled pod, as two writes like a scheduler."""
        with suppress(ConflictError, NotFoundError):
            bound = self._api.update(pod)
            self._api.update({**bound, "status": pod["status"]}, subresource="status")

    def update_status(self, manifest: Manifest, status: Manifest) -> None:
        """Write the status if it changed."""
        if manifest.get("status") != status:
            self.update({**manifest, "status": status}, subresource="status")

    def delete(self, gvr: GVR, manifest: Manifest, *, grace: int | None = None) -> None:
        metadata = manifest["metadata"]
        with suppress(ConflictError, NotFoundError):
            self._api.delete(
                gvr,
                metadata["name"],
                metadata.get("namespace", ""),
                grace_period=grace,
            )


def owner_uid(manifest: Manifest) -> str:
    """Return the uid of the controller that owns it, or an empty string."""
    for owner in manifest["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            return str(owner["uid"])
    return ""


def is_being_deleted(manifest: Manifest) -> bool:
    return "deletionTimestamp" in manifest["metadata"]


def has_condition(manifest: Manifest, name: str) -> bool:
    conditions = manifest.get("status", {}).get("conditions") or ()
    return any(c["type"] == name and c["status"] == "True" for c in conditions)
