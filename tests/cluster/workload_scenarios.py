"""What people do with workloads, and the state of a namespace afterwards, without what varies."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from kinform import Client
from kinform.objects import Unstructured
from tests.support.simulated_kubelet import BROKEN

DEPLOYMENTS = "apps/v1/deployments"
REPLICA_SETS = "apps/v1/replicasets"
PODS = "v1/pods"
_PATIENCE = 60.0
_TIMES = {"lastTransitionTime", "lastUpdateTime", "lastProbeTime", "startTime", "lastHeartbeatTime"}
_IDENTITY = {
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "managedFields",
    "generateName",
    "generation",
    "selfLink",
    "namespace",
}


class Scenario:
    """The steps of one scenario, in a namespace of its own."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    async def deploy(self, name: str = "web", **spec: Any) -> None:
        replicas = spec.pop("replicas", 3)
        image = spec.pop("image", "web:1")
        labels = {"app": name}
        await self.client.create(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": template(labels, image),
                    **spec,
                },
            }
        )

    async def replica_set(self, name: str, replicas: int, **labels: str) -> None:
        await self.client.create(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": template(labels, "web:1"),
                },
            }
        )

    async def pod(self, name: str, **labels: str) -> None:
        made = template(labels, "web:1")
        metadata = {"name": name, "namespace": self.namespace, "labels": labels}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}
        await self.client.create(pod)

    async def patch(self, resource: str, name: str, patch: Any) -> None:
        await self.client.patch(resource, name, patch, namespace=self.namespace)

    async def set_image(self, image: str, name: str = "web") -> None:
        containers = template({}, image)["spec"]["containers"]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        await self.patch(DEPLOYMENTS, name, patch)

    async def rolled_out(self, name: str = "web") -> None:
        """As ``kubectl rollout status`` waits."""

        def is_done(deployment: Unstructured) -> bool:
            status: Any = deployment.get_path("status") or {}
            replicas = deployment.get_path("spec.replicas")
            return bool(
                status.get("observedGeneration") == deployment.generation
                and status.get("updatedReplicas", 0) == replicas
                and status.get("replicas", 0) == replicas
                and status.get("availableReplicas", 0) == replicas
            )

        await self.until(DEPLOYMENTS, name, is_done)

    async def until(
        self, resource: str, name: str, condition: Callable[[Unstructured], bool]
    ) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            found = await self.client.get(resource, name, namespace=self.namespace)
            if condition(found):
                return
            assert time.monotonic() < deadline, f"{name}: {found.to_dict()}"
            await asyncio.sleep(0.05)

    async def settled(self) -> dict[str, Any]:
        """Wait until nothing has changed for a while, and return the state."""
        last, since = await self.state(), time.monotonic()
        deadline = since + _PATIENCE
        while time.monotonic() - since < 1.5:
            await asyncio.sleep(0.1)
            found = await self.state()
            if found != last:
                last, since = found, time.monotonic()
            assert time.monotonic() < deadline, "it does not settle"
        return last

    async def state(self) -> dict[str, Any]:
        """Return the objects of the namespace without names and times that controllers chose."""
        deployments = await self.client.list(DEPLOYMENTS, namespace=self.namespace)
        replica_sets = await self.client.list(REPLICA_SETS, namespace=self.namespace)
        pods = await self.client.list(PODS, namespace=self.namespace)
        names = {each.uid: each.name for each in deployments}
        hashes: dict[str, str] = {}
        for each in replica_sets:
            revision = each.get_path(
                ["metadata", "annotations", "deployment.kubernetes.io/revision"]
            )
            owner = _owner(each)
            names[each.uid] = f"{names[owner]}-{revision}" if owner in names else each.name
            if digest := each.labels.get("pod-template-hash"):
                hashes[digest] = names[each.uid]
        clean = _Cleaner(names, hashes)
        return {
            "deployments": {each.name: clean(each) for each in deployments},
            "replica sets": {names[each.uid]: clean(each) for each in replica_sets},
            "pods": dict(Counter(repr(clean(each, with_name=False)) for each in pods)),
        }


def template(labels: dict[str, str], image: str) -> dict[str, Any]:
    return {
        "metadata": {"labels": labels},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "main", "image": image}],
        },
    }


def _owner(obj: Unstructured) -> str:
    references: list[Any] = obj.get_path("metadata.ownerReferences") or []
    return next((each["uid"] for each in references if each.get("controller")), "")


class _Cleaner:
    def __init__(self, names: dict[str, str], hashes: dict[str, str]) -> None:
        self._names = names
        self._hashes = hashes

    def __call__(self, obj: Unstructured, *, with_name: bool = True) -> Any:
        found = obj.to_dict()
        metadata = found["metadata"]
        owners = [self._names.get(each["uid"], "?") for each in metadata.pop("ownerReferences", [])]
        for field in _IDENTITY:
            metadata.pop(field, None)
        metadata.pop("name")
        status = found.get("status", {})
        if "observedGeneration" in status:
            status["observedGeneration"] = status["observedGeneration"] == obj.generation
        return {"owners": owners, **self._cleaned(found)}

    def _cleaned(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: self._cleaned(each) for key, each in sorted(value.items()) if key not in _TIMES
            }
        if isinstance(value, list):
            cleaned = [self._cleaned(each) for each in value]
            if cleaned and all(isinstance(each, dict) and "type" in each for each in cleaned):
                cleaned.sort(key=lambda each: str(each["type"]))
            return cleaned
        if isinstance(value, str):
            for digest, name in self._hashes.items():
                value = re.sub(rf"\b\w+-{digest}\b", name, value)
                value = value.replace(digest, f"hash of {name}")
        return value


