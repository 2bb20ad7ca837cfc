"""Processes fight for a Lease of a real kube-apiserver, in Python and in Go."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from msgspec.structs import replace

from kinform.client import Client
from tests.cluster.informer_flows import config_of, create_namespace
from tests.support.built import built_or_skip
from tests.support.cluster import RealCluster
from tests.support.election_race import (
    FAILOVER,
    LEASE,
    PATIENCE,
    CandidateProcess,
    Race,
    cut_leader_off,
    kill_leader,
    race,
    suspend_leader,
)
from tests.support.line import Line
from tests.support.waiting import wait_until
from tools.cluster_binaries import built
from tools.go_programs import ELECTOR

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(180)]

# The part of a failover that depends on the machine: starting work, and reading its journal.
SLACK = 5.0
# client-go cuts off fractions of a second in the Lease.
WHOLE_SECONDS = (3.0, 2.0, 0.4)


async def _client(cluster: RealCluster, stack: AsyncExitStack) -> Client:
    namespace = f"election-{uuid.uuid4().hex[:8]}"
    config = replace(config_of(cluster), namespace=namespace)
    client = await stack.enter_async_context(Client(config))
    await create_namespace(client, namespace)
    return client


@pytest.fixture
async def run(
    request: pytest.FixtureRequest, real_cluster: RealCluster, tmp_path: Path
) -> AsyncIterator[Race]:
    async with AsyncExitStack() as stack:
        client = await _client(real_cluster, stack)
        kubeconfig = real_cluster.kubeconfig
        contest = race(real_cluster, kubeconfig, client, tmp_path, candidates=request.param)
        yield await stack.enter_async_context(contest)


@pytest.mark.parametrize("run", [3], indirect=True)
async def test_killed_leader_is_replaced(run: Race) -> None:
    assert await kill_leader(run) < FAILOVER + SLACK


@pytest.mark.parametrize("run", [2], indirect=True)
async def test_suspended_leader_is_replaced_and_does_nothing_when_it_continues(run: Race) -> None:
    assert await suspend_leader(run) < FAILOVER + SLACK


@pytest.mark.parametrize("frozen", [False, True], ids=["cut", "frozen"])
@pytest.mark.parametrize("run", [2], indirect=True)
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
    assert await run.holder() is None
    run.check_terms()
    await run.check_writes()


async def test_restart_of_the_server(tmp_path: Path) -> None:
    """Of a server of its own: other tests share theirs."""
    built_or_skip(built)
    with RealCluster() as cluster:
        async with AsyncExitStack() as stack:
            client = await _client(cluster, stack)
            contest = race(cluster, cluster.kubeconfig, client, tmp_path, candidates=3)
            run = await stack.enter_async_context(contest)
            await run.worker()
            cluster.kill_apiserver()
            ends = len(run.events("end"))
            await wait_until(lambda: len(run.events("end")) > ends, timeout=PATIENCE)
            cluster.start_apiserver()
            await run.worker()
            await run.finish()

            run.check_terms()
            await run.check_writes()


async def test_candidates_of_client_go_and_kinform_share_a_lease(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    program = built_or_skip(ELECTOR.built)
    async with AsyncExitStack() as stack:
        client = await _client(real_cluster, stack)

        async def start(identity: str, *command: str) -> CandidateProcess:
            line = await stack.enter_async_context(Line(real_cluster))
            options = {"program": command} if command else {}
            process = CandidateProcess(identity, tmp_path, line, durations=WHOLE_SECONDS, **options)
            process.start(real_cluster.kubeconfig, client.namespace)
            stack.callback(process.kill)
            return process

        first = await start("go-1", str(program))
        run = Race([first], client)
        assert await run.worker() is first
        python = run.candidates["python"] = await start("python")
        await wait_until(lambda: len(python.events) > 0, timeout=PATIENCE)
        first.kill()
        successor, after_kill = await run.new_worker(first)
        assert successor is python
        assert after_kill >= WHOLE_SECONDS[1]
        second = run.candidates["go-2"] = await start("go-2", str(program))
        await wait_until(lambda: len(second.events) > 0, timeout=PATIENCE)
        await run.worker()
        python.end()
        successor, after_release = await run.new_worker(python)
        assert successor is second
        assert after_release < WHOLE_SECONDS[0]
        last = run.candidates["python-2"] = await start("python-2")
        await wait_until(lambda: len(last.events) > 0, timeout=PATIENCE)
        second.end()
        successor, after_release = await run.new_worker(second)
        assert successor is last
        assert after_release < WHOLE_SECONDS[0]
        await run.finish()

        run.check_terms()
        assert [each.token for each in run.events("end")] == [1, 3]
