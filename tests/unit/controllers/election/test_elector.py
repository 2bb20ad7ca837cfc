"""An elector in virtual time: campaigns, terms, losses and stops."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest

from kinform.controllers import LeaderElector, Leadership
from kinform.errors import (
    AlreadyStartedError,
    AlreadyStoppedError,
    ConfigError,
    LeadershipLostError,
    TransportError,
)
from kinform.testing import virtual_time
from tests.support.leases import (
    Hang,
    LeaseRequests,
    LeaseServer,
    conflict,
    elector_of,
    server_error,
)
from tests.support.waiting import wait_until


def now() -> float:
    return asyncio.get_running_loop().time()


class Work:
    """Work that notes its terms, and can refuse to stop."""

    def __init__(self, *, stop_after: float = 0.0) -> None:
        self.stop_after = stop_after
        self.terms: list[Leadership] = []
        self.ends: list[float] = []
        self.is_running = False

    async def __call__(self, leadership: Leadership) -> None:
        assert not self.is_running
        self.terms.append(leadership)
        self.is_running = True
        try:
            await asyncio.Event().wait()
        finally:
            deadline = now() + self.stop_after
            while now() < deadline:
                try:
                    await asyncio.sleep(deadline - now())
                except asyncio.CancelledError:
                    continue
            self.ends.append(now())
            self.is_running = False


def has_calls(client: LeaseRequests, count: int) -> bool:
    return len(client.calls) == count


def is_valid(work: Work) -> bool:
    return work.terms[-1].is_valid


async def cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


@virtual_time
async def test_only_candidate_is_elected_at_once_and_works() -> None:
    server, work = LeaseServer(), Work()
    elector = elector_of(server.client())
    run = asyncio.create_task(elector.run(work))
    await elector.elected
    await asyncio.sleep(0)

    assert now() == 0
    assert elector.is_leader
    assert elector.leader == "a"
    assert work.terms == [elector.leadership]
    assert server.record().holder == "a"
    assert server.record().transitions == work.terms[0].token == 0
    await cancel(run)


@virtual_time
async def test_run_returns_when_the_work_returns_and_the_lease_is_free() -> None:
    server = LeaseServer()
    elector = elector_of(server.client())

    async def work(leadership: Leadership) -> None:
        await asyncio.sleep(60)
        leadership.check()

    await elector.run(work)

    assert now() == 60
    assert server.record().holder == ""
    assert not elector.is_leader
    assert elector.status().state == "stopped"


@virtual_time
async def test_error_of_the_work_releases_the_lease_and_is_raised() -> None:
    server = LeaseServer()

    async def work(leadership: Leadership) -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await elector_of(server.client()).run(work)
    assert server.record().holder == ""


@virtual_time
async def test_leader_renews_every_retry_period_with_one_request() -> None:
    client = LeaseServer().client()
    elector = elector_of(client)
    run = asyncio.create_task(elector.run(Work()))
    await asyncio.sleep(20.5)

    assert client.calls == ["get", "create", *["update"] * 10]
    assert elector.leadership is not None
    assert elector.leadership.remaining == pytest.approx(14.5)
    await cancel(run)


@virtual_time
async def test_candidate_takes_over_when_the_lease_of_a_dead_leader_runs_out() -> None:
    server, work = LeaseServer(), Work()
    dead = server.client()
    leader = asyncio.create_task(elector_of(dead, "a").run(Work()))
    await asyncio.sleep(1)
    run = asyncio.create_task(elector_of(server.client(), "b").run(work))
    await asyncio.sleep(10)
    dead.is_cut = True
    died = now()
    await wait_until(lambda: bool(work.terms))

    # The candidate saw the last renewal up to 4.4 s late, and waited for the whole duration.
    assert 15 - 2 <= now() - died <= 15 + 4.4 + 0.5
    assert work.terms[0].token == 1
    await cancel(leader)
    await cancel(run)


@virtual_time
async def test_candidate_waits_for_a_whole_lease_after_it_first_sees_it() -> None:
    """The times in the record may be from any clock."""
    server, work = LeaseServer(), Work()
    leader = elector_of(server.client(), "a", release=False)
    await leader.run(_nothing)
    await asyncio.sleep(3600)
    run = asyncio.create_task(elector_of(server.client(), "b").run(work))
    started = now()
    await wait_until(lambda: bool(work.terms))

    assert 15 <= now() - started <= 15 + 0.5
    await cancel(run)


@virtual_time
async def test_released_lease_is_taken_at_the_next_attempt() -> None:
    server, work = LeaseServer(), Work()
    leader = asyncio.create_task(elector_of(server.client(), "a").run(Work()))
    await asyncio.sleep(1)
    run = asyncio.create_task(elector_of(server.client(), "b").run(work))
    await asyncio.sleep(1)
    await cancel(leader)
    released = now()
    await wait_until(lambda: bool(work.terms))

    assert now() - released <= 4.4 + 0.05
    await cancel(run)


@virtual_time
async def test_work_is_cancelled_at_the_renew_deadline_and_runs_again_later() -> None:
    server, work = LeaseServer(), Work()
    client = server.client()
    elector = elector_of(client)
    run = asyncio.create_task(elector.run(work))
    await asyncio.sleep(5)
    client.is_cut = True
    await asyncio.sleep(15)

    assert work.ends == [pytest.approx(4 + 10)]
    assert bool(work.terms[0].lost)
    assert elector.status().losses == 1
    assert "refused" in elector.status().last_error
    client.is_cut = False
    await elector.elected
    await asyncio.sleep(0)
    # Its own lease, so there is nothing to wait for; but a new term.
    assert [term.token for term in work.terms] == [0, 1]
    assert not work.terms[0].is_valid
    await cancel(run)


@virtual_time
async def test_without_again_a_loss_is_raised_after_the_work_has_stopped() -> None:
    server, work = LeaseServer(), Work(stop_after=2.0)
    client = server.client()
    run = asyncio.create_task(elector_of(client).run(work, again=False))
    await asyncio.sleep(1)
    client.is_cut = True

    with pytest.raises(LeadershipLostError, match=r"no renewal for 10.0 s: update: connection"):
        await run
    assert work.ends == [12.0]


@virtual_time
async def test_work_that_does_not_stop_is_reported_and_its_leadership_is_not_valid(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server, work = LeaseServer(), Work(stop_after=30.0)
    client = server.client()
    elector = elector_of(client)
    run = asyncio.create_task(elector.run(work))
    await asyncio.sleep(1)
    client.is_cut = True
    await asyncio.sleep(11)
    assert is_valid(work)  # it may still clean up
    assert elector.status().state == "stopping"
    assert elector.problems() == ()
    await asyncio.sleep(8)

    assert not is_valid(work)
    assert not elector.is_leader
    assert elector.problems() == (
        "election default/web: the work goes on 5.0 s after its lease ended",
    )
    client.is_cut = False
    await asyncio.sleep(25)
    assert len(work.terms) == 2, "it campaigns again once the work has stopped"
    errors = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert "has not stopped 0.0 s after its lease ended" in errors[1]
    assert "has not stopped 15.0 s after its lease ended" in errors[2]
    assert "stopped 25.0 s after its lease ended" in errors[3]
    run.cancel()
    await asyncio.wait([run])


@virtual_time
async def test_lease_is_renewed_until_stopping_work_has_stopped_and_then_released() -> None:
    server, work = LeaseServer(), Work(stop_after=40.0)
    client = server.client()
    elector = elector_of(client)
    run = asyncio.create_task(elector.run(work))
    other = Work()
    candidate = asyncio.create_task(elector_of(server.client(), "b").run(other))
    await asyncio.sleep(1)
    run.cancel()
    await asyncio.sleep(39)
    assert work.terms[0].is_valid
    assert bool(work.terms[0].lost)
    assert server.record().holder == "a"
    await asyncio.wait([run])

    assert work.ends == [41.0]
    assert not other.terms
    assert server.record().holder == ""
    await cancel(candidate)


@virtual_time
async def test_impatient_canceller_does_not_interrupt_the_end_of_the_work() -> None:
    server, work = LeaseServer(), Work(stop_after=40.0)
    elector = elector_of(server.client())
    run = asyncio.create_task(elector.run(work))
    await asyncio.sleep(1)
    run.cancel()
    await asyncio.sleep(1)
    await cancel(run)

    assert work.is_running
    assert elector.is_leader
    await elector.stopped
    assert work.ends == [41.0]
    assert server.record().holder == ""


@virtual_time
async def test_stopped_candidate_never_becomes_leader() -> None:
    server, work = LeaseServer(), Work()
    leader = asyncio.create_task(elector_of(server.client(), "a").run(Work()))
    await asyncio.sleep(1)
    client = server.client()
    candidate = asyncio.create_task(elector_of(client, "b").run(work))
    await asyncio.sleep(1)
    await cancel(candidate)
    await cancel(leader)
    await asyncio.sleep(60)

    assert not work.terms
    assert set(client.calls) == {"get"}
    assert server.record().holder == ""


@pytest.mark.parametrize("carried_out", [True, False])
@virtual_time
async def test_candidate_stopped_while_it_takes_the_lease_gives_it_up(carried_out: bool) -> None:
    server, work = LeaseServer(), Work()
    client = server.client()
    client.trouble("create", Hang(carried_out=carried_out))
    run = asyncio.create_task(elector_of(client).run(work))
    await asyncio.sleep(1)
    await cancel(run)

    assert not work.terms
    if carried_out:
        assert client.calls == ["get", "create", "get", "update"]
        assert server.record().holder == ""
    else:
        assert client.calls == ["get", "create", "get"]


@virtual_time
async def test_hanging_request_is_given_up_so_that_another_attempt_can_renew() -> None:
    server, work = LeaseServer(), Work()
    client = server.client()
    elector = elector_of(client)
    run = asyncio.create_task(elector.run(work))
    await asyncio.sleep(1)
    client.trouble("update", Hang())
    await asyncio.sleep(6.5)

    assert client.calls == ["get", "create", "update", "update"]
    assert elector.is_leader
    assert work.is_running
    await cancel(run)


@virtual_time
async def test_acquisition_without_a_response_is_taken_at_the_next_attempt() -> None:
    server, work = LeaseServer(), Work()
    client = server.client()
    client.trouble("create", Hang(carried_out=True))
    run = asyncio.create_task(elector_of(client).run(work))
    await asyncio.sleep(10)

    assert client.calls[:4] == ["get", "create", "get", "update"]
    assert work.terms[0].token == 1
    await cancel(run)


@virtual_time
async def test_leader_whose_lease_another_process_has_stops_at_once() -> None:
    server, work = LeaseServer(), Work()
    elector = elector_of(server.client())
    run = asyncio.create_task(elector.run(work))
    await asyncio.sleep(1)
    server.write(server.record().acquired("b", seconds=15, transitions=7))
    await asyncio.sleep(1.5)

    assert work.ends == [2.0]
    assert not work.terms[0].is_valid
    assert elector.leader == "b"
    await asyncio.sleep(20)
    assert work.terms[1].token == 8
    await cancel(run)


@virtual_time
async def test_leader_whose_holder_was_removed_stops_and_campaigns() -> None:
    server, work = LeaseServer(), Work()
    run = asyncio.create_task(elector_of(server.client()).run(work))
    await asyncio.sleep(1)
    server.write(server.record().released())
    await asyncio.sleep(10)

    assert work.ends == [2.0]
    assert [term.token for term in work.terms] == [0, 1]
    await cancel(run)


@virtual_time
async def test_deleted_lease_is_created_again_by_its_leader() -> None:
    server, work = LeaseServer(), Work()
    client = server.client()
    run = asyncio.create_task(elector_of(client).run(work))
    await asyncio.sleep(1)
    before = server.record()
    server.delete()
    await asyncio.sleep(2)

    assert client.calls == ["get", "create", "update", "get", "create"]
    assert server.record().acquire_time == before.acquire_time
    assert work.is_running
    await cancel(run)


@virtual_time
async def test_candidate_does_not_take_a_deleted_lease_before_it_has_run_out() -> None:
    server, work = LeaseServer(), Work()
    client = server.client()
    leader = asyncio.create_task(elector_of(client, "a").run(Work()))
    await asyncio.sleep(1)
    server.write(server.record().acquired("a", seconds=15, transitions=5))  # seen by b only
    run = asyncio.create_task(elector_of(server.client(), "b").run(work))
    await asyncio.sleep(0.1)
    client.is_cut = True
    server.delete()
    deleted = now()
    await wait_until(lambda: bool(work.terms))

    assert 14.5 <= now() - deleted <= 16
    assert work.terms[0].token == 6, "tokens go on after a deletion"
    await cancel(leader)
    await cancel(run)


@virtual_time
async def test_two_processes_of_one_identity_do_not_work_at_the_same_time() -> None:
    server, first, second = LeaseServer(), Work(), Work()
    leader = asyncio.create_task(elector_of(server.client(), "a").run(first))
    await asyncio.sleep(1)
    run = asyncio.create_task(elector_of(server.client(), "a").run(second))
    await asyncio.sleep(60)
    assert not second.terms

    await cancel(leader)
    await asyncio.sleep(5)
    assert second.terms
    await cancel(run)


@virtual_time
async def test_background_election_with_async_with() -> None:
    server = LeaseServer()
    client = server.client()
    elector = elector_of(client)
    async with elector:
        await elector.elected
        leadership = elector.leadership
        assert leadership is not None
        leadership.check()
        with pytest.raises(AlreadyStartedError):
            await elector.run(Work())
        client.is_cut = True
        await leadership.lost
        assert now() == 10.0
        client.is_cut = False
        await elector.elected
        assert elector.is_leader

    assert server.record().holder == ""
    assert elector.leadership is None
    with pytest.raises(AlreadyStoppedError, match="has stopped before a was elected"):
        await elector.elected
    async with elector:  # again
        await elector.elected


@virtual_time
async def test_stop_ends_run_without_an_error() -> None:
    server, work = LeaseServer(), Work()
    elector = elector_of(server.client())
    run = asyncio.create_task(elector.run(work))
    await elector.elected
    await asyncio.sleep(0)
    elector.stop()
    await run

    assert len(work.ends) == 1
    assert server.record().holder == ""


@virtual_time
async def test_release_can_be_switched_off() -> None:
    server = LeaseServer()
    await elector_of(server.client(), release=False).run(_nothing)

    assert server.record().holder == "a"


@virtual_time
async def test_failed_release_is_logged_and_bounded(caplog: pytest.LogCaptureFixture) -> None:
    server = LeaseServer()
    client = server.client()
    client.trouble("get", server_error())
    elector = elector_of(client)
    run = asyncio.create_task(elector.run(Work()))
    await elector.elected
    client.trouble("get", Hang())
    before = now()
    await cancel(run)

    assert now() - before == pytest.approx(5.0)
    assert "cannot release the lease, which will run out: no response within 5 s" in caplog.text


@virtual_time
async def test_process_that_was_suspended_while_it_acquired_does_not_start_work() -> None:
    server, work = LeaseServer(), Work()
    client, skipped = server.client(), 0.0
    client.latency = 0.1
    loop = asyncio.get_running_loop()
    elector = LeaderElector(client, "web", identity="a", clock=lambda: loop.time() + skipped)
    run = asyncio.create_task(elector.run(work))
    await asyncio.sleep(0.25)
    skipped = 600.0  # between the creation and its response
    await asyncio.sleep(0.1)
    assert client.calls == ["get", "create"]
    assert not work.terms
    await asyncio.sleep(6)

    assert work.terms[0].is_valid
    assert work.terms[0].token == 1
    await cancel(run)


@virtual_time
async def test_suspended_leader_is_not_valid_when_it_wakes_up() -> None:
    server, work = LeaseServer(), Work()
    skipped = 0.0
    loop = asyncio.get_running_loop()
    elector = LeaderElector(
        server.client(), "web", identity="a", clock=lambda: loop.time() + skipped
    )
    run = asyncio.create_task(elector.run(work))
    await asyncio.sleep(1)
    skipped = 600.0

    assert not work.terms[0].is_valid
    with pytest.raises(LeadershipLostError, match=r"term 0 ended 586.0 s ago"):
        work.terms[0].check()
    await asyncio.sleep(1.5)
    assert work.ends == [2.0]
    await cancel(run)


@virtual_time
async def test_work_that_notices_the_loss_first_campaigns_again() -> None:
    server = LeaseServer()
    skipped, terms = 0.0, []
    loop = asyncio.get_running_loop()
    elector = LeaderElector(
        server.client(), "web", identity="a", clock=lambda: loop.time() + skipped
    )

    async def work(leadership: Leadership) -> None:
        nonlocal skipped
        terms.append(leadership.token)
        if len(terms) == 1:
            await asyncio.sleep(1)
            skipped = 60.0
            leadership.check()

    await elector.run(work)
    assert terms == [0, 1]


@virtual_time
async def test_failure_of_the_work_after_a_loss_is_logged_and_the_election_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = LeaseServer()
    client, terms = server.client(), []

    async def work(leadership: Leadership) -> None:
        terms.append(leadership.token)
        if len(terms) > 1:
            return
        try:
            await asyncio.Event().wait()
        finally:
            raise TransportError("cannot say goodbye")

    run = asyncio.create_task(elector_of(client).run(work))
    await asyncio.sleep(1)
    client.is_cut = True
    await asyncio.sleep(20)
    client.is_cut = False
    await run

    assert terms == [0, 1]
    assert "the work failed while it was stopped" in caplog.text


@virtual_time
async def test_new_leaders_are_reported_once_each() -> None:
    server = LeaseServer()
    seen: list[str] = []

    def note(identity: str) -> None:
        seen.append(identity)
        raise ValueError("ignored")

    leader = asyncio.create_task(elector_of(server.client(), "a").run(Work()))
    await asyncio.sleep(1)
    run = asyncio.create_task(elector_of(server.client(), "b", on_new_leader=note).run(Work()))
    await asyncio.sleep(10)
    await cancel(leader)
    await asyncio.sleep(10)

    assert seen == ["a", "b"]
    await cancel(run)


@virtual_time
async def test_conflict_of_candidates_elects_one() -> None:
    server = LeaseServer()
    works = [Work() for _ in range(5)]
    clients = [server.client() for _ in works]
    for client in clients:
        client.latency = 0.1
    runs = [
        asyncio.create_task(elector_of(client, f"c{number}").run(work))
        for number, (client, work) in enumerate(zip(clients, works, strict=True))
    ]
    await asyncio.sleep(1)

    assert [len(work.terms) for work in works].count(1) == 1
    for run in runs:
        await cancel(run)


@virtual_time
async def test_attempts_of_a_candidate_are_spread() -> None:
    server = LeaseServer()
    leader = asyncio.create_task(elector_of(server.client(), "a").run(Work()))
    await asyncio.sleep(1)
    client = server.client()
    run = asyncio.create_task(elector_of(client, "b").run(Work()))
    await wait_until(lambda: bool(client.calls))
    times: list[float] = []
    before = now()
    for count in range(2, 52):
        await wait_until(partial(has_calls, client, count))
        times.append(now() - before)
        before = now()

    assert all(1.98 <= time <= 4.42 for time in times)
    assert max(times) - min(times) > 0.5
    await cancel(leader)
    await cancel(run)


@virtual_time
async def test_status_shows_the_leader_and_the_last_error() -> None:
    server = LeaseServer()
    client = server.client()
    client.trouble("get", server_error())
    elector = elector_of(client)
    assert elector.status().state == "stopped"
    async with elector:
        await asyncio.sleep(0.1)
        assert elector.status().state == "candidate"
        assert "etcd has no leader" in elector.status().last_error
        await elector.elected
        status = elector.status()

    assert (status.state, status.leader, status.token, status.elections) == ("leader", "a", 0, 1)
    assert status.last_error == ""
    assert status.remaining == pytest.approx(15.0)
    assert repr(elector) == "<LeaderElector a of default/web, stopped>"


@virtual_time
async def test_work_must_be_async() -> None:
    elector = elector_of(LeaseServer().client())

    with pytest.raises(ConfigError, match="work must be a function, not 3"):
        await elector.run(3)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="must be async"):
        await elector.run(lambda leadership: None)  # type: ignore[arg-type, return-value]


@virtual_time
async def test_conflicts_while_acquiring_are_retried() -> None:
    server, work = LeaseServer(), Work()
    client = server.client()
    await elector_of(server.client(), "b").run(_nothing)
    client.trouble("update", conflict(), server_error())
    run = asyncio.create_task(elector_of(client).run(work))
    await asyncio.sleep(10)

    assert client.calls[:6] == ["get", "update"] * 3
    assert work.terms
    await cancel(run)


async def _nothing(leadership: Leadership) -> None:
    return
