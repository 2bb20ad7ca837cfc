"""The contract of leader election: what client-go's tests and those of its users guarantee."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from kinform.controllers import LeaderElector, Leadership, LeaseRecord
from kinform.errors import ConfigError
from kinform.metrics import NoMetrics
from kinform.testing import virtual_time
from tests.support.leases import LeaseRequests, LeaseServer, conflict, elector_of, server_error
from tests.support.waiting import wait_until

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


async def forever(leadership: Leadership) -> None:
    await asyncio.Event().wait()


async def cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])


def held_by(holder: str, *, transitions: int = 1, seconds: int = 15) -> LeaseRecord:
    return LeaseRecord(
        holder=holder,
        duration=seconds,
        acquire_time=LONG_AGO,
        renew_time=LONG_AGO,
        transitions=transitions,
    )


class NotingMetrics(NoMetrics):
    def __init__(self) -> None:
        self.calls: list[object] = []

    def leader_status(self, election: str, is_leader: bool) -> None:
        self.calls.append((election, is_leader))

    def leader_slow_path(self, election: str) -> None:
        self.calls.append((election, "slow path"))


async def first_attempts(client: LeaseRequests, seconds: float = 1.0) -> LeaderElector:
    """Campaign for a while, and leave the Lease as it is."""
    elector = elector_of(client, release=False)
    async with elector:
        await asyncio.sleep(seconds)
    return elector


@virtual_time
async def test_missing_lease_is_created() -> None:
    """C-71: acquire from no object."""
    server = LeaseServer()
    client = server.client()
    await first_attempts(client)

    assert client.calls == ["get", "create"]
    assert (server.record().holder, server.record().transitions) == ("a", 0)


@virtual_time
async def test_lease_without_a_holder_is_taken_at_once() -> None:
    """C-71: acquire from an object without owner, and from one that was released."""
    server = LeaseServer()
    server.create(LeaseRecord())
    client = server.client()
    await first_attempts(client)
    assert client.calls == ["get", "update"]
    assert (server.record().holder, server.record().transitions) == ("a", 1)

    server.write(server.record().released())
    await first_attempts(server.client())
    assert (server.record().holder, server.record().transitions) == ("a", 2)


@virtual_time
async def test_lease_of_another_is_taken_after_its_own_duration_by_the_local_clock() -> None:
    """C-71: acquire from an expired object, by the record's duration and never by its times."""
    server = LeaseServer()
    server.create(held_by("b", transitions=5, seconds=60))
    client = server.client()
    elector = elector_of(client)
    async with elector:
        await asyncio.sleep(59.9)
        assert set(client.calls) == {"get"}
        assert elector.leader == "b"
        await elector.elected
        record = server.record()

    assert (record.holder, record.transitions, record.duration) == ("a", 6, 15)
    assert record.acquire_time == record.renew_time != LONG_AGO


@virtual_time
async def test_lease_of_another_is_not_touched_while_it_is_renewed() -> None:
    """C-71: don't acquire from an object that is still live."""
    server = LeaseServer()
    server.create(held_by("b"))
    client = server.client()
    elector = elector_of(client)
    async with elector:
        for _ in range(30):
            await asyncio.sleep(10)
            server.write(server.record().renewed())
        assert set(client.calls) == {"get"}
        assert not elector.is_leader


@virtual_time
async def test_renewal_keeps_the_acquire_time_and_the_transitions() -> None:
    """C-71: renew an already acquired object."""
    server = LeaseServer()
    server.create(held_by(""))
    client = server.client()
    elector = elector_of(client)
    async with elector:
        await elector.elected
        first = server.record()
        await asyncio.sleep(7)
        last = server.record()

    assert client.calls[:5] == ["get", "update", *["update"] * 3]
    assert (last.acquire_time, last.transitions) == (first.acquire_time, first.transitions)
    assert last.renew_time != first.renew_time


