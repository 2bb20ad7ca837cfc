"""Simulated controllers for deployments and replica sets: rolling updates, scaling, cleanup."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kinform.testing.cluster_life._manifests import (
    Manifest,
    owner_reference,
    short_hash,
)
from kinform.testing.cluster_life._pods import pod_manifest
from kinform.testing.cluster_life._simulation import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    Simulation,
    has_condition,
    is_being_deleted,
    owner_uid,
)

_REVISION = "deployment.kubernetes.io/revision"
_SETS_KEPT = 2


class Controllers:
    """The deployment and replica set controllers, and the garbage collector."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def step(self) -> None:
        deployments = self._simulation.all(DEPLOYMENTS)
        sets = _by_owner(self._simulation.all(REPLICA_SETS))
        pods = _by_owner(self._simulation.all(PODS))
        for deployment in deployments:
            owned = sets.pop(deployment["metadata"]["uid"], [])
            if not is_being_deleted(deployment):
                self._step_deployment(deployment, owned, pods)
            for replica_set in owned:
                self._step_replica_set(replica_set, pods.pop(replica_set["metadata"]["uid"], []))
        self._collect_orphans(sets, pods)

    def _step_deployment(
        self, deployment: Manifest, sets: list[Manifest], pods: dict[str, list[Manifest]]
    ) -> None:
        name = _replica_set_name(deployment)
        newest = next((s for s in sets if s["metadata"]["name"] == name), None)
        if newest is None:
            self._create_replica_set(deployment, name, sets)
            return
        older = [replica_set for replica_set in sets if replica_set is not newest]
        ready = {
            s["metadata"]["uid"]: sum(map(_is_ready, pods.get(s["metadata"]["uid"], ())))
            for s in sets
        }
        self._roll(deployment, newest, older, ready)
        self._forget_old_sets(older, pods)
        status = _deployment_status(deployment, newest, sets, ready)
        status["conditions"] = self._conditions(deployment, ready=sum(ready.values()))
        self._simulation.update_status(deployment, status)

    def _create_replica_set(self, deployment: Manifest, name: str, sets: list[Manifest]) -> None:
        revisions = [int(s["metadata"]["annotations"][_REVISION]) for s in sets]
        revision = str(max(revisions, default=0) + 1)
        template = {**deployment["spec"]["template"]}
        template_hash = name.rpartition("-")[2]
        labels = {**template["metadata"]["labels"], "pod-template-hash": template_hash}
        template["metadata"] = {**template["metadata"], "labels": labels}
        self._simulation.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {
                    "name": name,
                    "namespace": deployment["metadata"]["namespace"],
                    "labels": labels,
                    "annotations": {_REVISION: revision},
                    "ownerReferences": [owner_reference(deployment)],
                },
                "spec": {
                    "replicas": 0 if sets else deployment["spec"]["replicas"],
                    "selector": {"matchLabels": labels},
                    "template": template,
                },
            }
        )

    def _roll(
        self,
        deployment: Manifest,
        newest: Manifest,
        older: Iterable[Manifest],
        ready: dict[str, int],
    ) -> None:
        """Roll out with at most one pod more than desired, and never fewer ready than desired."""
        wanted = deployment["spec"]["replicas"]
        shrinking = [s for s in older if s["spec"]["replicas"] > 0]
        current = newest["spec"]["replicas"]
        if not shrinking or current > wanted:
            self._scale(newest, wanted)
        elif current < wanted and current + sum(s["spec"]["replicas"] for s in shrinking) <= wanted:
            self._scale(newest, current + 1)
        elif sum(ready.values()) > wanted or ready[newest["metadata"]["uid"]] >= wanted:
            self._scale(shrinking[0], shrinking[0]["spec"]["replicas"] - 1)

    def _scale(self, replica_set: Manifest, replicas: int) -> None:
        if replica_set["spec"]["replicas"] != replicas:
            replica_set["spec"]["replicas"] = replicas
            self._simulation.update(replica_set)

    def _forget_old_sets(self, older: list[Manifest], pods: dict[str, list[Manifest]]) -> None:
        empty = [
            s
            for s in older
            if not s["spec"]["replicas"]
            and not pods.get(s["metadata"]["uid"])
            and not is_being_deleted(s)
        ]
        empty.sort(key=lambda s: int(s["metadata"]["annotations"][_REVISION]))
        for replica_set in empty[:-_SETS_KEPT]:
            self._simulation.delete(REPLICA_SETS, replica_set)

    def _step_replica_set(self, replica_set: Manifest, pods: list[Manifest]) -> None:
        alive = [pod for pod in pods if not is_being_deleted(pod)]
        wanted = replica_set["spec"]["replicas"]
        for _ in range(wanted - len(alive)):
            suffix = "".join(self._simulation.random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
            self._simulation.create(pod_manifest(replica_set, suffix=suffix))
        # Delete pods that are not ready first.
        alive.sort(key=_is_ready)
        for pod in alive[: max(0, len(alive) - wanted)]:
            self._simulation.delete(PODS, pod)
        ready = sum(map(_is_ready, alive))
        status = {
            "replicas": len(alive),
            "fullyLabeledReplicas": len(alive),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": replica_set["metadata"].get("generation", 1),
        }
        self._simulation.update_status(
            replica_set, {k: v for k, v in status.items() if v or k == "replicas"}
        )

    def _collect_orphans(
        self, sets: dict[str, list[Manifest]], pods: dict[str, list[Manifest]]
    ) -> None:
        """Delete the objects whose owner no longer exists. Pods without an owner are kept."""
        for owner, orphans in sets.items():
            for replica_set in orphans if owner else ():
                self._simulation.delete(REPLICA_SETS, replica_set)
                pods.setdefault(replica_set["metadata"]["uid"], [])
        for owner, orphans in pods.items():
            for pod in orphans if owner else ():
                if not is_being_deleted(pod):
                    self._simulation.delete(PODS, pod)

    def _conditions(self, deployment: Manifest, *, ready: int) -> list[Manifest]:
        available = ready >= deployment["spec"]["replicas"]
        state = "True" if available else "False"
        for condition in deployment.get("status", {}).get("conditions") or ():
            if condition["type"] == "Available" and condition["status"] == state:
                return [condition]
        reason = "MinimumReplicasAvailable" if available else "MinimumReplicasUnavailable"
        return [
            {
                "type": "Available",
                "status": state,
                "reason": reason,
                "lastTransitionTime": self._simulation.now,
            }
        ]


def _replica_set_name(deployment: Manifest) -> str:
    metadata = deployment["metadata"]
    images = ",".join(c["image"] for c in deployment["spec"]["template"]["spec"]["containers"])
    template_hash = short_hash(f"{metadata['namespace']}/{metadata['name']}/{images}")
    return f"{metadata['name']}-{template_hash}"


def _deployment_status(
    deployment: Manifest, newest: Manifest, sets: list[Manifest], ready: dict[str, int]
) -> Manifest:
    def pods_of(replica_set: Manifest) -> int:
        return int(replica_set.get("status", {}).get("replicas", 0))

    total = sum(map(pods_of, sets))
    ready_pods = sum(ready.values())
    status = {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        "replicas": total,
        "updatedReplicas": pods_of(newest),
        "readyReplicas": ready_pods,
        "availableReplicas": ready_pods,
        "unavailableReplicas": max(0, deployment["spec"]["replicas"] - ready_pods),
    }
    return {name: value for name, value in status.items() if value}


def _is_ready(pod: Manifest) -> bool:
    return has_condition(pod, "Ready") and not is_being_deleted(pod)


def _by_owner(manifests: list[Manifest]) -> dict[str, list[Manifest]]:
    owned: defaultdict[str, list[Manifest]] = defaultdict(list)
    for manifest in manifests:
        owned[owner_uid(manifest)].append(manifest)
    return dict(owned)
