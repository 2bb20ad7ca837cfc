"""The history of a StatefulSet or DaemonSet: a ControllerRevision for each template it has had.

A Deployment keeps an old template in an old ReplicaSet. The other two create their pods themselves,
and keep the templates in ControllerRevisions: the one with the highest number is the current one,
and ``kubectl rollout undo`` writes the template of a lower one back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from kinform.api import LabelSelector
from kinform.cache import CachedClient
from kinform.controller_manager.workloads._ownership import claim, owned_or_orphaned
from kinform.controller_manager.workloads._revisions import template_hash
from kinform.controllers import set_controller_reference
from kinform.errors import AlreadyExistsError
from kinform.models.apps.v1 import ControllerRevision, DaemonSet, StatefulSet
from kinform.models.core.v1 import PodTemplateSpec
from kinform.models.meta.v1 import ObjectMeta

HASH = "controller.kubernetes.io/hash"
"""The label of a ControllerRevision of a StatefulSet with the hash of its template."""

POD_REVISION = "controller-revision-hash"
"""The label of a pod that says from which revision it was made.

In a StatefulSet, that is the name of the revision. In a DaemonSet, it is the hash, which the
revision has in the same label.
"""

_LONGEST_PREFIX = 223
_DEFAULT_LIMIT = 10


def by_number(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    """Return revisions with the current one last."""
    return sorted(
        revisions,
        key=lambda each: (each.revision, str(each.metadata.creation_timestamp), each.name),
    )


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """Return the template that a revision keeps."""
    found: dict[str, Any] = revision.data["spec"]["template"]
    return PodTemplateSpec.from_dict(
        {key: value for key, value in found.items() if key != "$patch"}
    )


def new_revision(
    owner: StatefulSet | DaemonSet, number: int, collisions: int
) -> ControllerRevision:
    """Return a revision of the current template.

    Its data is a patch: applied to the owner, it brings the template back.
    """
    template = {
        key: value for key, value in owner.to_dict()["spec"]["template"].items() if key != "$patch"
    }
    digest = template_hash(owner.spec.template, collisions)
    label = POD_REVISION if isinstance(owner, DaemonSet) else HASH
    created = ControllerRevision(
        metadata=ObjectMeta(
            name=f"{owner.name[:_LONGEST_PREFIX]}-{digest}",
            namespace=owner.namespace,
            labels={**owner.spec.template.metadata.labels, label: digest},
            annotations=dict(owner.metadata.annotations),
        ),
        data={"spec": {"template": {**template, "$patch": "replace"}}},
        revision=number,
    )
    set_controller_reference(owner, created)
    return created


async def revisions_of(
    client: CachedClient, owner: StatefulSet | DaemonSet, selector: LabelSelector
) -> list[ControllerRevision]:
    """Adopt orphaned revisions, and return all that belong to the owner, the current one last."""
    found = await owned_or_orphaned(client, ControllerRevision, owner)
    matching = [each for each in found if selector.matches(each.labels)]
    return by_number(await claim(client, owner, matching, selector))


async def current_revision(
    client: CachedClient, owner: StatefulSet | DaemonSet, revisions: Sequence[ControllerRevision]
) -> tuple[ControllerRevision, int]:
    """Return the revision of the current template, and the number of collisions of names so far.

    If an older revision has this template, it gets the highest number. If none has, it is created.

    Args:
        client: Writes.
        owner: The StatefulSet or DaemonSet.
        revisions: Its revisions, the current one last.

    Raises:
        ApiError: The server refuses a write.
    """
    collisions = owner.status.collision_count or 0
    number = revisions[-1].revision + 1 if revisions else 1
    for each in reversed(revisions):
        if template_of(each) == owner.spec.template:
            if each is revisions[-1]:
                return each, collisions
            changed = each.copy()
            changed.revision = number
            return await client.update(changed), collisions
    while True:
        wanted = new_revision(owner, number, collisions)
        try:
            return await client.create(wanted), collisions
        except AlreadyExistsError:
            existing = await client.live.get(
                ControllerRevision, wanted.name, namespace=wanted.namespace
            )
            if template_of(existing) == owner.spec.template:
                return existing, collisions
            collisions += 1


def beyond_limit(
    owner: StatefulSet | DaemonSet, revisions: Sequence[ControllerRevision], used: Collection[str]
) -> list[ControllerRevision]:
    """Return the revisions to delete: the oldest ones of those that nothing uses."""
    limit = owner.spec.revision_history_limit
    unused = [each for each in revisions if each.name not in used]
    return unused[: max(0, len(unused) - (_DEFAULT_LIMIT if limit is None else limit))]
