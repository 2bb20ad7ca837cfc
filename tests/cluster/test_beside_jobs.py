"""Jobs with the real kube-controller-manager and with ours: the same end, as few writes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kinform import Client
from kinform.controller_manager.workloads import job_controller, ttl_after_finished_controller
from tests.cluster.job_scenarios import SCENARIOS, JobScenario
from tests.support.beside import Beside
from tests.support.cluster import RealCluster
from tests.support.job_kubelet import JobKubelet

pytestmark = pytest.mark.cluster


class JobsBeside(Beside):
    """Both sides with a kubelet that ends pods."""

    @asynccontextmanager
    async def _their_side(self, cluster: RealCluster) -> AsyncIterator[None]:
        async with _ending_pods(cluster), super()._their_side(cluster):
            yield

    @asynccontextmanager
    async def _our_side(self, cluster: RealCluster) -> AsyncIterator[None]:
        async with _ending_pods(cluster), super()._our_side(cluster):
            yield


@asynccontextmanager
async def _ending_pods(cluster: RealCluster) -> AsyncIterator[None]:
    async with (
        Client.from_kubeconfig(cluster.kubeconfig) as client,
        JobKubelet(client).running(),
    ):
        yield


@pytest.fixture(scope="module")
def beside() -> Beside:
    return JobsBeside(
        ("job-controller", "ttl-after-finished-controller"),
        (job_controller, ttl_after_finished_controller),
        SCENARIOS,
        resources=("jobs", "pods"),
        scenario_class=JobScenario,
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_end_is_that_of_kube_controller_manager(beside: Beside, scenario: str) -> None:
    beside.check(scenario)


def test_writes_are_about_as_many(beside: Beside) -> None:
    assert beside.ours.writes <= 1.2 * beside.theirs.writes
