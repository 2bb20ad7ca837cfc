"""The state of the cluster for the demo, updated from informer events. No I/O."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kinform.api import GVR, compare_resource_versions
from kinform.objects import Unstructured

NODES = GVR("", "v1", "nodes")
PODS = GVR("", "v1", "pods")
DEPLOYMENTS = GVR("apps", "v1", "deployments")
RESOURCES = {"Node": NODES, "Deployment": DEPLOYMENTS, "Pod": PODS}
"""The resources that the demo shows, by kind."""


class Health(enum.Enum):
    """The health of an object; the screen shows each as a colour."""

    GOOD = enum.auto()
    WAITING = enum.auto()
    BAD = enum.auto()
    LEAVING = enum.auto()


@dataclass(frozen=True, slots=True)
class News:
    """One change, described for human readers."""

    health: Health
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class PodState:
    key: str
    node: str
    health: Health
    state: str
    restarts: int


@dataclass(frozen=True, slots=True)
class DeploymentState:
    key: str
    image_tag: str
    desired: int
    ready: int


@dataclass(frozen=True, slots=True)
class NodeState:
    name: str
    ready: bool


@dataclass(slots=True)
class Picture:
    """The state of the cluster as received from the informers."""

    nodes: dict[str, NodeState] = field(default_factory=dict)
    deployments: dict[str, DeploymentState] = field(default_factory=dict)
    pods: dict[str, PodState] = field(default_factory=dict)
    news: deque[News] = field(default_factory=lambda: deque(maxlen=200))
    changes: int = 0
    bytes_received: int = 0
    resource_version: str = "0"

    @property
    def objects(self) -> int:
        return len(self.nodes) + len(self.deployments) + len(self.pods)

    def put(self, gvr: GVR, obj: Unstructured) -> None:
        """Add an object of the initial list, without news."""
        self._note(obj)
        if gvr == PODS:
            self.pods[obj.key] = read_pod(obj)
        elif gvr == DEPLOYMENTS:
            self.deployments[obj.key] = read_deployment(obj)
        else:
            self.nodes[obj.name] = read_node(obj)

    def apply(self, gvr: GVR, obj: Unstructured, *, gone: bool = False) -> News | None:
        """Apply one change, and return its news if it is worth showing."""
        self._note(obj)
        self.changes += 1
        if gvr == PODS:
            news = self._apply_pod(obj, gone=gone)
        elif gvr == DEPLOYMENTS:
            news = self._apply_deployment(obj, gone=gone)
        else:
            news = self._apply_node(obj, gone=gone)
        if news is not None:
            self.news.append(news)
        return news

    def _note(self, obj: Unstructured) -> None:
        self.bytes_received += len(obj.to_bytes())
        order = compare_resource_versions(obj.resource_version, self.resource_version)
        if order is None or order > 0:
            self.resource_version = obj.resource_version

    def _apply_pod(self, obj: Unstructured, *, gone: bool) -> News | None:
        old = self.pods.get(obj.key)
        if gone:
            self.pods.pop(obj.key, None)
            return News(Health.LEAVING, f"pod {obj.key}", "was deleted")
        new = self.pods[obj.key] = read_pod(obj)
        if old is None:
            return News(Health.WAITING, f"pod {obj.key}", "was created")
        if new.node and not old.node:
            return News(Health.WAITING, f"pod {obj.key}", f"was scheduled to {new.node}")
        if new.state == old.state:
            return None
        if new.state == "CrashLoopBackOff":
            return News(new.health, f"pod {obj.key}", f"crashed (restart {new.restarts})")
        return News(new.health, f"pod {obj.key}", f"is {_STATE_TEXTS.get(new.state, new.state)}")

    def _apply_deployment(self, obj: Unstructured, *, gone: bool) -> News | None:
        old = self.deployments.get(obj.key)
        subject = f"deployment {obj.key}"
        if gone:
            self.deployments.pop(obj.key, None)
            return News(Health.LEAVING, subject, "was deleted")
        new = self.deployments[obj.key] = read_deployment(obj)
        if old is None:
            return News(
                Health.WAITING,
                subject,
                f"was created with {new.desired} replicas of {new.image_tag}",
            )
        if new.image_tag != old.image_tag:
            return News(Health.WAITING, subject, f"rolls out {new.image_tag} (was {old.image_tag})")
        if new.desired != old.desired:
            return News(Health.WAITING, subject, f"scales from {old.desired} to {new.desired}")
        if new.ready >= new.desired > old.ready:
            return News(Health.GOOD, subject, f"is available ({new.ready} of {new.desired} ready)")
        return None

    def _apply_node(self, obj: Unstructured, *, gone: bool) -> News | None:
        old = self.nodes.get(obj.name)
        subject = f"node {obj.name}"
        if gone:
            self.nodes.pop(obj.name, None)
            return News(Health.LEAVING, subject, "was deleted")
        new = self.nodes[obj.name] = read_node(obj)
        if old is not None and old.ready == new.ready:
            return None
        if new.ready:
            return News(Health.GOOD, subject, "joined" if old is None else "is ready again")
        return None if old is None else News(Health.BAD, subject, "stopped reporting")


_STATE_TEXTS = {
    "ContainerCreating": "starting",
    "NotReady": "running, not ready",
    "Running": "running",
    "Terminating": "terminating",
}


def read_pod(pod: Unstructured) -> PodState:
    statuses = pod.get_path("status.containerStatuses") or ()
    restarts = max((int(status.get("restartCount", 0)) for status in statuses), default=0)
    node = str(pod.get_path("spec.nodeName") or "")
    state, health = _pod_state(pod, node, statuses)
    return PodState(pod.key, node, health, state, restarts)


def _pod_state(pod: Unstructured, node: str, statuses: Iterable[Any]) -> tuple[str, Health]:
    if pod.deletion_timestamp:
        return "Terminating", Health.LEAVING
    for status in statuses:
        waiting = (status.get("state") or {}).get("waiting")
        if waiting:
            return str(waiting.get("reason", "Waiting")), Health.BAD
    if pod.get_path("status.phase") == "Running":
        ready = _condition(pod, "Ready")
        return ("Running", Health.GOOD) if ready else ("NotReady", Health.BAD)
    return ("ContainerCreating" if node else "Pending"), Health.WAITING


def read_deployment(deployment: Unstructured) -> DeploymentState:
    containers = deployment.get_path("spec.template.spec.containers") or ()
    image = str(containers[0].get("image", "")) if containers else ""
    return DeploymentState(
        deployment.key,
        image.rpartition(":")[2],
        int(deployment.get_path("spec.replicas") or 0),
        int(deployment.get_path("status.readyReplicas") or 0),
    )


def read_node(node: Unstructured) -> NodeState:
    return NodeState(node.name, _condition(node, "Ready"))


def _condition(obj: Unstructured, name: str) -> bool:
    conditions = obj.get_path("status.conditions") or ()
    return any(c.get("type") == name and c.get("status") == "True" for c in conditions)
