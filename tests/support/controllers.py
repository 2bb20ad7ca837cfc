"""Controllers that run for the time of a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from kinform import Client
from kinform.controllers import Cluster, Context, Controller, Request, Result
from kinform.controllers.election import Leadership
from kinform.testing import ApiServer
from tests.support.waiting import wait_until


@asynccontextmanager
async def running_cluster(server: ApiServer, name: str = "") -> AsyncIterator[Cluster]:
    """A cluster of the embedded server, whose cache runs."""
    async with Client(server.config) as client:
        cluster = Cluster(client, name=name)
        async with cluster.cache:
            yield cluster


@asynccontextmanager
async def running(
    controller: Controller[Any], cluster: Cluster, leadership: Leadership | None = None
) -> AsyncIterator[Controller[Any]]:
    """The controller while it works; closed afterwards."""
    await controller.warm_up(cluster)
    work = asyncio.create_task(controller.work(leadership))
    try:
        yield controller
    finally:
        work.cancel()
        with suppress(asyncio.CancelledError):
            await work
        await controller.close()


class Reconciles:
    """A reconciler that remembers its calls, and returns what ``answer`` returns.

    Attributes:
        calls: The key, attempt and priority of each call.
    """

    def __init__(self, answer: Callable[[Context[Any]], Result] = lambda _: None) -> None:
        self.calls: list[tuple[str, int, int]] = []
        self._answer = answer

    async def reconcile(self, request: Request, context: Context[Any]) -> Result:
        self.calls.append((str(request), context.attempt, context.priority))
        return self._answer(context)

    @property
    def keys(self) -> list[str]:
        return [key for key, _, _ in self.calls]

    async def called(self, count: int) -> list[str]:
        """Wait for so many calls, and return their keys."""
        await wait_until(lambda: len(self.calls) >= count)
        return self.keys
