"""Leadership: warm standby, a lost lease, and writes without a lease."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kinform import Client
from kinform.controllers.manager import Manager
from kinform.errors import LeadershipLostError
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer, faults, virtual_time
from tests.support.managed_fakes import (
    FakeController,
    FakeElector,
    FakeLeadership,
    new_manager,
)
from tests.support.waiting import wait_until


@virtual_time
async def test_a_standby_is_warm_and_its_workers_wait() -> None:
    journal: list[str] = []
    manager = new_manager(election=FakeElector(journal))
    manager.add(FakeController("web", journal))
    async with manager:
        await manager.ready
        await asyncio.sleep(600)
        assert journal == ["web warms up", "campaign"]
        assert not manager.is_leader
        assert not manager.elected
        assert manager.health().ready
        assert manager.status().components[0].state == "waiting"


@virtual_time
async def test_a_cold_replica_does_not_campaign() -> None:
    journal: list[str] = []
    manager = new_manager(election=FakeElector(journal))
    web = FakeController("web", journal)
    web.may_warm_up.clear()
    manager.add(web)
    async with manager:
        await asyncio.sleep(60)
        assert journal == ["web warms up"]
        web.may_warm_up.set()
        await asyncio.sleep(1)
        assert journal == ["web warms up", "campaign"]


@virtual_time
async def test_a_lost_lease_cancels_at_once_and_the_next_one_starts_again() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector)
    web = FakeController("web", journal, finishing=10)
    manager.add(web)
    manager.add(FakeController("all", journal, needs_leader=False))
    async with manager:
        elector.win()
        await manager.elected
        await asyncio.sleep(1)
        elector.lose()
        await asyncio.sleep(1)
        assert not manager.status().is_leader
        elector.win()
        await asyncio.sleep(1)
        assert manager.status().is_leader

        assert journal == [
            "web warms up",
            "all warms up",
            "all works",
            "campaign",
            "web works",
            "web is cancelled",
            "lost",
            "campaign",
            "web works",
        ]
        assert [each.token for each in web.leaderships] == [1, 2]
        assert manager.failure is None


@virtual_time
async def test_the_next_campaign_waits_for_work_that_ignores_its_cancellation() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector)
    web = FakeController("web", journal, ignores_cancel=True)
    manager.add(web)
    async with manager:
        elector.win()
        await manager.elected
        await asyncio.sleep(1)
        elector.lose()
        elector.win()
        await asyncio.sleep(600)
        assert journal[-1] == "web is cancelled"
        web.let_go.set()
        await asyncio.sleep(1)
        assert journal[-3:] == ["lost", "campaign", "web works"]


@virtual_time
async def test_a_lost_lease_can_stop_the_manager() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector, exit_on_lost_lease=True)
    manager.add(FakeController("web", journal, finishing=60))
    manager.add(FakeController("all", journal, needs_leader=False, finishing=5))
    running = asyncio.create_task(manager.run())
    elector.win()
    await manager.elected
    await asyncio.sleep(1)
    elector.lose()
    with pytest.raises(LeadershipLostError):
        await running

    # Only work that needs the lease is cut short.
    assert "web is cancelled" in journal
    assert "all finished" in journal


@virtual_time
async def test_a_lease_that_is_lost_while_stopping_cancels_the_rest() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector)
    manager.add(FakeController("web", journal, finishing=20))
    manager.start()
    elector.win()
    await manager.elected
    await asyncio.sleep(1)
    manager.stop()
    await asyncio.sleep(1)
    elector.lose()
    await manager.stopped

    assert "web is cancelled" in journal
    assert "web finished" not in journal
    assert manager.failure is None


@virtual_time
async def test_a_standby_that_stops_is_never_elected() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector)
    manager.add(FakeController("web", journal))
    manager.add(FakeController("all", journal, needs_leader=False, finishing=20))
    manager.start()
    await manager.ready
    await asyncio.sleep(1)
    manager.stop()
    await asyncio.sleep(1)
    elector.win()
    await manager.stopped

    assert elector.terms == 0
    assert "web works" not in journal


@virtual_time
async def test_an_election_that_is_won_while_stopping_starts_nothing() -> None:
    journal: list[str] = []

    class LateElector(FakeElector):
        async def run(self, work: Any, *, again: bool = True) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await work(FakeLeadership(1))
                raise

    manager = new_manager(election=LateElector())
    manager.add(FakeController("web", journal))
    async with manager:
        await manager.ready
        await asyncio.sleep(1)

    assert journal == ["web warms up", "web is closed"]


@virtual_time
async def test_the_lease_is_kept_while_leader_only_work_does_not_stop() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector, grace=5)
    web = FakeController("web", journal, finishing=60, ignores_cancel=True)
    manager.add(web)
    manager.start()
    elector.win()
    await manager.elected
    await asyncio.sleep(1)
    manager.stop()
    await manager.stopped

    assert "released" not in journal
    assert "election holds the lease, because leader-only work has not ended" in str(
        manager.failure
    )
    web.let_go.set()
    await asyncio.sleep(1)
    assert journal[-2:] == ["released", "campaign ends"]


@virtual_time
async def test_a_leader_only_function_runs_in_each_term() -> None:
    elector = FakeElector()
    manager = new_manager(election=elector)
    terms: list[int] = []

    async def sweep() -> None:
        terms.append(manager.leadership.token)

    manager.add(sweep)
    async with manager:
        for _ in range(2):
            elector.win()
            await asyncio.sleep(1)
            elector.lose()
            await asyncio.sleep(1)
        assert terms == [1, 2]


@virtual_time
async def test_a_component_added_on_a_standby_waits_for_leadership() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector)
    async with manager:
        await manager.ready
        manager.add(FakeController("web", journal))
        await asyncio.sleep(1)
        assert journal == ["campaign", "web warms up"]
        elector.win()
        await asyncio.sleep(1)
        assert journal[-1] == "web works"


@virtual_time
async def test_an_election_that_fails_stops_the_manager() -> None:
    elector = FakeElector()

    async def run(work: object, *, again: bool = True) -> None:
        raise RuntimeError("no lease")

    elector.run = run  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="no lease"):
        await new_manager(election=elector).run()


async def test_writes_of_leader_only_components_need_a_valid_lease(
    kinform_api: ApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    elector = FakeElector()
    errors: list[Exception] = []
    resume = asyncio.Event()

    async with Client(kinform_api.config) as client:
        manager = Manager(client, election=elector)

        async def write(name: str) -> None:
            await manager.client.create(
                {"apiVersion": "v1", "kind": "ConfigMap",
                 "metadata": {"name": name, "namespace": "default"}}
            )  # fmt: skip

        async def leader_only() -> None:
            await write("first")
            # As if the process had been suspended here.
            assert elector.leadership is not None
            elector.leadership.is_valid = False
            try:
                await asyncio.create_task(write("second"))
            except LeadershipLostError as error:
                errors.append(error)
            elector.leadership.is_valid = True
            busy = faults.status(429, "TooManyRequests", "busy", retry_after=0)
            kinform_api.faults.inject(busy, verb="create", when=lambda _call: suspend())
            try:
                await write("repeated")
            except LeadershipLostError as error:
                errors.append(error)
            resume.set()

        def suspend() -> bool:
            assert elector.leadership is not None
            elector.leadership.is_valid = False
            return True

        async def everywhere() -> None:
            await resume.wait()
            await write("third")
            resume.clear()

        manager.add(leader_only)
        manager.add(everywhere, needs_leader=False)
        with caplog.at_level(logging.INFO):
            async with manager:
                elector.win()
                await wait_until(lambda: len(errors) == 2 and not resume.is_set())
        names = {each.name for each in await client.list(ConfigMap, namespace="default")}

        assert {"first", "third"} <= names
        assert not {"second", "repeated"} & names
        assert "create v1/configmaps default/second was not sent: term 1 is over" in str(errors[0])
        # After the stop, the client is as before.
        await write("fourth")


@virtual_time
async def test_writes_are_checked_only_while_the_manager_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hooks: list[object] = []
    monkeypatch.setattr(Client, "add_write_hook", lambda client, hook: hooks.append(hook))
    monkeypatch.setattr(Client, "remove_write_hook", lambda client, hook: hooks.remove(hook))
    manager = new_manager(election=FakeElector())
    before = list(hooks)  # of the cache
    async with manager:
        await manager.ready
        assert len(hooks) == len(before) + 1
    assert [hook for hook in hooks if hook not in before] == []


class NoticingController(FakeController):
    """Notices in its first term that the lease has run out."""

    async def work(self, leadership: Any = None) -> None:
        if not self.leaderships:
            self.leaderships.append(leadership)
            leadership.is_valid = False
            leadership.check()
        await super().work(leadership)


@virtual_time
async def test_work_that_notices_the_loss_first_does_not_stop_the_manager() -> None:
    elector = FakeElector()
    manager = new_manager(election=elector)
    web = NoticingController("web", [])
    manager.add(web)
    async with manager:
        elector.win()
        await asyncio.sleep(10)
        assert manager.status().components[0].state == "waiting"
        elector.lose()
        elector.win()
        await asyncio.sleep(1)
        assert manager.status().components[0].state == "running"
        assert [each.token for each in web.leaderships] == [1, 2]


@virtual_time
async def test_a_lease_that_is_renewed_at_the_last_moment_continues_the_work() -> None:
    elector = FakeElector()
    manager = new_manager(election=elector)
    web = NoticingController("web", [])
    manager.add(web)
    async with manager:
        elector.win()
        await asyncio.sleep(10)
        assert elector.leadership is not None
        elector.leadership.is_valid = True
        await asyncio.sleep(1)
        assert manager.status().components[0].state == "running"
        assert [each.token for each in web.leaderships] == [1, 1]
