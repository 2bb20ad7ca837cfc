"""What a StatefulSet does next: pure functions, without a cluster.

With the policy ``OrderedReady``, one thing happens at a time. Pods are created from the lowest
ordinal up, and a pod is only begun when all below it are available. Surplus pods are deleted from
the highest ordinal down. With ``Parallel``, all of this happens at once.

A new template reaches the pods last, from the highest ordinal down to the partition: old pods are
deleted, as many at a time as may be unavailable, and the next plan creates new ones in their place.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from kinform.controller_manager.workloads._history import POD_REVISION
from kinform.controller_manager.workloads._ordinals import ordinals_of
from kinform.controller_manager.workloads._ownership import is_being_deleted
from kinform.controller_manager.workloads._pods import has_ended, is_available, is_ready
from kinform.controller_manager.workloads._rollout import pods_of
from kinform.models.apps.v1 import StatefulSet, StatefulSetStatus
from kinform.models.core.v1 import Pod, PodPhase


class Verb(enum.Enum):
    """What is done about an ordinal."""

    CREATE = enum.auto()
    DELETE = enum.auto()
    PROVIDE = enum.auto()
    """Create the volume claims that a pending pod waits for."""
    MEND = enum.auto()
    """Correct the identity of a pod, and the owners of its volume claims."""
    SETTLE = enum.auto()
    """Correct the owners of the volume claims of a surplus pod."""


class Step(msgspec.Struct, frozen=True):
    """One thing to do about an ordinal, and about its pod if there is one."""

    verb: Verb
    ordinal: int
    pod: Pod | None = None


class Plan(msgspec.Struct, frozen=True):
    """What to do: each part only if all of the part before has succeeded.

    Attributes:
        parts: The steps for the wanted ordinals, for surplus pods, and for old pods.
        replaced: The number of old pods that are deleted for their template.
    """

    parts: Sequence[Sequence[Step]] = ()
    replaced: int = 0


def is_parallel(owner: StatefulSet) -> bool:
    """Whether a set does not wait for one pod before the next."""
    return owner.spec.pod_management_policy == "Parallel"


def plan(owner: StatefulSet, pods: Mapping[int, Pod], update: str, at: datetime) -> Plan:
    """Decide what a StatefulSet does next.

    Args:
        owner: The StatefulSet.
        pods: Its pods by ordinal.
        update: The name of the revision of the current template.
        at: The time at which the availability of the pods counts.
    """
    if is_being_deleted(owner):
        return Plan()
    wanted = ordinals_of(owner)
    surplus = sorted((each for each in pods if each not in wanted), reverse=True)
    steps, is_settled = _keep(owner, pods, at)
    if not is_settled:
        return Plan(parts=(steps,))
    settle = [Step(Verb.SETTLE, each, pods[each]) for each in surplus]
    deletions = _shrink(owner, pods, surplus, at)
    if surplus and not is_parallel(owner):
        return Plan(parts=(steps, settle, deletions))
    replaced = _replace(owner, pods, update, at)
    return Plan(parts=(steps, settle, deletions, replaced), replaced=len(replaced))


def _keep(owner: StatefulSet, pods: Mapping[int, Pod], at: datetime) -> tuple[list[Step], bool]:
    """Return the steps for the wanted ordinals, and whether more may happen besides."""
    steps: list[Step] = []
    for ordinal in ordinals_of(owner):
        pod = pods.get(ordinal)
        is_waiting = True
        if pod is None:
            steps.append(Step(Verb.CREATE, ordinal))
        elif has_ended(pod):
            if not is_being_deleted(pod):
                steps.append(Step(Verb.DELETE, ordinal, pod))
        else:
            if pod.status.phase == PodPhase.PENDING:
                steps.append(Step(Verb.PROVIDE, ordinal, pod))
            is_waiting = is_unavailable(owner, pod, at) or pod.status.phase != PodPhase.RUNNING
            if is_parallel(owner) or not is_waiting:
                steps.append(Step(Verb.MEND, ordinal, pod))
        if is_waiting and not is_parallel(owner):
            return steps, False
    return steps, True


def _shrink(
    owner: StatefulSet, pods: Mapping[int, Pod], surplus: Sequence[int], at: datetime
) -> list[Step]:
    """Return the surplus pods to delete.

    In order, that is the highest one. If it is not available, it has to wait, unless it is the
    lowest such pod of all: then nothing else is in trouble.
    """
    if is_parallel(owner):
        doomed = [each for each in surplus if not is_being_deleted(pods[each])]
        return [Step(Verb.DELETE, each, pods[each]) for each in doomed]
    if not surplus or is_being_deleted(pods[surplus[0]]):
        return []
    # All wanted pods are available, else the plan would have ended before.
    first_unavailable = next(
        (each for each in reversed(surplus) if is_unavailable(owner, pods[each], at)), surplus[0]
    )
    highest = surplus[0]
    if is_unavailable(owner, pods[highest], at) and highest != first_unavailable:
        return []
    return [Step(Verb.DELETE, highest, pods[highest])]


def _replace(owner: StatefulSet, pods: Mapping[int, Pod], update: str, at: datetime) -> list[Step]:
    """Return the old pods to delete, so that they come back with the current template."""
    strategy = owner.spec.update_strategy
    if strategy.type not in ("", "RollingUpdate"):
        return []
    wanted = ordinals_of(owner)
    partition, most = 0, 1
    if (rolling := strategy.rolling_update) is not None:
        partition = rolling.partition or 0
        limit = 1 if rolling.max_unavailable is None else rolling.max_unavailable
        most = max(1, pods_of(limit, len(wanted), up=False))
    missing = {each for each in wanted if each not in pods or is_unavailable(owner, pods[each], at)}
    old = [
        each
        for each in reversed(wanted[partition:])
        if each in pods
        and pods[each].labels.get(POD_REVISION) != update
        and not is_being_deleted(pods[each])
        and not has_ended(pods[each])  # deleted anyway
    ]
    budget = max(0, most - len(missing))
    # In parallel, an old pod that is not available is not worth waiting for.
    idle = [each for each in old if each in missing] if is_parallel(owner) else []
    doomed = [*idle, *[each for each in old if each not in idle][:budget]]
    return [Step(Verb.DELETE, each, pods[each]) for each in doomed]


def is_unavailable(owner: StatefulSet, pod: Pod, at: datetime) -> bool:
    """Whether a pod is not available, or will not be for long because it was deleted."""
    return is_being_deleted(pod) or not is_available(pod, owner.spec.min_ready_seconds, at)


def is_of_current(owner: StatefulSet, ordinal: int) -> bool:
    """Whether a missing pod comes back with the template from before an update."""
    strategy = owner.spec.update_strategy
    place = ordinal - ordinals_of(owner).start
    if strategy.rolling_update is not None:
        return place < (strategy.rolling_update.partition or 0)
    return strategy.type == "RollingUpdate" and place < owner.status.current_replicas


def status_of(
    owner: StatefulSet,
    pods: Mapping[int, Pod],
    revisions: tuple[str, str],
    collisions: int,
    replaced: int,
    at: datetime,
) -> StatefulSetStatus:
    """Return the status of a StatefulSet.

    Args:
        owner: The StatefulSet.
        pods: Its pods by ordinal, before the plan is carried out.
        revisions: The names of the revision before the update, and of the updated one.
        collisions: The number of collisions of names of revisions.
        replaced: The number of old pods that the plan deletes for their template.
        at: The time at which the availability of the pods counts.
    """
    current, update = revisions
    found = pods.values()
    staying = [pod.labels.get(POD_REVISION) for pod in found if not is_being_deleted(pod)]
    ready = [pod for pod in found if pod.status.phase == PodPhase.RUNNING and is_ready(pod)]
    status = StatefulSetStatus(
        observed_generation=owner.generation,
        replicas=len(found),
        ready_replicas=len(ready),
        available_replicas=sum(
            is_available(pod, owner.spec.min_ready_seconds, at) for pod in ready
        ),
        current_replicas=max(0, staying.count(current) - replaced),
        updated_replicas=staying.count(update),
        current_revision=current,
        update_revision=update,
        collision_count=collisions,
        conditions=list(owner.status.conditions),
    )
    counts = {status.updated_replicas, status.ready_replicas, status.replicas}
    if counts == {len(ordinals_of(owner))}:
        status.current_replicas = status.updated_replicas
        status.current_revision = update
    return status
