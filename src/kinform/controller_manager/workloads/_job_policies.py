"""The rules of a Job: which failures count, how long to wait after them, what is a success."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from kinform.controller_manager.workloads._job_indexes import parse_indexes
from kinform.models.batch.v1 import (
    Job,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
)
from kinform.models.core.v1 import Pod

SHORTEST_WAIT = 10.0
"""The seconds between the first failure of a pod and the next pod; each failure doubles them."""
LONGEST_WAIT = 600.0


class Verdict(msgspec.Struct, frozen=True):
    """What the failure policy of a Job says about a failed pod.

    Attributes:
        counts: Whether the failure counts.
        fails_index: Whether the index of the pod has failed for good.
        message: Why the whole Job has failed, if it has.
    """

    counts: bool = True
    fails_index: bool = False
    message: str = ""


def verdict_on(job: Job, pod: Pod) -> Verdict:
    """Return the verdict of the first rule that matches a failed pod."""
    policy = job.spec.pod_failure_policy
    for position, rule in enumerate([] if policy is None else policy.rules):
        cause = _cause(rule, pod)
        if cause is None:
            continue
        if rule.action == "FailJob":
            return Verdict(message=f"{cause} matching FailJob rule at index {position}")
        return Verdict(counts=rule.action != "Ignore", fails_index=rule.action == "FailIndex")
    return Verdict()


def _cause(rule: PodFailurePolicyRule, pod: Pod) -> str | None:
    """Return what of a pod matches a rule; ``None`` if nothing does."""
    place = f"{pod.namespace}/{pod.name}"
    if rule.on_exit_codes is not None:
        for each in (*pod.status.container_statuses, *pod.status.init_container_statuses):
            end = each.state.terminated
            if end is not None and _has_exit_code(rule.on_exit_codes, each.name, end.exit_code):
                return (
                    f"Container {each.name} for pod {place} failed with exit code {end.exit_code}"
                )
        return None
    wanted = {(each.type, each.status) for each in rule.on_pod_conditions}
    for condition in pod.status.conditions:
        if (condition.type, condition.status) in wanted:
            return f"Pod {place} has condition {condition.type}"
    return None


def _has_exit_code(rule: PodFailurePolicyOnExitCodesRequirement, name: str, code: int) -> bool:
    if code == 0 or rule.container_name not in (None, name):
        return False
    is_listed = code in rule.values
    return is_listed if rule.operator == "In" else rule.operator == "NotIn" and not is_listed


def success_rule(job: Job, succeeded: set[int]) -> int | None:
    """Return the position of the first rule of the success policy that is met, if one is."""
    policy = job.spec.success_policy
    if policy is None or not succeeded:
        return None
    for position, rule in enumerate(policy.rules):
        reached = succeeded
        if rule.succeeded_indexes is not None:
            wanted = parse_indexes(rule.succeeded_indexes, job.spec.completions or 0)
            reached = succeeded & wanted
            if wanted and reached == wanted:
                return position
        if reached and rule.succeeded_count is not None and len(reached) >= rule.succeeded_count:
            return position
    return None


class Failures(msgspec.Struct, frozen=True):
    """The failures of a Job since its last success: each one doubles the wait before the next pod.

    Attributes:
        count: Their number.
        last: The time of the last one.
    """

    count: int = 0
    last: datetime | None = None

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Failures:
        """Return the failures after more pods have ended."""
        ends = sorted(map(finish_time, failed))
        if succeeded:
            success = max(map(finish_time, succeeded))
            ends = [each for each in ends if each > success]
            return Failures(len(ends), ends[-1] if ends else None)
        return Failures(self.count + len(ends), ends[-1]) if ends else self

    def wait(self, at: datetime) -> float:
        """Return the seconds until the next pod may be created."""
        if self.last is None or not self.count:
            return 0.0
        # The exponent is limited because a large power is no float any more.
        pause = min(SHORTEST_WAIT * 2.0 ** min(self.count - 1, 10), LONGEST_WAIT)
        return max(0.0, pause - (at - self.last).total_seconds())


def finish_time(pod: Pod) -> datetime:
    """Return when a pod has ended, as far as is known."""
    status = pod.status
    sidecars = {each.name for each in pod.spec.init_containers if each.restart_policy == "Always"}
    containers = [
        *status.container_statuses,
        *(each for each in status.init_container_statuses if each.name in sidecars),
    ]
    ends = [each.state.terminated for each in containers]
    known = [each.finished_at for each in ends if each is not None and each.finished_at is not None]
    if known and len(known) == len(containers):
        return max(known)
    for condition in status.conditions:
        since = condition.last_transition_time
        if (condition.type, condition.status) == ("Ready", "False") and since is not None:
            return since
    if (deleted := pod.metadata.deletion_timestamp) is not None:
        return deleted - timedelta(seconds=pod.metadata.deletion_grace_period_seconds or 0)
    created = pod.metadata.creation_timestamp
    if created is None:
        raise ValueError(f"pod {pod.namespace}/{pod.name} was never created")
    return created


def restarts_of(pods: Iterable[Pod]) -> int:
    """Return how often the containers of pods that still run were restarted."""
    return sum(
        each.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for each in (*pod.status.init_container_statuses, *pod.status.container_statuses)
    )
