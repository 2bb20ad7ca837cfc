"""What people do with StatefulSets, and what becomes of a namespace, without what varies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kinform.objects import Unstructured
from tests.cluster.workload_scenarios import PODS, Scenario, template
from tests.support.cleaned import Cleaner, revision_names
from tests.support.simulated_kubelet import BROKEN

STATEFUL_SETS = "apps/v1/statefulsets"
REVISIONS = "apps/v1/controllerrevisions"
CLAIMS = "v1/persistentvolumeclaims"
_STORAGE = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
_TEMPLATES = [{"metadata": {"name": "data", "labels": {"tier": "fast"}}, "spec": _STORAGE}]


class StatefulSetScenario(Scenario):
    async def create_set(self, name: str = "db", **spec: Any) -> None:
        labels = {"app": name}
        image = spec.pop("image", "db:1")
        await self.client.create(
            {
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "labels": labels,
                    "annotations": {"team": "storage"},
                },
                "spec": {
                    "replicas": 3,
                    "serviceName": name,
                    "selector": {"matchLabels": labels},
                    "template": template(labels, image),
                    **spec,
                },
            }
        )

    async def change(self, **spec: Any) -> None:
        await self.patch(STATEFUL_SETS, "db", {"spec": spec})

    async def use(self, image: str) -> None:
        containers = template({}, image)["spec"]["containers"]
        await self.change(template={"spec": {"containers": containers}})

    async def up(self, updated: int | None = None) -> None:
        """Wait until all pods are available, and so many of the current template."""

        def is_up(found: Unstructured) -> bool:
            status: Any = found.get_path("status") or {}
            replicas = found.get_path("spec.replicas")
            return bool(
                status.get("observedGeneration") == found.generation
                and status.get("replicas", 0) == replicas
                and status.get("availableReplicas", 0) == replicas
                and status.get("updatedReplicas", 0) == (replicas if updated is None else updated)
            )

        await self.until(STATEFUL_SETS, "db", is_up)

    async def counts(self, **expected: int) -> None:
        """Wait until the status has these counts of the current generation."""

        def has_them(found: Unstructured) -> bool:
            status: Any = found.get_path("status") or {}
            return status.get("observedGeneration") == found.generation and all(
                status.get(field, 0) == count for field, count in expected.items()
            )

        await self.until(STATEFUL_SETS, "db", has_them)

    async def state(self) -> dict[str, Any]:
        sets = await self.client.list(STATEFUL_SETS, namespace=self.namespace)
        revisions = await self.client.list(REVISIONS, namespace=self.namespace)
        pods = await self.client.list(PODS, namespace=self.namespace)
        claims = await self.client.list(CLAIMS, namespace=self.namespace)
        names = {each.uid: each.name for each in [*sets, *pods]}
        numbered = revision_names(revisions)
        clean = Cleaner(names, numbered)
        return {
            "sets": {each.name: clean(each) for each in sets},
            "revisions": {numbered[each.name]: clean(each) for each in revisions},
            "pods": {each.name: clean(each) for each in pods},
            "claims": {each.name: clean(each) for each in claims},
        }


Run = StatefulSetScenario


async def create(run: Run) -> None:
    await run.create_set()
    await run.up()


async def create_in_parallel(run: Run) -> None:
    await run.create_set(replicas=5, podManagementPolicy="Parallel")
    await run.up()


async def ordinals_from_5(run: Run) -> None:
    await run.create_set(ordinals={"start": 5})
    await run.up()
    await run.change(ordinals={"start": 4})
    await run.up()


async def scale_up_and_down(run: Run) -> None:
    await run.create_set(replicas=2)
    await run.up()
    for replicas in (4, 1, 0):
        await run.change(replicas=replicas)
        await run.up()


async def scale_in_parallel(run: Run) -> None:
    await run.create_set(replicas=2, podManagementPolicy="Parallel")
    await run.up()
    for replicas in (6, 1):
        await run.change(replicas=replicas)
        await run.up()


async def broken_pod_blocks_creation(run: Run) -> None:
    await run.create_set(image=f"{BROKEN}:1")
    await run.counts(replicas=1)


async def broken_pod_does_not_block_parallel_creation(run: Run) -> None:
    await run.create_set(image=f"{BROKEN}:1", podManagementPolicy="Parallel")
    await run.counts(replicas=3)


async def roll(run: Run) -> None:
    await run.create_set()
    await run.up()
    await run.use("db:2")
    await run.up()


async def roll_in_parallel(run: Run) -> None:
    await run.create_set(
        replicas=6,
        podManagementPolicy="Parallel",
        updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}},
    )
    await run.up()
    await run.use("db:2")
    await run.up()


async def roll_with_partition(run: Run) -> None:
    rolling: dict[str, Any] = {"partition": 2}
    await run.create_set(
        replicas=4, updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling}
    )
    await run.up()
    await run.use("db:2")
    await run.up(updated=2)


async def partition_moves_on(run: Run) -> None:
    await roll_with_partition(run)
    await run.change(updateStrategy={"rollingUpdate": {"partition": 0}})
    await run.up()


async def pod_below_partition_keeps_its_template(run: Run) -> None:
    await roll_with_partition(run)
    await run.client.delete(PODS, "db-0", namespace=run.namespace)
    await run.settled()
    await run.up(updated=2)


async def update_on_delete(run: Run) -> None:
    await run.create_set(updateStrategy={"type": "OnDelete"})
    await run.up()
    await run.use("db:2")
    await run.settled()
    await run.client.delete(PODS, "db-1", namespace=run.namespace)
    await run.counts(updatedReplicas=1, readyReplicas=3)


async def broken_update_blocks(run: Run) -> None:
    await run.create_set()
    await run.up()
    await run.use(f"{BROKEN}:2")
    await run.counts(updatedReplicas=1, readyReplicas=2)


async def broken_update_and_undo(run: Run) -> None:
    """The broken pod has to be deleted by hand, as everybody learns once."""
    await broken_update_blocks(run)
    await run.settled()
    await run.use("db:1")
    await run.settled()
    await run.client.delete(PODS, "db-2", namespace=run.namespace)
    await run.up()


async def roll_back(run: Run) -> None:
    await run.create_set(replicas=2)
    await run.up()
    for image in ("db:2", "db:3", "db:1"):
        await run.use(image)
        await run.up()


async def history_limit(run: Run) -> None:
    await run.create_set(replicas=1, revisionHistoryLimit=2)
    await run.up()
    for number in range(2, 6):
        await run.use(f"db:{number}")
        await run.up()


async def deleted_pod_is_replaced(run: Run) -> None:
    await run.create_set()
    await run.up()
    await run.client.delete(PODS, "db-1", namespace=run.namespace)
    await run.settled()
    await run.up()


async def failed_pod_is_replaced(run: Run) -> None:
    await run.create_set()
    await run.up()
    failed = {"status": {"phase": "Failed"}}
    await run.client.patch(PODS, "db-1", failed, namespace=run.namespace, subresource="status")
    await run.settled()
    await run.up()


async def min_ready_seconds(run: Run) -> None:
    await run.create_set(replicas=2, minReadySeconds=2)
    await run.up()


async def adopts_a_pod(run: Run) -> None:
    await run.pod("db-1", app="db")
    await run.pod("db-other", app="db")
    await run.create_set()
    await run.counts(replicas=3, readyReplicas=3)


async def volume_claims(run: Run) -> None:
    await run.create_set(volumeClaimTemplates=_TEMPLATES)
    await run.up()
    await run.change(replicas=1)
    await run.up()


async def volume_claims_of_the_set(run: Run) -> None:
    policy = {"whenDeleted": "Delete", "whenScaled": "Retain"}
    await run.create_set(
        volumeClaimTemplates=_TEMPLATES, persistentVolumeClaimRetentionPolicy=policy
    )
    await run.up()
    await run.change(persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain"})


async def volume_claims_of_surplus_pods(run: Run) -> None:
    policy = {"whenDeleted": "Delete", "whenScaled": "Delete"}
    await run.create_set(
        volumeClaimTemplates=_TEMPLATES, persistentVolumeClaimRetentionPolicy=policy
    )
    await run.up()
    await run.change(replicas=1)
    await run.up()


SCENARIOS: dict[str, Callable[[Run], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        create,
        create_in_parallel,
        ordinals_from_5,
        scale_up_and_down,
        scale_in_parallel,
        broken_pod_blocks_creation,
        broken_pod_does_not_block_parallel_creation,
        roll,
        roll_in_parallel,
        roll_with_partition,
        partition_moves_on,
        pod_below_partition_keeps_its_template,
        update_on_delete,
        broken_update_blocks,
        broken_update_and_undo,
        roll_back,
        history_limit,
        deleted_pod_is_replaced,
        failed_pod_is_replaced,
        min_ready_seconds,
        adopts_a_pod,
        volume_claims,
        volume_claims_of_the_set,
        volume_claims_of_surplus_pods,
    )
}
