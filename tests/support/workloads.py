"""A small cluster for the controllers of workloads: a server, a manager and a kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, TypeVar

from kinform import Client, NotFoundError
from kinform.controllers import (
    Controller,
    EventRecorder,
    Manager,
    Request,
    controller_of,
    wait_until,
)
from kinform.errors import ConflictError
from kinform.models.apps.v1 import Deployment, ReplicaSet
from kinform.models.core.v1 import Pod
from kinform.models.events.v1 import Event
from kinform.objects import TypedObject
from kinform.testing import ApiServer

M = TypeVar("M", bound=TypedObject)

TIMEOUT = 20.0


class Kubelet:
    """Starts each pod, unless told otherwise. It schedules nothing.

    Attributes:
        is_ready: Decides whether a started pod becomes ready.
        keeps_deleted: Whether deleted pods take their grace period; else they go at once.
    """

    def __init__(self, client: Client, manager: Manager) -> None:
        self._client = client
        self._manager = manager
        self.is_ready: Callable[[Pod], bool] = lambda _: True
        self.keeps_deleted = False

    async def run(self) -> None:
        """Start pods until cancelled."""
        informer = await self._manager.cache.get_informer(Pod)
        async with informer.events(name="kubelet") as events:
            async for event in events:
                if event.deleted is None and event.object is not None:
                    await self.look_at(event.object)

    async def look_at(self, pod: Pod) -> None:
        """Bring a pod to its next state."""
        with suppress(NotFoundError, ConflictError):
            if pod.metadata.deletion_timestamp is not None:
                if not self.keeps_deleted:
                    await self._client.delete(
                        Pod, pod.name, namespace=pod.namespace, grace_period=0, uid=pod.uid
                    )
            elif pod.status.phase in ("", "Pending"):
                await self.set_status(pod, "Running", ready=self.is_ready(pod))

    async def look_again(self) -> None:
        """Make the pods ready that are allowed to be by now."""
        for pod in await self._client.list(Pod):
            if pod.status.phase == "Running" and self.is_ready(pod):
                await self.set_status(pod, "Running", ready=True)

    async def fail(self, pod: Pod) -> None:
        """End a pod with a failure."""
        await self.set_status(pod, "Failed", ready=False)

    async def set_status(self, pod: Pod, phase: str, *, ready: bool) -> None:
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        status = str(ready)
        condition = {"type": "Ready", "status": status, "lastTransitionTime": at}
        patch = {"status": {"phase": phase, "conditions": [condition]}}
        await self._client.patch(
            Pod, pod.name, patch, namespace=pod.namespace, subresource="status"
        )


class LiveWorkloads:
    """What a test on any server uses: the client, the manager and the kubelet."""

    def __init__(self, client: Client, manager: Manager, kubelet: Kubelet) -> None:
        self.client = client
        self.manager = manager
        self.kubelet = kubelet

    async def wait(self, kind: type[M], name: str, condition: Callable[[M], bool]) -> M:
        """Wait until an object of the default namespace is in a wanted state."""
        return await wait_until(
            self.manager.cache, f"default/{name}", condition, kind=kind, timeout=TIMEOUT
        )

    async def pods(self) -> list[Pod]:
        """The pods that were not deleted."""
        found = await self.client.list(Pod, namespace="default")
        return [pod for pod in found if pod.metadata.deletion_timestamp is None]

    async def replica_sets(self) -> list[ReplicaSet]:
        """All ReplicaSets, by revision."""
        found = await self.client.list(ReplicaSet, namespace="default")
        return sorted(found, key=revision_of)

    async def owned_pods(self, owner: TypedObject) -> list[Pod]:
        return [
            pod
            for pod in await self.pods()
            if (found := controller_of(pod)) is not None and found.uid == owner.uid
        ]

    async def settled(self, name: str) -> Deployment:
        """Wait until a Deployment has rolled out, as ``kubectl rollout status`` does."""
        return await self.wait(Deployment, name, is_rolled_out)

    async def until(self, condition: Callable[[list[Pod]], bool]) -> None:
        """Wait until the pods that were not deleted are as wanted."""
        async with asyncio.timeout(TIMEOUT):
            while not condition(await self.pods()):  # noqa: ASYNC110  # read from the server
                await asyncio.sleep(0.02)

    async def has_event(self, reason: str) -> list[str]:
        """Wait for an event of a reason, and return the messages of all of them."""
        async with asyncio.timeout(TIMEOUT):
            while not (found := await self.events(reason)):  # noqa: ASYNC110  # the same
                await asyncio.sleep(0.02)
            return found

    async def events(self, reason: str) -> list[str]:
        """Return the messages of the events of a reason."""
        found = await self.client.list(Event, namespace="default")
        return [each.note for each in found if each.reason == reason]


def revision_of(obj: Any) -> int:
    """The revision of a Deployment or ReplicaSet; 0 without one."""
    return int(obj.metadata.annotations.get("deployment.kubernetes.io/revision", "0"))


def is_rolled_out(deployment: Deployment) -> bool:
    status, replicas = deployment.status, deployment.spec.replicas
    return (
        status.observed_generation == deployment.generation
        and status.updated_replicas == replicas
        and status.replicas == replicas
        and status.available_replicas == replicas
        and any(each.reason == "NewReplicaSetAvailable" for each in status.conditions)
    )


class Workloads(LiveWorkloads):
    """The same, on the embedded server."""

    def __init__(
        self, server: ApiServer, client: Client, manager: Manager, kubelet: Kubelet
    ) -> None:
        super().__init__(client, manager, kubelet)
        self.server = server


@asynccontextmanager
async def running_workloads(
    controllers: Sequence[Controller[Request]],
) -> AsyncIterator[Workloads]:
    """The embedded server with a manager that runs the controllers, and a kubelet."""
    async with (
        ApiServer() as server,
        Client(server.config) as client,
        live_workloads(client, controllers) as found,
    ):
        yield Workloads(server, client, found.manager, found.kubelet)


@asynccontextmanager
async def live_workloads(
    client: Client, controllers: Sequence[Controller[Request]]
) -> AsyncIterator[LiveWorkloads]:
    """A manager that runs the controllers on a server, and a kubelet."""
    manager = Manager(client, recorder=EventRecorder(client, "workloads"))
    for each in controllers:
        manager.add(each)
    async with manager:
        kubelet = Kubelet(client, manager)
        task = asyncio.create_task(kubelet.run())
        try:
            yield LiveWorkloads(client, manager, kubelet)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


def pod_template(image: str = "web:1", app: str = "web") -> dict[str, Any]:
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }


def replica_set(name: str = "web", *, replicas: int = 3, **spec: Any) -> ReplicaSet:
    return ReplicaSet.from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": pod_template(),
                **spec,
            },
        }
    )


def deployment(
    name: str = "web", *, replicas: int = 3, image: str = "web:1", **spec: Any
) -> Deployment:
    return Deployment.from_dict(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "template": pod_template(image),
                **spec,
            },
        }
    )
