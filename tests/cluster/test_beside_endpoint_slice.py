"""The EndpointSlices of kube-controller-manager beside ours."""

from __future__ import annotations

import pytest

from kinform.controller_manager.workloads import endpoint_slice_controller
from tests.cluster.endpoint_slice_scenarios import SCENARIOS, EndpointScenario
from tests.support.beside import Beside

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def beside() -> Beside:
    return Beside(
        ("endpointslice-controller",),
        (endpoint_slice_controller,),
        SCENARIOS,
        resources=("endpointslices",),
        scenario_class=EndpointScenario,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_end_is_that_of_kube_controller_manager(beside: Beside, scenario: str) -> None:
    beside.check(scenario)


def test_writes_are_about_as_many(beside: Beside) -> None:
    assert beside.ours.writes <= 1.2 * beside.theirs.writes
