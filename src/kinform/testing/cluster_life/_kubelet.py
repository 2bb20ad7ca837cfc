"""The simulated scheduler and kubelets, which move pods from stage to stage.

UNSCHEDULED → CREATING → RUNNING ⇄ CRASHED
     └────────────┴─────────┴────────┴──→ TERMINATING → gone
"""

from __future__ import annotations

import enum
from collections import Counter

from kinform.testing.cluster_life._manifests import Manifest
from kinform.testing.cluster_life._pods import pending_status, running_status
from kinform.testing.cluster_life._simulation import (
    NODES,
    PODS,
    Simulation,
    has_condition,
    is_being_deleted,
)


class Stage(enum.Enum):
    """The stage of a pod in its life cycle, derived from the pod itself."""

    UNSCHEDULED = enum.auto()
    CREATING = enum.auto()
    RUNNING = enum.auto()
    CRASHED = enum.auto()
    TERMINATING = enum.auto()

    @classmethod
    def of(cls, pod: Manifest) -> Stage:
        if is_being_deleted(pod):
            return cls.TERMINATING
        if "nodeName" not in pod["spec"]:
            return cls.UNSCHEDULED
        if pod.get("status", {}).get("phase", "Pending") == "Pending":
            return cls.CREATING
        return cls.CRASHED if _is_waiting(pod) else cls.RUNNING


# The range of simulated seconds that a pod spends in a stage.
_SECONDS = {
    Stage.UNSCHEDULED: (0.2, 0.8),
    Stage.CREATING: (0.8, 2.2),
    Stage.CRASHED: (1.5, 3.5),
    Stage.TERMINATING: (0.8, 2.0),
}
_EVICTED_AFTER = 3.0


class Kubelet:
    """Moves each pod to its next stage when it is due."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._due: dict[tuple[str, Stage], float] = {}
        self._unreachable_since: dict[str, float] = {}

    def step(self) -> None:
        pods = self._simulation.all(PODS)
        nodes = self._simulation.all(NODES)
        reachable = {node["metadata"]["name"]: has_condition(node, "Ready") for node in nodes}
        load = Counter({name: 0 for name, ready in reachable.items() if ready})
        load.update(pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName") in load)
        for pod in pods:
            if reachable.get(pod["spec"].get("nodeName", ""), True):
                self._unreachable_since.pop(pod["metadata"]["uid"], None)
                self._step_pod(pod, load)
            else:
                self._evict(pod)
        self._forget({pod["metadata"]["uid"] for pod in pods})

    def crash(self, pod: Manifest) -> None:
        """Let the container exit with an error and wait for its restart."""
        self._set_running(pod, ready=False, crashed=True, restarts=_restarts(pod) + 1)

    def _step_pod(self, pod: Manifest, load: Counter[str]) -> None:
        stage = Stage.of(pod)
        if stage is Stage.RUNNING:
            if not has_condition(pod, "Ready"):
                self._set_running(pod, ready=True, crashed=False, restarts=_restarts(pod))
        elif self._is_due(pod, stage):
            self._advance(pod, stage, load)

    def _advance(self, pod: Manifest, stage: Stage, load: Counter[str]) -> None:
        if stage is Stage.UNSCHEDULED:
            self._schedule(pod, load)
        elif stage is Stage.TERMINATING:
            self._simulation.delete(PODS, pod, grace=0)
        else:
            self._set_running(pod, ready=True, crashed=False, restarts=_restarts(pod))

    def _schedule(self, pod: Manifest, load: Counter[str]) -> None:
        if not load:
            return
        node = min(sorted(load), key=load.__getitem__)
        load[node] += 1
        pod["spec"]["nodeName"] = node
        pod["status"] = pending_status(now=self._simulation.now)
        self._simulation.bind(pod)

    def _set_running(self, pod: Manifest, *, ready: bool, crashed: bool, restarts: int) -> None:
        pod_ip = pod.get("status", {}).get("podIP") or self._new_address()
        status = running_status(
            pod,
            ready=ready,
            crashed=crashed,
            restarts=restarts,
            pod_ip=pod_ip,
            now=self._simulation.now,
        )
        self._simulation.update_status(pod, status)

    def _evict(self, pod: Manifest) -> None:
        """Evict a pod from a silent node: not ready, then deleted, then removed without kubelet."""
        since = self._unreachable_since.setdefault(pod["metadata"]["uid"], self._simulation.elapsed)
        stage = Stage.of(pod)
        if stage is Stage.TERMINATING:
            if self._is_due(pod, stage):
                self._simulation.delete(PODS, pod, grace=0)
        elif self._simulation.elapsed - since >= _EVICTED_AFTER:
            self._simulation.delete(PODS, pod)
        elif has_condition(pod, "Ready"):
            self._set_running(pod, ready=False, crashed=False, restarts=_restarts(pod))

    def _is_due(self, pod: Manifest, stage: Stage) -> bool:
        key = (pod["metadata"]["uid"], stage)
        if key not in self._due:
            self._due[key] = self._simulation.elapsed + self._simulation.random.uniform(
                *_SECONDS[stage]
            )
        if self._simulation.elapsed < self._due[key]:
            return False
        del self._due[key]
        return True

    def _forget(self, alive: set[str]) -> None:
        self._due = {key: due for key, due in self._due.items() if key[0] in alive}
        for uid in self._unreachable_since.keys() - alive:
            del self._unreachable_since[uid]

    def _new_address(self) -> str:
        random = self._simulation.random
        return f"10.244.{random.randrange(256)}.{random.randrange(2, 255)}"


def _is_waiting(pod: Manifest) -> bool:
    statuses = pod["status"].get("containerStatuses") or ()
    return any("waiting" in (status.get("state") or {}) for status in statuses)


def _restarts(pod: Manifest) -> int:
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    return max((int(status.get("restartCount", 0)) for status in statuses), default=0)
