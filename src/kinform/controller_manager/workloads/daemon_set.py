"""DaemonSets: one pod on each node that wants it.

A reconcile looks at all nodes and decides on which of them a pod belongs (``_placement``), what is
missing, superfluous or old (``_daemons``), creates and deletes pods accordingly, and writes the
status. Each pod names its node, and the scheduler puts it there.

A failed pod is deleted, whereupon the next reconcile creates another one. If that fails as well,
its deletion has to wait, longer each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from kinform.api import LabelSelector
from kinform.cache import Cache, CachedClient
from kinform.controller_manager.workloads._daemons import (
    GENERATION,
    POD_GENERATION,
    Plan,
    place,
    replace,
    status_of,
)
from kinform.controller_manager.workloads._failed_pods import FailedPods
from kinform.controller_manager.workloads._history import (
    POD_REVISION,
    current_revision,
    revisions_of,
)
from kinform.controller_manager.workloads._ownership import (
    CacheWatch,
    claim,
    is_being_deleted,
    orphans,
    owned_or_orphaned,
    selector_of,
)
from kinform.controller_manager.workloads._placement import (
    pinned,
    target_of,
    tolerations_of,
    verdict,
)
from kinform.controller_manager.workloads._pods import (
    has_ended,
    next_availability,
    now,
    pod_from_template,
)
from kinform.controller_manager.workloads._slow_start import first_error, slow_start
from kinform.controller_manager.workloads.replica_set import is_namespace_ending, reason_of
from kinform.controllers import After, Context, Controller, Request, Result, Retry
from kinform.errors import ApiError, ConflictError, KinformError, NotFoundError
from kinform.informers import InformerEvent
from kinform.models.apps.v1 import ControllerRevision, DaemonSet
from kinform.models.core.v1 import Node, Pod

# As many pods are created or deleted in one reconcile, so that one set does not occupy a worker.
_BURST = 250
_DEFAULT_LIMIT = 10


def daemon_set_controller(*, workers: int = 2) -> Controller[Request]:
    """Return the controller of DaemonSets.

    Args:
        workers: The number of DaemonSets that are reconciled at a time.
    """
    nodes = CacheWatch(Node, _all_sets, when=_changes_placement)
    return Controller(
        "daemonset-controller",
        _DaemonSets().reconcile,
        for_=DaemonSet,
        owns=[Pod],
        watches=[orphans(Pod, DaemonSet), orphans(ControllerRevision, DaemonSet), nodes],
        workers=workers,
    )


def _all_sets(node: Node, cache: Cache) -> Iterable[Request]:
    return [Request(each.namespace, each.name) for each in cache.peek(DaemonSet).list()]


def _changes_placement(event: InformerEvent[Any]) -> bool:
    """Whether a node is new or gone, or its labels or taints have changed: not each heartbeat."""
    new, old = event.object, event.old
    if event.deleted is not None or new is None or old is None:
        return True
    return bool(old.labels != new.labels or old.spec.taints != new.spec.taints)


class _DaemonSets:
    """Reconciles DaemonSets, and remembers which pods have failed."""

    def __init__(self) -> None:
        self._failed = FailedPods()

    async def reconcile(self, request: Request, context: Context[Request]) -> Result:
        """Bring one pod of a DaemonSet to each node that wants it."""
        client = context.client
        try:
            found = await client.get(DaemonSet, request.name, namespace=request.namespace)
        except NotFoundError:
            return None  # deleted; the garbage collector deletes its pods
        selector = selector_of(found)
        if selector is None or is_being_deleted(found):
            return None
        revisions = await revisions_of(client, found, selector)
        current, collisions = await current_revision(client, found, revisions)
        digest = current.labels.get(POD_REVISION, "")
        spec = found.spec.template.spec
        verdicts = {node.name: verdict(spec, node) for node in await client.list(Node)}
        pods = await _pods_by_node(client, found, selector)
        plan = place(found, pods, verdicts, digest, now())
        plan, wait = self._without_waiting(found, plan, context)
        if not plan:
            plan = replace(found, pods, verdicts, digest, now())
        failure = await _carry_out(found, plan, digest, context)
        if plan:
            pods = await _pods_by_node(client, found, selector)
        at = now()
        status = status_of(found, pods, verdicts, digest, collisions, at)
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
        used = {pod.labels.get(POD_REVISION, "") for each in pods.values() for pod in each}
        for each in beyond_limit(found, revisions, current, used):
            await client.delete(
                ControllerRevision, each.name, namespace=each.namespace, uid=each.uid
            )
        waits = [wait]
        if status.number_ready != status.number_available:
            # A pod that has been ready for long enough causes no event.
            seconds = found.spec.min_ready_seconds
            everything = [pod for each in pods.values() for pod in each]
            waits.append(next_availability(everything, seconds, at) or seconds)
        soonest = min((each for each in waits if each is not None), default=None)
        return None if soonest is None else After(soonest)

    def _without_waiting(
        self, owner: DaemonSet, plan: Plan, context: Context[Request]
    ) -> tuple[Plan, float | None]:
        """Return a plan without failed pods that have to wait, and for how long they have to."""
        doomed: list[Pod] = []
        waits: list[float] = []
        for pod in plan.doomed:
            node = target_of(pod) or ""
            name = f"{pod.namespace}/{pod.name}"
            if pod.status.phase == "Failed":
                key = (owner.uid, owner.status.observed_generation, node)
                if wait := self._failed.wait(key, asyncio.get_running_loop().time()):
                    waits.append(wait)
                    continue
                message = f"Found failed daemon pod {name} on node {node}, will try to kill it"
                context.recorder.event(owner, "Warning", "FailedDaemonPod", message)
            elif has_ended(pod):
                message = f"Found succeeded daemon pod {name} on node {node}, will try to delete it"
                context.recorder.event(owner, "Normal", "SucceededDaemonPod", message)
            doomed.append(pod)
        return Plan(plan.nodes, doomed), min(waits, default=None)


async def _pods_by_node(
    client: CachedClient, owner: DaemonSet, selector: LabelSelector
) -> dict[str, list[Pod]]:
    found: dict[str, list[Pod]] = {}
    candidates = await owned_or_orphaned(client, Pod, owner)
    for pod in await claim(client, owner, candidates, selector):
        node = target_of(pod)
        if node is not None and not (has_ended(pod) and is_being_deleted(pod)):
            found.setdefault(node, []).append(pod)
    return found


def beyond_limit(
    owner: DaemonSet,
    revisions: Sequence[ControllerRevision],
    current: ControllerRevision,
    used: set[str],
) -> list[ControllerRevision]:
    """Return the revisions to delete: the oldest ones, but none that a pod was made from."""
    limit = owner.spec.revision_history_limit
    old = [each for each in revisions if each.name != current.name]
    excess = len(old) - (_DEFAULT_LIMIT if limit is None else limit)
    unused = [each for each in old if each.labels.get(POD_REVISION, "") not in used]
    return unused[: max(0, excess)]


def new_pod(owner: DaemonSet, digest: str, node: str) -> Pod:
    """Return the pod of a DaemonSet for a node."""
    pod = pod_from_template(owner.spec.template, owner)
    labels = {**pod.metadata.labels, POD_REVISION: digest}
    if (generation := owner.metadata.annotations.get(GENERATION)) is not None:
        labels[POD_GENERATION] = generation
    pod.metadata.labels = labels
    pod.spec.tolerations = tolerations_of(pod.spec)
    pod.spec.affinity = pinned(pod.spec.affinity, node)
    return pod


async def _carry_out(
    owner: DaemonSet, plan: Plan, digest: str, context: Context[Request]
) -> KinformError | None:
    """Create and delete pods. Return the first error."""
    nodes = iter(plan.nodes)
    failure = await slow_start(
        min(len(plan.nodes), _BURST), lambda: _create(owner, digest, next(nodes), context)
    )
    deletions = (_delete(owner, pod, context) for pod in plan.doomed[:_BURST])
    return failure or first_error(await asyncio.gather(*deletions, return_exceptions=True))


async def _create(owner: DaemonSet, digest: str, node: str, context: Context[Request]) -> None:
    try:
        created = await context.client.create(new_pod(owner, digest, node))
    except ApiError as error:
        if is_namespace_ending(error):
            return  # it would refuse every other pod, too
        message = f"Error creating: {reason_of(error)}"
        context.recorder.event(owner, "Warning", "FailedCreate", message)
        raise
    context.recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {created.name}")


async def _delete(owner: DaemonSet, pod: Pod, context: Context[Request]) -> None:
    try:
        await context.client.delete(Pod, pod.name, namespace=pod.namespace, uid=pod.uid)
    except (NotFoundError, ConflictError):
        return  # it is gone, or another one has its name
    except ApiError as error:
        message = f"Error deleting: {reason_of(error)}"
        context.recorder.event(owner, "Warning", "FailedDelete", message)
        raise
    context.recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")
