"""The identity of the pods of a StatefulSet: a number, and what follows from it.

The pod with the ordinal 2 of the set ``db`` is ``db-2``, now and after it was replaced. Its name in
the network and the names of its volume claims are made of the ordinal, too, so that the next
``db-2`` finds what the last one has written.
"""

from __future__ import annotations

import re

from kinform.controller_manager.workloads._history import POD_REVISION
from kinform.controller_manager.workloads._pods import pod_from_template
from kinform.models.apps.v1 import StatefulSet
from kinform.models.core.v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodTemplateSpec,
    Volume,
)
from kinform.models.meta.v1 import ObjectMeta

POD_NAME = "statefulset.kubernetes.io/pod-name"
"""The label of a pod with its name, so that a Service can select a single pod."""

POD_INDEX = "apps.kubernetes.io/pod-index"
"""The label of a pod with its ordinal."""

_NAME = re.compile(r"(.+)-(0|[1-9][0-9]{0,9})", re.DOTALL)


def ordinal_in(owner: StatefulSet, pod: Pod) -> int | None:
    """Return the ordinal of a pod; ``None`` if its name is none of this set."""
    found = _NAME.fullmatch(pod.name)
    return int(found[2]) if found is not None and found[1] == owner.name else None


def ordinals_of(owner: StatefulSet) -> range:
    """Return the ordinals that a set wants."""
    start = 0 if owner.spec.ordinals is None else owner.spec.ordinals.start
    return range(start, start + (1 if owner.spec.replicas is None else owner.spec.replicas))


def new_pod(owner: StatefulSet, template: PodTemplateSpec, revision: str, ordinal: int) -> Pod:
    """Return the pod of an ordinal, made from the template of a revision."""
    pod = pod_from_template(template, owner)
    pod.metadata.name = f"{owner.name}-{ordinal}"
    pod.metadata.labels = {
        **pod.metadata.labels,
        **_identity(owner, ordinal),
        POD_REVISION: revision,
    }
    pod.spec.hostname = pod.metadata.name
    pod.spec.subdomain = owner.spec.service_name
    pod.spec.volumes = _volumes(owner, pod, ordinal)
    return pod


def mended(owner: StatefulSet, pod: Pod, ordinal: int) -> Pod | None:
    """Return a pod with its identity and its volumes; ``None`` if it has them already.

    Only a pod that was adopted, or whose labels somebody has changed, needs it.
    """
    by_name = {each.name: each for each in pod.spec.volumes}
    has_volumes = all(by_name.get(each.name) == each for each in _claimed(owner, ordinal))
    if has_volumes and pod.labels.get(POD_NAME) == pod.name:
        return None
    changed = pod.copy()
    changed.metadata.labels = {**pod.labels, **_identity(owner, ordinal)}
    if not has_volumes:
        changed.spec.volumes = _volumes(owner, pod, ordinal)
    return changed


def claims_for(owner: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
    """Return the volume claims of an ordinal."""
    labels = {} if owner.spec.selector is None else owner.spec.selector.match_labels
    return [
        PersistentVolumeClaim(
            metadata=ObjectMeta(
                name=claim_name(owner, template, ordinal),
                namespace=owner.namespace,
                labels={**template.metadata.labels, **labels},
                annotations=dict(template.metadata.annotations),
                finalizers=list(template.metadata.finalizers),
            ),
            spec=template.spec.copy(),
        )
        for template in owner.spec.volume_claim_templates
    ]


def claim_name(owner: StatefulSet, template: PersistentVolumeClaim, ordinal: int) -> str:
    """Return the name of a volume claim of an ordinal."""
    return f"{template.metadata.name}-{owner.name}-{ordinal}"


def _identity(owner: StatefulSet, ordinal: int) -> dict[str, str]:
    return {POD_NAME: f"{owner.name}-{ordinal}", POD_INDEX: str(ordinal)}


def _claimed(owner: StatefulSet, ordinal: int) -> list[Volume]:
    return [
        Volume(
            name=each.metadata.name,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(
                claim_name=claim_name(owner, each, ordinal)
            ),
        )
        for each in owner.spec.volume_claim_templates
    ]


def _volumes(owner: StatefulSet, pod: Pod, ordinal: int) -> list[Volume]:
    """Return the volumes of a pod; a claim replaces a volume of its name."""
    claimed = _claimed(owner, ordinal)
    names = {each.name for each in claimed}
    return [*claimed, *(each for each in pod.spec.volumes if each.name not in names)]
