"""Counts each pod of a Job once: listed in the status, released, and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

from kinform.controller_manager.workloads._job_indexes import (
    format_indexes,
    index_of,
    is_indexed,
)
from kinform.controller_manager.workloads._job_pods import untrack
from kinform.controller_manager.workloads._job_policies import verdict_on
from kinform.controller_manager.workloads._job_status import (
    Tally,
    condition,
    find,
    is_failed,
    is_tracked,
)
from kinform.controller_manager.workloads._ownership import is_being_deleted
from kinform.controller_manager.workloads._pods import now
from kinform.controller_manager.workloads._slow_start import first_error
from kinform.controllers import Context
from kinform.models.batch.v1 import Job, JobCondition, JobStatus, UncountedTerminatedPods
from kinform.models.core.v1 import Pod

# As many pods are counted in one reconcile, so that the status does not become too large.
_MOST = 500


async def track(
    job: Job,
    status: JobStatus,
    tally: Tally,
    end: JobCondition | None,
    context: Context[Any],
    on_listed: Callable[[], None],
) -> None:
    """Count the pods that have ended, and write the status.

    Args:
        job: The Job as it was found.
        status: Its status now, in which nothing is counted yet.
        tally: What its pods amount to.
        end: The decision to finish the Job; ``None`` if it goes on.
        context: Has the client and the recorder.
        on_listed: Called when the pods that have ended are in the status.

    Raises:
        ApiError: The server refuses a write.
    """
    tracked = {pod.uid for pod in tally.pods if is_tracked(pod)}
    status = counted(status, tracked)
    ended, is_all = ended_pods(job, tally, end)
    status.uncounted_terminated_pods = with_ended(job, status, ended, end)
    if is_indexed(job):
        status.succeeded = len(tally.succeeded_indexes)
        status.completed_indexes = format_indexes(tally.succeeded_indexes)
        if tally.failed_indexes is not None:
            status.failed_indexes = format_indexes(tally.failed_indexes)
    if end is not None and find(status, end.type) is None:
        status.conditions = [*status.conditions, end]
    written = await _write(job, status, context)
    on_listed()
    removals = (untrack(context.client, pod) for pod in ended)
    results: list[object | BaseException] = list(
        await asyncio.gather(*removals, return_exceptions=True)
    )
    done = {pod.uid for pod, error in zip(ended, results, strict=True) if error is None}
    status = counted(written.status, tracked - done)
    left = status.uncounted_terminated_pods
    is_over = (
        is_all and not tally.terminating and (left is None or not (left.succeeded or left.failed))
    )
    if end is not None and is_over:
        status = finished(status, end)
    finished_job = await _write(written, status, context)
    if end is not None and is_over:
        _report(finished_job, end, context)
    if (error := first_error(results)) is not None:
        raise error


async def _write(job: Job, status: JobStatus, context: Context[Any]) -> Job:
    """Write the status if it has changed, and return the Job."""
    if status == job.status:
        return job
    changed = job.copy()
    changed.status = status
    return await context.client.update(changed, subresource="status")


def counted(status: JobStatus, tracked: Collection[str]) -> JobStatus:
    """Return a status in which the listed pods that are not tracked any more are counted."""
    result = status.copy()
    listed = status.uncounted_terminated_pods or UncountedTerminatedPods()
    left = UncountedTerminatedPods(
        succeeded=[uid for uid in listed.succeeded if uid in tracked],
        failed=[uid for uid in listed.failed if uid in tracked],
    )
    result.succeeded += len(listed.succeeded) - len(left.succeeded)
    result.failed += len(listed.failed) - len(left.failed)
    result.uncounted_terminated_pods = left
    return result


def ended_pods(job: Job, tally: Tally, end: JobCondition | None) -> tuple[list[Pod], bool]:
    """Return tracked pods that can be released once they are listed, and whether these are all.

    With the Job all its pods come to an end.
    """
    is_leaving = is_being_deleted(job) or end is not None
    delayed = {pod.uid for pod in tally.delayed.values()}
    ended = [
        pod
        for pod in tally.pods
        if is_tracked(pod)
        and (
            is_leaving
            or pod.status.phase == "Succeeded"
            or (is_failed(pod, job) and pod.uid not in delayed)
        )
    ]
    return ended[:_MOST], len(ended) <= _MOST


def with_ended(
    job: Job, status: JobStatus, ended: list[Pod], end: JobCondition | None
) -> UncountedTerminatedPods:
    """Return the lists of pods that are not counted yet, with those that have ended now.

    If the Job has failed, the pods that it had to stop have failed with it.
    """
    listed = status.uncounted_terminated_pods or UncountedTerminatedPods()
    succeeded, failed = list(listed.succeeded), list(listed.failed)
    has_failed = end is not None and end.type == "FailureTarget"
    for pod in ended:
        if pod.uid in failed:
            continue
        if pod.status.phase == "Succeeded":
            if not is_indexed(job) and pod.uid not in succeeded:
                succeeded.append(pod.uid)
        elif is_failed(pod, job) or has_failed:
            is_valid = not is_indexed(job) or index_of(pod, job.spec.completions or 0) is not None
            if is_valid and verdict_on(job, pod).counts:
                failed.append(pod.uid)
    return UncountedTerminatedPods(succeeded=succeeded, failed=failed)


def finished(status: JobStatus, end: JobCondition) -> JobStatus:
    """Return the status of a Job whose pods have all ended and are counted."""
    result = status.copy()
    at = now()
    is_success = end.type == "SuccessCriteriaMet"
    last = condition("Complete" if is_success else "Failed", end.reason, end.message, at)
    result.conditions = [*status.conditions, last]
    if is_success:
        result.completion_time = at
    return result


def _report(job: Job, end: JobCondition, context: Context[Any]) -> None:
    if end.type != "SuccessCriteriaMet":
        context.recorder.event(job, "Warning", end.reason, end.message)
        return
    completions = job.spec.completions
    if completions is not None and job.status.succeeded > completions:
        message = "Too many succeeded pods running after completion count reached"
        context.recorder.event(job, "Warning", "TooManySucceededPods", message)
    context.recorder.event(job, "Normal", "Completed", "Job completed")
