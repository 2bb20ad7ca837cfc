"""StatefulSets of the real kube-controller-manager beside ours."""

from __future__ import annotations

import pytest

from kinform.controller_manager.workloads import stateful_set_controller
from tests.cluster.stateful_set_scenarios import SCENARIOS, StatefulSetScenario
from tests.support.beside import Beside

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def beside() -> Beside:
    return Beside(
        ("statefulset-controller",),
        (stateful_set_controller,),
        SCENARIOS,
        resources=("statefulsets", "pods", "controllerrevisions", "persistentvolumeclaims"),
        scenario_class=StatefulSetScenario,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_end_is_that_of_kube_controller_manager(beside: Beside, scenario: str) -> None:
    beside.check(scenario)


def test_writes_are_about_as_many(beside: Beside) -> None:
    assert beside.ours.writes <= 1.2 * beside.theirs.writes, (
        f"{beside.ours.writes} of ours, {beside.theirs.writes} of theirs"
    )
