"""The controller of ReplicaSets, on the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from kinform.controller_manager.workloads import replica_set_controller
from kinform.controllers import controller_of
from kinform.models.apps.v1 import ReplicaSet
from kinform.models.core.v1 import Pod
from kinform.testing import faults
from tests.support.workloads import Workloads, pod_template, replica_set, running_workloads


@pytest.fixture
async def cluster() -> AsyncIterator[Workloads]:
    async with running_workloads([replica_set_controller()]) as found:
        yield found


async def available(cluster: Workloads, count: int, name: str = "web") -> ReplicaSet:
    def is_available(found: ReplicaSet) -> bool:
        status = found.status
        return (
            status.observed_generation == found.generation
            and status.replicas == count
            and status.available_replicas == count
        )

    return await cluster.wait(ReplicaSet, name, is_available)


def running(pods: list[Pod]) -> set[str]:
    return {pod.name for pod in pods if pod.status.phase == "Running"}


async def scale(cluster: Workloads, replicas: int) -> None:
    await cluster.client.patch(ReplicaSet, "web", {"spec": {"replicas": replicas}})


async def test_pods_of_the_template_are_created(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=3))
    found = await available(cluster, 3)
    pods = await cluster.pods()
    assert len(pods) == 3
    for pod in pods:
        owner = controller_of(pod)
        assert owner is not None
        assert (owner.uid, owner.block_owner_deletion) == (found.uid, True)
        assert pod.name.startswith("web-")
        assert pod.labels == {"app": "web"}
        assert pod.spec.containers[0].image == "web:1"
    status = found.status
    assert (status.fully_labeled_replicas, status.ready_replicas) == (3, 3)
    assert status.terminating_replicas == 0
    assert status.conditions == []


async def test_scaling_up_and_down(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=2))
    await available(cluster, 2)
    await scale(cluster, 7)
    await available(cluster, 7)
    await scale(cluster, 1)
    await available(cluster, 1)
    assert len(await cluster.pods()) == 1
    assert len(await cluster.has_event("SuccessfulCreate")) >= 1
    assert len(await cluster.has_event("SuccessfulDelete")) >= 1


async def test_pods_that_fail_or_are_deleted_are_replaced(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=2))
    await available(cluster, 2)
    first, second = await cluster.pods()
    await cluster.kubelet.fail(first)
    await cluster.client.delete(Pod, second.name)
    gone = {first.name, second.name}
    await cluster.until(lambda pods: len(running(pods) - gone) == 2)
    await available(cluster, 2)


async def test_pods_that_are_not_ready_are_deleted_first(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=4))
    await available(cluster, 4)
    pods = await cluster.pods()
    await cluster.kubelet.set_status(pods[2], "Running", ready=False)
    await cluster.wait(ReplicaSet, "web", lambda found: found.status.ready_replicas == 3)
    await scale(cluster, 3)
    await available(cluster, 3)
    assert {pod.name for pod in await cluster.pods()} == {
        pod.name for pod in pods if pod is not pods[2]
    }


async def test_orphan_that_matches_is_adopted(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=2))
    found = await available(cluster, 2)
    metadata = {"name": "stray", "namespace": "default", "labels": {"app": "web"}}
    spec = pod_template()["spec"]
    await cluster.client.create(
        {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    )
    # Adopted, one pod too many; the stray is the youngest, but any of them may go.
    await cluster.has_event("SuccessfulDelete")
    await available(cluster, 2)
    pods = await cluster.pods()
    assert len(await cluster.owned_pods(found)) == len(pods) == 2


async def test_pod_whose_labels_do_not_match_any_more_is_released(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=2))
    await available(cluster, 2)
    taken = (await cluster.pods())[0]
    await cluster.client.patch(Pod, taken.name, {"metadata": {"labels": {"app": "debug"}}})
    released = await cluster.wait(Pod, taken.name, lambda pod: controller_of(pod) is None)
    assert released.uid == taken.uid
    await cluster.until(lambda pods: len(running(pods)) == 3)
    found = await available(cluster, 2)
    assert taken.name not in {pod.name for pod in await cluster.owned_pods(found)}


async def test_refused_pods_are_reported_until_they_can_be_created(cluster: Workloads) -> None:
    refusal = faults.status(403, "Forbidden", "exceeded quota: small")
    rule = cluster.server.faults.inject(refusal, verb="create", resource=Pod)
    await cluster.client.create(replica_set(replicas=5))
    found = await cluster.wait(ReplicaSet, "web", lambda each: bool(each.status.conditions))
    condition = found.status.conditions[0]
    assert (condition.type, condition.status) == ("ReplicaFailure", "True")
    assert (condition.reason, condition.message) == ("FailedCreate", "exceeded quota: small")
    assert (await cluster.has_event("FailedCreate"))[0] == "Error creating: exceeded quota: small"
    rule.remove()
    found = await available(cluster, 5)
    assert (await cluster.wait(ReplicaSet, "web", lambda each: not each.status.conditions)).uid


async def test_pods_are_available_after_min_ready_seconds(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=1, minReadySeconds=2))
    ready = await cluster.wait(ReplicaSet, "web", lambda each: each.status.ready_replicas == 1)
    assert ready.status.available_replicas == 0
    await available(cluster, 1)


async def test_deleted_pods_that_still_run_are_terminating() -> None:
    async with running_workloads([replica_set_controller()]) as cluster:
        cluster.kubelet.keeps_deleted = True
        created = replica_set(replicas=2)
        created.spec.template.spec.node_name = "node-1"
        await cluster.client.create(created)
        await available(cluster, 2)
        await scale(cluster, 1)
        found = await cluster.wait(
            ReplicaSet, "web", lambda each: each.status.terminating_replicas == 1
        )
        assert found.status.replicas == 1


async def test_settled_set_writes_nothing(cluster: Workloads) -> None:
    await cluster.client.create(replica_set(replicas=3))
    found = await available(cluster, 3)
    await cluster.client.patch(ReplicaSet, "web", {"metadata": {"annotations": {"a": "b"}}})
    await cluster.client.create(
        replica_set(
            "other",
            replicas=1,
            selector={"matchLabels": {"app": "other"}},
            template=pod_template(app="other"),
        )
    )
    await available(cluster, 1, "other")
    again = await cluster.client.get(ReplicaSet, "web")
    assert again.status == found.status
