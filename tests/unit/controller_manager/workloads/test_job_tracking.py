"""Pods of Jobs are counted once, and the end of a Job is decided."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinform.controller_manager.workloads._job_status import (
    TRACKING,
    condition,
    is_complete,
    tally_of,
    verdict_of,
    wanted_pods,
    with_suspension,
)
from kinform.controller_manager.workloads._job_tracking import counted, ended_pods, with_ended
from kinform.models.batch.v1 import Job, JobStatus, UncountedTerminatedPods
from kinform.models.core.v1 import Pod

AT = datetime(2026, 1, 1, tzinfo=UTC)
INDEX = "batch.kubernetes.io/job-completion-index"


def job(status: dict[str, Any] | None = None, **spec: Any) -> Job:
    wanted = {"parallelism": 2, "completions": 3, "backoffLimit": 1, **spec}
    return Job.from_dict(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "work", "namespace": "default"},
            "spec": wanted,
            "status": status or {},
        }
    )


def pod(uid: str, phase: str, *, tracked: bool = True, index: str = "", restarts: int = 0) -> Pod:
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": uid,
                "uid": uid,
                "finalizers": [TRACKING] if tracked else [],
                "annotations": {INDEX: index} if index else {},
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "status": {
                "phase": phase,
                "containerStatuses": [{"name": "main", "restartCount": restarts}],
            },
        }
    )


def reason_for(found: Job, *pods: Pod, start: datetime = AT) -> str:
    verdict = verdict_of(found, tally_of(found, pods), start, AT)
    return "" if verdict is None else verdict.reason


def test_counted_pods_are_not_counted_again() -> None:
    status = {"succeeded": 1, "uncountedTerminatedPods": {"succeeded": ["b"], "failed": ["c"]}}
    pods = [
        pod("a", "Succeeded", tracked=False),
        pod("b", "Succeeded"),
        pod("c", "Failed"),
        pod("d", "Succeeded"),
        pod("e", "Running"),
    ]
    tally = tally_of(job(status), pods)
    assert (tally.succeeded, tally.failed, len(tally.active)) == (3, 1, 1)


def test_listed_pods_without_finalizer_are_counted() -> None:
    listed = UncountedTerminatedPods(succeeded=["a", "b"], failed=["c"])
    status = JobStatus(succeeded=1, uncounted_terminated_pods=listed)
    result = counted(status, {"b"})
    assert (result.succeeded, result.failed) == (2, 1)
    assert result.uncounted_terminated_pods == UncountedTerminatedPods(succeeded=["b"])
    assert status.succeeded == 1


def test_ended_pods_are_listed() -> None:
    found = job()
    pods = [pod("a", "Succeeded"), pod("b", "Failed"), pod("c", "Running")]
    ended, is_all = ended_pods(found, tally_of(found, pods), None)
    assert [each.uid for each in ended] == ["a", "b"]
    assert is_all
    listed = with_ended(found, found.status, ended, None)
    assert (listed.succeeded, listed.failed) == (["a"], ["b"])


@pytest.mark.parametrize(("type", "failed"), [("FailureTarget", ["c"]), ("SuccessCriteriaMet", [])])
def test_stopped_pods_fail_with_their_job(type: str, failed: list[str]) -> None:
    found, end = job(), condition(type, "", "", AT)
    ended, _ = ended_pods(found, tally_of(found, [pod("c", "Running")]), end)
    assert with_ended(found, found.status, ended, end).failed == failed


def test_no_more_pods_are_counted_at_a_time_than_the_status_can_list() -> None:
    found = job()
    ended, is_all = ended_pods(
        found, tally_of(found, [pod(str(i), "Failed") for i in range(501)]), None
    )
    assert len(ended) == 500
    assert not is_all


@pytest.mark.parametrize(
    ("spec", "succeeded", "wanted"),
    [
        ({}, 0, 2),
        ({}, 2, 1),
        ({}, 4, 0),
        ({"suspend": True}, 0, 0),
        ({"completions": None}, 0, 2),
        ({"completions": None}, 1, 1),
    ],
)
def test_number_of_wanted_pods(spec: dict[str, Any], succeeded: int, wanted: int) -> None:
    found = job({"succeeded": succeeded}, **spec)
    assert wanted_pods(found, tally_of(found, [pod("a", "Running")])) == wanted


def test_job_is_complete_when_no_pod_is_active() -> None:
    found = job({"succeeded": 3})
    tally = tally_of(found, [])
    assert is_complete(found, tally, 0)
    assert not is_complete(found, tally, 1)


def test_failures_beyond_the_limit_end_a_job() -> None:
    assert reason_for(job({"failed": 1})) == ""
    assert reason_for(job({"failed": 1}), pod("a", "Failed")) == "BackoffLimitExceeded"


@pytest.mark.parametrize(
    ("policy", "reason"), [("Never", ""), ("OnFailure", "BackoffLimitExceeded")]
)
def test_restarts_count_if_containers_are_restarted(policy: str, reason: str) -> None:
    found = job(template={"spec": {"restartPolicy": policy}})
    assert reason_for(found, pod("a", "Running", restarts=1)) == reason


def test_deadline_does_not_pass_while_suspended() -> None:
    start = AT - timedelta(seconds=5)
    assert reason_for(job(activeDeadlineSeconds=5), start=start) == "DeadlineExceeded"
    assert reason_for(job(activeDeadlineSeconds=6), start=start) == ""
    assert reason_for(job(activeDeadlineSeconds=5, suspend=True), start=start) == ""


def test_earlier_decision_stays() -> None:
    status = {
        "failed": 9,
        "conditions": [{"type": "SuccessCriteriaMet", "status": "True", "reason": "SuccessPolicy"}],
    }
    assert reason_for(job(status)) == "SuccessPolicy"


@pytest.mark.parametrize(("most", "reason"), [(None, ""), (1, ""), (0, "MaxFailedIndexesExceeded")])
def test_too_many_failed_indexes_end_a_job(most: int | None, reason: str) -> None:
    found = job(completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=most)
    assert reason_for(found, pod("a", "Failed", index="0")) == reason


def test_failed_pod_of_an_index_waits_for_its_replacement() -> None:
    found = job(completionMode="Indexed", backoffLimitPerIndex=1)
    failed = pod("a", "Failed", index="0")
    assert ended_pods(found, tally_of(found, [failed]), None)[0] == []
    replaced = [failed, pod("b", "Running", index="0")]
    assert ended_pods(found, tally_of(found, replaced), None)[0] == [failed]


def test_resumed_job_was_suspended_before() -> None:
    assert with_suspension(job(), AT) is None
    suspended = with_suspension(job(suspend=True), AT)
    assert suspended is not None
    assert [each.status for each in suspended] == ["True"]
    resumed = job()
    resumed.status.conditions = suspended
    assert [each.status for each in with_suspension(resumed, AT) or ()] == ["False"]
