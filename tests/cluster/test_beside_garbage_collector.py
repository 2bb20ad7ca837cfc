"""The garbage collector of kube-controller-manager beside ours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from kinform.controller_manager.workloads import garbage_collector_controller
from tests.cluster.garbage_collector_scenarios import SCENARIOS, GarbageScenario
from tests.support.beside import Beside

pytestmark = pytest.mark.cluster


def started(
    scenario: Callable[[GarbageScenario], Awaitable[None]],
) -> Callable[[GarbageScenario], Awaitable[None]]:
    async def play(run: GarbageScenario) -> None:
        await run.begin()
        await scenario(run)

    return play


@pytest.fixture(scope="module")
def beside() -> Beside:
    return Beside(
        ("garbage-collector-controller",),
        (garbage_collector_controller,),
        {name: started(each) for name, each in SCENARIOS.items()},
        resources=("configmaps", "pods", "clusterroles", "widgets"),
        scenario_class=GarbageScenario,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_end_is_that_of_kube_controller_manager(beside: Beside, scenario: str) -> None:
    beside.check(scenario)


def test_writes_are_about_as_many(beside: Beside) -> None:
    assert beside.ours.writes <= 1.2 * beside.theirs.writes
