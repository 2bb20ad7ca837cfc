"""The state of the simulation: the server's in-process API and a simulated clock."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from kinform.api import GVR
from kinform.errors import AlreadyExistsError, ConflictError, NotFoundError
from kinform.testing.cluster_life._manifests import Body

NAMESPACES = GVR("", "v1", "namespaces")
NODES = GVR("", "v1", "nodes")
PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
REPLICA_SETS = GVR("apps", "v1", "replicasets")


class ClusterApi(Protocol):
    """The part of ``ApiServer`` that the simulation uses. ``BlockingApiServer`` has it too."""

    def create(self, obj: Mapping[str, Any]) -> Body: ...

    def update(self, obj: Mapping[str, Any], *, subresource: str = "") -> Body: ...

    def list(self, gvr: GVR, namespace: str = "") -> list[Body]: ...

    def delete(
        self,
        gvr: GVR,
        name: str,
        namespace: str = "",
        *,
        grace_period_seconds: int | None = None,
    ) -> object: ...


class Simulation:
    """The current objects and how to change them, while other clients may change them too.

    Therefore nothing from the server is cached: every step reads again, and a write that fails
    because the object was changed or deleted is left for the next step.
    """

    def __init__(self, api: ClusterApi, *, seed: int) -> None:
        self._door = api
        self.random = random.Random(seed)
        self.elapsed = 0.0
        """Simulated seconds since the start."""
        self._began = datetime.now(UTC)
        # Namespaces that have, or had, a deployment, because it may leave pods behind.
        self._inhabited = {"default"}

    @property
    def now(self) -> str:
        moment = self._began + timedelta(seconds=self.elapsed)
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def all(self, gvr: GVR) -> list[Body]:
        """Return all objects of a kind; pods only of ``default`` and namespaces of deployments.

        Other clients may have thousands of pods on the same server, which are ignored.
        """
        if gvr != PODS:
            return self._door.list(gvr)
        for deployment in self._door.list(DEPLOYMENTS):
            self._inhabited.add(deployment["metadata"]["namespace"])
        return [pod for place in sorted(self._inhabited) for pod in self._door.list(PODS, place)]

    def create(self, body: Body) -> None:
        with suppress(AlreadyExistsError, NotFoundError):
            self._door.create(body)

    def update(self, body: Body, *, subresource: str = "") -> None:
        with suppress(ConflictError, NotFoundError):
            self._door.update(body, subresource=subresource)

    def bind(self, pod: Body) -> None:
        """Write the node and the status of an unscheduled pod, as two writes like a scheduler."""
        with suppress(ConflictError, NotFoundError):
            bound = self._door.update(pod)
            self._door.update({**bound, "status": pod["status"]}, subresource="status")

    def update_status(self, body: Body, status: Body) -> None:
        """Write the status if it changed."""
        if body.get("status") != status:
            self.update({**body, "status": status}, subresource="status")

    def delete(self, gvr: GVR, body: Body, *, grace: int | None = None) -> None:
        metadata = body["metadata"]
        with suppress(ConflictError, NotFoundError):
            self._door.delete(
                gvr,
                metadata["name"],
                metadata.get("namespace", ""),
                grace_period_seconds=grace,
            )


def owner_uid(body: Body) -> str:
    """Return the uid of the controller that owns it, or an empty string."""
    for owner in body["metadata"].get("ownerReferences", ()):
        if owner.get("controller"):
            return str(owner["uid"])
    return ""


def is_going(body: Body) -> bool:
    return "deletionTimestamp" in body["metadata"]


def has_condition(body: Body, name: str) -> bool:
    conditions = body.get("status", {}).get("conditions") or ()
    return any(c["type"] == name and c["status"] == "True" for c in conditions)
