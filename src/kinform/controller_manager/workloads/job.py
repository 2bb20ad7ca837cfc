"""Jobs: run pods until enough of them have succeeded, or too many have failed.

A pod that has ended must be counted exactly once, even if somebody deletes it or the controller
restarts. So each pod has a finalizer, and counting takes three steps: the uid of the pod goes into
``status.uncountedTerminatedPods``, the finalizer is removed, and the uid is replaced by a higher
count. A uid in the list whose pod has no finalizer any more is ready for the last step.
An Indexed Job needs no list of successes, because ``status.completedIndexes`` names them.

A reconcile claims the pods, counts them, and decides whether the Job is over. If it is, the pods
that still run are deleted; otherwise pods are created or deleted until the right number is active,
no sooner after failures than the backoff allows. Then the status is written. A Job ends in two
steps, too: ``SuccessCriteriaMet`` or ``FailureTarget`` when the decision is made, and ``Complete``
or ``Failed`` when all pods have ended and are counted.

Changes of pods wait for a second, so that a Job with many pods is not reconciled for each.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kinform.controller_manager.workloads._job_indexes import (
    duplicates,
    first_pending,
    indexes_of,
    is_indexed,
)
from kinform.controller_manager.workloads._job_pods import (
    claim_pods,
    create_pod,
    delete_pods,
    untrack_orphan,
)
from kinform.controller_manager.workloads._job_policies import Failures, finish_time
from kinform.controller_manager.workloads._job_sources import Key, TrackedPod, sources
from kinform.controller_manager.workloads._job_status import (
    Tally,
    condition,
    deadline_in,
    failures_before,
    finished_condition,
    inherited_failures,
    is_complete,
    is_suspended,
    replaces_failed_only,
    tally_of,
    verdict_of,
    wanted_pods,
    with_suspension,
)
from kinform.controller_manager.workloads._job_tracking import track
from kinform.controller_manager.workloads._ownership import is_being_deleted, selector_of
from kinform.controller_manager.workloads._pods import (
    deletion_order,
    is_ready,
    is_terminating,
    now,
)
from kinform.controller_manager.workloads._slow_start import first_error, slow_start
from kinform.controllers import After, Context, Controller, Request, Result, Retry
from kinform.errors import ConflictError, KinformError, NotFoundError
from kinform.models.batch.v1 import Job, JobCondition, JobStatus
from kinform.models.core.v1 import Pod

# Pods are created again no sooner, so that failures in a row are seen together.
_SHORTEST_WAIT = 1.0
# As many pods are created or deleted in one reconcile.
_BURST = 500
_OUR_NAME = "kubernetes.io/job-controller"


def job_controller(*, workers: int = 5) -> Controller[Any]:
    """Return the controller of Jobs.

    Args:
        workers: The number of Jobs that are reconciled at a time.
    """
    return Controller(
        "job-controller",
        JobReconciler(),
        watches=sources(),
        workers=workers,
    )


class JobReconciler:
    """Brings Jobs to their end. Remembers only how often pods have failed lately."""

    def __init__(self) -> None:
        self._failures: dict[Request, Failures] = {}

    async def reconcile(self, request: Key, context: Context[Any]) -> Result:
        """Bring one Job closer to its end."""
        client = context.client
        if isinstance(request, TrackedPod):
            await untrack_orphan(request, client)
            return None
        try:
            job = await client.get(Job, request.name, namespace=request.namespace)
        except NotFoundError:
            self._failures.pop(request, None)
            return None
        if finished_condition(job) is not None:
            self._failures.pop(request, None)
            return None
        selector = selector_of(job)
        if selector is None or job.spec.managed_by not in (None, _OUR_NAME):
            return None
        if job.spec.completion_mode not in (None, "NonIndexed", "Indexed"):
            message = "Skipped Job sync because completion mode is unknown"
            context.recorder.event(job, "Warning", "UnknownCompletionMode", message)
            return None
        tally = tally_of(job, await claim_pods(client, job, selector))
        failures = self._failures.get(request, Failures())
        failures = failures.after(tally.new_succeeded, tally.new_failed)
        sync = _Sync(job, tally, failures, context)
        error = await sync.manage()

        def remember() -> None:
            self._failures[request] = failures

        try:
            await track(job, sync.status, tally, sync.end, context, remember)
        except NotFoundError:
            return None
        except ConflictError as conflict:
            return Retry(str(conflict))
        if error is not None:
            raise error
        return None if sync.wait is None else After(max(0.0, sync.wait))


class _Sync:
    """One reconcile of a Job: changes its pods first, and then its status."""

    def __init__(self, job: Job, tally: Tally, failures: Failures, context: Context[Any]) -> None:
        self._job = job
        self._tally = tally
        self._failures = failures
        self._context = context
        self.status: JobStatus = job.status.copy()
        self._active = len(tally.active)
        self._at = datetime.now(UTC)
        if self.status.start_time is None and not is_suspended(job):
            self.status.start_time = now()
        self.end: JobCondition | None = verdict_of(job, tally, self.status.start_time, self._at)
        self.wait = None if self.end else deadline_in(job, self.status.start_time, self._at)

    async def manage(self) -> KinformError | None:
        """Create and delete pods, and decide whether the Job is complete. Return an error."""
        error = await self._manage()
        self.status.active = self._active
        self.status.ready = self._tally.ready
        self.status.terminating = self._tally.terminating
        return error

    async def _manage(self) -> KinformError | None:
        job, tally = self._job, self._tally
        if self.end is not None:
            # They are counted as failed, if the Job has failed.
            error = await self._delete(tally.active, are_counted=True)
            if error is not None:
                self.end = None  # later
            return error
        error = None
        if not is_being_deleted(job):
            error = await self._add_or_remove()
        if is_complete(job, tally, self._active):
            message = "Reached expected number of succeeded pods"
            self.end = condition("SuccessCriteriaMet", "CompletionsReached", message, now())
        elif not is_being_deleted(job):
            self._note_suspension()
        return error

    async def _add_or_remove(self) -> KinformError | None:
        job, tally = self._job, self._tally
        wanted = wanted_pods(job, tally)
        ranked = deletion_order(tally.active, tally.active, now())
        surplus = max(0, self._active - wanted)
        doomed: list[Pod] = []
        if is_indexed(job) and not is_suspended(job):
            doomed = duplicates(ranked, job.spec.completions or 0)
        uids = {pod.uid for pod in doomed}
        others = [pod for pod in ranked if pod.uid not in uids]
        doomed = [*doomed, *others[: max(0, surplus - len(doomed))]][:_BURST]
        if doomed:
            return await self._delete(doomed, are_counted=False)
        leaving = tally.terminating if replaces_failed_only(job) else 0
        count = min(wanted - leaving - self._active, _BURST)
        return await self._create(count) if count > 0 else None

    async def _create(self, count: int) -> KinformError | None:
        job, tally = self._job, self._tally
        indexes: list[int | None] = [None] * count
        if job.spec.backoff_limit_per_index is None:
            wait = self._failures.wait(self._at)
            if wait > 0:
                self._come_back(wait)
                return None
        if is_indexed(job):
            completions = job.spec.completions or 0
            taken = tally.succeeded_indexes | indexes_of(tally.active, completions)
            taken |= tally.failed_indexes or set()
            if replaces_failed_only(job):
                taken |= indexes_of(filter(is_terminating, tally.pods), completions)
            pending = first_pending(count, completions, taken)
            waits = {each: self._wait_of(each) for each in pending}
            indexes = [each for each in pending if waits[each] <= 0]
            if pending and not indexes:
                self._come_back(min(waits.values()))
        queue = iter(indexes)

        async def create() -> None:
            index = next(queue)
            replaced = None if index is None else tally.delayed.get(index)
            made = await create_pod(job, index, inherited_failures(job, replaced), self._context)
            self._active += 0 if made is None else 1

        return await slow_start(len(indexes), create)

    def _wait_of(self, index: int) -> float:
        """Return the seconds until a failed pod of an index may be replaced."""
        pod = self._tally.delayed.get(index)
        if pod is None:
            return 0.0
        return Failures(failures_before(pod) + 1, finish_time(pod)).wait(self._at)

    async def _delete(self, pods: list[Pod], *, are_counted: bool) -> KinformError | None:
        results = await delete_pods(self._job, pods, self._context, are_counted=are_counted)
        gone = [pod for pod, error in zip(pods, results, strict=True) if error is None]
        self._active -= len(gone)
        self._tally.terminating += len(gone)
        self._tally.ready -= sum(map(is_ready, gone))
        return first_error(results)

    def _come_back(self, wait: float) -> None:
        wait = max(wait, _SHORTEST_WAIT)
        self.wait = wait if self.wait is None else min(self.wait, wait)

    def _note_suspension(self) -> None:
        conditions = with_suspension(self._job, now())
        if conditions is None:
            return
        self.status.conditions = conditions
        is_off = is_suspended(self._job)
        # The deadline counts the time since the Job was resumed.
        self.status.start_time = None if is_off else now()
        reason = "Suspended" if is_off else "Resumed"
        self._context.recorder.event(self._job, "Normal", reason, f"Job {reason.lower()}")
