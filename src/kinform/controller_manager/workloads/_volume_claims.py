"""The volume claims of a StatefulSet: created for each ordinal, and kept or deleted with it.

The controller never deletes a claim. According to the retention policy, it makes the set or a
surplus pod the owner of a claim, and the garbage collector deletes it together with its owner.
"""

from __future__ import annotations

from collections.abc import Sequence

from kinform.controller_manager.workloads._ordinals import claim_name, claims_for, ordinals_of
from kinform.controller_manager.workloads._ownership import is_being_deleted
from kinform.controllers import Context, Request
from kinform.errors import AlreadyExistsError, ApiError, ControllerError, NotFoundError
from kinform.models.apps.v1 import StatefulSet
from kinform.models.core.v1 import PersistentVolumeClaim, Pod
from kinform.models.meta.v1 import OwnerReference
from kinform.objects import TypedObject


def owners_after(
    owner: StatefulSet, ordinal: int, pod: Pod | None, owners: Sequence[OwnerReference]
) -> list[OwnerReference]:
    """Return the owners that a claim should have according to the retention policy.

    A claim with another controller is left to that one, and so is a claim of an earlier set or pod
    of the same name: the garbage collector is about to delete it.

    Args:
        owner: The StatefulSet.
        ordinal: The ordinal of the claim.
        pod: The pod of the ordinal, if it exists.
        owners: The owners that the claim has.
    """
    policy = owner.spec.persistent_volume_claim_retention_policy
    when_deleted = policy is not None and policy.when_deleted == "Delete"
    when_scaled = policy is not None and policy.when_scaled == "Delete"
    if any(is_earlier(each, owner.uid, "StatefulSet", owner.name) for each in owners):
        return list(owners)
    name = f"{owner.name}-{ordinal}"
    if any(is_earlier(each, "" if pod is None else pod.uid, "Pod", name) for each in owners):
        return list(owners)
    ours = {owner.uid} if pod is None else {owner.uid, pod.uid}
    others = [each for each in owners if each.uid not in ours]
    if any(each.controller for each in others):
        return others
    is_surplus = ordinal not in ordinals_of(owner)
    if when_scaled and is_surplus:
        return [*others, *([] if pod is None else [_reference(pod)])]
    return [*others, _reference(owner)] if when_deleted else others


def is_earlier(reference: OwnerReference, uid: str, kind: str, name: str) -> bool:
    """Whether an owner is an earlier object of this name."""
    return (reference.kind, reference.name) == (kind, name) and reference.uid != uid


def _reference(owner: TypedObject) -> OwnerReference:
    return OwnerReference(
        api_version=owner.gvk.api_version,
        kind=owner.gvk.kind,
        name=owner.name,
        uid=owner.uid,
        controller=True,
        block_owner_deletion=True,
    )


async def provide(owner: StatefulSet, ordinal: int, context: Context[Request]) -> None:
    """Create the missing claims of an ordinal.

    Raises:
        ApiError: The server refuses a claim.
        ControllerError: A claim is being deleted, and the next one has to wait for its end.
    """
    for claim in claims_for(owner, ordinal):
        found = await _get(claim.name, owner, context)
        if found is not None:
            if is_being_deleted(found):
                raise ControllerError(f"pvc {claim.name} is being deleted")
            continue
        claim.metadata.owner_references = owners_after(owner, ordinal, None, [])
        about = f"Claim {claim.name}"
        pod = f"Pod {owner.name}-{ordinal} in StatefulSet {owner.name}"
        try:
            await context.client.create(claim)
        except AlreadyExistsError:
            raise  # the cache is behind
        except ApiError as error:
            message = f"Create {about} for {pod} failed error: {error.message}"
            context.recorder.event(owner, "Warning", "FailedCreate", message)
            raise
        context.recorder.event(owner, "Normal", "SuccessfulCreate", f"Create {about} {pod} success")


async def is_left_over(owner: StatefulSet, ordinal: int, context: Context[Request]) -> bool:
    """Whether a claim of an ordinal goes with an earlier pod, which was surplus."""
    policy = owner.spec.persistent_volume_claim_retention_policy
    if policy is None or policy.when_scaled != "Delete":
        return False
    for template in owner.spec.volume_claim_templates:
        found = await _get(claim_name(owner, template, ordinal), owner, context)
        name = f"{owner.name}-{ordinal}"
        if found is not None and any(
            is_earlier(each, "", "Pod", name) for each in found.metadata.owner_references
        ):
            return True
    return False


async def settle(owner: StatefulSet, ordinal: int, pod: Pod, context: Context[Request]) -> None:
    """Correct the owners of the claims of an ordinal.

    Raises:
        ApiError: The server refuses a change.
    """
    for template in owner.spec.volume_claim_templates:
        found = await _get(claim_name(owner, template, ordinal), owner, context)
        if found is None:
            continue
        before = found.metadata.owner_references
        owners = owners_after(owner, ordinal, pod, before)
        if _owning(owners) == _owning(before):
            continue
        changed = found.copy()
        changed.metadata.owner_references = owners
        await context.client.update(changed)


def _owning(owners: Sequence[OwnerReference]) -> set[tuple[str, bool]]:
    return {(each.uid, bool(each.controller)) for each in owners}


async def _get(
    name: str, owner: StatefulSet, context: Context[Request]
) -> PersistentVolumeClaim | None:
    try:
        return await context.client.get(PersistentVolumeClaim, name, namespace=owner.namespace)
    except NotFoundError:
        return None
