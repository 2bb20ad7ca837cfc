"""The pods of Jobs: claimed, created and deleted with their finalizer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from kinform.api import LabelSelector
from kinform.cache import CachedClient
from kinform.controller_manager.workloads._job_indexes import indexed_pod
from kinform.controller_manager.workloads._job_sources import TrackedPod, job_of
from kinform.controller_manager.workloads._job_status import (
    TRACKING,
    finished_condition,
    is_tracked,
)
from kinform.controller_manager.workloads._ownership import (
    Claim,
    claim_of,
    is_being_deleted,
    owned_or_orphaned,
)
from kinform.controller_manager.workloads._pods import pod_from_template
from kinform.controllers import Context, controller_of
from kinform.errors import ApiError, ConflictError, InvalidError, NotFoundError
from kinform.models.batch.v1 import Job
from kinform.models.core.v1 import Pod


async def claim_pods(client: CachedClient, job: Job, selector: LabelSelector) -> list[Pod]:
    """Adopt and release pods, and return those that belong to a Job now.

    A pod gets the finalizer and the owner in one patch, and loses them so: it is counted by exactly
    one Job.

    Raises:
        ApiError: The server refuses a patch.
    """
    claimed: list[Pod] = []
    may_adopt: bool | None = None
    for pod in await owned_or_orphaned(client, Pod, job):
        verdict = claim_of(job, pod, selector)
        if verdict is Claim.KEEP:
            claimed.append(pod)
        elif verdict is Claim.RELEASE:
            gone = {"$patch": "delete", "uid": job.uid}
            await _patch(client, pod, {"ownerReferences": [gone], **_without_tracking()})
        elif verdict is Claim.ADOPT:
            if may_adopt is None:
                may_adopt = await _still_exists(client, job)
            if may_adopt and (adopted := await _adopt(client, job, pod)) is not None:
                claimed.append(adopted)
    return claimed


async def _still_exists(client: CachedClient, job: Job) -> bool:
    try:
        fresh = await client.live.get(Job, job.name, namespace=job.namespace)
    except NotFoundError:
        return False
    return fresh.uid == job.uid and not is_being_deleted(fresh)


async def _adopt(client: CachedClient, job: Job, pod: Pod) -> Pod | None:
    reference = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": job.name,
        "uid": job.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return await _patch(client, pod, {"ownerReferences": [reference], "finalizers": [TRACKING]})


def _without_tracking() -> dict[str, Any]:
    return {"$deleteFromPrimitiveList/finalizers": [TRACKING]}


async def _patch(client: CachedClient, pod: Pod, metadata: dict[str, Any]) -> Pod | None:
    # With the uid, the patch fails if the pod was replaced by another one of its name.
    patch = {"metadata": {"uid": pod.uid, **metadata}}
    try:
        return await client.patch(Pod, pod.name, patch, namespace=pod.namespace, type="strategic")
    except (NotFoundError, InvalidError):
        return None


async def untrack(client: CachedClient, pod: Pod) -> None:
    """Remove the finalizer of a pod that was counted; one that is gone already is fine.

    Raises:
        ApiError: The server refuses the patch.
    """
    if is_tracked(pod):
        await _patch(client, pod, _without_tracking())


async def untrack_orphan(key: TrackedPod, client: CachedClient) -> None:
    """Remove the finalizer of a pod whose Job does not look after it any more."""
    try:
        pod = await client.get(Pod, key.name, namespace=key.namespace)
    except NotFoundError:
        return
    owner = controller_of(pod)
    if owner is not None:
        request = job_of(pod)
        if request is None:
            return  # somebody else's
        try:
            job = await client.get(Job, request.name, namespace=request.namespace)
        except NotFoundError:
            pass
        else:
            if job.uid == owner.uid and finished_condition(job) is None:
                return
    await untrack(client, pod)


async def create_pod(
    job: Job, index: int | None, failures: tuple[int, int] | None, context: Context[Any]
) -> Pod | None:
    """Create a pod of a Job. Return ``None`` if the namespace is being deleted.

    Raises:
        ApiError: The server refuses it.
    """
    if index is None:
        pod = pod_from_template(job.spec.template, job)
    else:
        pod = indexed_pod(job, index, failures)
    if not is_tracked(pod):
        pod.metadata.finalizers = [*pod.metadata.finalizers, TRACKING]
    try:
        created = await context.client.create(pod)
    except ApiError as error:
        if any(cause.get("reason") == "NamespaceTerminating" for cause in error.causes):
            return None
        message = f"Error creating: {error.message}"
        context.recorder.event(job, "Warning", "FailedCreate", message)
        raise
    context.recorder.event(job, "Normal", "SuccessfulCreate", f"Created pod: {created.name}")
    return created


async def delete_pods(
    job: Job, pods: Sequence[Pod], context: Context[Any], *, are_counted: bool
) -> list[object | BaseException]:
    """Delete pods of a Job.

    Args:
        job: The Job.
        pods: The pods.
        context: Has the client and the recorder.
        are_counted: Whether they will be counted as failed, and so stay tracked until they are.

    Returns:
        For each pod ``None``, or the error.
    """

    async def delete(pod: Pod) -> None:
        client = context.client
        if not are_counted:
            await untrack(client, pod)
        try:
            await client.delete(Pod, pod.name, namespace=pod.namespace, uid=pod.uid)
        except (NotFoundError, ConflictError):
            return  # it is gone, or another one has its name
        except ApiError as error:
            message = f"Error deleting: {error.message}"
            context.recorder.event(job, "Warning", "FailedDelete", message)
            raise
        context.recorder.event(job, "Normal", "SuccessfulDelete", f"Deleted pod: {pod.name}")

    return await asyncio.gather(*map(delete, pods), return_exceptions=True)
