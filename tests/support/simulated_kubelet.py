"""A kubelet without a machine: pods become ready, fail, or go, as a test wants."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any

from kinform import Client, SharedInformerFactory
from kinform.errors import KinformError
from kinform.models.core.v1 import Pod

BROKEN = "broken"
"""The image of containers that never become ready."""


class SimulatedKubelet:
    """Marks pods as running and ready, and removes those that are deleted.

    Args:
        client: The client of the cluster.
        is_ready: Whether a pod becomes ready; by default, unless its image is ``broken``.
    """

    def __init__(self, client: Client, is_ready: Callable[[Pod], bool] | None = None) -> None:
        self._client = client
        self._is_ready = is_ready or _has_good_image
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look after all pods of the cluster."""
        factory = SharedInformerFactory(self._client)
        pods = factory.core.v1.pods.informer
        pods.add_event_handler(on_add=self._attend, on_update=lambda _, pod: self._attend(pod))
        async with factory:
            await factory.wait_for_cache_sync(timeout=30, strict=True)
            try:
                yield
            finally:
                for task in self._tasks:
                    task.cancel()
                await asyncio.gather(*self._tasks, return_exceptions=True)

    def _attend(self, pod: Pod) -> None:
        if pod.metadata.deletion_timestamp is not None:
            self._start(self._remove(pod))
        elif pod.status.phase == "Pending":
            self._start(self._run(pod))

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, pod: Pod) -> None:
        status = running_status(pod, is_ready=self._is_ready(pod))
        with suppress(KinformError):  # gone meanwhile, or changed, which comes as an event
            await self._client.patch(
                Pod, pod.name, {"status": status}, namespace=pod.namespace, subresource="status"
            )

    async def _remove(self, pod: Pod) -> None:
        with suppress(KinformError):
            await self._client.delete(Pod, pod.name, namespace=pod.namespace, grace_period=0)


def running_status(pod: Pod, *, is_ready: bool) -> dict[str, Any]:
    """Return the status of a pod that runs."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = "True" if is_ready else "False"
    types = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    states = {"ContainersReady": ready, "Ready": ready}
    return {
        "phase": "Running",
        "startTime": now,
        "conditions": [
            {"type": each, "status": states.get(each, "True"), "lastTransitionTime": now}
            for each in types
        ],
    }


def _has_good_image(pod: Pod) -> bool:
    return all(BROKEN not in (each.image or "") for each in pod.spec.containers)