# -- the scenarios ---------------------------------------------------------------------------------


async def create(run: Scenario) -> None:
    await run.deploy()
    await run.rolled_out()


async def scale_up_and_down(run: Scenario) -> None:
    await run.deploy(replicas=2)
    await run.rolled_out()
    for replicas in (5, 1):
        await run.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}})
        await run.rolled_out()


async def scale_to_zero(run: Scenario) -> None:
    await run.deploy()
    await run.rolled_out()
    await run.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 0}})
    await run.rolled_out()


async def roll(run: Scenario) -> None:
    await run.deploy(replicas=4)
    await run.rolled_out()
    await run.set_image("web:2")
    await run.rolled_out()


async def roll_with_percentages(run: Scenario) -> None:
    rolling = {"maxSurge": "50%", "maxUnavailable": "25%"}
    await run.deploy(replicas=5, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    await run.rolled_out()
    await run.set_image("web:2")
    await run.rolled_out()


async def recreate(run: Scenario) -> None:
    await run.deploy(strategy={"type": "Recreate"})
    await run.rolled_out()
    await run.set_image("web:2")
    await run.rolled_out()


async def roll_back(run: Scenario) -> None:
    await run.deploy()
    await run.rolled_out()
    for image in ("web:2", "web:3", "web:1"):
        await run.set_image(image)
        await run.rolled_out()


async def pause_and_resume(run: Scenario) -> None:
    await run.deploy()
    await run.rolled_out()
    await run.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    await run.set_image("web:2")
    await run.settled()
    await run.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    await run.rolled_out()


async def paused_from_the_start(run: Scenario) -> None:
    await run.deploy(paused=True)


async def broken_image(run: Scenario) -> None:
    await run.deploy(replicas=4)
    await run.rolled_out()
    await run.set_image(f"{BROKEN}:2")


async def broken_image_and_rollback(run: Scenario) -> None:
    await run.deploy(replicas=4)
    await run.rolled_out()
    await run.set_image(f"{BROKEN}:2")
    await run.settled()
    await run.set_image("web:1")
    await run.rolled_out()


async def scale_while_rolling(run: Scenario) -> None:
    await run.deploy(replicas=4)
    await run.rolled_out()
    await run.set_image(f"{BROKEN}:2")
    await run.settled()
    await run.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 8}})


async def history_limit(run: Scenario) -> None:
    await run.deploy(replicas=1, revisionHistoryLimit=2)
    await run.rolled_out()
    for number in range(2, 6):
        await run.set_image(f"web:{number}")
        await run.rolled_out()


async def progress_deadline(run: Scenario) -> None:
    await run.deploy(replicas=2, progressDeadlineSeconds=3, image=f"{BROKEN}:1")

    def has_failed(deployment: Unstructured) -> bool:
        conditions: list[Any] = deployment.get_path("status.conditions") or []
        return any(each.get("reason") == "ProgressDeadlineExceeded" for each in conditions)

    await run.until(DEPLOYMENTS, "web", has_failed)


async def replica_set_alone(run: Scenario) -> None:
    await run.replica_set("db", 3, app="db")


async def replica_set_adopts(run: Scenario) -> None:
    await run.pod("orphan", app="db")
    await run.replica_set("db", 2, app="db")


async def replica_set_releases(run: Scenario) -> None:
    await run.replica_set("db", 2, app="db")
    await run.settled()
    pods = await run.client.list(PODS, namespace=run.namespace)
    await run.patch(PODS, pods[0].name, {"metadata": {"labels": {"app": "other"}}})


async def deployment_adopts(run: Scenario) -> None:
    await run.replica_set("web-old", 2, app="web")
    await run.settled()
    await run.deploy(replicas=2)
    await run.rolled_out()


async def deleted_pod_is_replaced(run: Scenario) -> None:
    await run.deploy()
    await run.rolled_out()
    pods = await run.client.list(PODS, namespace=run.namespace)
    await run.client.delete(PODS, pods[0].name, namespace=run.namespace)
    await run.settled()
    await run.rolled_out()


SCENARIOS: dict[str, Callable[[Scenario], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        create,
        scale_up_and_down,
        scale_to_zero,
        roll,
        roll_with_percentages,
        recreate,
        roll_back,
        pause_and_resume,
        paused_from_the_start,
        broken_image,
        broken_image_and_rollback,
        scale_while_rolling,
        history_limit,
        progress_deadline,
        replica_set_alone,
        replica_set_adopts,
        replica_set_releases,
        deployment_adopts,
        deleted_pod_is_replaced,
    )
}