@pytest.mark.parametrize(
    ("troubles", "requests"),
    [
        ({}, ["get", "create", "update", "update", "update"]),
        (
            {"update": [conflict()]},
            ["get", "create", "update", "get", "update", "update", "update"],
        ),
        (
            {"update": [server_error()]},
            ["get", "create", "update", "get", "update", "update", "update"],
        ),
        (
            {"update": [conflict(), conflict()]},
            ["get", "create", "update", "get", "update", "update", "update"],
        ),
    ],
    ids=["fast", "conflict", "error", "two conflicts"],
)
@virtual_time
async def test_fast_path(troubles: dict[str, list[Exception]], requests: list[str]) -> None:
    """C-71: a leader writes without reading; if that fails, it reads and writes."""
    server = LeaseServer()
    client, metrics = server.client(), NotingMetrics()
    for verb, errors in troubles.items():
        client.trouble(verb, *errors)
    elector = elector_of(client, metrics=metrics)
    async with elector:
        await asyncio.sleep(6.5)
        assert elector.is_leader
        assert client.calls == requests
    slow = [call for call in metrics.calls if call == ("web", "slow path")]
    assert len(slow) == requests.count("get") - 1


@virtual_time
async def test_leader_status_is_reported() -> None:
    """C-71: the metric is 0 from the start, 1 while leading, and 0 after it."""
    metrics = NotingMetrics()
    elector = elector_of(LeaseServer().client(), metrics=metrics)
    async with elector:
        await elector.elected

    assert metrics.calls == [("web", False), ("web", True), ("web", False)]


@virtual_time
async def test_release_is_retried_on_conflict() -> None:
    """C-71: a conflict does not leave the lease to run out."""
    server = LeaseServer()
    client = server.client()
    elector = elector_of(client)
    async with elector:
        await elector.elected
        client.trouble("update", conflict(), conflict())
    released = server.record()

    assert client.calls == ["get", "create", *["get", "update"] * 3]
    assert (released.holder, released.duration, released.transitions) == ("", 1, 0)


@virtual_time
async def test_release_does_not_touch_the_lease_of_another() -> None:
    """C-71: release only what this process holds."""
    server = LeaseServer()
    client = server.client()
    elector = elector_of(client)
    async with elector:
        await elector.elected
        server.write(held_by("b"))

    assert client.calls == ["get", "create", "get"]
    assert server.record() == held_by("b")


@virtual_time
async def test_lease_is_released_only_after_the_work_has_stopped() -> None:
    """C-71: Differs: client-go releases while the work may still run."""
    server = LeaseServer()
    elector = elector_of(server.client())
    holders: list[str] = []

    async def work(leadership: Leadership) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(60)
            leadership.check()
            holders.append(server.record().holder)

    run = asyncio.create_task(elector.run(work))
    await elector.elected
    await asyncio.sleep(0)
    await cancel(run)

    assert holders == ["a"]
    assert server.record().holder == ""


@virtual_time
async def test_standby_is_never_elected_during_its_stop() -> None:
    """C-71: a standby that is being stopped does not become the leader, even of a free lease."""
    server = LeaseServer()
    server.create(held_by("b", seconds=1))
    client = server.client()
    client.latency = 0.3
    started: list[int] = []

    async def work(leadership: Leadership) -> None:
        started.append(leadership.token)

    for moment in range(1, 40):
        server.write(held_by("b", seconds=1, transitions=moment))
        run = asyncio.create_task(elector_of(client).run(work))
        await asyncio.sleep(moment / 10)
        if not started:
            await cancel(run)
            assert not started
            assert server.record().holder in {"", "b"}
        else:
            await run
            break
    assert started, "it was stopped at every moment before"


@virtual_time
async def test_stop_without_a_start_calls_no_work() -> None:
    """C-71: Differs: client-go calls OnStoppedLeading even if it never led."""
    server = LeaseServer()
    server.create(held_by("b"))
    calls: list[str] = []

    async def work(leadership: Leadership) -> None:
        calls.append("work")

    run = asyncio.create_task(elector_of(server.client()).run(work))
    await asyncio.sleep(5)
    await cancel(run)

    assert calls == []


@virtual_time
async def test_leader_that_sees_another_holder_stops_at_once() -> None:
    """C-71: Differs: client-go goes on until its renew deadline."""
    server = LeaseServer()
    elector = elector_of(server.client())
    async with elector:
        await elector.elected
        leadership = elector.leadership
        assert leadership is not None
        server.write(held_by("b"))
        await leadership.lost
        assert asyncio.get_running_loop().time() == 2.0
        assert not leadership.is_valid


