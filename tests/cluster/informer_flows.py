"""What tests of informers on a real cluster share: clients, objects and a listener."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from kinform.api import GVR
from kinform.client import Client
from kinform.informers import Backoff, DeletedObject, ReflectorOptions
from kinform.objects import Handle
from kinform.transport import ClusterConfig, Credentials, StaticToken
from tests.support.cluster import RealCluster
from tests.support.line import Line as Line

CONFIG_MAPS = GVR("", "v1", "configmaps")
EVENTS = GVR("", "v1", "events")
SECRETS = GVR("", "v1", "secrets")

PATIENCE = 60.0


def quick(**options: Any) -> ReflectorOptions:
    """Options of a reflector that does not wait long after a failure."""
    return ReflectorOptions(backoff=lambda: Backoff(0.05, cap=0.5), **options)


def config_of(cluster: RealCluster, credentials: Credentials | None = None) -> ClusterConfig:
    return ClusterConfig(
        server=cluster.url,
        certificate_authority=cluster.ca_file,
        credentials=credentials or StaticToken(cluster.admin_token),
    )


@asynccontextmanager
async def client_in_new_namespace(cluster: RealCluster) -> AsyncIterator[Client]:
    """An administrator's client."""
    namespace = f"informers-{uuid.uuid4().hex[:8]}"
    async with Client(replace(config_of(cluster), namespace=namespace)) as client:
        await create_namespace(client, namespace)
        yield client


async def create_namespace(client: Client, name: str) -> None:
    await client.create({"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}})


def config_map(name: str, *, namespace: str = "", **labels: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": labels}
    if namespace:
        metadata["namespace"] = namespace
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"k": "v"}}


def event(client: Client, name: str) -> dict[str, Any]:
    """An object of a resource that kube-apiserver does not cache."""
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": name},
        "involvedObject": {"namespace": client.namespace},
    }


class Listener:
    """A handler that remembers what it was told, in order and as text."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.initial: list[str] = []
        self.believed: dict[str, str] = {}
        self.broken_promises: list[str] = []

    async def on_add(self, obj: Handle, is_in_initial_list: bool) -> None:
        self.calls.append(f"add {obj.name}")
        if is_in_initial_list:
            self.initial.append(obj.name)
        if obj.key in self.believed:
            self.broken_promises.append(f"{obj.key} was added twice")
        self.believed[obj.key] = obj.resource_version

    async def on_update(self, old: Handle, new: Handle) -> None:
        self.calls.append(f"update {new.name}")
        if self.believed.get(new.key) != old.resource_version:
            self.broken_promises.append(f"{new.key} was updated from what was not told")
        self.believed[new.key] = new.resource_version

    async def on_delete(self, deleted: DeletedObject[Any]) -> None:
        unseen = " unseen" if deleted.final_state_unknown else ""
        self.calls.append(f"delete {deleted.name}{unseen}")
        if self.believed.pop(deleted.key, None) is None:
            self.broken_promises.append(f"{deleted.key} was deleted without having been added")
