"""Deployments: replace the pods of one template by those of the next, without an outage.

A Deployment owns a ReplicaSet for each template that it has had. The set of the current template is
the new one, the others are old. A reconcile is one step: it creates the new set if it is missing,
decides on the sizes of all sets (``_rollout``), writes them, and writes the status
(``_deployment_status``). The ReplicaSets do the rest, and each change of their status causes the
next step.

A rollback is no special case. ``kubectl rollout undo`` writes an old template into the Deployment,
whereupon an old set is the new one (``_revisions``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kinform.cache import Cache, CachedClient
from kinform.controller_manager.workloads._deployment_status import (
    PROGRESSING,
    counted,
    deadline_of,
    find,
    is_complete,
    next_check,
    with_condition,
    with_pause,
    with_progress,
)
from kinform.controller_manager.workloads._ownership import (
    CacheWatch,
    claim,
    is_being_deleted,
    orphans,
    owned_or_orphaned,
    selector_of,
)
from kinform.controller_manager.workloads._pods import has_ended, now
from kinform.controller_manager.workloads._revisions import (
    REVISION,
    is_same,
    new_replica_set,
    note_limits,
    size_of,
    split,
    superfluous,
    update_new_set,
)
from kinform.controller_manager.workloads._rollout import (
    Limits,
    Sizes,
    is_scaled,
    limits_of,
    recreate,
    rolling_update,
    scaled,
    size_of_new_set,
)
from kinform.controller_manager.workloads.replica_set import is_namespace_ending, reason_of
from kinform.controllers import (
    After,
    Context,
    Controller,
    Request,
    Result,
    Retry,
    controller_of,
    is_controlled_by,
)
from kinform.errors import AlreadyExistsError, ApiError, ConflictError, NotFoundError
from kinform.models.apps.v1 import Deployment, DeploymentStatus, ReplicaSet
from kinform.models.core.v1 import Pod


def deployment_controller(*, workers: int = 5) -> Controller[Request]:
    """Return the controller of Deployments. It needs one of ReplicaSets beside it.

    Args:
        workers: The number of Deployments that are reconciled at a time.
    """
    last_pods = CacheWatch(Pod, _recreated, when=lambda event: event.deleted is not None)
    return Controller(
        "deployment-controller",
        reconcile,
        for_=Deployment,
        owns=[ReplicaSet],
        watches=[orphans(ReplicaSet, Deployment), last_pods],
        workers=workers,
    )


def _recreated(pod: Pod, cache: Cache) -> Iterable[Request]:
    """Return the Deployment of a pod that is gone, if it waits for the end of its old pods."""
    owner = controller_of(pod)
    if owner is None or owner.kind != "ReplicaSet":
        return
    try:
        found = controller_of(cache.peek(ReplicaSet).get(owner.name, namespace=pod.namespace))
        if found is None or found.kind != "Deployment":
            return
        deployment = cache.peek(Deployment).get(found.name, namespace=pod.namespace)
    except NotFoundError:
        return
    if deployment.spec.strategy.type == "Recreate":
        yield Request(deployment.namespace, deployment.name)


async def reconcile(request: Request, context: Context[Request]) -> Result:
    """Do the next step of one Deployment."""
    try:
        found = await context.client.get(Deployment, request.name, namespace=request.namespace)
        return await _step(found, context)
    except NotFoundError:
        return None  # deleted; the garbage collector deletes its ReplicaSets
    except ConflictError as error:
        return Retry(str(error))


async def _step(found: Deployment, context: Context[Request]) -> Result:
    client, at = context.client, now()
    deployment = found.copy()
    selector = selector_of(found)
    if selector is None:
        message = "This deployment is selecting all pods. A non-empty selector is required."
        context.recorder.event(found, "Warning", "SelectingAll", message)
        deployment.status.observed_generation = found.generation
        await _write_status(found, deployment, deployment.status, client)
        return None
    candidates = await owned_or_orphaned(client, ReplicaSet, found)
    new, old = split(found, await claim(client, found, candidates, selector))
    limits = limits_of(found.spec)
    if is_being_deleted(found):
        status = counted(deployment, limits, new, old, at)
        await _write_status(found, deployment, status, client)
        return None
    deployment.status.conditions = with_pause(deployment, at)
    sizes_before = [size_of(each) for each in [*old, *([] if new is None else [new])]]
    is_rollout = not found.spec.paused and not is_scaled(limits, sizes_before)
    is_over = limits.is_rolling or (is_rollout and await _are_pods_gone(old, client))
    if new is None and is_rollout and is_over:
        new = await _create(found, deployment, old, limits, context)
        if new is None:
            return Retry("the name of the new ReplicaSet is taken")
    elif new is not None and deadline_of(found) is not None:
        _note_found(deployment, new)
    size = None if new is None else size_of(new)
    old_sizes = [size_of(each) for each in old]
    if not is_rollout:
        sizes = scaled(limits, size, old_sizes, found.status.replicas)
    elif limits.is_rolling and size is not None:
        sizes = rolling_update(limits, size, old_sizes)
    else:
        sizes = recreate(limits, size, old_sizes, is_over=is_over)
    if new is not None:
        edited = new.copy()
        update_new_set(deployment, edited, old)
        new = await _resize(found, new, edited, sizes, limits, context)
        deployment.metadata.annotations[REVISION] = new.metadata.annotations.get(REVISION, "")
    old = [await _resize(found, each, each.copy(), sizes, limits, context) for each in old]
    status = counted(deployment, limits, new, old, at)
    if is_rollout:
        status = with_progress(deployment, limits, status, new, old, at)
    if found.spec.paused or (is_rollout and is_complete(found, limits, status)):
        for each in superfluous(found, old):
            await client.delete(ReplicaSet, each.name, namespace=each.namespace, uid=each.uid)
    await _write_status(found, deployment, status, client)
    wait = next_check(found, limits, status, at) if is_rollout else None
    return None if wait is None else After(wait)


async def _are_pods_gone(sets: Sequence[ReplicaSet], client: CachedClient) -> bool:
    """Whether no pod of these ReplicaSets runs, not even one that was deleted."""
    if any(size_of(each).replicas or each.status.replicas for each in sets):
        return False
    if not sets:
        return True
    fields = {"metadata.ownerReferences.uid": [each.uid for each in sets]}
    pods = await client.list(Pod, namespace=sets[0].namespace, fields=fields)
    return all(map(has_ended, pods))


def _note_found(deployment: Deployment, new: ReplicaSet) -> None:
    """Begin to measure the progress of a Deployment whose new ReplicaSet existed already."""
    if find(deployment.status.conditions, PROGRESSING) is None:
        news = "FoundNewReplicaSet", f'Found new replica set "{new.name}"'
        deployment.status.conditions = with_condition(
            deployment.status.conditions, PROGRESSING, "True", *news, now()
        )


async def _create(
    found: Deployment,
    deployment: Deployment,
    old: Sequence[ReplicaSet],
    limits: Limits,
    context: Context[Request],
) -> ReplicaSet | None:
    """Create the new ReplicaSet. Return ``None`` if its name is taken, for another attempt."""
    client = context.client
    replicas = size_of_new_set(limits, 0, sum(size_of(each).replicas for each in old))
    wanted = new_replica_set(found, old, limits, replicas)
    try:
        created = await client.create(wanted)
    except AlreadyExistsError:
        existing = await client.live.get(ReplicaSet, wanted.name, namespace=wanted.namespace)
        if is_controlled_by(found, existing) and is_same(
            existing.spec.template, found.spec.template
        ):
            return existing
        status = found.status.copy()
        status.collision_count = (status.collision_count or 0) + 1
        await _write_status(found, deployment, status, client)
        return None
    except ApiError as error:
        if not is_namespace_ending(error):
            message = f'Failed to create new replica set "{wanted.name}": {reason_of(error)}'
            context.recorder.event(found, "Warning", "ReplicaSetCreateError", message)
            if deadline_of(found) is not None:
                deployment.status.conditions = with_condition(
                    deployment.status.conditions,
                    PROGRESSING,
                    "False",
                    "ReplicaSetCreateError",
                    message,
                    now(),
                )
                await _write_status(found, deployment, deployment.status, client)
        raise
    if replicas > 0:
        message = f"Scaled up replica set {created.name} from 0 to {replicas}"
        context.recorder.event(found, "Normal", "ScalingReplicaSet", message)
    if deadline_of(found) is not None:
        news = "NewReplicaSetCreated", f'Created new replica set "{created.name}"'
        deployment.status.conditions = with_condition(
            deployment.status.conditions, PROGRESSING, "True", *news, now()
        )
    return created


async def _resize(
    deployment: Deployment,
    before: ReplicaSet,
    edited: ReplicaSet,
    sizes: Sizes,
    limits: Limits,
    context: Context[Request],
) -> ReplicaSet:
    """Write an edited ReplicaSet with its new size, if anything has changed; return it."""
    was = size_of(before).replicas
    size = sizes.get(before.name, was)
    if before.name in sizes:
        edited.spec.replicas = size
        note_limits(edited, limits)
    if edited.metadata == before.metadata and edited.spec == before.spec:
        return before
    written = await context.client.update(edited)
    if size != was:
        direction = "up" if size > was else "down"
        message = f"Scaled {direction} replica set {before.name} from {was} to {size}"
        context.recorder.event(deployment, "Normal", "ScalingReplicaSet", message)
    return written


async def _write_status(
    found: Deployment, deployment: Deployment, status: DeploymentStatus, client: CachedClient
) -> None:
    """Write the status and the revision, if they have changed."""
    revision = deployment.metadata.annotations.get(REVISION, "")
    if status == found.status and revision == found.metadata.annotations.get(REVISION, ""):
        return
    deployment.status = status
    await client.update(deployment, subresource="status")
