"""The contract of kube-controller-manager's way of running controllers, on both servers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.controller_manager import ControllerContext, ControllerManager, ControllerRegistry
from kinform.errors import ShutdownTimeoutError
from tests.contract.cache_server import CacheServer
from tests.support.waiting import wait_until


async def test_controllers_that_end_when_asked_are_a_clean_shutdown(server: CacheServer) -> None:
    """cr-50: all controllers run at once, and the end of all is waited for."""
    running: set[str] = set()
    registry = ControllerRegistry()

    def build(context: ControllerContext) -> Any:
        async def run() -> None:
            running.add(context.name)
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                running.remove(context.name)

        return run

    for name in ("one", "two", "three"):
        registry.controller(name)(build)
    async with ControllerManager(server.client, registry=registry, grace=10.0) as manager:
        await wait_until(lambda: running == {"one", "two", "three"})

    assert running == set()
    assert manager.failure is None


async def test_a_controller_that_goes_on_is_named_when_the_time_is_up(server: CacheServer) -> None:
    """cr-50: the shutdown does not wait for ever."""
    started, let_go = asyncio.Event(), asyncio.Event()
    registry = ControllerRegistry()

    @registry.controller("stuck")
    def build(context: ControllerContext) -> Any:
        async def run() -> None:
            started.set()
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue

        return run

    manager = ControllerManager(server.client, registry=registry, grace=0.1)
    running = asyncio.create_task(manager.run())
    try:
        async with asyncio.timeout(20):
            await started.wait()
        manager.stop()
        with pytest.raises(ShutdownTimeoutError, match="stuck"):
            await running
    finally:
        let_go.set()
