"""Runs a controller with its own cluster and recorder, after a delay of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kinform.controller_manager._context import ControllerContext
from kinform.controllers import Cluster, EventRecorder, ManagedController

Delay = Callable[[], float]
"""Returns how many seconds to wait before a controller starts to work."""


class StaggeredController:
    """A controller as the manager runs it: it keeps its identity, and its start is delayed.

    Args:
        controller: The controller.
        context: What it was built with.
        delay: The delay before its work.
    """

    def __init__(
        self, controller: ManagedController, context: ControllerContext, delay: Delay
    ) -> None:
        self._controller = controller
        self._context = context
        self._delay = delay
        self._is_stopping = asyncio.Event()

    @property
    def name(self) -> str:
        return self._controller.name

    @property
    def needs_leader(self) -> bool:
        return self._controller.needs_leader

    @property
    def metrics(self) -> Any:
        """The metrics of the controller, which the manager sets if there are none."""
        return self._controller.metrics  # type: ignore[attr-defined]

    @metrics.setter
    def metrics(self, metrics: Any) -> None:
        self._controller.metrics = metrics  # type: ignore[attr-defined]

    async def warm_up(self, cluster: Cluster, *, recorder: Any = None) -> None:
        """Warm up with the cluster and the recorder of the controller, not of the manager."""
        self._is_stopping = asyncio.Event()
        if not self._context.recorder.is_running:
            self._context.recorder.start()
        await self._controller.warm_up(self._context.cluster, recorder=self._context.recorder)

    async def work(self, leadership: Any = None) -> None:
        """Wait for a moment, so that not all controllers begin at once, and then work."""
        delay = self._delay()
        if delay > 0:
            try:
                async with asyncio.timeout(delay):
                    await self._is_stopping.wait()
            except TimeoutError:
                pass
        await self._controller.work(leadership)

    def stop(self) -> None:
        self._is_stopping.set()
        self._controller.stop()

    async def close(self) -> None:
        await self._controller.close()
        await stop_recorder(self._context.recorder)

    def status(self) -> Any:
        return self._controller.status()

    def problems(self) -> tuple[str, ...]:
        return self._controller.problems()

    def __repr__(self) -> str:
        return f"<StaggeredController {self.name!r}>"


def staggered(
    function: Callable[[], Awaitable[object]], context: ControllerContext, delay: Delay
) -> Callable[[], Awaitable[None]]:
    """Return a function that does the same after a delay, while the recorder runs."""

    async def run() -> None:
        recorder = context.recorder
        if not recorder.is_running:
            recorder.start()
        try:
            await asyncio.sleep(delay())
            await function()
        finally:
            await stop_recorder(recorder)

    return run


async def stop_recorder(recorder: EventRecorder) -> None:
    """Write the last events, which takes a bounded time."""
    if recorder.is_running:
        recorder.stop()
        await recorder.stopped
