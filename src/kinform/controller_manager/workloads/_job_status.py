"""The state of a Job: what its pods amount to, whether it is over, and its conditions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec

from kinform.controller_manager.workloads._job_indexes import (
    FAILURES,
    IGNORED_FAILURES,
    count_in,
    index_of,
    indexes_of,
    is_indexed,
    parse_indexes,
)
from kinform.controller_manager.workloads._job_policies import (
    finish_time,
    restarts_of,
    success_rule,
    verdict_on,
)
from kinform.controller_manager.workloads._pods import is_active, is_ready, is_terminating
from kinform.models.batch.v1 import Job, JobCondition, JobStatus, UncountedTerminatedPods
from kinform.models.core.v1 import Pod

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer of pods that have not been counted yet: no pod may vanish before it is."""

_DEFAULT_BACKOFF_LIMIT = 6


def is_suspended(job: Job) -> bool:
    """Whether a Job is suspended: it has no pods until it is resumed."""
    return bool(job.spec.suspend)


def is_tracked(pod: Pod) -> bool:
    """Whether a pod has still to be counted."""
    return TRACKING in pod.metadata.finalizers


def replaces_failed_only(job: Job) -> bool:
    """Whether a deleted pod is replaced only after it has ended."""
    return job.spec.pod_replacement_policy == "Failed"


def is_failed(pod: Pod, job: Job) -> bool:
    """Whether a pod counts as failed; a deleted one does so before it has ended, too."""
    if pod.status.phase == "Failed" or replaces_failed_only(job):
        return pod.status.phase == "Failed"
    return pod.metadata.deletion_timestamp is not None and pod.status.phase != "Succeeded"


class Tally(msgspec.Struct):
    """What the pods of a Job amount to.

    Attributes:
        pods: All pods of the Job.
        active: Those that run or will.
        ready: How many of them are ready.
        terminating: How many were deleted and still run.
        succeeded: How many have succeeded ever.
        failed: How many have failed ever, as far as that counts.
        new_succeeded: Those that have succeeded and are not in the status yet.
        new_failed: Those that have failed and are not in the status yet.
        known_indexes: The indexes that have succeeded according to the status.
        succeeded_indexes: The indexes that have succeeded.
        failed_indexes: Those that have failed for good, if the Job limits failures per index.
        delayed: By index, the failed pod that stays tracked until it is replaced: its replacement
            inherits the number of failures.
    """

    pods: list[Pod]
    active: list[Pod]
    ready: int
    terminating: int
    succeeded: int
    failed: int
    new_succeeded: list[Pod]
    new_failed: list[Pod]
    known_indexes: set[int] = msgspec.field(default_factory=set)
    succeeded_indexes: set[int] = msgspec.field(default_factory=set)
    failed_indexes: set[int] | None = None
    delayed: dict[int, Pod] = msgspec.field(default_factory=dict)


def tally_of(job: Job, pods: Sequence[Pod]) -> Tally:
    """Count the pods of a Job, together with those that its status has counted already."""
    completions = job.spec.completions or 0
    uncounted = job.status.uncounted_terminated_pods or UncountedTerminatedPods()
    valid = [
        pod
        for pod in pods
        if is_tracked(pod) and (not is_indexed(job) or index_of(pod, completions) is not None)
    ]
    ended = [pod for pod in valid if pod.uid not in uncounted.succeeded]
    succeeded = [pod for pod in ended if pod.status.phase == "Succeeded"]
    failed = [pod for pod in valid if is_failed(pod, job) and pod.uid not in uncounted.failed]
    counting = sum(verdict_on(job, pod).counts for pod in failed)
    active = [pod for pod in pods if is_active(pod)]
    tally = Tally(
        pods=list(pods),
        active=active,
        ready=sum(map(is_ready, active)),
        terminating=sum(map(is_terminating, pods)),
        succeeded=job.status.succeeded + len(succeeded) + len(uncounted.succeeded),
        failed=job.status.failed + counting + len(uncounted.failed),
        new_succeeded=succeeded,
        new_failed=failed,
    )
    if is_indexed(job):
        _count_indexes(job, tally, valid, completions)
    return tally


def _count_indexes(job: Job, tally: Tally, valid: Sequence[Pod], completions: int) -> None:
    tally.known_indexes = parse_indexes(job.status.completed_indexes, completions)
    done = (pod for pod in valid if pod.status.phase == "Succeeded")
    tally.succeeded_indexes = tally.known_indexes | indexes_of(done, completions)
    tally.succeeded = len(tally.succeeded_indexes)
    limit = job.spec.backoff_limit_per_index
    if limit is None:
        return
    failed = [pod for pod in valid if is_failed(pod, job)]
    given_up = (pod for pod in failed if _gives_up(job, pod, limit))
    before = parse_indexes(job.status.failed_indexes or "", completions)
    tally.failed_indexes = before | indexes_of(given_up, completions)
    settled = tally.succeeded_indexes | tally.failed_indexes | indexes_of(tally.active, completions)
    # The last one of an index comes last, and so it stays.
    for pod in sorted(failed, key=lambda pod: (failures_before(pod), finish_time(pod))):
        index = index_of(pod, completions)
        if index is not None and index not in settled:
            tally.delayed[index] = pod


