"""StatefulSets: pods with a number each, begun and ended in order, with volumes that outlive them.

A reconcile finds out which revision of the template is the current one (``_history``), decides what
comes next (``_ordered``), does it, and writes the status. What comes next is often a single pod:
the change of its status causes the next reconcile, and so the order comes about.

The status counts the pods as they were before the plan was carried out. The pods that it has
created or deleted cause an event, and are counted then.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinform.controller_manager.workloads._history import (
    POD_REVISION,
    beyond_limit,
    current_revision,
    revisions_of,
    template_of,
)
from kinform.controller_manager.workloads._ordered import (
    Step,
    Verb,
    is_of_current,
    is_parallel,
    plan,
    status_of,
)
from kinform.controller_manager.workloads._ordinals import mended, new_pod, ordinal_in
from kinform.controller_manager.workloads._ownership import (
    claim,
    orphans,
    owned_or_orphaned,
    selector_of,
)
from kinform.controller_manager.workloads._pods import next_availability, now
from kinform.controller_manager.workloads._slow_start import slow_start
from kinform.controller_manager.workloads._volume_claims import is_left_over, provide, settle
from kinform.controller_manager.workloads.replica_set import reason_of
from kinform.controllers import After, Context, Controller, Request, Result, Retry
from kinform.errors import (
    AlreadyExistsError,
    ConflictError,
    ControllerError,
    KinformError,
    NotFoundError,
)
from kinform.models.apps.v1 import ControllerRevision, StatefulSet
from kinform.models.core.v1 import Pod


def stateful_set_controller(*, workers: int = 5) -> Controller[Request]:
    """Return the controller of StatefulSets.

    Args:
        workers: The number of StatefulSets that are reconciled at a time.
    """
    return Controller(
        "statefulset-controller",
        reconcile,
        for_=StatefulSet,
        owns=[Pod],
        watches=[orphans(Pod, StatefulSet), orphans(ControllerRevision, StatefulSet)],
        workers=workers,
    )


async def reconcile(request: Request, context: Context[Request]) -> Result:
    """Do what comes next for one StatefulSet."""
    client = context.client
    try:
        found = await client.get(StatefulSet, request.name, namespace=request.namespace)
    except NotFoundError:
        return None  # deleted; the garbage collector deletes its pods
    selector = selector_of(found)
    if selector is None:
        return None
    revisions = await revisions_of(client, found, selector)
    candidates = await owned_or_orphaned(client, Pod, found)
    members = [pod for pod in candidates if ordinal_in(found, pod) is not None]
    claimed = await claim(client, found, members, selector)
    pods = {ordinal: pod for pod in claimed if (ordinal := ordinal_in(found, pod)) is not None}
    update, collisions = await current_revision(client, found, revisions)
    known = {each.name: each for each in revisions}
    current = known.get(found.status.current_revision, update)
    at = now()
    steps = plan(found, pods, update.name, at)
    names = current.name, update.name
    status = status_of(found, pods, names, collisions, steps.replaced, at)
    failure: KinformError | None = None
    for part in steps.parts:
        failure = await _do_all(found, part, current, update, context)
        if failure is not None:
            break
    if status != found.status:
        changed = found.copy()
        changed.status = status
        try:
            await client.update(changed, subresource="status")
        except NotFoundError:
            return None
        except ConflictError as error:
            return Retry(str(error))
    if failure is not None:
        raise failure
    used = {*names, *(pod.labels.get(POD_REVISION, "") for pod in claimed)}
    for each in beyond_limit(found, revisions, used):
        await client.delete(ControllerRevision, each.name, namespace=each.namespace, uid=each.uid)
    if status.ready_replicas == status.available_replicas:
        return None
    # A pod that has been ready for long enough causes no event.
    wait = next_availability(claimed, found.spec.min_ready_seconds, at)
    return After(found.spec.min_ready_seconds if wait is None else wait)


async def _do_all(
    owner: StatefulSet,
    steps: Sequence[Step],
    current: ControllerRevision,
    update: ControllerRevision,
    context: Context[Request],
) -> KinformError | None:
    """Do steps, one after the other or at once as the set wants it. Return the first error."""
    if is_parallel(owner):
        rest = iter(steps)
        return await slow_start(
            len(steps), lambda: _do(owner, next(rest), current, update, context)
        )
    try:
        for step in steps:
            await _do(owner, step, current, update, context)
    except KinformError as error:
        return error
    return None


async def _do(
    owner: StatefulSet,
    step: Step,
    current: ControllerRevision,
    update: ControllerRevision,
    context: Context[Request],
) -> None:
    pod = step.pod
    if pod is None:
        revision = current if is_of_current(owner, step.ordinal) else update
        await _create(owner, step.ordinal, revision, context)
    elif step.verb is Verb.DELETE:
        await _delete(owner, pod, context)
    elif step.verb is Verb.PROVIDE:
        await provide(owner, step.ordinal, context)
    elif step.verb is Verb.MEND:
        await _mend(owner, step.ordinal, pod, context)
    else:
        await settle(owner, step.ordinal, pod, context)


async def _create(
    owner: StatefulSet, ordinal: int, revision: ControllerRevision, context: Context[Request]
) -> None:
    """Create the claims of an ordinal, and then its pod."""
    if await is_left_over(owner, ordinal, context):
        raise ControllerError(f"a volume claim of {owner.name}-{ordinal} is about to be deleted")
    pod = new_pod(owner, template_of(revision), revision.name, ordinal)
    try:
        await provide(owner, ordinal, context)
        created = await context.client.create(pod)
        await settle(owner, ordinal, created, context)
    except AlreadyExistsError:
        raise  # of another owner, or the cache is behind
    except KinformError as error:
        _tell(owner, pod, "Create", context, error)
        raise
    _tell(owner, pod, "Create", context)


async def _delete(owner: StatefulSet, pod: Pod, context: Context[Request]) -> None:
    try:
        await context.client.delete(Pod, pod.name, namespace=pod.namespace, uid=pod.uid)
    except (NotFoundError, ConflictError):
        return  # it is gone, or another one has its name
    except KinformError as error:
        _tell(owner, pod, "Delete", context, error)
        raise
    _tell(owner, pod, "Delete", context)


async def _mend(owner: StatefulSet, ordinal: int, pod: Pod, context: Context[Request]) -> None:
    """Correct the claims of a pod, and its identity."""
    await settle(owner, ordinal, pod, context)
    changed = mended(owner, pod, ordinal)
    if changed is None:
        return
    try:
        await provide(owner, ordinal, context)
        await context.client.update(changed)
    except KinformError as error:
        _tell(owner, pod, "Update", context, error)
        raise
    _tell(owner, pod, "Update", context)


def _tell(
    owner: StatefulSet,
    pod: Pod,
    verb: str,
    context: Context[Request],
    error: KinformError | None = None,
) -> None:
    about = f"{verb} Pod {pod.name} in StatefulSet {owner.name}"
    if error is None:
        context.recorder.event(owner, "Normal", f"Successful{verb}", f"{about} successful")
    else:
        message = f"{about} failed error: {reason_of(error)}"
        context.recorder.event(owner, "Warning", f"Failed{verb}", message)