@virtual_time
async def test_work_ends_at_the_renew_deadline_and_before_the_lease() -> None:
    """C-71: a leader that cannot renew gives up while its lease still protects it."""
    server = LeaseServer()
    client = server.client()
    other = elector_of(server.client(), "b")
    elector = elector_of(client)
    ends: list[float] = []

    async def work(leadership: Leadership) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            leadership.check()
            ends.append(asyncio.get_running_loop().time())

    run = asyncio.create_task(elector.run(work))
    await elector.elected
    async with other:
        client.is_cut = True
        await other.elected
        assert ends == [10.0]
        assert asyncio.get_running_loop().time() >= 15.0
    await cancel(run)


@virtual_time
async def test_candidate_that_starts_with_its_own_identity_in_the_lease_waits() -> None:
    """C-71: Differs: client-go takes a lease of its identity over, whoever wrote it."""
    server = LeaseServer()
    server.create(held_by("a"))
    elector = elector_of(server.client())
    async with elector:
        await asyncio.sleep(14.9)
        assert not elector.is_leader
        await elector.elected


@virtual_time
async def test_elector_can_run_again_after_a_loss_and_after_a_stop() -> None:
    """C-71: Differs: a lost lease does not require the end of the process."""
    server = LeaseServer()
    client = server.client()
    elector = elector_of(client)
    tokens: list[int] = []

    async def work(leadership: Leadership) -> None:
        tokens.append(leadership.token)
        await asyncio.Event().wait()

    run = asyncio.create_task(elector.run(work))
    await wait_until(lambda: len(tokens) == 1)
    client.is_cut = True
    await asyncio.sleep(20)
    client.is_cut = False
    await wait_until(lambda: len(tokens) == 2)
    await cancel(run)
    run = asyncio.create_task(elector.run(work))
    await wait_until(lambda: len(tokens) == 3)
    await cancel(run)

    assert tokens == [0, 1, 2]


@virtual_time
async def test_health_is_that_of_the_leader() -> None:
    """C-71: a candidate is healthy; a leader is not if it goes on without its lease."""
    server = LeaseServer()
    client = server.client()
    elector = elector_of(client)
    finish = asyncio.Event()

    async def work(leadership: Leadership) -> None:
        while not finish.is_set():
            try:
                await finish.wait()
            except asyncio.CancelledError:
                continue

    assert elector.problems() == ()
    run = asyncio.create_task(elector.run(work))
    await elector.elected
    assert elector.problems() == ()
    client.is_cut = True
    await asyncio.sleep(16)
    assert elector.problems() == ()  # tolerated for retry_period
    await asyncio.sleep(4)
    assert "goes on 5.0 s after its lease ended" in elector.problems()[0]
    finish.set()
    await asyncio.sleep(1)
    assert elector.problems() == ()
    await cancel(run)


@pytest.mark.parametrize(
    "options",
    [
        {"lease_duration": 0.0},
        {"renew_deadline": 0.0},
        {"retry_period": 0.0},
        {"lease_duration": 10.0, "renew_deadline": 10.0},
        {"renew_deadline": 2.0, "retry_period": 2.0},
        {"identity": ""},
        {"namespace": ""},
    ],
)
def test_configuration_is_validated(options: dict[str, Any]) -> None:
    """C-71: lease > renew deadline > 1.2 · retry > 0, and an identity."""
    with pytest.raises(ConfigError):
        LeaderElector(LeaseServer().client(), "web", **options)


@virtual_time
async def test_new_leader_is_reported_once_per_change() -> None:
    """C-71: OnNewLeader is called for every identity, and for the own one."""
    server = LeaseServer()
    server.create(held_by("b"))
    seen: list[str] = []
    elector = elector_of(server.client(), on_new_leader=seen.append)
    async with elector:
        await asyncio.sleep(5)
        server.write(held_by("c", transitions=2))
        await elector.elected

    assert seen == ["b", "c", "a"]