def failures_before(pod: Pod) -> int:
    """Return how many pods of an index have failed before this one."""
    return count_in(pod, FAILURES) + count_in(pod, IGNORED_FAILURES)


def _gives_up(job: Job, pod: Pod, limit: int) -> bool:
    verdict = verdict_on(job, pod)
    return verdict.fails_index or (verdict.counts and count_in(pod, FAILURES) >= limit)


def inherited_failures(job: Job, replaced: Pod | None) -> tuple[int, int] | None:
    """Return the failures of an index for its next pod: those that count, and those ignored."""
    if job.spec.backoff_limit_per_index is None:
        return None
    if replaced is None:
        return 0, 0
    counted, ignored = count_in(replaced, FAILURES), count_in(replaced, IGNORED_FAILURES)
    return (counted + 1, ignored) if verdict_on(job, replaced).counts else (counted, ignored + 1)


# -- conditions ------------------------------------------------------------------------------------


def find(status: JobStatus, type: str) -> JobCondition | None:
    """Return the condition of a type if it is true."""
    return next(
        (each for each in status.conditions if (each.type, each.status) == (type, "True")), None
    )


def finished_condition(job: Job) -> JobCondition | None:
    """Return the condition of a finished Job; ``None`` if it has not finished."""
    return find(job.status, "Complete") or find(job.status, "Failed")


def condition(
    type: str, reason: str, message: str, at: datetime, status: str = "True"
) -> JobCondition:
    """Return a new condition."""
    return JobCondition(
        type=type,
        status=status,
        reason=reason,
        message=message,
        last_probe_time=at,
        last_transition_time=at,
    )


def with_suspension(job: Job, at: datetime) -> list[JobCondition] | None:
    """Return the conditions after a Job was suspended or resumed; ``None`` if nothing changes."""
    before = next((each for each in job.status.conditions if each.type == "Suspended"), None)
    if is_suspended(job):
        added = condition("Suspended", "JobSuspended", "Job suspended", at)
    elif before is None:
        return None
    else:
        added = condition("Suspended", "JobResumed", "Job resumed", at, "False")
    if before is not None and before.status == added.status:
        return None
    if before is None:
        return [*job.status.conditions, added]
    return [added if each is before else each for each in job.status.conditions]


def verdict_of(job: Job, tally: Tally, start: datetime | None, at: datetime) -> JobCondition | None:
    """Decide whether a Job is over, before all its pods are.

    What was decided earlier stays. A failure comes before a success.

    Returns:
        A condition ``FailureTarget`` or ``SuccessCriteriaMet``; ``None`` if the Job goes on.
    """
    earlier = find(job.status, "SuccessCriteriaMet") or find(job.status, "FailureTarget")
    if earlier is not None:
        return earlier
    failure = _failure(job, tally, start, at)
    if failure is not None:
        return condition("FailureTarget", *failure, at.replace(microsecond=0))
    if is_indexed(job) and (rule := success_rule(job, tally.succeeded_indexes)) is not None:
        message = f"Matched rules at index {rule}"
        at = at.replace(microsecond=0)
        return condition("SuccessCriteriaMet", "SuccessPolicy", message, at)
    return None


def _failure(
    job: Job, tally: Tally, start: datetime | None, at: datetime
) -> tuple[str, str] | None:
    """Return the reason and the message if a Job has failed."""
    for pod in tally.pods:
        if is_failed(pod, job) and (message := verdict_on(job, pod).message):
            return "PodFailurePolicy", message
    limit = job.spec.backoff_limit
    limit = _DEFAULT_BACKOFF_LIMIT if limit is None else limit
    is_restarting = job.spec.template.spec.restart_policy == "OnFailure"
    if tally.failed > limit or (is_restarting and restarts_of(tally.pods) >= max(limit, 1)):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    left = deadline_in(job, start, at)
    if left is not None and left <= 0:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    if tally.failed_indexes:
        most, failed = job.spec.max_failed_indexes, len(tally.failed_indexes)
        if most is not None and failed > most:
            return (
                "MaxFailedIndexesExceeded",
                "Job has exceeded the specified maximal number of failed indexes",
            )
        if failed + len(tally.succeeded_indexes) >= (job.spec.completions or 0):
            return "FailedIndexes", "Job has failed indexes"
    return None


def deadline_in(job: Job, start: datetime | None, at: datetime) -> float | None:
    """Return the seconds until a Job has been active for too long; ``None`` if it has no limit."""
    seconds = job.spec.active_deadline_seconds
    if seconds is None or start is None or is_suspended(job):
        return None
    return (start + timedelta(seconds=seconds) - at).total_seconds()


def wanted_pods(job: Job, tally: Tally) -> int:
    """Return how many pods of a Job should be active."""
    parallelism = 1 if job.spec.parallelism is None else job.spec.parallelism
    if is_suspended(job):
        return 0
    if job.spec.completions is None:
        # Any success means that all is done; the other pods may go on until they end.
        return len(tally.active) if tally.succeeded else parallelism
    return max(0, min(job.spec.completions - tally.succeeded, parallelism))


def is_complete(job: Job, tally: Tally, active: int) -> bool:
    """Whether enough pods have succeeded, and none is active."""
    needed = 1 if job.spec.completions is None else job.spec.completions
    return active == 0 and tally.succeeded >= needed
