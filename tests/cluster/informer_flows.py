"""What tests of informers on a real cluster lean on: a line that can be cut, and a listener."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from msgspec.structs import replace

from kinform.api import GVR
from kinform.client import Client
from kinform.informers import Backoff, DeletedObject, ReflectorOptions
from kinform.objects import Handle
from kinform.transport import ClusterConfig, Credentials, StaticToken
from tests.support.cluster import RealCluster

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


class Line:
    """A TCP line to the server that can be cut and mended: ``async with Line(cluster)``."""

    def __init__(self, cluster: RealCluster) -> None:
        self._cluster = cluster
        self._port = int(cluster.url.rpartition(":")[2])
        self._connections: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.is_cut = False

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def through(self, config: ClusterConfig) -> ClusterConfig:
        return replace(config, server=f"https://127.0.0.1:{self.port}")

    def drop(self) -> None:
        """End what is open; who connects again gets through."""
        for writer in self._connections:
            writer.transport.abort()

    def cut(self) -> None:
        """End what is open, and let nobody through until it is mended."""
        self.is_cut = True
        self.drop()

    def mend(self) -> None:
        self.is_cut = False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections.add(writer)
        try:
            with contextlib.suppress(OSError):
                if not self.is_cut:
                    await self._carry(reader, writer)
        finally:
            writer.transport.abort()
            self._connections.discard(writer)
            self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, before = await asyncio.open_connection("127.0.0.1", self._port)
        self._connections.add(before)
        try:
            ways = [
                asyncio.ensure_future(_copy(reader, before)),
                asyncio.ensure_future(_copy(behind, writer)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            before.transport.abort()
            self._connections.discard(before)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


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
