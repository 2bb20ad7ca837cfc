"""Delayed starts: a stop does not wait for them, and recorders run as long as controllers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform import Client, ClusterConfig
from kinform.controller_manager._context import ControllerContext
from kinform.controller_manager._start import StaggeredController, staggered
from kinform.controllers import Cluster, EventRecorder
from tests.support.managed_fakes import FakeController


@pytest.fixture
def context() -> ControllerContext:
    client = Client(ClusterConfig(server="http://127.0.0.1:9"))
    shared: Any = None
    return ControllerContext("web", Cluster(client), EventRecorder(client, "web"), shared)


async def test_the_controller_gets_its_own_cluster_and_recorder(context: ControllerContext) -> None:
    inner = FakeController("web", [], needs_leader=False)
    outer = StaggeredController(inner, context, lambda: 0.0)
    await outer.warm_up(Cluster(context.live), recorder="of the manager")

    assert (inner.cluster, inner.recorder) == (context.cluster, context.recorder)
    assert context.recorder.is_running
    assert (outer.name, outer.needs_leader, outer.problems()) == ("web", False, ())
    assert outer.status() == inner.status()
    await outer.close()
    assert context.recorder.is_stopped
    assert inner.journal == ["web warms up", "web is closed"]


async def test_work_begins_after_the_delay(context: ControllerContext) -> None:
    inner = FakeController("web", [])
    outer = StaggeredController(inner, context, lambda: 0.01)
    await outer.warm_up(context.cluster)
    work = asyncio.create_task(outer.work("leadership"))
    await asyncio.sleep(0)
    assert inner.leaderships == []
    async with asyncio.timeout(10):
        while not inner.leaderships:  # noqa: ASYNC110  # the fake has no event for it
            await asyncio.sleep(0.005)
    outer.stop()
    await work
    await outer.close()

    assert inner.leaderships == ["leadership"]
    assert "web finished" in inner.journal


async def test_a_stop_ends_the_delay(context: ControllerContext) -> None:
    inner = FakeController("web", [])
    outer = StaggeredController(inner, context, lambda: 3600.0)
    await outer.warm_up(context.cluster)
    work = asyncio.create_task(outer.work())
    await asyncio.sleep(0)
    outer.stop()
    async with asyncio.timeout(10):
        await work
    await outer.close()


async def test_a_controller_can_be_warmed_up_again(context: ControllerContext) -> None:
    inner = FakeController("web", [])
    outer = StaggeredController(inner, context, lambda: 0.0)
    for _ in range(2):
        await outer.warm_up(context.cluster)
        assert context.recorder.is_running
        await outer.close()


async def test_a_function_runs_with_its_recorder_after_the_delay(
    context: ControllerContext,
) -> None:
    seen: list[bool] = []

    async def run() -> None:
        seen.append(context.recorder.is_running)

    await staggered(run, context, lambda: 0.001)()

    assert seen == [True]
    assert context.recorder.is_stopped
