"""ReplicaSets: keep so many pods of a template, no more and no fewer.

A reconcile has three steps. It claims the pods that match the selector; creates or deletes pods
until there are as many as wanted; and writes what it sees into the status. There is no book-keeping
of pods that are still on their way, because ``context.client`` waits for its own writes: the list
after a creation has the new pod.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from kinform.controller_manager.workloads._ownership import (
    claim,
    is_being_deleted,
    is_own,
    orphans,
    owned_or_orphaned,
    selector_of,
)
from kinform.controller_manager.workloads._pods import (
    deletion_order,
    is_active,
    is_available,
    is_ready,
    is_terminating,
    next_availability,
    now,
    pod_from_template,
)
from kinform.controller_manager.workloads._slow_start import first_error, slow_start
from kinform.controllers import After, Context, Controller, Request, Result, Retry, controller_of
from kinform.errors import ApiError, ConflictError, KinformError, NotFoundError
from kinform.models.apps.v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetStatus
from kinform.models.core.v1 import Pod

_FAILURE = "ReplicaFailure"
# As many pods are created or deleted in one reconcile, so that one set does not occupy a worker.
_BURST = 500


def replica_set_controller(*, workers: int = 5) -> Controller[Request]:
    """Return the controller of ReplicaSets.

    Args:
        workers: The number of ReplicaSets that are reconciled at a time.
    """
    return Controller(
        "replicaset-controller",
        reconcile,
        for_=ReplicaSet,
        owns=[Pod],
        watches=[orphans(Pod, ReplicaSet)],
        workers=workers,
    )


async def reconcile(request: Request, context: Context[Request]) -> Result:
    """Bring the pods of one ReplicaSet to the number that it wants."""
    client = context.client
    try:
        replica_set = await client.get(ReplicaSet, request.name, namespace=request.namespace)
    except NotFoundError:
        return None  # deleted; the garbage collector deletes its pods
    selector = selector_of(replica_set)
    if selector is None:
        return None
    pods = await owned_or_orphaned(client, Pod, replica_set)
    active = await claim(client, replica_set, list(filter(is_active, pods)), selector)
    failure: KinformError | None = None
    surplus = len(active) - replicas_of(replica_set)
    if surplus != 0 and not is_being_deleted(replica_set):
        failure = await _add_or_remove(replica_set, active, surplus, context)
        pods = await owned_or_orphaned(client, Pod, replica_set)
        active = [pod for pod in pods if is_active(pod) and is_own(replica_set, pod, selector)]
    leaving = [pod for pod in pods if is_terminating(pod) and is_own(replica_set, pod, selector)]
    at = datetime.now(UTC)
    status = status_of(replica_set, active, len(leaving), surplus, failure, at)
    if status != replica_set.status:
        changed = replica_set.copy()
        changed.status = status
        try:
            await client.update(changed, subresource="status")
        except NotFoundError:
            return None
        except ConflictError as error:
            return Retry(str(error))
    if failure is not None:
        raise failure
    if status.ready_replicas == status.available_replicas:
        return None
    # A pod that has been ready for long enough causes no event.
    wait = next_availability(active, replica_set.spec.min_ready_seconds, at)
    return After(replica_set.spec.min_ready_seconds if wait is None else wait)


def replicas_of(replica_set: ReplicaSet) -> int:
    """Return the number of pods that a ReplicaSet wants; 1 if it does not say."""
    return 1 if replica_set.spec.replicas is None else replica_set.spec.replicas


def status_of(
    replica_set: ReplicaSet,
    active: Sequence[Pod],
    terminating: int,
    surplus: int,
    failure: KinformError | None,
    at: datetime,
) -> ReplicaSetStatus:
    """Return the status of a ReplicaSet.

    Args:
        replica_set: The ReplicaSet.
        active: Its pods that neither have ended nor were deleted.
        terminating: The number of its pods that were deleted and still run.
        surplus: How many pods there were too many, or too few if negative, before this reconcile.
        failure: Why pods could not be created or deleted.
        at: The time at which the availability of the pods counts.
    """
    spec = replica_set.spec
    labels = spec.template.metadata.labels.items()
    return ReplicaSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(labels <= pod.labels.items() for pod in active),
        ready_replicas=sum(map(is_ready, active)),
        available_replicas=sum(is_available(pod, spec.min_ready_seconds, at) for pod in active),
        terminating_replicas=terminating,
        observed_generation=replica_set.generation,
        conditions=_conditions(replica_set.status.conditions, surplus, failure, at),
    )


def _conditions(
    before: Sequence[ReplicaSetCondition], surplus: int, failure: KinformError | None, at: datetime
) -> list[ReplicaSetCondition]:
    """Return the conditions: the first failure stays until pods are as many as wanted again."""
    if failure is None:
        return [each for each in before if each.type != _FAILURE]
    if any(each.type == _FAILURE for each in before):
        return list(before)
    added = ReplicaSetCondition(
        type=_FAILURE,
        status="True",
        reason="FailedCreate" if surplus < 0 else "FailedDelete",
        message=reason_of(failure)
        if surplus < 0
        else f"unable to delete pods: {reason_of(failure)}",
        last_transition_time=at.replace(microsecond=0),
    )
    return [*before, added]


def reason_of(error: KinformError) -> str:
    """Return what the server said, or else the error."""
    return error.message if isinstance(error, ApiError) else str(error)


async def _add_or_remove(
    replica_set: ReplicaSet, active: Sequence[Pod], surplus: int, context: Context[Request]
) -> KinformError | None:
    """Create missing pods, or delete the pods that are missed least. Return the first error."""
    if surplus < 0:
        count = min(-surplus, _BURST)
        return await slow_start(count, lambda: _create_pod(replica_set, context))
    related = active
    if surplus < len(active):
        related = await _related_pods(replica_set, context)
    doomed = deletion_order(active, related, now())[: min(surplus, _BURST)]
    deletions = (_delete_pod(replica_set, pod, context) for pod in doomed)
    return first_error(await asyncio.gather(*deletions, return_exceptions=True))


async def _create_pod(replica_set: ReplicaSet, context: Context[Request]) -> None:
    pod = pod_from_template(replica_set.spec.template, replica_set)
    try:
        created = await context.client.create(pod)
    except ApiError as error:
        if is_namespace_ending(error):
            return  # it would refuse every other pod, too
        message = f"Error creating: {reason_of(error)}"
        context.recorder.event(replica_set, "Warning", "FailedCreate", message)
        raise
    message = f"Created pod: {created.name}"
    context.recorder.event(replica_set, "Normal", "SuccessfulCreate", message)


async def _delete_pod(replica_set: ReplicaSet, pod: Pod, context: Context[Request]) -> None:
    try:
        await context.client.delete(Pod, pod.name, namespace=pod.namespace, uid=pod.uid)
    except (NotFoundError, ConflictError):
        return  # it is gone, or another one has its name
    except ApiError as error:
        message = f"Error deleting: {reason_of(error)}"
        context.recorder.event(replica_set, "Warning", "FailedDelete", message)
        raise
    message = f"Deleted pod: {pod.name}"
    context.recorder.event(replica_set, "Normal", "SuccessfulDelete", message)


def is_namespace_ending(error: ApiError) -> bool:
    """Whether a creation was refused because the namespace is being deleted."""
    return any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes)


async def _related_pods(replica_set: ReplicaSet, context: Context[Request]) -> list[Pod]:
    """Return the pods of all ReplicaSets with the same owner, such as a Deployment."""
    client, namespace = context.client, replica_set.namespace
    owner = controller_of(replica_set)
    uids = [replica_set.uid]
    if owner is not None:
        fields = {"metadata.ownerReferences.uid": owner.uid}
        sets = await client.list(ReplicaSet, namespace=namespace, fields=fields)
        uids = [each.uid for each in sets]
    fields_of_pods = {"metadata.ownerReferences.uid": uids}
    return list(await client.list(Pod, namespace=namespace, fields=fields_of_pods))
