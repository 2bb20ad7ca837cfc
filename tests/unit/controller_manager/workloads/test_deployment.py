"""The controller of Deployments beside that of ReplicaSets, on the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.controller_manager.workloads import deployment_controller, replica_set_controller
from kinform.controller_manager.workloads._revisions import template_hash
from kinform.controllers import controller_of, find_condition, is_controlled_by, wait_until_gone
from kinform.models.apps.v1 import Deployment, ReplicaSet
from kinform.models.core.v1 import Pod
from kinform.testing import faults
from tests.support.workloads import (
    Workloads,
    deployment,
    pod_template,
    replica_set,
    revision_of,
    running_workloads,
)

HISTORY = "deployment.kubernetes.io/revision-history"
RECREATE = {"type": "Recreate"}


@pytest.fixture
async def cluster() -> AsyncIterator[Workloads]:
    async with running_workloads([replica_set_controller(), deployment_controller()]) as found:
        yield found


def rolling(surge: int | str, unavailable: int | str) -> dict[str, Any]:
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": limits}


async def set_image(cluster: Workloads, image: str) -> Deployment:
    patch = {"spec": {"template": pod_template(image)}}
    return await cluster.client.patch(Deployment, "web", patch)


async def roll(cluster: Workloads, image: str) -> Deployment:
    generation = (await set_image(cluster, image)).generation
    await cluster.wait(
        Deployment, "web", lambda each: each.status.observed_generation >= generation
    )
    return await cluster.settled("web")


async def images(cluster: Workloads) -> list[str]:
    return sorted(str(pod.spec.containers[0].image) for pod in await cluster.pods())


def reason(found: Deployment, type: str) -> tuple[str, str]:
    condition = find_condition(found, type)
    return ("", "") if condition is None else (condition.status, condition.reason)


async def test_first_rollout(cluster: Workloads) -> None:
    await cluster.client.create(deployment(replicas=3))
    found = await cluster.settled("web")
    (created,) = await cluster.replica_sets()
    label = created.labels["pod-template-hash"]
    assert created.name == f"web-{label}"
    assert created.labels == {"app": "web", "pod-template-hash": label}
    assert created.spec.selector is not None
    assert created.spec.selector.match_labels == created.labels
    assert is_controlled_by(found, created)
    assert all(pod.labels == created.labels for pod in await cluster.pods())
    assert created.metadata.annotations == {
        "deployment.kubernetes.io/revision": "1",
        "deployment.kubernetes.io/desired-replicas": "3",
        "deployment.kubernetes.io/max-replicas": "4",
    }
    assert revision_of(found) == 1
    assert reason(found, "Available") == ("True", "MinimumReplicasAvailable")
    assert reason(found, "Progressing") == ("True", "NewReplicaSetAvailable")
    condition = find_condition(found, "Progressing")
    assert condition.message == f'ReplicaSet "{created.name}" has successfully progressed.'
    assert [each.type for each in found.status.conditions] == ["Available", "Progressing"]
    assert found.status.unavailable_replicas == 0
    assert found.status.terminating_replicas == 0
    assert await cluster.has_event("ScalingReplicaSet") == [
        f"Scaled up replica set {created.name} from 0 to 3"
    ]


async def test_rolling_update_replaces_all_pods(cluster: Workloads) -> None:
    await cluster.client.create(deployment(replicas=5))
    await cluster.settled("web")
    found = await roll(cluster, "web:2")
    assert await images(cluster) == ["web:2"] * 5
    old, new = await cluster.replica_sets()
    assert (revision_of(old), revision_of(new), revision_of(found)) == (1, 2, 2)
    assert (old.spec.replicas, new.spec.replicas) == (0, 5)


@pytest.mark.parametrize(("surge", "unavailable"), [(1, 0), (0, 1), ("50%", "25%"), (4, 4)])
async def test_rolling_update_keeps_its_limits(
    cluster: Workloads, surge: int | str, unavailable: int | str
) -> None:
    await cluster.client.create(deployment(replicas=4, strategy=rolling(surge, unavailable)))
    await cluster.settled("web")
    most = 4 + (2 if surge == "50%" else int(surge))
    fewest = 4 - (1 if unavailable == "25%" else int(unavailable))
    sizes: list[tuple[int, int]] = []
    informer = await cluster.manager.cache.get_informer(Pod)

    def note(_: object) -> None:
        pods = [pod for pod in informer.store.list() if pod.metadata.deletion_timestamp is None]
        ready = [pod for pod in pods if find_condition(pod, "Ready") is not None]
        sizes.append((len(pods), len(ready)))

    informer.add_event_handler(on_event=note, run_on="loop")
    await roll(cluster, "web:2")
    assert len(sizes) >= 8
    assert max(pods for pods, _ in sizes) <= most
    assert min(ready for _, ready in sizes) >= fewest


async def test_broken_template_leaves_old_pods_alone(cluster: Workloads) -> None:
    await cluster.client.create(
        deployment(replicas=4, strategy=rolling(1, 1), progressDeadlineSeconds=2)
    )
    await cluster.settled("web")
    cluster.kubelet.is_ready = lambda pod: pod.spec.containers[0].image != "web:broken"
    await set_image(cluster, "web:broken")
    found = await cluster.wait(
        Deployment,
        "web",
        lambda each: reason(each, "Progressing") == ("False", "ProgressDeadlineExceeded"),
    )
    assert found.status.available_replicas == 3
    assert await images(cluster) == ["web:1"] * 3 + ["web:broken"] * 2
    assert reason(found, "Available") == ("True", "MinimumReplicasAvailable")
    # Rolled over by a template that works.
    await roll(cluster, "web:2")
    assert await images(cluster) == ["web:2"] * 4


async def test_rollback_reuses_the_old_replica_set(cluster: Workloads) -> None:
    await cluster.client.create(deployment(replicas=2))
    await cluster.settled("web")
    await roll(cluster, "web:2")
    first = (await cluster.replica_sets())[0]
    # As `kubectl rollout undo` does.
    found = await roll(cluster, "web:1")
    second, again = await cluster.replica_sets()
    assert again.uid == first.uid
    assert (revision_of(second), revision_of(again), revision_of(found)) == (2, 3, 3)
    assert again.metadata.annotations[HISTORY] == "1"
    await roll(cluster, "web:2")
    await roll(cluster, "web:1")
    assert (await cluster.replica_sets())[-1].metadata.annotations[HISTORY] == "1,3"


async def test_paused_deployment_does_not_roll_out(cluster: Workloads) -> None:
    await cluster.client.create(deployment(replicas=2))
    await cluster.settled("web")
    await cluster.client.patch(Deployment, "web", {"spec": {"paused": True}})
    paused = await cluster.wait(
        Deployment, "web", lambda each: reason(each, "Progressing")[1] == "DeploymentPaused"
    )
    assert reason(paused, "Progressing")[0] == "Unknown"
    generation = (await set_image(cluster, "web:2")).generation
    await cluster.wait(
        Deployment, "web", lambda each: each.status.observed_generation == generation
    )
    assert len(await cluster.replica_sets()) == 1
    # Scaling works nevertheless.
    await cluster.client.patch(Deployment, "web", {"spec": {"replicas": 4}})
    await cluster.wait(Deployment, "web", lambda each: each.status.available_replicas == 4)
    assert await images(cluster) == ["web:1"] * 4
    await cluster.client.patch(Deployment, "web", {"spec": {"paused": False}})
    await cluster.settled("web")
    await cluster.until(lambda pods: {pod.spec.containers[0].image for pod in pods} == {"web:2"})


async def test_recreate_waits_for_the_end_of_old_pods(cluster: Workloads) -> None:
    cluster.kubelet.keeps_deleted = True
    created = deployment(replicas=3, strategy=RECREATE)
    created.spec.template.spec.node_name = "node-1"
    await cluster.client.create(created)
    await cluster.settled("web")
    template = pod_template("web:2")
    template["spec"]["nodeName"] = "node-1"
    await cluster.client.patch(Deployment, "web", {"spec": {"template": template}})
    found = await cluster.wait(
        Deployment, "web", lambda each: each.status.terminating_replicas == 3
    )
    assert found.status.replicas == 0
    assert len(await cluster.replica_sets()) == 1
    assert reason(found, "Available") == ("False", "MinimumReplicasUnavailable")
    for pod in await cluster.client.list(Pod, namespace="default"):
        await cluster.client.delete(Pod, pod.name, grace_period=0)
    await cluster.settled("web")
    assert await images(cluster) == ["web:2"] * 3


async def test_scaling_up_and_down(cluster: Workloads) -> None:
    await cluster.client.create(deployment(replicas=1))
    await cluster.settled("web")
    for replicas in (6, 2, 0):
        await cluster.client.patch(Deployment, "web", {"spec": {"replicas": replicas}})
        await cluster.settled("web")
        await cluster.until(lambda pods, wanted=replicas: len(pods) == wanted)  # type: ignore[misc]
    assert len(await cluster.replica_sets()) == 1


async def test_history_is_limited(cluster: Workloads) -> None:
    await cluster.client.create(deployment(replicas=1, revisionHistoryLimit=2))
    await cluster.settled("web")
    for number in range(2, 6):
        await roll(cluster, f"web:{number}")
        sets = await cluster.replica_sets()
        for each in sets[:-3]:
            await wait_until_gone(cluster.manager.cache, each.key, kind=ReplicaSet, timeout=20)
    assert [revision_of(each) for each in await cluster.replica_sets()] == [3, 4, 5]


async def test_annotations_are_copied_to_the_new_set(cluster: Workloads) -> None:
    created = deployment(replicas=1)
    cause = "kubernetes.io/change-cause"
    created.metadata.annotations = {cause: "first"}
    await cluster.client.create(created)
    await cluster.settled("web")
    await cluster.client.patch(
        Deployment,
        "web",
        {"metadata": {"annotations": {cause: "again"}}, "spec": {"minReadySeconds": 1}},
    )
    (found,) = await cluster.replica_sets()
    found = await cluster.wait(
        ReplicaSet, found.name, lambda each: each.metadata.annotations[cause] == "again"
    )
    assert found.spec.min_ready_seconds == 1


async def test_failures_of_the_replica_set_are_reported(cluster: Workloads) -> None:
    refusal = faults.status(403, "Forbidden", "exceeded quota: small")
    rule = cluster.server.faults.inject(refusal, verb="create", resource=Pod)
    await cluster.client.create(deployment(replicas=2))
    found = await cluster.wait(
        Deployment, "web", lambda each: find_condition(each, "ReplicaFailure") is not None
    )
    assert reason(found, "ReplicaFailure") == ("True", "FailedCreate")
    rule.remove()
    found = await cluster.settled("web")
    await cluster.wait(
        Deployment, "web", lambda each: find_condition(each, "ReplicaFailure") is None
    )


async def test_refused_replica_set_is_reported(cluster: Workloads) -> None:
    refusal = faults.status(403, "Forbidden", "no more sets")
    rule = cluster.server.faults.inject(refusal, verb="create", resource=ReplicaSet)
    await cluster.client.create(deployment(replicas=1))
    found = await cluster.wait(
        Deployment, "web", lambda each: find_condition(each, "Progressing") is not None
    )
    assert reason(found, "Progressing") == ("False", "ReplicaSetCreateError")
    assert "no more sets" in (await cluster.has_event("ReplicaSetCreateError"))[0]
    rule.remove()
    await cluster.settled("web")


async def test_replica_set_without_owner_is_adopted(cluster: Workloads) -> None:
    labels = {"app": "web", "pod-template-hash": "abc"}
    template = pod_template()
    template["metadata"]["labels"] = labels
    stray = replica_set("stray", replicas=2, selector={"matchLabels": labels}, template=template)
    stray.metadata.labels = labels
    await cluster.client.create(stray)
    await cluster.client.create(deployment(replicas=2))
    found = await cluster.settled("web")
    (adopted,) = await cluster.replica_sets()
    owner = controller_of(adopted)
    assert owner is not None
    assert (adopted.name, owner.uid) == ("stray", found.uid)


async def test_taken_name_is_avoided(cluster: Workloads) -> None:
    created = await cluster.client.create(deployment(replicas=1, paused=True))
    name = f"web-{template_hash(created.spec.template, 0)}"
    selector = {"matchLabels": {"app": "other"}}
    template = pod_template(app="other")
    await cluster.client.create(replica_set(name, replicas=0, selector=selector, template=template))
    await cluster.client.patch(Deployment, "web", {"spec": {"paused": False}})
    found = await cluster.settled("web")
    assert found.status.collision_count == 1
    assert len(await cluster.replica_sets()) == 2


async def test_empty_selector_is_refused_with_an_event(cluster: Workloads) -> None:
    await cluster.client.create(deployment(replicas=1, selector={}))
    await cluster.has_event("SelectingAll")
    assert await cluster.replica_sets() == []
