"""What a DaemonSet does next, and on which nodes its pods belong, without a cluster."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kinform.controller_manager.workloads._daemons import limits_of, place, replace, status_of
from kinform.controller_manager.workloads._failed_pods import FailedPods
from kinform.controller_manager.workloads._placement import (
    Verdict,
    pinned,
    target_of,
    tolerations_of,
    verdict,
)
from kinform.models.apps.v1 import DaemonSet
from kinform.models.core.v1 import Node, Pod, PodSpec, Toleration

AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
RUNS = Verdict(starts=True, stays=True)
MAY_STAY = Verdict(starts=False, stays=True)
MUST_GO = Verdict(starts=False, stays=False)


def owner(kind: str = "RollingUpdate", **limits: Any) -> DaemonSet:
    strategy = {"type": kind, "rollingUpdate": limits or None}
    return DaemonSet.from_dict(
        {"metadata": {"name": "agent"}, "spec": {"updateStrategy": strategy}}
    )


def pod(
    name: str,
    *,
    revision: str = "new",
    ready: bool = True,
    phase: str = "Running",
    deleted: bool = False,
    node: str = "",
) -> Pod:
    metadata: dict[str, Any] = {
        "name": name,
        "uid": name,
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
    return Pod.from_dict({"metadata": metadata, "status": status, "spec": {"nodeName": node}})


Nodes = dict[str, list[Pod]]


def placing(found: DaemonSet, pods: Nodes, **verdicts: Verdict) -> tuple[list[str], list[str]]:
    plan = place(found, pods, verdicts, "new", AT)
    return list(plan.nodes), [each.name for each in plan.doomed]


def replacing(found: DaemonSet, pods: Nodes, **verdicts: Verdict) -> tuple[list[str], list[str]]:
    plan = replace(found, pods, dict.fromkeys(pods, RUNS) | verdicts, "new", AT)
    return list(plan.nodes), [each.name for each in plan.doomed]


def test_node_without_a_pod_gets_one() -> None:
    assert placing(owner(), {"a": [pod("1")]}, a=RUNS, b=RUNS, c=MAY_STAY) == (["b"], [])


def test_pods_go_that_must_not_stay() -> None:
    pods = {"a": [pod("1")], "b": [pod("2")], "c": [pod("3", deleted=True)]}
    assert placing(owner(), pods, a=MAY_STAY, b=MUST_GO, c=MUST_GO) == ([], ["2"])


def test_pods_go_that_have_ended_or_are_too_many() -> None:
    pods = {"a": [pod("1", phase="Failed")], "b": [pod("2"), pod("3")]}
    assert placing(owner(), pods, a=RUNS, b=RUNS) == ([], ["1", "3"])


def test_pod_goes_that_waits_for_a_node_that_is_gone() -> None:
    pods = {"gone": [pod("1"), pod("2", node="gone")]}
    assert placing(owner(), pods, a=MAY_STAY) == ([], ["1"])


def test_deleted_pod_holds_up_its_successor_without_a_surge() -> None:
    pods = {"a": [pod("1", deleted=True)]}
    assert placing(owner(), pods, a=RUNS) == ([], [])
    assert placing(owner(maxSurge=1, maxUnavailable=0), pods, a=RUNS) == (["a"], [])


@pytest.mark.parametrize(
    ("old_is_ready", "new_is_ready", "expected"),
    [(True, False, []), (True, True, ["old"]), (False, False, ["old"])],
)
def test_old_pod_stays_beside_a_new_one_while_it_is_needed(
    *, old_is_ready: bool, new_is_ready: bool, expected: list[str]
) -> None:
    old, new = pod("old", revision="old", ready=old_is_ready), pod("new", ready=new_is_ready)
    surge = owner(maxSurge=1, maxUnavailable=0)
    assert placing(surge, {"a": [old, new]}, a=RUNS) == ([], expected)


def test_limits_are_rounded_up() -> None:
    assert limits_of(owner(maxUnavailable="10%"), 5).unavailable == 1
    assert limits_of(owner(maxUnavailable=0, maxSurge="30%"), 5).surge == 2
    assert limits_of(owner(maxUnavailable=0, maxSurge=0), 5).unavailable == 1


def old_pods(count: int) -> Nodes:
    return {f"n{each}": [pod(str(each), revision="old")] for each in range(count)}


def test_as_many_old_pods_go_as_may_be_unavailable() -> None:
    assert replacing(owner(maxUnavailable=2), old_pods(4)) == ([], ["0", "1"])
    pods = {**old_pods(3), "n3": [pod("3", ready=False)]}
    assert replacing(owner(maxUnavailable=2), pods) == ([], ["0"])


def test_old_pods_that_are_not_available_go_at_once() -> None:
    idle = {f"i{each}": [pod(f"i{each}", revision="old", ready=False)] for each in range(3)}
    assert replacing(owner(maxUnavailable=1), {**old_pods(2), **idle}) == ([], ["i0", "i1", "i2"])


def test_as_many_new_pods_come_as_may_surge() -> None:
    surge = owner(maxUnavailable=0, maxSurge=2)
    assert replacing(surge, old_pods(4)) == (["n0", "n1"], [])
    pods = {**old_pods(3), "n3": [pod("3", revision="old"), pod("4", ready=False)]}
    assert replacing(surge, pods) == (["n0"], [])


def test_old_pods_of_nodes_that_want_none_go_when_enough_others_are_available() -> None:
    surge = owner(maxUnavailable=0, maxSurge=1)
    pods = {"a": [pod("1", revision="old")], "b": [pod("2", ready=False)]}
    assert replacing(surge, pods, a=MAY_STAY) == ([], [])
    pods = {"a": [pod("1", revision="old")], "b": [pod("2")]}
    assert replacing(surge, pods, a=MAY_STAY) == ([], ["1"])


def test_old_pods_stay_on_delete() -> None:
    assert replacing(owner("OnDelete"), old_pods(2)) == ([], [])


def test_status_counts_nodes() -> None:
    pods = {
        "a": [pod("1")],
        "b": [pod("2", ready=False, revision="old")],
        "c": [pod("3")],
    }
    verdicts = {"a": RUNS, "b": RUNS, "c": MAY_STAY, "d": RUNS, "e": MUST_GO}
    status = status_of(owner(), pods, verdicts, "new", 0, AT)
    assert status.desired_number_scheduled == 3
    assert status.current_number_scheduled == 2
    assert status.number_misscheduled == 1
    assert (status.number_ready, status.number_available, status.number_unavailable) == (1, 1, 2)
    assert status.updated_number_scheduled == 1


def node(*taints: dict[str, str], **labels: str) -> Node:
    metadata = {"name": "a", "labels": labels}
    return Node.from_dict({"metadata": metadata, "spec": {"taints": list(taints)}})


def affine(operator: str, *values: str, key: str = "number", fields: bool = False) -> PodSpec:
    requirement = {"key": key, "operator": operator, "values": list(values)}
    term = {"matchFields" if fields else "matchExpressions": [requirement]}
    required = {"nodeSelectorTerms": [{}, term]}
    return PodSpec.from_dict(
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (affine("In", "5", "6"), True),
        (affine("In", "6"), False),
        (affine("NotIn", "6"), True),
        (affine("NotIn", "5"), False),
        (affine("NotIn", "5", key="other"), True),
        (affine("Exists"), True),
        (affine("Exists", key="other"), False),
        (affine("DoesNotExist"), False),
        (affine("Gt", "4"), True),
        (affine("Gt", "5"), False),
        (affine("Lt", "6"), True),
        (affine("Lt", "6", key="other"), False),
        (affine("In", "a", key="metadata.name", fields=True), True),
        (affine("In", "b", key="metadata.name", fields=True), False),
        (PodSpec.from_dict({"nodeSelector": {"number": "5"}}), True),
        (PodSpec.from_dict({"nodeSelector": {"number": "6"}}), False),
        (PodSpec.from_dict({"nodeName": "a"}), True),
        (PodSpec.from_dict({"nodeName": "b"}), False),
    ],
)
def test_pods_belong_on_nodes_that_match(spec: PodSpec, *, expected: bool) -> None:
    assert verdict(spec, node(number="5")) == Verdict(starts=expected, stays=expected)


@pytest.mark.parametrize(
    ("taint", "expected"),
    [
        ({"key": "dedicated", "effect": "NoSchedule"}, MAY_STAY),
        ({"key": "dedicated", "effect": "NoExecute"}, MUST_GO),
        ({"key": "dedicated", "effect": "PreferNoSchedule"}, RUNS),
        ({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}, RUNS),
        ({"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}, RUNS),
        ({"key": "gpu", "value": "yes", "effect": "NoExecute"}, RUNS),
        ({"key": "gpu", "value": "no", "effect": "NoExecute"}, MUST_GO),
    ],
)
def test_taints_keep_pods_away_unless_they_are_tolerated(
    taint: dict[str, str], expected: Verdict
) -> None:
    spec = PodSpec(tolerations=[Toleration(key="gpu", value="yes")])
    assert verdict(spec, node(taint)) == expected


def test_daemons_tolerate_trouble_for_ever() -> None:
    brief = Toleration(
        key="node.kubernetes.io/not-ready",
        operator="Exists",
        effect="NoExecute",
        toleration_seconds=30,
    )
    found = tolerations_of(PodSpec(tolerations=[brief], host_network=True))
    assert [each.toleration_seconds for each in found] == [None] * 7
    assert found[-1].key == "node.kubernetes.io/network-unavailable"


def test_pod_is_pinned_to_its_node() -> None:
    spec = affine("Exists")
    pinned_spec = PodSpec(affinity=pinned(spec.affinity, "b"))
    assert target_of(Pod(spec=pinned_spec)) == "b"
    assert verdict(pinned_spec, node()) == MUST_GO
    assert target_of(Pod(spec=spec)) is None
    assert verdict(spec, node(number="5")).starts  # the template is as it was


def test_pods_that_fail_again_wait_longer() -> None:
    failed = FailedPods()
    assert failed.wait("a", 100.0) == 0
    assert failed.wait("a", 100.25) == 0.75
    assert failed.wait("b", 100.25) == 0
    assert failed.wait("a", 101.0) == 0
    assert failed.wait("a", 102.0) == 1.0
    assert failed.wait("a", 101.0 + 3 * 15 * 60) == 0
    assert failed.wait("a", 101.5 + 3 * 15 * 60) == 0.5  # long ago, so from the start
