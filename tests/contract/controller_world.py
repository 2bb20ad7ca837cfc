"""Controllers in a namespace of their own, on either server; sources and metrics that tell."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kinform import Cache
from kinform.controllers import Cluster, Context, OpenSource, Request, Result, Source
from kinform.metrics import NoMetrics
from kinform.workqueue import ExponentialBackoff, WorkQueue
from tests.contract.cache_server import CacheServer
from tests.support.waiting import wait_until


class ControllerWorld:
    """A cluster whose cache runs, limited to a new namespace.

    Attributes:
        server: The server.
        cluster: The cluster.
        namespace: The namespace.
    """

    def __init__(self, server: CacheServer, cluster: Cluster, namespace: str) -> None:
        self.server = server
        self.cluster = cluster
        self.namespace = namespace

    async def create_map(self, name: str, **labels: str) -> Any:
        return await self.server.create_map(name, self.namespace, **labels)

    async def label_map(self, name: str, **labels: str) -> None:
        await self.server.client.patch(
            "v1/configmaps", name, {"metadata": {"labels": labels}}, namespace=self.namespace
        )

    async def create_secret(self, name: str) -> None:
        await self.server.client.create(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": self.namespace},
            }
        )

    def request(self, name: str) -> Request:
        return Request(self.namespace, name)


@asynccontextmanager
async def controller_world(server: CacheServer) -> AsyncIterator[ControllerWorld]:
    namespace = await server.new_namespace()
    cluster = Cluster(server.client, cache=Cache(server.client, namespace=namespace))
    async with cluster.cache:
        yield ControllerWorld(server, cluster, namespace)


def soon() -> ExponentialBackoff:
    """Backoff that no test has to wait for."""
    return ExponentialBackoff(base=0.001, cap=0.01)


class Seen:
    """A reconciler that remembers its calls and follows a script.

    Args:
        script: What each call returns, or raises; ``None`` after its end.

    Attributes:
        calls: The name, attempt and priority of each call.
    """

    def __init__(self, *script: Result | BaseException) -> None:
        self.calls: list[tuple[str, int, int]] = []
        self._script = list(script)

    async def reconcile(self, request: Request, context: Context[Any]) -> Result:
        self.calls.append((request.name, context.attempt, context.priority))
        answer = self._script.pop(0) if self._script else None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def names(self) -> list[str]:
        return [name for name, _, _ in self.calls]

    @property
    def attempts(self) -> list[int]:
        return [attempt for _, attempt, _ in self.calls]

    @property
    def priorities(self) -> list[int]:
        return [priority for _, _, priority in self.calls]

    async def called(self, count: int) -> None:
        await wait_until(lambda: len(self.calls) >= count)


class HeldSource(Source[Any]):
    """A source that has delivered what exists when the test says so.

    Attributes:
        opened: What was opened, in order.
    """

    def __init__(self, name: str = "held") -> None:
        self.name = name
        self.opened: list[OpenSource] = []
        self.on_open: Callable[[WorkQueue[Any]], None] = lambda _: None

    def open(self, queue: WorkQueue[Any], cluster: Cluster) -> OpenSource:
        self.opened.append(OpenSource(self.name))
        self.on_open(queue)
        return self.opened[-1]

    def sync(self) -> None:
        self.opened[-1].has_synced.set()


class CountedReconciles(NoMetrics):
    """Metrics that remember how reconciles ended."""

    def __init__(self) -> None:
        self.results: list[str] = []
        self.timeouts = 0
        self.started = 0
        self.stopped = 0

    def workers_started(self, controller: str, workers: int, active: Callable[[], int]) -> None:
        self.started += 1

    def reconciled(self, controller: str, result: str, seconds: float) -> None:
        self.results.append(result)

    def reconcile_timed_out(self, controller: str) -> None:
        self.timeouts += 1

    def workers_stopped(self, controller: str) -> None:
        self.stopped += 1


def tasks() -> set[asyncio.Task[Any]]:
    """All tasks but this one."""
    return asyncio.all_tasks() - {asyncio.current_task()}
