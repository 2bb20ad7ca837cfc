"""What a StatefulSet does next, without a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kinform.controller_manager.workloads._ordered import Plan, Verb, is_of_current, plan, status_of
from kinform.controller_manager.workloads._volume_claims import owners_after
from kinform.models.apps.v1 import StatefulSet
from kinform.models.core.v1 import Pod
from kinform.models.meta.v1 import OwnerReference

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def owner(replicas: int = 3, **spec: Any) -> StatefulSet:
    metadata = {"name": "db", "namespace": "default", "uid": "set"}
    return StatefulSet.from_dict({"metadata": metadata, "spec": {"replicas": replicas, **spec}})


def pod(
    ordinal: int,
    *,
    ready: bool = True,
    revision: str = "new",
    phase: str = "Running",
    deleted: bool = False,
) -> Pod:
    metadata: dict[str, Any] = {
        "name": f"db-{ordinal}",
        "uid": f"pod-{ordinal}",
        "labels": {"controller-revision-hash": revision},
    }
    if deleted:
        metadata["deletionTimestamp"] = "2026-05-01T11:59:59Z"
    condition = {
        "type": "Ready",
        "status": str(ready),
        "lastTransitionTime": "2026-05-01T11:59:50Z",
    }
    status = {"phase": phase, "conditions": [condition]}
    return Pod.from_dict({"metadata": metadata, "status": status})


def planned(found: StatefulSet, *pods: Pod) -> Plan:
    return plan(found, {int(each.name.partition("-")[2]): each for each in pods}, "new", AT)


def steps(found: StatefulSet, *pods: Pod) -> list[tuple[Verb, int]]:
    """What changes pods."""
    parts = planned(found, *pods).parts
    return [
        (step.verb, step.ordinal)
        for part in parts
        for step in part
        if step.verb in (Verb.CREATE, Verb.DELETE)
    ]


def test_lowest_missing_pod_is_created_alone() -> None:
    assert steps(owner(3)) == [(Verb.CREATE, 0)]
    assert steps(owner(3), pod(0), pod(2)) == [(Verb.CREATE, 1)]


def test_ordinals_may_start_later() -> None:
    assert steps(owner(2, ordinals={"start": 5}), pod(5)) == [(Verb.CREATE, 6)]


@pytest.mark.parametrize(
    "first",
    [
        pod(0, ready=False),
        pod(0, phase="Pending", ready=False),
        pod(0, deleted=True),
        pod(0, phase="Failed", deleted=True),
    ],
)
def test_nothing_happens_beyond_a_pod_that_is_not_available(first: Pod) -> None:
    assert steps(owner(2), first) == []


def test_ready_pod_is_not_available_before_min_ready_seconds() -> None:
    assert steps(owner(2, minReadySeconds=11), pod(0)) == []
    assert steps(owner(2, minReadySeconds=10), pod(0)) == [(Verb.CREATE, 1)]


def test_pod_that_has_ended_is_deleted() -> None:
    assert steps(owner(2), pod(0, phase="Succeeded"), pod(1)) == [(Verb.DELETE, 0)]


def test_parallel_pods_are_created_at_once() -> None:
    found = owner(3, podManagementPolicy="Parallel")
    assert steps(found, pod(1, ready=False)) == [(Verb.CREATE, 0), (Verb.CREATE, 2)]


def test_highest_surplus_pod_is_deleted_alone() -> None:
    assert steps(owner(1), pod(0), pod(1), pod(2)) == [(Verb.DELETE, 2)]
    assert steps(owner(1), pod(0), pod(1), pod(2, deleted=True)) == []


def test_surplus_pod_in_trouble_waits_for_a_lower_one_in_trouble() -> None:
    assert steps(owner(1), pod(0), pod(1), pod(2, ready=False)) == [(Verb.DELETE, 2)]
    assert steps(owner(1), pod(0), pod(1, ready=False), pod(2, ready=False)) == []


def test_surplus_pods_are_deleted_before_old_ones() -> None:
    assert steps(owner(1), pod(0, revision="old"), pod(1)) == [(Verb.DELETE, 1)]


def test_parallel_surplus_pods_are_deleted_at_once() -> None:
    found = owner(1, podManagementPolicy="Parallel")
    assert steps(found, pod(0), pod(1), pod(2, ready=False)) == [
        (Verb.DELETE, 2),
        (Verb.DELETE, 1),
    ]


def test_old_pods_are_replaced_from_the_highest_down() -> None:
    old = [pod(each, revision="old") for each in range(3)]
    assert steps(owner(3), *old) == [(Verb.DELETE, 2)]
    assert steps(owner(3), *old[:2], pod(2)) == [(Verb.DELETE, 1)]


@pytest.mark.parametrize(("limit", "expected"), [(2, 2), ("50%", 2), ("1%", 1), (None, 1)])
def test_as_many_are_replaced_as_may_be_unavailable(limit: Any, expected: int) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": limit}}
    found = planned(owner(4, updateStrategy=rolling), *(pod(i, revision="old") for i in range(4)))
    assert found.replaced == expected


def test_pods_below_the_partition_stay_old() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    found = owner(2, updateStrategy=rolling)
    assert steps(found, pod(0, revision="old"), pod(1)) == []
    assert is_of_current(found, 0)
    assert not is_of_current(found, 1)


def test_old_pods_are_not_replaced_on_delete() -> None:
    found = owner(1, updateStrategy={"type": "OnDelete"})
    assert steps(found, pod(0, revision="old")) == []
    assert not is_of_current(found, 0)


def test_parallel_old_pods_in_trouble_do_not_count() -> None:
    found = owner(3, podManagementPolicy="Parallel")
    pods = [pod(0, revision="old", ready=False), pod(1, revision="old"), pod(2, revision="old")]
    assert steps(found, *pods) == [(Verb.DELETE, 0)]


def test_set_that_is_being_deleted_does_nothing() -> None:
    found = owner(3)
    found.metadata.deletion_timestamp = AT
    assert steps(found) == []


def test_status_counts_pods_before_and_after_an_update() -> None:
    pods = {0: pod(0, revision="old"), 1: pod(1, revision="old", deleted=True), 2: pod(2)}
    status = status_of(owner(3), pods, ("old", "new"), 0, 0, AT)
    assert (status.replicas, status.ready_replicas, status.available_replicas) == (3, 3, 3)
    assert (status.current_replicas, status.updated_replicas) == (1, 1)
    assert (status.current_revision, status.update_revision) == ("old", "new")


def test_update_is_complete_when_all_pods_are_new_and_ready() -> None:
    pods = {each: pod(each) for each in range(2)}
    status = status_of(owner(2), pods, ("old", "new"), 0, 0, AT)
    assert (status.current_replicas, status.current_revision) == (2, "new")


SET = OwnerReference(kind="StatefulSet", name="db", uid="set", controller=True)
POD = OwnerReference(kind="Pod", name="db-1", uid="pod-1", controller=True)
OTHER = OwnerReference(kind="Backup", name="nightly", uid="backup", controller=True)


@pytest.mark.parametrize(
    ("deleted", "scaled", "replicas", "expected"),
    [
        ("Retain", "Retain", 2, []),
        ("Delete", "Retain", 2, ["set"]),
        ("Delete", "Retain", 1, ["set"]),
        ("Retain", "Delete", 2, []),
        ("Retain", "Delete", 1, ["pod-1"]),
        ("Delete", "Delete", 2, ["set"]),
        ("Delete", "Delete", 1, ["pod-1"]),
    ],
)
@pytest.mark.parametrize("before", [[], [SET], [POD]])
def test_policy_decides_on_the_owner_of_a_claim(
    deleted: str, scaled: str, replicas: int, expected: list[str], before: list[OwnerReference]
) -> None:
    policy = {"whenDeleted": deleted, "whenScaled": scaled}
    found = owner(replicas, persistentVolumeClaimRetentionPolicy=policy)
    after = owners_after(found, 1, pod(1), before)
    assert [each.uid for each in after] == expected


def test_claim_of_another_controller_is_left_to_it() -> None:
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    found = owner(2, persistentVolumeClaimRetentionPolicy=policy)
    assert owners_after(found, 1, pod(1), [OTHER, SET]) == [OTHER]


def test_claim_of_an_earlier_pod_is_left_to_the_garbage_collector() -> None:
    earlier = OwnerReference(kind="Pod", name="db-1", uid="earlier", controller=True)
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    found = owner(2, persistentVolumeClaimRetentionPolicy=policy)
    assert owners_after(found, 1, pod(1), [earlier]) == [earlier]
