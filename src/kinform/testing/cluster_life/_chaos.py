"""Random incidents of the simulated cluster: rollouts, scaling, crashes and silent nodes."""

from __future__ import annotations

from kinform.testing.cluster_life._kubelet import Kubelet, Stage
from kinform.testing.cluster_life._manifests import Manifest, node_ready_condition
from kinform.testing.cluster_life._simulation import (
    DEPLOYMENTS,
    NODES,
    PODS,
    Simulation,
    has_condition,
)

# Simulated seconds until the first incident, and the range between later ones.
_CRASH = (2.0, (3.0, 7.0))
_SCALE = (3.5, (4.0, 8.0))
_ROLLOUT = (5.0, (7.0, 12.0))
_OUTAGE = (9.0, (18.0, 30.0))
_OUTAGE_LASTS = (4.0, 7.0)
_REPLICAS = (1, 7)


class Chaos:
    """Unplanned incidents. Each type has its own interval."""

    def __init__(self, simulation: Simulation, kubelet: Kubelet) -> None:
        self._simulation = simulation
        self._kubelet = kubelet
        self._kinds = (
            (self._crash_a_pod, _CRASH[1]),
            (self._scale_a_deployment, _SCALE[1]),
            (self._roll_a_deployment, _ROLLOUT[1]),
            (self._silence_a_node, _OUTAGE[1]),
        )
        began = simulation.elapsed
        self._due = [began + kind[0] for kind in (_CRASH, _SCALE, _ROLLOUT, _OUTAGE)]
        self._back_at: dict[str, float] = {}

    def step(self) -> None:
        self._bring_nodes_back()
        for index, (happen, pause) in enumerate(self._kinds):
            if self._simulation.elapsed >= self._due[index]:
                self._due[index] = self._simulation.elapsed + self._simulation.random.uniform(
                    *pause
                )
                happen()

    def _crash_a_pod(self) -> None:
        running = [
            pod
            for pod in self._simulation.all(PODS)
            if Stage.of(pod) is Stage.RUNNING and has_condition(pod, "Ready")
        ]
        if pod := self._one_of(running):
            self._kubelet.crash(pod)

    def _scale_a_deployment(self) -> None:
        if deployment := self._one_of(self._simulation.all(DEPLOYMENTS)):
            least, most = _REPLICAS
            now = deployment["spec"]["replicas"]
            change = self._simulation.random.choice((-2, -1, 1, 2))
            deployment["spec"]["replicas"] = max(least, min(most, now + change))
            self._simulation.update(deployment)

    def _roll_a_deployment(self) -> None:
        if deployment := self._one_of(self._simulation.all(DEPLOYMENTS)):
            for container in deployment["spec"]["template"]["spec"]["containers"]:
                container["image"] = _next_tag(container["image"])
            self._simulation.update(deployment)

    def _silence_a_node(self) -> None:
        ready = [node for node in self._simulation.all(NODES) if has_condition(node, "Ready")]
        # The last ready node stays, because the cluster would be empty without one.
        if len(ready) > 1 and (node := self._one_of(ready)):
            self._set_ready(node, ready=False)
            lasts = self._simulation.random.uniform(*_OUTAGE_LASTS)
            self._back_at[node["metadata"]["name"]] = self._simulation.elapsed + lasts

    def _bring_nodes_back(self) -> None:
        back = {name for name, due in self._back_at.items() if due <= self._simulation.elapsed}
        if not back:
            return
        for node in self._simulation.all(NODES):
            if node["metadata"]["name"] in back:
                self._set_ready(node, ready=True)
        for name in back:
            del self._back_at[name]

    def _set_ready(self, node: Manifest, *, ready: bool) -> None:
        condition = node_ready_condition(ready=ready, now=self._simulation.now)
        self._simulation.update_status(node, {**node["status"], "conditions": [condition]})

    def _one_of(self, manifests: list[Manifest]) -> Manifest | None:
        return self._simulation.random.choice(manifests) if manifests else None


def _next_tag(image: str) -> str:
    """Increment the tag: ``web:1.4`` → ``web:1.5``."""
    name, _, tag = image.rpartition(":")
    major, _, minor = tag.partition(".")
    return f"{name}:{major}.{int(minor) + 1}" if minor.isdecimal() else f"{name}:1.1"
