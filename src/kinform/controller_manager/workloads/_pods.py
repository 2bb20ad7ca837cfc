"""What the controllers of workloads know about pods."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from kinform.controllers import set_controller_reference
from kinform.models.core.v1 import Pod, PodPhase, PodTemplateSpec
from kinform.models.meta.v1 import ObjectMeta
from kinform.objects import TypedObject

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
"""The annotation of a pod that should be deleted earlier (negative) or later than others."""

_ENDED = (PodPhase.SUCCEEDED, PodPhase.FAILED)
_PHASES: dict[str, int] = {PodPhase.PENDING: 0, PodPhase.UNKNOWN: 1, PodPhase.RUNNING: 2}
# The longest prefix that leaves room for the five characters that the server appends.
_LONGEST_PREFIX = 253 - 5


def now() -> datetime:
    """The current time as servers keep it: in seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def has_ended(pod: Pod) -> bool:
    """Whether all containers of a pod have ended for good."""
    return pod.status.phase in _ENDED


def is_active(pod: Pod) -> bool:
    """Whether a pod counts as a replica: it has not ended, and nobody has deleted it."""
    return not has_ended(pod) and pod.metadata.deletion_timestamp is None


def is_terminating(pod: Pod) -> bool:
    """Whether a deleted pod still runs."""
    return not has_ended(pod) and pod.metadata.deletion_timestamp is not None


def ready_since(pod: Pod) -> datetime | None:
    """Return since when a pod is ready; ``None`` if it is not. An unknown time is long ago."""
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status == "True":
            return condition.last_transition_time or datetime.min.replace(tzinfo=UTC)
    return None


def is_ready(pod: Pod) -> bool:
    """Whether a pod serves."""
    return ready_since(pod) is not None


def is_available(pod: Pod, min_ready_seconds: int, at: datetime) -> bool:
    """Whether a pod has been ready for so many seconds."""
    since = ready_since(pod)
    if since is None:
        return False
    if not min_ready_seconds:
        return True
    return since.year > 1 and since + timedelta(seconds=min_ready_seconds) <= at


def next_availability(pods: Iterable[Pod], min_ready_seconds: int, at: datetime) -> float | None:
    """Return the seconds until the next ready pod becomes available; ``None`` if none will."""
    waits = [
        (since + timedelta(seconds=min_ready_seconds) - at).total_seconds()
        for pod in pods
        if (since := ready_since(pod)) is not None and since.year > 1
    ]
    return min((wait for wait in waits if wait > 0), default=None)


def pod_from_template(template: PodTemplateSpec, owner: TypedObject) -> Pod:
    """Return a new pod of an owner, which the server gives a name."""
    metadata = ObjectMeta(
        generate_name=f"{owner.name}-"[:_LONGEST_PREFIX],
        namespace=owner.namespace,
        labels=dict(template.metadata.labels),
        annotations=dict(template.metadata.annotations),
        finalizers=list(template.metadata.finalizers),
    )
    pod = Pod(metadata=metadata, spec=template.spec.copy())
    set_controller_reference(owner, pod)
    return pod


def deletion_order(pods: Sequence[Pod], related: Iterable[Pod], at: datetime) -> list[Pod]:
    """Return the pods in the order in which they should be deleted.

    First those that are missed least: without a node, not running, not ready, of a low deletion
    cost, and on a node with many of the ``related`` pods. Then the younger ones. Ages are compared
    by their magnitude, and the uid decides between similar ones, so that pods that were created
    together are not deleted together.
    """
    neighbours = Counter(pod.spec.node_name for pod in related if is_active(pod))

    def rank(pod: Pod) -> tuple[object, ...]:
        return (
            bool(pod.spec.node_name),
            _PHASES.get(pod.status.phase, 0),
            is_ready(pod),
            _deletion_cost(pod),
            -neighbours[pod.spec.node_name],
            _magnitude(ready_since(pod), at),
            -max((each.restart_count for each in pod.status.container_statuses), default=0),
            -max((each.restart_count for each in pod.status.init_container_statuses), default=0),
            _magnitude(pod.metadata.creation_timestamp, at),
            pod.uid,
        )

    return sorted(pods, key=rank)


def _deletion_cost(pod: Pod) -> int:
    try:
        return int(pod.metadata.annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


def _magnitude(since: datetime | None, at: datetime) -> int:
    """Return the logarithm of an age; less than any if it is unknown."""
    if since is None or since.year == 1:
        return -2
    age = (at - since).total_seconds()
    return int(math.log2(age * 1e9)) if age > 0 else -1
