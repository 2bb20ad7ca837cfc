"""What a DaemonSet does next: pure functions, without a cluster.

First, each node gets the pod that it lacks, and loses pods that do not belong there or are too
many. Only when nothing is left to do, old pods are replaced. Without a surge, an old pod is deleted
first, as long as not too many nodes are without a pod that is available. With a surge, the new pod
is created beside the old one, which is deleted when the new one is available.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from kinform.controller_manager.workloads._history import POD_REVISION
from kinform.controller_manager.workloads._ownership import is_being_deleted
from kinform.controller_manager.workloads._placement import Verdict
from kinform.controller_manager.workloads._pods import has_ended, is_available, is_ready
from kinform.controller_manager.workloads._rollout import pods_of
from kinform.models.apps.v1 import DaemonSet, DaemonSetStatus
from kinform.models.core.v1 import Pod

GENERATION = "deprecated.daemonset.template.generation"
"""The annotation in which the server counts the templates of a DaemonSet."""

POD_GENERATION = "pod-template-generation"
"""The label of a pod with the count of its template."""

PodsByNode = Mapping[str, Sequence[Pod]]
Verdicts = Mapping[str, Verdict]


class Plan(msgspec.Struct, frozen=True):
    """The nodes to create a pod for, and the pods to delete."""

    nodes: Sequence[str] = ()
    doomed: Sequence[Pod] = ()

    def __bool__(self) -> bool:
        return bool(self.nodes or self.doomed)


class Limits(msgspec.Struct, frozen=True):
    """How many nodes may be without an available pod in an update, or have two."""

    unavailable: int
    surge: int


def limits_of(owner: DaemonSet, nodes: int) -> Limits:
    """Return the limits for so many nodes. One may be unavailable if both limits are 0."""
    rolling = owner.spec.update_strategy.rolling_update
    if rolling is None:
        return Limits(unavailable=1, surge=0)
    surge = pods_of(rolling.max_surge or 0, nodes, up=True)
    unavailable = pods_of(
        1 if rolling.max_unavailable is None else rolling.max_unavailable, nodes, up=True
    )
    return Limits(unavailable=unavailable if unavailable or surge else 1, surge=surge)


def by_age(pods: Sequence[Pod]) -> list[Pod]:
    """Return pods with the oldest first, and those that have a node before all others."""
    return sorted(
        pods,
        key=lambda pod: (not pod.spec.node_name, str(pod.metadata.creation_timestamp), pod.name),
    )


def is_updated(owner: DaemonSet, pod: Pod, digest: str) -> bool:
    """Whether a pod is of the current template."""
    generation = owner.metadata.annotations.get(GENERATION)
    return pod.labels.get(POD_REVISION) == digest or (
        generation is not None and pod.labels.get(POD_GENERATION) == generation
    )


def place(
    owner: DaemonSet, pods: PodsByNode, verdicts: Verdicts, digest: str, at: datetime
) -> Plan:
    """Return what is missing and superfluous. Pods that have ended are superfluous, too.

    Args:
        owner: The DaemonSet.
        pods: Its pods by the node that they belong on.
        verdicts: What is true of each node that exists.
        digest: The hash of the current template.
        at: The time at which the availability of the pods counts.
    """
    has_surge = limits_of(owner, 1).surge > 0 and _is_rolling(owner)
    nodes: list[str] = []
    doomed: list[Pod] = []
    for node, verdict in verdicts.items():
        found = pods.get(node, ())
        staying = [pod for pod in found if not is_being_deleted(pod)]
        if not verdict.stays:
            doomed += staying
            continue
        running = by_age([pod for pod in staying if not has_ended(pod)])
        doomed += filter(has_ended, staying)
        # A deleted pod holds up its successor, unless two may run at a time.
        if verdict.starts and (not found or (has_surge and not running)):
            nodes.append(node)
        doomed += _surplus(owner, running, digest, at) if has_surge else running[1:]
    for node, found in pods.items():
        if node not in verdicts:  # the scheduler would never find it
            doomed += [pod for pod in found if not pod.spec.node_name and not is_being_deleted(pod)]
    return Plan(nodes, doomed)


def _surplus(owner: DaemonSet, running: Sequence[Pod], digest: str, at: datetime) -> list[Pod]:
    """Return what is superfluous besides one new pod, and one old one that is still needed."""
    new = [pod for pod in running if pod.labels.get(POD_REVISION) == digest]
    old = [pod for pod in running if pod not in new]
    doomed = [*new[1:], *old[1:]]
    if new and old:
        is_replaced = is_available(new[0], owner.spec.min_ready_seconds, at)
        if is_replaced or not is_ready(old[0]):
            doomed.append(old[0])
    return doomed


def _is_rolling(owner: DaemonSet) -> bool:
    return owner.spec.update_strategy.type in ("", "RollingUpdate")


def replace(
    owner: DaemonSet, pods: PodsByNode, verdicts: Verdicts, digest: str, at: datetime
) -> Plan:
    """Return the next step of an update; the arguments are those of ``place``."""
    if not _is_rolling(owner):
        return Plan()
    wanted = [node for node, verdict in verdicts.items() if verdict.starts]
    limits = limits_of(owner, len(wanted))
    seconds = owner.spec.min_ready_seconds
    unavailable = surging = available = 0
    idle: list[Pod] = []  # old and not available: nothing is lost with them
    serving: list[Pod] = []
    replaced: list[Pod] = []
    for node in dict.fromkeys([*pods, *wanted]):
        staying = [pod for pod in pods.get(node, ()) if not is_being_deleted(pod)]
        new = [pod for pod in staying if is_updated(owner, pod, digest)]
        old = [pod for pod in staying if pod not in new]
        if len(new) > 1 or len(old) > 1 or not staying:
            unavailable += 1
            surging += bool(staying)
            continue
        is_served = is_available((old or new)[0], seconds, at)
        available += is_served
        if new and old:
            unavailable += 1
            if is_available(new[0], seconds, at):
                replaced.append(old[0])
            else:
                surging += 1
        elif new:
            unavailable += not is_served
        elif is_served:
            serving.append(old[0])
        else:
            unavailable += 1
            idle.append(old[0])
    if not limits.surge:
        budget = max(0, limits.unavailable - unavailable)
        return Plan(doomed=[*idle, *serving[:budget]])
    return _surge(pods, set(wanted), idle, serving, replaced, limits.surge - surging, available)


def _surge(
    pods: PodsByNode,
    wanted: set[str],
    idle: Sequence[Pod],
    serving: Sequence[Pod],
    replaced: Sequence[Pod],
    budget: int,
    available: int,
) -> Plan:
    """Return new pods beside old ones, and old ones that are not needed any more."""
    node_of = {pod.uid: node for node, found in pods.items() for pod in found}
    misplaced = [pod for pod in serving if node_of[pod.uid] not in wanted]
    doomed = [
        *replaced,
        *(pod for pod in idle if node_of[pod.uid] not in wanted),
        *misplaced[: max(0, available - len(wanted))],
    ]
    urgent = [node_of[pod.uid] for pod in idle if node_of[pod.uid] in wanted]
    others = [node_of[pod.uid] for pod in serving if node_of[pod.uid] in wanted]
    return Plan([*urgent, *others[: max(0, budget)]], doomed)


def status_of(
    owner: DaemonSet,
    pods: PodsByNode,
    verdicts: Verdicts,
    digest: str,
    collisions: int,
    at: datetime,
) -> DaemonSetStatus:
    """Return the status of a DaemonSet: the oldest pod of a node counts."""
    wanted = {node for node, verdict in verdicts.items() if verdict.starts}
    first = {node: by_age(pods[node])[0] for node in verdicts if pods.get(node)}
    counted = [pod for node, pod in first.items() if node in wanted]
    available = sum(
        is_available(pod, owner.spec.min_ready_seconds, at) for pod in counted if is_ready(pod)
    )
    return DaemonSetStatus(
        current_number_scheduled=len(counted),
        number_misscheduled=len(first.keys() - wanted),
        desired_number_scheduled=len(wanted),
        number_ready=sum(map(is_ready, counted)),
        observed_generation=owner.generation,
        updated_number_scheduled=sum(is_updated(owner, pod, digest) for pod in counted),
        number_available=available,
        number_unavailable=len(wanted) - available,
        collision_count=collisions or owner.status.collision_count,
        conditions=list(owner.status.conditions),
    )
