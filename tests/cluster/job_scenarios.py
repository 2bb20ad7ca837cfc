"""What people do with Jobs, and the state of a namespace afterwards, without what varies."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from kinform.objects import Unstructured
from tests.cluster.workload_scenarios import PODS, Scenario, template

JOBS = "batch/v1/jobs"
_VARYING = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "generation",
    "generateName",
    "namespace",
    "lastTransitionTime",
    "lastProbeTime",
    "startTime",
    "completionTime",
    "startedAt",
    "finishedAt",
    "deletionTimestamp",
}


class JobScenario(Scenario):
    """The steps of one scenario with Jobs."""

    async def job(self, image: str, name: str = "work", **spec: Any) -> None:
        made = template({"app": name}, image)
        made["spec"]["restartPolicy"] = "Never"
        metadata = {"name": name, "namespace": self.namespace}
        await self.client.create(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": metadata,
                "spec": {"template": made, **spec},
            }
        )

    async def has(self, type: str, status: str = "True", name: str = "work") -> None:
        """Wait for a condition."""

        def is_met(job: Unstructured) -> bool:
            conditions: list[Any] = job.get_path("status.conditions") or []
            return any((each["type"], each["status"]) == (type, status) for each in conditions)

        await self.until(JOBS, name, is_met)

    async def is_ready(self, count: int, name: str = "work") -> None:
        """Wait until so many pods are ready."""
        await self.until(JOBS, name, lambda job: job.get_path("status.ready") == count)

    async def pods_are(self, condition: Callable[[list[Any]], bool]) -> None:
        """Wait until the pods are as wanted."""
        async with asyncio.timeout(60):
            while True:
                pods = await self.client.list(PODS, namespace=self.namespace)
                if condition([each.to_dict() for each in pods]):
                    return
                await asyncio.sleep(0.05)

    async def state(self) -> dict[str, Any]:
        jobs = await self.client.list(JOBS, namespace=self.namespace)
        pods = await self.client.list(PODS, namespace=self.namespace)
        names = {each.uid: each.name for each in jobs}
        return {
            "jobs": {each.name: _clean(each.to_dict(), names) for each in jobs},
            "pods": dict(Counter(repr(_clean(_nameless(each), names)) for each in pods)),
        }


def _nameless(pod: Unstructured) -> Any:
    found = pod.to_dict()
    del found["metadata"]["name"]
    return found


def _clean(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        is_started = {"started": True} if "startTime" in value else {}
        return {
            **is_started,
            **{
                key: _clean(each, names)
                for key, each in sorted(value.items())
                if key not in _VARYING
            },
        }
    if isinstance(value, list):
        return [_clean(each, names) for each in value]
    if isinstance(value, str):
        for uid, name in names.items():
            value = value.replace(uid, f"uid of {name}")
        value = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a uid", value)
        return re.sub(r"\bwork(-\d+)?-[a-z0-9]{5}\b", r"work\1-?", value)
    return value


# -- the scenarios ---------------------------------------------------------------------------------


async def one_pod(run: JobScenario) -> None:
    await run.job("done")
    await run.has("Complete")


async def completions(run: JobScenario) -> None:
    await run.job("done", completions=5, parallelism=2)
    await run.has("Complete")


async def work_queue(run: JobScenario) -> None:
    await run.job("done", parallelism=3)
    await run.has("Complete")


async def running(run: JobScenario) -> None:
    await run.job("forever", completions=4, parallelism=3)
    await run.is_ready(3)


async def no_completions(run: JobScenario) -> None:
    await run.job("forever", completions=0)
    await run.has("Complete")


async def first_failure_is_the_last(run: JobScenario) -> None:
    await run.job("fail", backoffLimit=0)
    await run.has("Failed")


async def failures_stop_the_others(run: JobScenario) -> None:
    await run.job("first-fails", backoffLimit=0, completionMode="Indexed", completions=3)
    await run.has("Failed")


async def failed_pod_is_replaced_later(run: JobScenario) -> None:
    await run.job("fail", backoffLimit=1)
    await run.has("Failed")


async def deadline(run: JobScenario) -> None:
    await run.job("forever", parallelism=2, completions=2, activeDeadlineSeconds=4)
    await run.has("Failed")


async def indexed(run: JobScenario) -> None:
    await run.job("done", completions=4, parallelism=4, completionMode="Indexed")
    await run.has("Complete")


async def indexed_one_by_one(run: JobScenario) -> None:
    await run.job("done", completions=3, parallelism=1, completionMode="Indexed")
    await run.has("Complete")


async def index_fails(run: JobScenario) -> None:
    await run.job(
        "first-fails",
        completions=4,
        parallelism=4,
        completionMode="Indexed",
        backoffLimitPerIndex=0,
    )
    await run.has("Failed")


async def index_fails_twice(run: JobScenario) -> None:
    await run.job(
        "first-fails",
        completions=2,
        parallelism=2,
        completionMode="Indexed",
        backoffLimitPerIndex=1,
    )
    await run.has("Failed")


async def too_many_indexes_fail(run: JobScenario) -> None:
    await run.job(
        "first-fails",
        completions=6,
        parallelism=1,
        completionMode="Indexed",
        backoffLimitPerIndex=0,
        maxFailedIndexes=0,
    )
    await run.has("Failed")


async def success_policy(run: JobScenario) -> None:
    rules = [{"succeededIndexes": "0-1", "succeededCount": 1}]
    await run.job(
        "done",
        completions=5,
        parallelism=1,
        completionMode="Indexed",
        successPolicy={"rules": rules},
    )
    await run.has("Complete")


async def failure_policy_fails_the_job(run: JobScenario) -> None:
    codes = {"operator": "In", "values": [3]}
    rules = [{"action": "FailJob", "onExitCodes": codes}]
    await run.job("fail:3", podFailurePolicy={"rules": rules})
    await run.has("Failed")


async def failure_policy_ignores(run: JobScenario) -> None:
    codes = {"operator": "NotIn", "values": [4]}
    rules = [{"action": "Ignore", "onExitCodes": codes}]
    await run.job("fail:3", backoffLimit=0, podFailurePolicy={"rules": rules})
    await run.pods_are(lambda pods: any("finalizers" not in each["metadata"] for each in pods))


async def suspended_from_the_start(run: JobScenario) -> None:
    await run.job("done", suspend=True)
    await run.has("Suspended")


async def suspend_and_resume(run: JobScenario) -> None:
    await run.job("forever", parallelism=2, completions=2)
    await run.is_ready(2)
    await run.patch(JOBS, "work", {"spec": {"suspend": True}})
    await run.has("Suspended")
    await run.settled()
    await run.patch(JOBS, "work", {"spec": {"suspend": False}})
    await run.is_ready(2)


async def parallelism_changes(run: JobScenario) -> None:
    await run.job("forever", parallelism=3, completions=6)
    await run.is_ready(3)
    for parallelism in (5, 1):
        await run.patch(JOBS, "work", {"spec": {"parallelism": parallelism}})
        await run.is_ready(parallelism)


async def deleted_pod_is_replaced(run: JobScenario) -> None:
    await run.job("forever", parallelism=2, completions=2)
    await run.is_ready(2)
    pods = await run.client.list(PODS, namespace=run.namespace)
    await run.client.delete(PODS, pods[0].name, namespace=run.namespace)


async def deleted_job(run: JobScenario) -> None:
    await run.job("forever", parallelism=2, completions=2)
    await run.is_ready(2)
    await run.client.delete(JOBS, "work", namespace=run.namespace, propagation="Background")


async def deleted_in_the_foreground(run: JobScenario) -> None:
    await run.job("forever", parallelism=2, completions=2)
    await run.is_ready(2)
    await run.client.delete(JOBS, "work", namespace=run.namespace, propagation="Foreground")


async def adopts_a_pod(run: JobScenario) -> None:
    await run.pod("orphan", app="work")
    selector = {"matchLabels": {"app": "work"}}
    await run.job("forever", completions=2, parallelism=2, manualSelector=True, selector=selector)
    await run.is_ready(2)


async def releases_a_pod(run: JobScenario) -> None:
    await run.job(
        "forever",
        completions=2,
        parallelism=2,
        manualSelector=True,
        selector={"matchLabels": {"app": "work"}},
    )
    await run.is_ready(2)
    pods = await run.client.list(PODS, namespace=run.namespace)
    await run.patch(PODS, pods[0].name, {"metadata": {"labels": {"app": "other"}}})


async def managed_by_others(run: JobScenario) -> None:
    await run.job("done", managedBy="example.com/other")


async def deleted_after_its_time(run: JobScenario) -> None:
    await run.job("done", ttlSecondsAfterFinished=2)
    await run.until(JOBS, "work", lambda job: bool(job.get_path("metadata.finalizers")))


async def time_is_not_over(run: JobScenario) -> None:
    await run.job("fail", backoffLimit=0, ttlSecondsAfterFinished=600)
    await run.has("Failed")


SCENARIOS: dict[str, Callable[[JobScenario], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        one_pod,
        completions,
        work_queue,
        running,
        no_completions,
        first_failure_is_the_last,
        failures_stop_the_others,
        failed_pod_is_replaced_later,
        deadline,
        indexed,
        indexed_one_by_one,
        index_fails,
        index_fails_twice,
        too_many_indexes_fail,
        success_policy,
        failure_policy_fails_the_job,
        failure_policy_ignores,
        suspended_from_the_start,
        suspend_and_resume,
        parallelism_changes,
        deleted_pod_is_replaced,
        deleted_job,
        deleted_in_the_foreground,
        adopts_a_pod,
        releases_a_pod,
        managed_by_others,
        deleted_after_its_time,
        time_is_not_over,
    )
}
