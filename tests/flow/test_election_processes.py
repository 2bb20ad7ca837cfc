"""Processes fight for a Lease of the embedded server: never two at work, whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kinform.client import Client
from kinform.testing import ApiServer
from tests.support.election_race import (
    FAILOVER,
    LEASE,
    Race,
    cut_leader_off,
    kill_leader,
    race,
    suspend_leader,
)
from tests.support.waiting import wait_until

# The part of a failover that depends on the machine: starting work, and reading its journal.
SLACK = 5.0


@pytest.fixture
async def run(
    request: pytest.FixtureRequest, api: ApiServer, tmp_path: Path
) -> AsyncIterator[Race]:
    async with (
        Client(api.config) as client,
        race(api, api.kubeconfig(), client, tmp_path, candidates=request.param) as run,
    ):
        yield run


@pytest.mark.parametrize("run", [2, 3], indirect=True)
async def test_killed_leader_is_replaced(run: Race) -> None:
    assert await kill_leader(run) < FAILOVER + SLACK


@pytest.mark.parametrize("run", [2, 3], indirect=True)
async def test_suspended_leader_is_replaced_and_does_nothing_when_it_continues(run: Race) -> None:
    assert await suspend_leader(run) < FAILOVER + SLACK


@pytest.mark.parametrize("frozen", [False, True], ids=["cut", "frozen"])
@pytest.mark.parametrize("run", [3], indirect=True)
async def test_leader_without_network_stops_before_another_starts(run: Race, frozen: bool) -> None:
    assert await cut_leader_off(run, frozen=frozen) < FAILOVER + SLACK


@pytest.mark.parametrize("run", [2], indirect=True)
async def test_leader_that_ends_hands_over_without_waiting_for_the_lease(run: Race) -> None:
    leader = await run.worker()
    leader.end()
    _, failover = await run.new_worker(leader)
    await run.worker()
    await run.finish()

    assert failover < LEASE
    assert leader.returncode == 0
    assert await run.holder() is None
    run.check_terms()
    await run.check_writes()


@pytest.mark.parametrize("run", [3], indirect=True)
async def test_restarts_of_the_server(run: Race, api: ApiServer) -> None:
    await run.worker()
    await api.stop()
    await api.start()
    await run.worker()
    await api.stop()
    ends = len(run.events("end"))
    await wait_until(lambda: len(run.events("end")) > ends)  # the leader gave up
    await api.start()
    await run.worker()
    await run.finish()

    run.check_terms()
    await run.check_writes()
