"""The status of Deployments, computed without a cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kinform.controller_manager.workloads._deployment_status import (
    AVAILABLE,
    PROGRESSING,
    counted,
    find,
    next_check,
    with_condition,
    with_pause,
    with_progress,
)
from kinform.controller_manager.workloads._rollout import Limits
from kinform.models.apps.v1 import (
    Deployment,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetCondition,
    ReplicaSetStatus,
)
from tests.support.workloads import deployment, replica_set

NOW = datetime(2030, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(seconds=11)
LIMITS = Limits(3, max_surge=1, max_unavailable=1)


def a_set(name: str, replicas: int, available: int, *, failure: str = "") -> ReplicaSet:
    found = replica_set(name, replicas=replicas)
    found.status = ReplicaSetStatus(
        replicas=replicas,
        ready_replicas=available,
        available_replicas=available,
        terminating_replicas=1,
        observed_generation=1,
    )
    if failure:
        found.status.conditions = [
            ReplicaSetCondition(type="ReplicaFailure", status="True", reason=failure)
        ]
    return found


def in_rollout(reason: str = "ReplicaSetUpdated", status: str = "True") -> Deployment:
    found = deployment(replicas=3, progressDeadlineSeconds=10)
    found.status.conditions = with_condition([], PROGRESSING, status, reason, "", NOW)
    return found


def progress(before: Deployment, new: ReplicaSet, *old: ReplicaSet) -> DeploymentStatus:
    status = counted(before, LIMITS, new, old, LATER)
    return with_progress(before, LIMITS, status, new, old, LATER)


def reason(status: DeploymentStatus, type: str) -> tuple[str, str]:
    found = find(status.conditions, type)
    return ("", "") if found is None else (found.status, found.reason)


def test_counts_are_sums_over_the_sets() -> None:
    status = counted(deployment(), LIMITS, a_set("new", 2, 1), [a_set("old", 2, 1)], NOW)
    assert (status.replicas, status.updated_replicas, status.ready_replicas) == (4, 2, 2)
    assert (status.available_replicas, status.unavailable_replicas) == (2, 2)
    assert status.terminating_replicas == 2
    assert reason(status, AVAILABLE) == ("True", "MinimumReplicasAvailable")
    few = counted(deployment(), LIMITS, a_set("new", 2, 1), [], NOW)
    assert reason(few, AVAILABLE) == ("False", "MinimumReplicasUnavailable")


def test_terminating_pods_are_unknown_if_a_set_does_not_count_them() -> None:
    silent = a_set("old", 1, 1)
    silent.status.terminating_replicas = None
    assert counted(deployment(), LIMITS, None, [silent], NOW).terminating_replicas is None
    silent.status.observed_generation = 0  # new: nobody has looked at it yet
    assert counted(deployment(), LIMITS, None, [silent], NOW).terminating_replicas == 0


def test_condition_changes_with_its_reason_and_its_time_with_its_status() -> None:
    first = with_condition([], PROGRESSING, "True", "A", "", NOW)
    assert with_condition(first, PROGRESSING, "True", "A", "other", LATER) == first
    (renamed,) = with_condition(first, PROGRESSING, "True", "B", "", LATER)
    assert (renamed.last_update_time, renamed.last_transition_time) == (LATER, NOW)
    (changed,) = with_condition(first, PROGRESSING, "False", "A", "", LATER)
    assert changed.last_transition_time == LATER


def test_rollout_is_complete_when_all_pods_are_new_and_available() -> None:
    assert reason(progress(in_rollout(), a_set("new", 3, 3)), PROGRESSING) == (
        "True",
        "NewReplicaSetAvailable",
    )


def test_progress_puts_the_deadline_off() -> None:
    status = progress(in_rollout(), a_set("new", 1, 1), a_set("old", 2, 2))
    found = find(status.conditions, PROGRESSING)
    assert found is not None
    assert (found.reason, found.last_update_time) == ("ReplicaSetUpdated", LATER)
    assert found.last_transition_time == NOW


def test_rollout_without_progress_times_out() -> None:
    stuck = in_rollout()
    new, old = a_set("new", 1, 0), a_set("old", 2, 2)
    conditions = stuck.status.conditions
    stuck.status = counted(stuck, LIMITS, new, [old], NOW)
    stuck.status.conditions = conditions
    assert reason(progress(stuck, new, old), PROGRESSING) == ("False", "ProgressDeadlineExceeded")
    assert next_check(stuck, LIMITS, stuck.status, NOW + timedelta(seconds=4)) == 7


def test_failing_pods_of_a_finished_rollout_are_no_lack_of_progress() -> None:
    done = in_rollout("NewReplicaSetAvailable")
    status = progress(done, a_set("new", 3, 0))
    assert reason(status, PROGRESSING) == ("True", "NewReplicaSetAvailable")
    assert reason(status, AVAILABLE) == ("False", "MinimumReplicasUnavailable")


def test_without_a_deadline_nothing_is_said_about_progress() -> None:
    patient = in_rollout()
    patient.spec.progress_deadline_seconds = 2**31 - 1
    status = progress(patient, a_set("new", 1, 0))
    assert reason(status, PROGRESSING) == ("", "")
    assert next_check(patient, LIMITS, status, NOW) is None


def test_failure_of_the_new_set_comes_first_and_goes_with_it() -> None:
    new, old = (
        a_set("new", 1, 0, failure="FailedCreate"),
        a_set("old", 2, 2, failure="FailedDelete"),
    )
    failed = progress(in_rollout(), new, old)
    assert reason(failed, "ReplicaFailure") == ("True", "FailedCreate")
    before = in_rollout()
    before.status = failed
    assert reason(progress(before, a_set("new", 1, 0)), "ReplicaFailure") == ("", "")


@pytest.mark.parametrize(
    ("paused", "before", "after"),
    [
        (True, "ReplicaSetUpdated", "DeploymentPaused"),
        (True, "DeploymentPaused", "DeploymentPaused"),
        (False, "DeploymentPaused", "DeploymentResumed"),
        (False, "ReplicaSetUpdated", "ReplicaSetUpdated"),
        (True, "ProgressDeadlineExceeded", "ProgressDeadlineExceeded"),
    ],
)
def test_pause_is_a_condition(paused: bool, before: str, after: str) -> None:
    found = in_rollout(before)
    found.spec.paused = paused
    assert [each.reason for each in with_pause(found, LATER)] == [after]
