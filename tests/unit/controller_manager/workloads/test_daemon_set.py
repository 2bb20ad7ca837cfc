"""The controller of DaemonSets, on the embedded server."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.controller_manager.workloads import daemon_set_controller
from kinform.controller_manager.workloads._placement import target_of
from kinform.controllers import controller_of
from kinform.models.apps.v1 import ControllerRevision, DaemonSet
from kinform.models.core.v1 import Node, Pod
from kinform.testing import faults
from tests.support.workloads import Workloads, pod_template, running_workloads


@pytest.fixture
async def cluster() -> AsyncIterator[Workloads]:
    async with running_workloads([daemon_set_controller()]) as found:
        yield found


def node(name: str, **labels: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def daemon_set(image: str = "agent:1", *, pod: dict[str, Any] | None = None, **spec: Any) -> Any:
    template = pod_template(image)
    template["spec"] |= pod or {}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agent", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec},
    }


def rolling(**limits: Any) -> dict[str, Any]:
    return {"type": "RollingUpdate", "rollingUpdate": limits}


async def up(cluster: Workloads, count: int, updated: int | None = None) -> DaemonSet:
    def is_up(found: DaemonSet) -> bool:
        status = found.status
        return (
            status.observed_generation == found.generation
            and status.desired_number_scheduled == status.number_available == count
            and status.updated_number_scheduled == (count if updated is None else updated)
        )

    return await cluster.wait(DaemonSet, "agent", is_up)


async def placed(cluster: Workloads) -> Counter[tuple[str | None, str | None]]:
    """The nodes and images of the pods."""
    return Counter((target_of(pod), pod.spec.containers[0].image) for pod in await cluster.pods())


async def change(cluster: Workloads, **spec: Any) -> None:
    await cluster.client.patch(DaemonSet, "agent", {"spec": spec})


async def test_each_node_gets_a_pod(cluster: Workloads) -> None:
    for name in ("a", "b"):
        await cluster.client.create(node(name))
    await cluster.client.create(daemon_set())
    found = await up(cluster, 2)
    await cluster.client.create(node("c"))
    await up(cluster, 3)
    assert await placed(cluster) == {(name, "agent:1"): 1 for name in "abc"}
    pod = (await cluster.pods())[0]
    owner = controller_of(pod)
    assert owner is not None
    assert owner.uid == found.uid
    keys = {each.key for each in pod.spec.tolerations}
    assert {"node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"} <= keys
    assert len(await cluster.has_event("SuccessfulCreate")) >= 1


async def test_node_that_does_not_match_any_more_loses_its_pod(cluster: Workloads) -> None:
    for name in ("a", "b"):
        await cluster.client.create(node(name, disk="ssd"))
    await cluster.client.create(daemon_set(pod={"nodeSelector": {"disk": "ssd"}}))
    await up(cluster, 2)
    await cluster.client.patch(Node, "a", {"metadata": {"labels": {"disk": "hdd"}}})
    await up(cluster, 1)
    await cluster.until(lambda pods: [target_of(pod) for pod in pods] == ["b"])


async def test_update_replaces_one_pod_after_the_other(cluster: Workloads) -> None:
    for name in ("a", "b"):
        await cluster.client.create(node(name))
    await cluster.client.create(daemon_set())
    await up(cluster, 2)
    cluster.kubelet.is_ready = lambda _: False
    await change(cluster, template=pod_template("agent:2"))
    await cluster.wait(
        DaemonSet,
        "agent",
        lambda each: each.status.updated_number_scheduled == 1,
    )
    assert sorted(image or "" for _, image in await placed(cluster)) == ["agent:1", "agent:2"]
    cluster.kubelet.is_ready = lambda _: True
    await cluster.kubelet.look_again()
    await up(cluster, 2)
    assert await placed(cluster) == {("a", "agent:2"): 1, ("b", "agent:2"): 1}


async def test_update_with_surge_keeps_the_old_pod_until_the_new_one_is_available(
    cluster: Workloads,
) -> None:
    await cluster.client.create(node("a"))
    strategy = rolling(maxUnavailable=0, maxSurge=1)
    await cluster.client.create(daemon_set(updateStrategy=strategy))
    await up(cluster, 1)
    cluster.kubelet.is_ready = lambda _: False
    await change(cluster, template=pod_template("agent:2"))
    await cluster.until(lambda pods: len(pods) == 2)
    assert await placed(cluster) == {("a", "agent:1"): 1, ("a", "agent:2"): 1}
    cluster.kubelet.is_ready = lambda _: True
    await cluster.kubelet.look_again()
    await cluster.until(lambda pods: len(pods) == 1)
    assert await placed(cluster) == {("a", "agent:2"): 1}


async def test_update_on_delete_waits_for_a_deletion(cluster: Workloads) -> None:
    await cluster.client.create(node("a"))
    await cluster.client.create(daemon_set(updateStrategy={"type": "OnDelete"}))
    await up(cluster, 1)
    await change(cluster, template=pod_template("agent:2"))
    await up(cluster, 1, updated=0)
    await cluster.client.delete(Pod, (await cluster.pods())[0].name)
    await up(cluster, 1)


async def test_rollback_reuses_its_revision(cluster: Workloads) -> None:
    await cluster.client.create(node("a"))
    await cluster.client.create(daemon_set())
    await up(cluster, 1)
    for image in ("agent:2", "agent:1"):
        await change(cluster, template=pod_template(image))
        await up(cluster, 1)
    revisions = await cluster.client.list(ControllerRevision)
    assert sorted(each.revision for each in revisions) == [2, 3]


async def test_failed_pod_is_replaced(cluster: Workloads) -> None:
    await cluster.client.create(node("a"))
    await cluster.client.create(daemon_set())
    await up(cluster, 1)
    failed = (await cluster.pods())[0]
    await cluster.kubelet.fail(failed)
    await cluster.until(
        lambda pods: [pod.status.phase for pod in pods if pod.uid != failed.uid] == ["Running"]
    )
    messages = await cluster.has_event("FailedDaemonPod")
    assert messages == [
        f"Found failed daemon pod default/{failed.name} on node a, will try to kill it"
    ]


async def test_refused_pod_is_reported_and_tried_again(cluster: Workloads) -> None:
    refusal = faults.status(403, "Forbidden", "exceeded quota: small")
    rule = cluster.server.faults.inject(refusal, verb="create", resource=Pod)
    await cluster.client.create(node("a"))
    await cluster.client.create(daemon_set())
    assert (await cluster.has_event("FailedCreate"))[0] == "Error creating: exceeded quota: small"
    rule.remove()
    await up(cluster, 1)
