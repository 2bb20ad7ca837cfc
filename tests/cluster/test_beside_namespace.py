"""Our namespace controller beside that of kube-controller-manager."""

from __future__ import annotations

import pytest

from kinform.controller_manager.workloads import namespace_controller
from tests.cluster.namespace_scenarios import SCENARIOS, NamespaceScenario
from tests.support.beside import Beside

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def beside() -> Beside:
    return Beside(
        ("namespace-controller",),
        (namespace_controller,),
        SCENARIOS,
        resources=("namespaces", "configmaps", "pods", "deployments"),
        scenario_class=NamespaceScenario,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_end_is_that_of_kube_controller_manager(beside: Beside, scenario: str) -> None:
    beside.check(scenario)


def test_writes_are_about_as_many(beside: Beside) -> None:
    assert beside.ours.writes <= 1.2 * beside.theirs.writes
