"""Finished Jobs: delete those that want to be gone after a time.

A Job with ``ttlSecondsAfterFinished`` is deleted so many seconds after it has completed or failed,
together with its pods: in the foreground, so that the Job stays until its pods are gone. The cache
tells when it is time to look. Before the deletion the Job is read from the server, because somebody
may have given it more time meanwhile.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kinform.controller_manager.workloads._job_status import finished_condition
from kinform.controllers import After, Context, Controller, Request, Result
from kinform.errors import ConflictError, NotFoundError
from kinform.models.batch.v1 import Job


def ttl_after_finished_controller(*, workers: int = 5) -> Controller[Request]:
    """Return the controller that deletes finished Jobs.

    Args:
        workers: The number of Jobs that are looked at a time.
    """
    return Controller("ttl-after-finished-controller", reconcile, for_=Job, workers=workers)


async def reconcile(request: Request, context: Context[Request]) -> Result:
    """Delete one Job if its time is over, or come back when it is."""
    client = context.client
    for reader in (client, client.live):
        try:
            job = await reader.get(Job, request.name, namespace=request.namespace)
        except NotFoundError:
            return None
        wait = time_left(job, datetime.now(UTC))
        if wait is None:
            return None
        if wait > 0:
            return After(wait)
    try:
        await client.delete(
            Job, job.name, namespace=job.namespace, uid=job.uid, propagation="Foreground"
        )
    except (NotFoundError, ConflictError):
        return None  # it is gone, or another one has its name, which comes as an event
    return None


def time_left(job: Job, at: datetime) -> float | None:
    """Return the seconds until a Job has to be deleted; ``None`` if it has not to be."""
    ttl = job.spec.ttl_seconds_after_finished
    condition = finished_condition(job)
    if ttl is None or condition is None or job.metadata.deletion_timestamp is not None:
        return None
    if condition.last_transition_time is None:
        return None
    end = condition.last_transition_time + timedelta(seconds=ttl)
    return max(0.0, (end - at).total_seconds())
