"""Rules of Jobs: failures that count, the wait after them, and successes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinform.controller_manager.workloads._job_policies import (
    Failures,
    finish_time,
    success_rule,
    verdict_on,
)
from kinform.models.batch.v1 import Job
from kinform.models.core.v1 import Pod

START = datetime(2026, 1, 1, tzinfo=UTC)


def pod(*, code: int = 1, at: float = 0.0, **status: Any) -> Pod:
    end = (START + timedelta(seconds=at)).isoformat().replace("+00:00", "Z")
    state = {"terminated": {"exitCode": code, "finishedAt": end}}
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "work-1", "namespace": "default"},
            "status": {"containerStatuses": [{"name": "main", "state": state}], **status},
        }
    )


def job(**spec: Any) -> Job:
    return Job.from_dict(
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": spec}
    )


def on_codes(action: str, operator: str, *values: int, **more: str) -> dict[str, Any]:
    return {"action": action, "onExitCodes": {"operator": operator, "values": values, **more}}


def with_rules(*rules: Any) -> Job:
    return job(podFailurePolicy={"rules": list(rules)})


def test_without_a_policy_each_failure_counts() -> None:
    assert verdict_on(job(), pod()).counts


def test_first_matching_rule_decides() -> None:
    found = with_rules(on_codes("Ignore", "In", 3), on_codes("FailJob", "In", 3, 4))
    assert not verdict_on(found, pod(code=3)).counts
    assert verdict_on(found, pod(code=4)).message == (
        "Container main for pod default/work-1 failed with exit code 4 "
        "matching FailJob rule at index 1"
    )
    assert verdict_on(found, pod(code=5)).counts


def test_index_fails_for_good() -> None:
    verdict = verdict_on(with_rules(on_codes("FailIndex", "NotIn", 3)), pod(code=4))
    assert verdict.fails_index
    assert verdict.counts


def test_rule_of_another_container_does_not_match() -> None:
    found = with_rules(on_codes("Ignore", "In", 3, containerName="other"))
    assert verdict_on(found, pod(code=3)).counts


def test_exit_code_of_a_success_matches_nothing() -> None:
    assert verdict_on(with_rules(on_codes("Ignore", "NotIn", 3)), pod(code=0)).counts


def test_condition_of_a_pod_matches() -> None:
    pattern = {"type": "DisruptionTarget", "status": "True"}
    found = with_rules({"action": "FailJob", "onPodConditions": [pattern]})
    assert verdict_on(found, pod(conditions=[pattern])).message == (
        "Pod default/work-1 has condition DisruptionTarget matching FailJob rule at index 0"
    )
    assert not verdict_on(found, pod()).message


@pytest.mark.parametrize(
    ("rule", "succeeded", "is_met"),
    [
        ({"succeededCount": 2}, {0}, False),
        ({"succeededCount": 2}, {0, 4}, True),
        ({"succeededIndexes": "0-2"}, {0, 1}, False),
        ({"succeededIndexes": "0-2"}, {0, 1, 2, 3}, True),
        ({"succeededIndexes": "0-2", "succeededCount": 1}, {3}, False),
        ({"succeededIndexes": "0-2", "succeededCount": 1}, {2}, True),
        ({"succeededIndexes": "x"}, {0}, False),
    ],
)
def test_success_policy(rule: dict[str, Any], succeeded: set[int], *, is_met: bool) -> None:
    found = job(completions=5, successPolicy={"rules": [rule]})
    assert success_rule(found, succeeded) == (0 if is_met else None)


def test_each_failure_doubles_the_wait() -> None:
    failures = Failures()
    waits = []
    for _ in range(8):
        failures = failures.after([], [pod()])
        waits.append(failures.wait(START))
    assert waits == [10, 20, 40, 80, 160, 320, 600, 600]


def test_wait_passes() -> None:
    failures = Failures().after([], [pod()])
    assert failures.wait(START + timedelta(seconds=4)) == 6
    assert failures.wait(START + timedelta(seconds=11)) == 0


def test_success_ends_the_wait() -> None:
    failures = Failures().after([], [pod(), pod()])
    assert failures.after([pod(code=0, at=1)], []) == Failures()


def test_failures_after_a_success_count() -> None:
    failures = Failures(5, START).after([pod(at=2)], [pod(at=1), pod(at=3), pod(at=4)])
    assert failures == Failures(2, START + timedelta(seconds=4))


def test_end_of_a_pod_without_containers_is_that_of_its_readiness() -> None:
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:05Z"}
    found = pod(containerStatuses=[], conditions=[ready])
    assert finish_time(found) == START + timedelta(seconds=5)


def test_end_of_a_deleted_pod_is_before_its_grace_period() -> None:
    found = pod(containerStatuses=[])
    found.metadata.deletion_timestamp = START + timedelta(seconds=30)
    found.metadata.deletion_grace_period_seconds = 30
    assert finish_time(found) == START
