"""Simulated controllers for deployments and replica sets: rolling updates, scaling, cleanup."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kinform.testing.cluster_life._manifests import (
    Body,
    hash_of,
    owner_reference,
)
from kinform.testing.cluster_life._pods import pod_body
from kinform.testing.cluster_life._simulation import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    Simulation,
    has_condition,
    is_going,
    owner_uid,
)

_REVISION = "deployment.kubernetes.io/revision"
_SETS_KEPT = 2


class Controllers:
    """The deployment and replica set controllers, and the garbage collector."""

    def __init__(self, world: Simulation) -> None:
        self._world = world

    def step(self) -> None:
        deployments = self._world.all(DEPLOYMENTS)
        sets = _by_owner(self._world.all(REPLICA_SETS))
        pods = _by_owner(self._world.all(PODS))
        for deployment in deployments:
            owned = sets.pop(deployment["metadata"]["uid"], [])
            if not is_going(deployment):
                self._step_deployment(deployment, owned, pods)
            for replica_set in owned:
                self._step_replica_set(replica_set, pods.pop(replica_set["metadata"]["uid"], []))
        self._collect_orphans(sets, pods)

    def _step_deployment(
        self, deployment: Body, sets: list[Body], pods: dict[str, list[Body]]
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
        self._world.update_status(deployment, status)

    def _create_replica_set(self, deployment: Body, name: str, sets: list[Body]) -> None:
        revisions = [int(s["metadata"]["annotations"][_REVISION]) for s in sets]
        revision = str(max(revisions, default=0) + 1)
        template = {**deployment["spec"]["template"]}
        template_hash = name.rpartition("-")[2]
        labels = {**template["metadata"]["labels"], "pod-template-hash": template_hash}
        template["metadata"] = {**template["metadata"], "labels": labels}
        self._world.create(
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
        self, deployment: Body, newest: Body, older: Iterable[Body], ready: dict[str, int]
    ) -> None:
        """Roll out with at most one pod more than desired, and never fewer ready than desired."""
        wanted = deployment["spec"]["replicas"]
        waning = [s for s in older if s["spec"]["replicas"] > 0]
        grown = newest["spec"]["replicas"]
        if not waning or grown > wanted:
            self._scale(newest, wanted)
        elif grown < wanted and grown + sum(s["spec"]["replicas"] for s in waning) <= wanted:
            self._scale(newest, grown + 1)
        elif sum(ready.values()) > wanted or ready[newest["metadata"]["uid"]] >= wanted:
            self._scale(waning[0], waning[0]["spec"]["replicas"] - 1)

    def _scale(self, replica_set: Body, replicas: int) -> None:
        if replica_set["spec"]["replicas"] != replicas:
            replica_set["spec"]["replicas"] = replicas
            self._world.update(replica_set)

    def _forget_old_sets(self, older: list[Body], pods: dict[str, list[Body]]) -> None:
        empty = [
            s
            for s in older
            if not s["spec"]["replicas"] and not pods.get(s["metadata"]["uid"]) and not is_going(s)
        ]
        empty.sort(key=lambda s: int(s["metadata"]["annotations"][_REVISION]))
        for replica_set in empty[:-_SETS_KEPT]:
            self._world.delete(REPLICA_SETS, replica_set)

    def _step_replica_set(self, replica_set: Body, pods: list[Body]) -> None:
        alive = [pod for pod in pods if not is_going(pod)]
        wanted = replica_set["spec"]["replicas"]
        for _ in range(wanted - len(alive)):
            suffix = "".join(self._world.random.choices("bcdfghjklmnpqrstvwxz2456789", k=5))
            self._world.create(pod_body(replica_set, suffix=suffix))
        # Delete pods that are not ready first.
        alive.sort(key=_is_ready)
        for pod in alive[: max(0, len(alive) - wanted)]:
            self._world.delete(PODS, pod)
        ready = sum(map(_is_ready, alive))
        status = {
            "replicas": len(alive),
            "fullyLabeledReplicas": len(alive),
            "readyReplicas": ready,
            "availableReplicas": ready,
            "observedGeneration": replica_set["metadata"].get("generation", 1),
        }
        self._world.update_status(
            replica_set, {k: v for k, v in status.items() if v or k == "replicas"}
        )

    def _collect_orphans(self, sets: dict[str, list[Body]], pods: dict[str, list[Body]]) -> None:
        """Delete the objects whose owner no longer exists. Pods without an owner are kept."""
        for owner, orphans in sets.items():
            for replica_set in orphans if owner else ():
                self._world.delete(REPLICA_SETS, replica_set)
                pods.setdefault(replica_set["metadata"]["uid"], [])
        for owner, orphans in pods.items():
            for pod in orphans if owner else ():
                if not is_going(pod):
                    self._world.delete(PODS, pod)

    def _conditions(self, deployment: Body, *, ready: int) -> list[Body]:
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
                "lastTransitionTime": self._world.now,
            }
        ]


def _replica_set_name(deployment: Body) -> str:
    metadata = deployment["metadata"]
    images = ",".join(c["image"] for c in deployment["spec"]["template"]["spec"]["containers"])
    template_hash = hash_of(f"{metadata['namespace']}/{metadata['name']}/{images}")
    return f"{metadata['name']}-{template_hash}"


def _deployment_status(
    deployment: Body, newest: Body, sets: list[Body], ready: dict[str, int]
) -> Body:
    def pods_of(replica_set: Body) -> int:
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


def _is_ready(pod: Body) -> bool:
    return has_condition(pod, "Ready") and not is_going(pod)


def _by_owner(bodies: list[Body]) -> dict[str, list[Body]]:
    owned: defaultdict[str, list[Body]] = defaultdict(list)
    for body in bodies:
        owned[owner_uid(body)].append(body)
    return dict(owned)
