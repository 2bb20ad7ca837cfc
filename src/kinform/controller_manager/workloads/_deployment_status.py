"""The status of a Deployment: counts of its pods, and what ``kubectl rollout status`` reads."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kinform.controller_manager.workloads._rollout import Limits
from kinform.models.apps.v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
)

AVAILABLE = "Available"
PROGRESSING = "Progressing"
FAILURE = "ReplicaFailure"

NO_DEADLINE = 2**31 - 1
"""The deadline of a Deployment that must not time out."""

Conditions = list[DeploymentCondition]


def deadline_of(deployment: Deployment) -> int | None:
    """Return the seconds that a rollout may take without progress; ``None`` for ever."""
    seconds = deployment.spec.progress_deadline_seconds
    return None if seconds == NO_DEADLINE else seconds


def find(conditions: Sequence[DeploymentCondition], type: str) -> DeploymentCondition | None:
    """Return the condition of a type."""
    return next((each for each in conditions if each.type == type), None)


def without(conditions: Sequence[DeploymentCondition], type: str) -> Conditions:
    """Return the conditions without that of a type."""
    return [each for each in conditions if each.type != type]


def with_condition(
    conditions: Sequence[DeploymentCondition],
    type: str,
    status: str,
    reason: str,
    message: str,
    at: datetime,
    *,
    refresh: bool = False,
) -> Conditions:
    """Return the conditions with a new one at the end.

    One with the same status and reason stays as it is, unless it has to be refreshed. The time of
    the transition changes only with the status.
    """
    before = find(conditions, type)
    if before is not None and not refresh and (before.status, before.reason) == (status, reason):
        return list(conditions)
    is_same_status = before is not None and before.status == status
    added = DeploymentCondition(
        type=type,
        status=status,
        reason=reason,
        message=message,
        last_update_time=at,
        last_transition_time=(
            before.last_transition_time if before is not None and is_same_status else at
        ),
    )
    return [*without(conditions, type), added]


def with_pause(deployment: Deployment, at: datetime) -> Conditions:
    """Return the conditions after the Deployment was paused or resumed.

    The time while it is paused does not count as a lack of progress.
    """
    before: Sequence[DeploymentCondition] = deployment.status.conditions
    current = find(before, PROGRESSING)
    reason = "" if current is None else current.reason
    if deadline_of(deployment) is None or reason == "ProgressDeadlineExceeded":
        return list(before)
    if deployment.spec.paused and reason != "DeploymentPaused":
        news = "DeploymentPaused", "Deployment is paused"
    elif not deployment.spec.paused and reason == "DeploymentPaused":
        news = "DeploymentResumed", "Deployment is resumed"
    else:
        return list(before)
    return with_condition(before, PROGRESSING, "Unknown", *news, at)


def counted(
    deployment: Deployment,
    limits: Limits,
    new: ReplicaSet | None,
    old: Sequence[ReplicaSet],
    at: datetime,
) -> DeploymentStatus:
    """Return the status with the counts of the sets, and whether enough pods are available."""
    sets = [*old, *([] if new is None else [new])]
    available = sum(each.status.available_replicas for each in sets)
    wanted = sum(1 if each.spec.replicas is None else each.spec.replicas for each in sets)
    if available >= limits.fewest_available:
        news = "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
    else:
        news = (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    return DeploymentStatus(
        observed_generation=deployment.generation,
        replicas=sum(each.status.replicas for each in sets),
        updated_replicas=0 if new is None else new.status.replicas,
        ready_replicas=sum(each.status.ready_replicas for each in sets),
        available_replicas=available,
        unavailable_replicas=max(0, wanted - available),
        terminating_replicas=_terminating(sets),
        collision_count=deployment.status.collision_count,
        conditions=with_condition(deployment.status.conditions, AVAILABLE, *news, at),
    )


def _terminating(sets: Sequence[ReplicaSet]) -> int | None:
    """Return the sum; ``None`` if the controller of a set does not count them."""
    synced = [each.status for each in sets if each.status.observed_generation]
    counts = [each.terminating_replicas for each in synced]
    known = [each for each in counts if each is not None]
    return sum(known) if len(known) == len(counts) else None


def with_progress(
    deployment: Deployment,
    limits: Limits,
    status: DeploymentStatus,
    new: ReplicaSet | None,
    old: Sequence[ReplicaSet],
    at: datetime,
) -> DeploymentStatus:
    """Return the status with the progress of a rollout, and with failures of the sets.

    Args:
        deployment: The Deployment, with its status so far.
        limits: Its limits.
        status: Its counts now.
        new: The ReplicaSet of the current template, if it exists.
        old: The other ReplicaSets.
        at: The current time.
    """
    conditions: Conditions = list(status.conditions)
    deadline = deadline_of(deployment)
    current = find(deployment.status.conditions, PROGRESSING)
    subject = f'Deployment "{deployment.name}"' if new is None else f'ReplicaSet "{new.name}"'
    is_known_complete = (
        status.replicas == status.updated_replicas
        and current is not None
        and current.reason == "NewReplicaSetAvailable"
    )
    if deadline is None:
        conditions = without(conditions, PROGRESSING)
    elif is_known_complete:
        pass  # pods that come and go later are no rollout
    elif is_complete(deployment, limits, status):
        news = "NewReplicaSetAvailable", f"{subject} has successfully progressed."
        conditions = with_condition(conditions, PROGRESSING, "True", *news, at)
    elif _has_progressed(deployment.status, status):
        news = "ReplicaSetUpdated", f"{subject} is progressing."
        conditions = with_condition(conditions, PROGRESSING, "True", *news, at, refresh=True)
    elif has_timed_out(current, deadline, at):
        news = "ProgressDeadlineExceeded", f"{subject} has timed out progressing."
        conditions = with_condition(conditions, PROGRESSING, "False", *news, at)
    result = status.copy()
    result.conditions = _with_failure(conditions, new, old)
    return result


def is_complete(deployment: Deployment, limits: Limits, status: DeploymentStatus) -> bool:
    """Whether all pods are of the current template and available, and no other ones exist."""
    counts = {status.updated_replicas, status.replicas, status.available_replicas}
    return counts == {limits.replicas} and status.observed_generation >= deployment.generation


def _has_progressed(before: DeploymentStatus, now: DeploymentStatus) -> bool:
    return (
        now.updated_replicas > before.updated_replicas
        or now.replicas - now.updated_replicas < before.replicas - before.updated_replicas
        or now.ready_replicas > before.ready_replicas
        or now.available_replicas > before.available_replicas
    )


def has_timed_out(current: DeploymentCondition | None, deadline: int, at: datetime) -> bool:
    """Whether there has been no progress for longer than the deadline."""
    if current is None or current.reason == "NewReplicaSetAvailable":
        return False
    if current.reason == "ProgressDeadlineExceeded":
        return True
    since = current.last_update_time
    return since is not None and since + timedelta(seconds=deadline) < at


def next_check(
    deployment: Deployment, limits: Limits, status: DeploymentStatus, at: datetime
) -> float | None:
    """Return the seconds until a rollout without progress has timed out; ``None`` if never."""
    deadline = deadline_of(deployment)
    current = find(status.conditions, PROGRESSING)
    if deadline is None or current is None or current.last_update_time is None:
        return None
    if is_complete(deployment, limits, status) or current.reason == "ProgressDeadlineExceeded":
        return None
    due = current.last_update_time + timedelta(seconds=deadline)
    return max(0.0, (due - at).total_seconds()) + 1


def _with_failure(
    conditions: Sequence[DeploymentCondition], new: ReplicaSet | None, old: Sequence[ReplicaSet]
) -> Conditions:
    """Return the conditions with the failure of a set; that of the new one, if it has one."""
    for each in [*([] if new is None else [new]), *old]:
        for found in each.status.conditions:
            if found.type == FAILURE:
                at = found.last_transition_time
                before = find(conditions, FAILURE)
                if before is not None and (before.status, before.reason) == (
                    found.status,
                    found.reason,
                ):
                    return list(conditions)
                added = DeploymentCondition(
                    type=FAILURE,
                    status=found.status,
                    reason=found.reason,
                    message=found.message,
                    last_update_time=at,
                    last_transition_time=at,
                )
                return [*without(conditions, FAILURE), added]
    return without(conditions, FAILURE)
