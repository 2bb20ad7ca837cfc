"""The real kube-controller-manager beside ours: the same scenarios, the same end, as few writes."""

from __future__ import annotations

import pytest

from kinform.controller_manager.workloads import deployment_controller, replica_set_controller
from tests.cluster.workload_scenarios import SCENARIOS
from tests.support.beside import Beside

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def beside() -> Beside:
    return Beside(
        ("deployment-controller", "replicaset-controller"),
        (deployment_controller, replica_set_controller),
        SCENARIOS,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_end_is_that_of_kube_controller_manager(beside: Beside, scenario: str) -> None:
    beside.check(scenario)


def test_writes_are_about_as_many(beside: Beside) -> None:
    assert beside.ours.writes <= 1.2 * beside.theirs.writes
