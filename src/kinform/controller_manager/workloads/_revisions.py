"""Revisions of a Deployment: one ReplicaSet for each template, numbered by annotations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kinform.controller_manager.workloads._rollout import Limits, SetSize
from kinform.controllers import set_controller_reference
from kinform.models.apps.v1 import Deployment, ReplicaSet, ReplicaSetSpec
from kinform.models.core.v1 import PodTemplateSpec
from kinform.models.meta.v1 import LabelSelector, ObjectMeta

HASH_LABEL = "pod-template-hash"
"""The label that distinguishes the pods of the ReplicaSets of a Deployment."""

_PREFIX = "deployment.kubernetes.io/"
REVISION = _PREFIX + "revision"
HISTORY = _PREFIX + "revision-history"
DESIRED = _PREFIX + "desired-replicas"
MOST = _PREFIX + "max-replicas"
_NOT_COPIED = {
    REVISION,
    HISTORY,
    DESIRED,
    MOST,
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
}
_LONGEST_HISTORY = 2000
# Without vowels and what looks like them, so that no hash is a word.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_NAME = 253


def by_age(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return ReplicaSets with the oldest first."""
    return sorted(sets, key=lambda each: (str(each.metadata.creation_timestamp), each.name))


def split(
    deployment: Deployment, sets: Iterable[ReplicaSet]
) -> tuple[ReplicaSet | None, list[ReplicaSet]]:
    """Return the ReplicaSet of the current template, if it exists, and the others by age."""
    ordered = by_age(sets)
    template = deployment.spec.template
    new = next((each for each in ordered if is_same(each.spec.template, template)), None)
    return new, [each for each in ordered if each is not new]


def is_same(one: PodTemplateSpec, other: PodTemplateSpec) -> bool:
    """Whether two templates are equal apart from their hash labels."""
    return one.spec == other.spec and _metadata(one) == _metadata(other)


def _metadata(template: PodTemplateSpec) -> Mapping[str, Any]:
    found: dict[str, Any] = template.metadata.to_dict()
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH_LABEL}
    return {**found, "labels": labels}


def template_hash(template: PodTemplateSpec, collisions: int) -> str:
    """Return a short text for a template, another one after each collision."""
    plain = {**template.to_dict(), "metadata": _metadata(template)}
    text = json.dumps([plain, collisions], sort_keys=True, default=str)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    digits = ""
    for _ in range(10):
        number, digit = divmod(number, len(_ALPHABET))
        digits += _ALPHABET[digit]
    return digits


def revision_of(replica_set: ReplicaSet) -> int:
    """Return the revision of a ReplicaSet; 0 without one."""
    return _number(replica_set, REVISION) or 0


def size_of(replica_set: ReplicaSet) -> SetSize:
    """Return what the next size of a ReplicaSet depends on."""
    return SetSize(
        name=replica_set.name,
        replicas=1 if replica_set.spec.replicas is None else replica_set.spec.replicas,
        available=replica_set.status.available_replicas,
        desired=_number(replica_set, DESIRED),
        most=_number(replica_set, MOST),
    )


def _number(replica_set: ReplicaSet, annotation: str) -> int | None:
    text = replica_set.metadata.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def new_replica_set(
    deployment: Deployment, old: Sequence[ReplicaSet], limits: Limits, replicas: int
) -> ReplicaSet:
    """Return the ReplicaSet to create for the current template."""
    template = deployment.spec.template.copy()
    name = template_hash(template, deployment.status.collision_count or 0)
    template.metadata.labels = {**template.metadata.labels, HASH_LABEL: name}
    selector = (deployment.spec.selector or LabelSelector()).copy()
    selector.match_labels = {**selector.match_labels, HASH_LABEL: name}
    created = ReplicaSet(
        metadata=ObjectMeta(
            name=f"{deployment.name[: _LONGEST_NAME - 1 - len(name)]}-{name}",
            namespace=deployment.namespace,
            labels=dict(template.metadata.labels),
        ),
        spec=ReplicaSetSpec(
            replicas=replicas,
            min_ready_seconds=deployment.spec.min_ready_seconds,
            selector=selector,
            template=template,
        ),
    )
    set_controller_reference(deployment, created)
    update_new_set(deployment, created, old)
    note_limits(created, limits)
    return created


def update_new_set(deployment: Deployment, new: ReplicaSet, old: Sequence[ReplicaSet]) -> None:
    """Bring the new ReplicaSet up to date: its annotations, and when its pods are available.

    Its revision is the highest. If it had a lower one, the Deployment was rolled back to it, and
    the lower one is kept in its history.
    """
    annotations = {**new.metadata.annotations}
    for key, value in deployment.metadata.annotations.items():
        if key not in _NOT_COPIED:
            annotations[key] = value
    revision = max((revision_of(each) for each in old), default=0) + 1
    before = annotations.get(REVISION, "")
    if revision_of(new) < revision:
        annotations[REVISION] = str(revision)
        if before:
            annotations[HISTORY] = _with_revision(annotations.get(HISTORY, ""), before)
    if annotations != new.metadata.annotations:
        new.metadata.annotations = annotations
    if new.spec.min_ready_seconds != deployment.spec.min_ready_seconds:
        new.spec.min_ready_seconds = deployment.spec.min_ready_seconds


def _with_revision(history: str, revision: str) -> str:
    """Append a revision to a history, and drop the first ones if it becomes too long."""
    revisions = [*filter(None, history.split(",")), revision]
    while len(",".join(revisions)) > _LONGEST_HISTORY:
        del revisions[0]
    return ",".join(revisions)


def note_limits(replica_set: ReplicaSet, limits: Limits) -> None:
    """Write into a ReplicaSet for which limits it has its size."""
    noted = {DESIRED: str(limits.replicas), MOST: str(limits.most)}
    if not noted.items() <= replica_set.metadata.annotations.items():
        replica_set.metadata.annotations = {**replica_set.metadata.annotations, **noted}


def superfluous(deployment: Deployment, old: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Return the old ReplicaSets without pods that are beyond the history limit, oldest first."""
    limit = deployment.spec.revision_history_limit
    if limit is None or limit == 2**31 - 1:
        return []
    kept = [each for each in by_age(old) if each.metadata.deletion_timestamp is None]
    beyond = sorted(kept, key=revision_of)[: max(0, len(kept) - limit)]
    return [
        each
        for each in beyond
        if each.spec.replicas == each.status.replicas == 0
        and each.status.observed_generation >= each.generation
    ]
