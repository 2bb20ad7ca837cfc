"""What people do with DaemonSets, and what becomes of a namespace, without what varies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from kinform.objects import Unstructured
from tests.cluster.workload_scenarios import PODS, Scenario, template
from tests.support.cleaned import Cleaner, revision_names
from tests.support.simulated_kubelet import BROKEN

DAEMON_SETS = "apps/v1/daemonsets"
REVISIONS = "apps/v1/controllerrevisions"
NODES = "v1/nodes"


class DaemonSetScenario(Scenario):
    """Its nodes have a label, because all scenarios share a cluster."""

    async def nodes(self, count: int, first: int = 0) -> None:
        for number in range(first, first + count):
            labels = {"for": self.namespace, "number": str(number)}
            metadata = {"name": self.node(number), "labels": labels}
            await self.client.create({"apiVersion": "v1", "kind": "Node", "metadata": metadata})
            await self.taint(number)  # new nodes are not ready

    def node(self, number: int) -> str:
        return f"{self.namespace}-{number}"

    async def taint(self, number: int, **taints: str) -> None:
        found = [{"key": key, "effect": effect} for key, effect in taints.items()]
        await self.client.patch(NODES, self.node(number), {"spec": {"taints": found or None}})

    async def create_set(self, name: str = "agent", **spec: Any) -> None:
        labels = {"app": name}
        made = template(labels, spec.pop("image", "agent:1"))
        made["spec"] |= {"nodeSelector": {"for": self.namespace}, **spec.pop("pod", {})}
        metadata = {"name": name, "namespace": self.namespace, "annotations": {"team": "infra"}}
        selector = {"matchLabels": labels}
        await self.client.create(
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": metadata,
                "spec": {"selector": selector, "template": made, **spec},
            }
        )

    async def use(self, image: str) -> None:
        containers = template({}, image)["spec"]["containers"]
        patch = {"spec": {"template": {"spec": {"containers": containers}}}}
        await self.patch(DAEMON_SETS, "agent", patch)

    async def touch(self) -> None:
        """Cause a reconcile: without a scheduler, theirs does not know the pods of a node."""
        await self.settled()
        await self.patch(DAEMON_SETS, "agent", {"metadata": {"labels": {"touched": "yes"}}})

    async def up(self, count: int) -> None:
        """Wait until so many nodes have a pod of the current template that is available."""

        def is_up(found: Unstructured) -> bool:
            status: Any = found.get_path("status") or {}
            return bool(
                status.get("observedGeneration") == found.generation
                and status.get("desiredNumberScheduled") == count
                and status.get("updatedNumberScheduled", 0) == count
                and status.get("numberAvailable", 0) == count
            )

        await self.until(DAEMON_SETS, "agent", is_up)

    async def state(self) -> dict[str, Any]:
        sets = await self.client.list(DAEMON_SETS, namespace=self.namespace)
        revisions = await self.client.list(REVISIONS, namespace=self.namespace)
        pods = await self.client.list(PODS, namespace=self.namespace)
        names = {each.uid: each.name for each in sets}
        numbered = revision_names(revisions)
        clean = Cleaner(names, numbered)
        return {
            "sets": {each.name: clean(each) for each in sets},
            "revisions": {numbered[each.name]: clean(each) for each in revisions},
            "pods": dict(Counter(repr(clean(each)) for each in pods)),
        }


Run = DaemonSetScenario


async def create(run: Run) -> None:
    await run.nodes(3)
    await run.create_set()
    await run.up(3)


async def nodes_come(run: Run) -> None:
    await run.nodes(1)
    await run.create_set()
    await run.up(1)
    await run.nodes(2, first=1)
    await run.up(3)


async def node_leaves_the_selector(run: Run) -> None:
    await run.nodes(3)
    await run.create_set()
    await run.up(3)
    await run.client.patch(NODES, run.node(1), {"metadata": {"labels": {"for": "other"}}})
    await run.touch()
    await run.up(2)


async def node_affinity(run: Run) -> None:
    await run.nodes(4)
    number = {"key": "number", "operator": "Gt", "values": ["1"]}
    others = {"key": "metadata.name", "operator": "NotIn", "values": [run.node(3)]}
    terms = [{"matchExpressions": [number], "matchFields": [others]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    await run.create_set(pod={"affinity": {"nodeAffinity": required}})
    await run.up(1)


async def taints_keep_pods_away(run: Run) -> None:
    await run.nodes(3)
    await run.taint(0, dedicated="NoSchedule")
    await run.taint(1, dedicated="NoExecute")
    await run.create_set()
    await run.up(1)


async def tolerations(run: Run) -> None:
    await run.nodes(2)
    await run.taint(0, dedicated="NoSchedule")
    tolerated = {"key": "dedicated", "operator": "Exists"}
    await run.create_set(pod={"tolerations": [tolerated], "hostNetwork": True})
    await run.up(2)


async def taints_drive_pods_out(run: Run) -> None:
    await run.nodes(3)
    await run.create_set()
    await run.up(3)
    await run.taint(0, dedicated="NoSchedule")
    await run.taint(1, dedicated="NoExecute")
    await run.touch()
    await run.up(1)


async def roll(run: Run) -> None:
    await run.nodes(3)
    await run.create_set()
    await run.up(3)
    await run.use("agent:2")
    await run.up(3)


async def roll_with_percentage(run: Run) -> None:
    await run.nodes(5)
    rolling = {"maxUnavailable": "50%"}
    await run.create_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    await run.up(5)
    await run.use("agent:2")
    await run.up(5)


async def roll_with_surge(run: Run) -> None:
    await run.nodes(4)
    rolling: dict[str, Any] = {"maxUnavailable": 0, "maxSurge": 2}
    await run.create_set(updateStrategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    await run.up(4)
    await run.use("agent:2")
    await run.up(4)


async def update_on_delete(run: Run) -> None:
    await run.nodes(2)
    await run.create_set(updateStrategy={"type": "OnDelete"})
    await run.up(2)
    await run.use("agent:2")
    await run.settled()
    for pod in await run.client.list(PODS, namespace=run.namespace):
        if run.node(1) in str(pod.get_path("spec.affinity")):
            await run.client.delete(PODS, pod.name, namespace=run.namespace)
    await run.until(
        DAEMON_SETS,
        "agent",
        lambda each: bool(
            each.get_path("status.updatedNumberScheduled") == 1
            and each.get_path("status.numberAvailable") == 2
        ),
    )


async def broken_update_and_undo(run: Run) -> None:
    await run.nodes(1)
    await run.create_set()
    await run.up(1)
    await run.use(f"{BROKEN}:2")
    await run.until(
        DAEMON_SETS,
        "agent",
        lambda each: bool(
            each.get_path("status.observedGeneration") == each.generation
            and each.get_path("status.updatedNumberScheduled") == 1
            and each.get_path("status.numberUnavailable") == 1
        ),
    )
    await run.settled()
    await run.use("agent:1")
    await run.up(1)


async def roll_back(run: Run) -> None:
    await run.nodes(2)
    await run.create_set()
    await run.up(2)
    for image in ("agent:2", "agent:3", "agent:1"):
        await run.use(image)
        await run.up(2)


async def history_limit(run: Run) -> None:
    await run.nodes(1)
    await run.create_set(revisionHistoryLimit=2)
    await run.up(1)
    for number in range(2, 6):
        await run.use(f"agent:{number}")
        await run.up(1)


async def deleted_pod_is_replaced(run: Run) -> None:
    await run.nodes(2)
    await run.create_set()
    await run.up(2)
    pods = await run.client.list(PODS, namespace=run.namespace)
    await run.client.delete(PODS, pods[0].name, namespace=run.namespace)
    await run.settled()
    await run.up(2)


async def failed_pod_is_replaced(run: Run) -> None:
    await run.nodes(2)
    await run.create_set()
    await run.up(2)
    pods = await run.client.list(PODS, namespace=run.namespace)
    failed = {"status": {"phase": "Failed"}}
    await run.client.patch(
        PODS, pods[0].name, failed, namespace=run.namespace, subresource="status"
    )
    await run.settled()
    await run.up(2)


async def min_ready_seconds(run: Run) -> None:
    await run.nodes(2)
    await run.create_set(minReadySeconds=2)
    await run.up(2)


SCENARIOS: dict[str, Callable[[Run], Awaitable[None]]] = {
    each.__name__: each
    for each in (
        create,
        nodes_come,
        node_leaves_the_selector,
        node_affinity,
        taints_keep_pods_away,
        tolerations,
        taints_drive_pods_out,
        roll,
        roll_with_percentage,
        roll_with_surge,
        update_on_delete,
        broken_update_and_undo,
        roll_back,
        history_limit,
        deleted_pod_is_replaced,
        failed_pod_is_replaced,
        min_ready_seconds,
    )
}
