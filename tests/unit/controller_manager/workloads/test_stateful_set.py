"""The controller of StatefulSets, on the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.controller_manager.workloads import stateful_set_controller
from kinform.controllers import controller_of
from kinform.models.apps.v1 import ControllerRevision, StatefulSet
from kinform.models.core.v1 import PersistentVolumeClaim, Pod
from kinform.testing import faults
from tests.support.workloads import Workloads, pod_template, running_workloads

CLAIM = {
    "metadata": {"name": "data"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


@pytest.fixture
async def cluster() -> AsyncIterator[Workloads]:
    async with running_workloads([stateful_set_controller()]) as found:
        yield found


def stateful_set(*, replicas: int = 3, image: str = "db:1", **spec: Any) -> StatefulSet:
    return StatefulSet.from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": "db", "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "serviceName": "database",
                "selector": {"matchLabels": {"app": "web"}},
                "template": pod_template(image),
                **spec,
            },
        }
    )


async def up(cluster: Workloads, count: int, updated: int | None = None) -> StatefulSet:
    def is_up(found: StatefulSet) -> bool:
        status = found.status
        return (
            status.observed_generation == found.generation
            and status.replicas == status.available_replicas == count
            and status.updated_replicas == (count if updated is None else updated)
        )

    return await cluster.wait(StatefulSet, "db", is_up)


async def change(cluster: Workloads, **spec: Any) -> None:
    await cluster.client.patch(StatefulSet, "db", {"spec": spec})


async def images(cluster: Workloads) -> dict[str, str | None]:
    return {pod.name: pod.spec.containers[0].image for pod in await cluster.pods()}


async def test_pods_have_numbers_and_names_in_the_network(cluster: Workloads) -> None:
    await cluster.client.create(stateful_set())
    found = await up(cluster, 3)
    pods = {pod.name: pod for pod in await cluster.pods()}
    assert set(pods) == {"db-0", "db-1", "db-2"}
    pod = pods["db-1"]
    owner = controller_of(pod)
    assert owner is not None
    assert owner.uid == found.uid
    assert (pod.spec.hostname, pod.spec.subdomain) == ("db-1", "database")
    assert pod.labels == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
        "controller-revision-hash": found.status.update_revision,
    }
    assert found.status.current_revision == found.status.update_revision
    messages = await cluster.has_event("SuccessfulCreate")
    assert "Create Pod db-0 in StatefulSet db successful" in messages


async def test_pod_that_is_not_ready_holds_up_the_next_ones(cluster: Workloads) -> None:
    cluster.kubelet.is_ready = lambda pod: pod.name != "db-1"
    await cluster.client.create(stateful_set())
    await cluster.wait(Pod, "db-1", lambda pod: pod.status.phase == "Running")
    blocked = await cluster.wait(
        StatefulSet,
        "db",
        lambda each: each.status.replicas == 2 and each.status.ready_replicas == 1,
    )
    assert blocked.status.available_replicas == 1
    assert {pod.name for pod in await cluster.pods()} == {"db-0", "db-1"}
    cluster.kubelet.is_ready = lambda _: True
    await cluster.kubelet.look_again()
    await up(cluster, 3)


async def test_parallel_pods_do_not_wait(cluster: Workloads) -> None:
    cluster.kubelet.is_ready = lambda _: False
    await cluster.client.create(stateful_set(podManagementPolicy="Parallel"))
    await cluster.wait(StatefulSet, "db", lambda each: each.status.replicas == 3)


async def test_rolling_update_stops_at_the_partition(cluster: Workloads) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    await cluster.client.create(stateful_set(updateStrategy=rolling))
    before = await up(cluster, 3)
    await change(cluster, template=pod_template("db:2"))
    after = await up(cluster, 3, updated=1)
    assert await images(cluster) == {"db-0": "db:1", "db-1": "db:1", "db-2": "db:2"}
    assert after.status.current_revision == before.status.current_revision
    assert after.status.current_replicas == 2
    await cluster.client.delete(Pod, "db-0")
    await cluster.until(lambda pods: len(pods) == 3)
    await up(cluster, 3, updated=1)
    assert (await images(cluster))["db-0"] == "db:1"
    await change(cluster, updateStrategy={"rollingUpdate": {"partition": 0}})
    done = await up(cluster, 3)
    assert done.status.current_revision == done.status.update_revision


async def test_rollback_reuses_its_revision_and_old_ones_are_deleted(cluster: Workloads) -> None:
    await cluster.client.create(stateful_set(replicas=1, revisionHistoryLimit=1))
    first = await up(cluster, 1)
    for image in ("db:2", "db:1"):
        await change(cluster, template=pod_template(image))
        last = await up(cluster, 1)
    assert last.status.update_revision == first.status.update_revision
    revision = await cluster.client.get(ControllerRevision, last.status.update_revision)
    assert revision.revision == 3
    for image in ("db:3", "db:4"):
        await change(cluster, template=pod_template(image))
        await up(cluster, 1)
    await cluster.wait(
        StatefulSet,
        "db",
        lambda each: each.status.current_revision == each.status.update_revision,
    )
    numbers = {each.revision for each in await cluster.client.list(ControllerRevision)}
    assert 5 in numbers
    assert len(numbers) <= 3  # the last one is in use until its status is written


async def test_update_on_delete_waits_for_a_deletion(cluster: Workloads) -> None:
    await cluster.client.create(stateful_set(updateStrategy={"type": "OnDelete"}))
    await up(cluster, 3)
    await change(cluster, template=pod_template("db:2"))
    await up(cluster, 3, updated=0)
    await cluster.client.delete(Pod, "db-1")
    await up(cluster, 3, updated=1)
    assert await images(cluster) == {"db-0": "db:1", "db-1": "db:2", "db-2": "db:1"}


async def test_volume_claims_outlive_their_pods(cluster: Workloads) -> None:
    await cluster.client.create(stateful_set(replicas=2, volumeClaimTemplates=[CLAIM]))
    await up(cluster, 2)
    pod = await cluster.client.get(Pod, "db-1")
    source = pod.spec.volumes[0].persistent_volume_claim
    assert source is not None
    assert source.claim_name == "data-db-1"
    await change(cluster, replicas=1)
    await up(cluster, 1)
    claims = await cluster.client.list(PersistentVolumeClaim)
    assert {each.name for each in claims} == {"data-db-0", "data-db-1"}
    assert all(not each.metadata.owner_references for each in claims)


async def test_claims_of_surplus_pods_belong_to_them(cluster: Workloads) -> None:
    cluster.kubelet.keeps_deleted = True
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    await cluster.client.create(
        stateful_set(
            replicas=2,
            volumeClaimTemplates=[CLAIM],
            persistentVolumeClaimRetentionPolicy=policy,
        )
    )
    await up(cluster, 2)
    await change(cluster, replicas=1)

    def belongs_to(kind: str) -> Any:
        return lambda each: [found.kind for found in each.metadata.owner_references] == [kind]

    await cluster.wait(PersistentVolumeClaim, "data-db-1", belongs_to("Pod"))
    await cluster.wait(PersistentVolumeClaim, "data-db-0", belongs_to("StatefulSet"))


async def test_failed_pod_is_replaced(cluster: Workloads) -> None:
    await cluster.client.create(stateful_set(replicas=2))
    await up(cluster, 2)
    failed = await cluster.client.get(Pod, "db-0")
    await cluster.kubelet.fail(failed)
    await cluster.wait(
        Pod, "db-0", lambda pod: pod.uid != failed.uid and pod.status.phase == "Running"
    )
    await up(cluster, 2)


async def test_refused_pod_is_reported_and_tried_again(cluster: Workloads) -> None:
    refusal = faults.status(403, "Forbidden", "exceeded quota: small")
    rule = cluster.server.faults.inject(refusal, verb="create", resource=Pod)
    await cluster.client.create(stateful_set(replicas=1))
    messages = await cluster.has_event("FailedCreate")
    expected = "Create Pod db-0 in StatefulSet db failed error: exceeded quota: small"
    assert messages[0] == expected
    rule.remove()
    await up(cluster, 1)


async def test_pods_are_available_after_min_ready_seconds(cluster: Workloads) -> None:
    await cluster.client.create(stateful_set(replicas=1, minReadySeconds=1))
    ready = await cluster.wait(StatefulSet, "db", lambda each: each.status.ready_replicas == 1)
    assert ready.status.available_replicas == 0
    await up(cluster, 1)
