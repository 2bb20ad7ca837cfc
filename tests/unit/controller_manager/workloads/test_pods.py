"""What is known about pods, without a cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinform.controller_manager.workloads._pods import (
    DELETION_COST,
    deletion_order,
    is_active,
    is_available,
    is_terminating,
    next_availability,
    pod_from_template,
)
from kinform.models.core.v1 import Container, Pod, PodSpec, PodTemplateSpec
from kinform.models.meta.v1 import ObjectMeta
from tests.support.workloads import replica_set

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def pod(
    name: str,
    *,
    node: str = "node-1",
    phase: str = "Running",
    ready: int | None = 3600,
    age: int = 7200,
    restarts: int = 0,
    cost: str = "",
    deleted: bool = False,
) -> Pod:
    """A pod that was created and became ready so many seconds ago."""
    conditions: list[dict[str, Any]] = []
    if ready is not None:
        since = (NOW - timedelta(seconds=ready)).isoformat()
        conditions.append({"type": "Ready", "status": "True", "lastTransitionTime": since})
    metadata: dict[str, Any] = {
        "name": name,
        "uid": name,
        "creationTimestamp": (NOW - timedelta(seconds=age)).isoformat(),
        "annotations": {DELETION_COST: cost} if cost else {},
    }
    if deleted:
        metadata["deletionTimestamp"] = NOW.isoformat()
    return Pod.from_dict(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {"nodeName": node, "containers": []},
            "status": {
                "phase": phase,
                "conditions": conditions,
                "containerStatuses": [{"name": "main", "restartCount": restarts}],
            },
        }
    )


@pytest.mark.parametrize(
    "first",
    [
        pod("z", node=""),
        pod("z", phase="Pending", ready=None),
        pod("z", phase="Unknown"),
        pod("z", ready=None),
        pod("z", cost="-1"),
        pod("z", ready=60),
        pod("z", restarts=3),
        pod("z", age=60),
    ],
    ids=["no node", "pending", "unknown", "not ready", "cheap", "ready late", "restarted", "young"],
)
def test_pod_that_is_missed_least_is_deleted_first(first: Pod) -> None:
    others = [pod("a"), pod("b")]
    ordered = deletion_order([*others, first], [], NOW)
    assert [each.name for each in ordered] == ["z", "a", "b"]


def test_pods_on_a_crowded_node_are_deleted_first() -> None:
    crowd = [pod("x", node="node-2"), pod("y", node="node-2"), pod("a", node="node-1")]
    ordered = deletion_order([pod("a", node="node-1"), pod("y", node="node-2")], crowd, NOW)
    assert [each.name for each in ordered] == ["y", "a"]


def test_readiness_counts_more_than_the_deletion_cost() -> None:
    ordered = deletion_order([pod("a", cost="-100"), pod("b", ready=None, cost="100")], [], NOW)
    assert [each.name for each in ordered] == ["b", "a"]
    assert deletion_order([pod("b", cost="many"), pod("a")], [], NOW)[0].name == "a"


def test_pods_that_ended_or_were_deleted_are_not_active() -> None:
    assert is_active(pod("a", phase="Pending"))
    assert not is_active(pod("a", phase="Failed"))
    assert not is_active(pod("a", deleted=True))
    assert is_terminating(pod("a", deleted=True))
    assert not is_terminating(pod("a", phase="Succeeded", deleted=True))


def test_availability_begins_after_the_given_seconds() -> None:
    assert is_available(pod("a", ready=10), 10, NOW)
    assert not is_available(pod("a", ready=9), 10, NOW)
    assert not is_available(pod("a", ready=None), 0, NOW)
    assert next_availability([pod("a", ready=9), pod("b", ready=4)], 10, NOW) == 1
    assert next_availability([pod("a", ready=20), pod("b", ready=None)], 10, NOW) is None


def test_pod_of_a_template_belongs_to_its_owner() -> None:
    owner = replica_set("web")
    owner.metadata.uid = "u1"
    template = PodTemplateSpec(
        metadata=ObjectMeta(labels={"a": "b"}, annotations={"c": "d"}, finalizers=["e/f"]),
        spec=PodSpec(containers=[Container(name="main", image="web:1")]),
    )
    made = pod_from_template(template, owner)
    assert made.metadata.generate_name == "web-"
    assert (made.labels, made.metadata.annotations) == ({"a": "b"}, {"c": "d"})
    assert made.metadata.finalizers == ["e/f"]
    assert [each.uid for each in made.metadata.owner_references] == ["u1"]
    made.spec.containers[0].image = "other"
    assert template.spec.containers[0].image == "web:1"
