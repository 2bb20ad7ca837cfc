"""The controller of Jobs, on the embedded server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.controller_manager.workloads import job_controller
from kinform.controller_manager.workloads._job_status import TRACKING
from kinform.models.batch.v1 import Job
from kinform.models.core.v1 import Pod
from kinform.testing import faults
from tests.support.job_kubelet import exit_code
from tests.support.workloads import Workloads, pod_template, running_workloads


@pytest.fixture
async def cluster() -> AsyncIterator[Workloads]:
    async with running_workloads([job_controller()]) as found:
        yield found


def job(image: str, **spec: Any) -> Job:
    return Job.from_dict(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "work", "namespace": "default"},
            "spec": {
                "selector": {"matchLabels": {"app": "work"}},
                "template": pod_template(image, app="work"),
                "parallelism": 1,
                "completions": 1,
                "backoffLimit": 6,
                **spec,
            },
        }
    )


async def end(cluster: Workloads, phase: str = "") -> None:
    """End the pods that run, by their image or in a phase."""
    for pod in await cluster.pods():
        if pod.status.phase == "Running":
            ended = phase or ("Failed" if exit_code(pod) else "Succeeded")
            await cluster.kubelet.set_status(pod, ended, ready=False)


async def is_ready(cluster: Workloads, count: int) -> Job:
    return await cluster.wait(Job, "work", lambda job: job.status.ready == count)


async def has(cluster: Workloads, type: str) -> Job:
    def is_met(job: Job) -> bool:
        return any((each.type, each.status) == (type, "True") for each in job.status.conditions)

    return await cluster.wait(Job, "work", is_met)


def reasons(job: Job) -> list[tuple[str, str]]:
    return [(each.type, each.reason) for each in job.status.conditions]


async def test_job_completes(cluster: Workloads) -> None:
    await cluster.client.create(job("done", completions=3, parallelism=3))
    running = await is_ready(cluster, 3)
    assert running.status.active == 3
    assert all(TRACKING in pod.metadata.finalizers for pod in await cluster.pods())
    await end(cluster)
    found = await has(cluster, "Complete")
    assert (found.status.succeeded, found.status.failed, found.status.active) == (3, 0, 0)
    assert found.status.completion_time is not None
    assert reasons(found) == [
        ("SuccessCriteriaMet", "CompletionsReached"),
        ("Complete", "CompletionsReached"),
    ]
    assert not any(pod.metadata.finalizers for pod in await cluster.pods())
    assert await cluster.has_event("Completed") == ["Job completed"]


async def test_job_fails_beyond_its_limit(cluster: Workloads) -> None:
    await cluster.client.create(job("fail", backoffLimit=0, completions=2, parallelism=2))
    await is_ready(cluster, 2)
    pods = await cluster.pods()
    await cluster.kubelet.fail(pods[0])
    found = await has(cluster, "Failed")
    assert (found.status.failed, found.status.active) == (2, 0)
    assert reasons(found) == [
        ("FailureTarget", "BackoffLimitExceeded"),
        ("Failed", "BackoffLimitExceeded"),
    ]
    assert [pod.name for pod in await cluster.pods()] == [pods[0].name]


async def test_failed_pod_is_not_replaced_at_once(cluster: Workloads) -> None:
    await cluster.client.create(job("fail"))
    await is_ready(cluster, 1)
    await end(cluster)
    found = await cluster.wait(Job, "work", lambda job: job.status.failed == 1)
    assert found.status.active == 0
    assert len(await cluster.pods()) == 1


async def test_job_fails_at_its_deadline(cluster: Workloads) -> None:
    await cluster.client.create(job("forever", activeDeadlineSeconds=1))
    found = await has(cluster, "Failed")
    assert ("Failed", "DeadlineExceeded") in reasons(found)
    assert await cluster.pods() == []


async def test_indexes_complete(cluster: Workloads) -> None:
    await cluster.client.create(job("done", completions=3, parallelism=3, completionMode="Indexed"))
    await is_ready(cluster, 3)
    await end(cluster)
    found = await has(cluster, "Complete")
    assert found.status.completed_indexes == "0-2"
    assert found.status.succeeded == 3


async def test_failed_index_does_not_stop_the_others(cluster: Workloads) -> None:
    limits = {"completionMode": "Indexed", "backoffLimitPerIndex": 0}
    await cluster.client.create(job("first-fails", completions=3, parallelism=3, **limits))
    await is_ready(cluster, 3)
    await end(cluster)
    found = await has(cluster, "Failed")
    assert found.status.completed_indexes == "1,2"
    assert found.status.failed_indexes == "0"
    assert ("Failed", "FailedIndexes") in reasons(found)


async def test_suspended_job_has_no_pods(cluster: Workloads) -> None:
    await cluster.client.create(job("forever", completions=2, parallelism=2))
    await is_ready(cluster, 2)
    await cluster.client.patch(Job, "work", {"spec": {"suspend": True}}, namespace="default")
    found = await has(cluster, "Suspended")
    assert found.status.start_time is None
    assert await cluster.pods() == []
    await cluster.client.patch(Job, "work", {"spec": {"suspend": False}}, namespace="default")
    found = await is_ready(cluster, 2)
    assert found.status.start_time is not None
    assert reasons(found) == [("Suspended", "JobResumed")]
    assert found.status.failed == 0


async def test_pods_of_a_deleted_job_are_released(cluster: Workloads) -> None:
    await cluster.client.create(job("forever", completions=2, parallelism=2))
    await is_ready(cluster, 2)
    await cluster.client.delete(Job, "work", namespace="default", propagation="Orphan")
    await cluster.until(lambda pods: not any(pod.metadata.finalizers for pod in pods))


async def test_orphan_is_adopted_and_counted(cluster: Workloads) -> None:
    metadata = {"name": "orphan", "namespace": "default"}
    pod = {"apiVersion": "v1", "kind": "Pod", **pod_template("done", app="work")}
    pod["metadata"].update(metadata)
    await cluster.client.create(Pod.from_dict(pod))
    await cluster.client.create(job("done"))
    await is_ready(cluster, 1)
    assert [pod.name for pod in await cluster.pods()] == ["orphan"]
    await end(cluster)
    found = await has(cluster, "Complete")
    assert found.status.succeeded == 1


async def test_refused_pods_are_created_later(cluster: Workloads) -> None:
    refusal = faults.status(403, "Forbidden", "exceeded quota: small")
    rule = cluster.server.faults.inject(refusal, verb="create", resource=Pod)
    await cluster.client.create(job("done"))
    await cluster.has_event("FailedCreate")
    rule.remove()
    await is_ready(cluster, 1)


async def test_job_of_another_controller_is_left_alone(cluster: Workloads) -> None:
    other = job("done", managedBy="example.com/other")
    other.metadata.name = "other"
    await cluster.client.create(other)
    await cluster.client.create(job("done"))
    await is_ready(cluster, 1)
    assert len(await cluster.pods()) == 1


async def test_pods_are_counted_once_if_their_release_fails(cluster: Workloads) -> None:
    rule = cluster.server.faults.inject(
        faults.status(403, "Forbidden", "not now"),
        verb="patch",
        resource=Pod,
        times=None,
        when=lambda call: not call.subresource,
    )
    await cluster.client.create(job("done", completions=2, parallelism=2))
    await is_ready(cluster, 2)
    await end(cluster)

    def is_listed(job: Job) -> bool:
        listed = job.status.uncounted_terminated_pods
        return listed is not None and len(listed.succeeded) == 2

    listed = await cluster.wait(Job, "work", is_listed)
    assert listed.status.succeeded == 0
    rule.remove()
    found = await has(cluster, "Complete")
    assert found.status.succeeded == 2
