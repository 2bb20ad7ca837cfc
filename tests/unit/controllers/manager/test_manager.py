"""The manager: what starts when, what happens to failures, and what is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.controllers.manager import ManagedController, Manager
from kinform.errors import (
    AlreadyStoppedError,
    CacheSyncError,
    ConfigError,
    ControllerError,
    StateError,
)
from kinform.testing import virtual_time
from tests.support.managed_fakes import FakeController, FakeElector, FakeRecorder, new_manager


def test_a_fake_controller_satisfies_the_protocol() -> None:
    assert isinstance(FakeController("web", []), ManagedController)


@virtual_time
async def test_everything_starts_and_stops_in_order() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector, recorder=FakeRecorder(journal))
    manager.add(FakeController("web", journal))
    manager.add(FakeController("all", journal, needs_leader=False))
    async with manager:
        await manager.ready
        assert journal == [
            "recorder starts",
            "web warms up",
            "all warms up",
            "all works",
        ]
        elector.win()
        await manager.elected
        await asyncio.sleep(1)
        assert journal[4:] == ["campaign", "web works"]
        del journal[:]

    assert sorted(journal[:2]) == ["all finished", "web finished"]
    assert sorted(journal[2:4]) == ["all is closed", "web is closed"]
    assert journal[4:] == ["released", "campaign ends", "recorder stops"]


@virtual_time
async def test_controllers_receive_cluster_recorder_and_leadership() -> None:
    elector, recorder = FakeElector(), FakeRecorder([])
    manager = new_manager(election=elector, recorder=recorder)
    web = FakeController("web", [])
    manager.add(web)
    async with manager:
        elector.win()
        await manager.elected
        await asyncio.sleep(1)
        assert (web.cluster, web.recorder) == (manager.cluster, recorder)
        assert [each.token for each in web.leaderships] == [1]
        assert manager.leadership is web.leaderships[0]
    assert manager.leadership is None


@virtual_time
async def test_without_election_everything_runs() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal))
    async with manager:
        await manager.elected
        await asyncio.sleep(1)
        assert manager.is_leader
        assert journal == ["web warms up", "web works"]


@virtual_time
async def test_a_controller_works_before_slower_ones_are_warm() -> None:
    journal: list[str] = []
    manager = new_manager()
    slow = FakeController("slow", journal)
    slow.may_warm_up.clear()
    manager.add(slow)
    manager.add(FakeController("web", journal))
    async with manager:
        await asyncio.sleep(1)
        assert journal == ["slow warms up", "web warms up", "web works"]
        assert not manager.ready
        slow.may_warm_up.set()
        await manager.ready


@virtual_time
async def test_components_added_after_the_start_are_started() -> None:
    journal: list[str] = []
    manager = new_manager()
    ran = asyncio.Event()

    async def late() -> None:
        ran.set()

    async with manager:
        await manager.ready
        manager.add(late)
        manager.add(FakeController("web", journal))
        await ran.wait()
        await asyncio.sleep(1)
        assert journal == ["web warms up", "web works"]
        assert [each.state for each in manager.status().components] == ["finished", "running"]


@virtual_time
async def test_an_error_of_a_component_stops_the_manager_with_it() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal))

    async def broken() -> None:
        await asyncio.sleep(5)
        raise RuntimeError("disk full")

    manager.add(broken)
    with pytest.raises(RuntimeError, match="disk full"):
        await manager.run()

    assert journal == ["web warms up", "web works", "web finished", "web is closed"]
    assert manager.has_failed
    assert manager.status().components[1].state == "failed"


@virtual_time
async def test_a_component_that_returns_does_not_stop_the_manager() -> None:
    manager = new_manager()

    async def once() -> None:
        return

    manager.add(once)
    async with manager:
        await asyncio.sleep(60)
        assert manager.status().components[0].state == "finished"
        assert manager.status().state == "running"


@virtual_time
async def test_a_component_that_cancels_itself_has_failed() -> None:
    manager = new_manager()

    async def confused() -> None:
        raise asyncio.CancelledError

    manager.add(confused)
    with pytest.raises(ControllerError, match=r"^confused cancelled itself"):
        await manager.run()


@virtual_time
async def test_a_failed_warm_up_stops_the_manager_with_its_error() -> None:
    journal: list[str] = []
    manager = new_manager(election=FakeElector(journal))
    manager.add(FakeController("web", journal, warm_up_error=CacheSyncError("pods: forbidden")))
    with pytest.raises(CacheSyncError, match="pods: forbidden"):
        async with manager:
            await manager.ready

    assert journal == ["web warms up", "web is closed"]


@virtual_time
async def test_waiting_for_a_manager_that_failed_says_why() -> None:
    manager = new_manager()
    manager.add(FakeController("web", [], warm_up_error=CacheSyncError("pods: forbidden")))
    manager.start()
    with pytest.raises(AlreadyStoppedError, match=r"before it was elected: .*pods: forbidden"):
        await manager.elected
    await manager.stopped


@virtual_time
async def test_a_component_that_is_not_essential_is_restarted() -> None:
    manager = new_manager()
    runs: list[float] = []

    async def flaky() -> None:
        runs.append(asyncio.get_running_loop().time())
        if len(runs) < 3:
            raise RuntimeError("no disk")
        await asyncio.Event().wait()

    manager.add(flaky, essential=False)
    async with manager:
        await manager.ready
        await asyncio.sleep(10)
        assert len(runs) == 3
        assert 1 <= runs[1] - runs[0] < 2
        assert 2 <= runs[2] - runs[1] < 4
        status = manager.status().components[0]
        health = manager.health()
        assert (status.state, status.restarts) == ("running", 2)
        assert status.last_error == "RuntimeError: no disk"
        assert health.ready
        assert "flaky: restarts: 2, last error: RuntimeError" in health.problems["controllers"]

        await asyncio.sleep(120)  # long enough to count as repaired
        assert manager.health().problems == {}


@virtual_time
async def test_a_warm_up_that_is_not_essential_is_repeated_and_blocks_nothing() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector)
    web = FakeController("web", journal, warm_up_error=CacheSyncError("no such kind"))
    manager.add(web, essential=False)
    async with manager:
        await manager.ready
        elector.win()
        await manager.elected
        assert manager.status().components[0].state == "restarting"
        web.warm_up_error = None
        await asyncio.sleep(30)
        assert manager.status().components[0].state == "running"

    assert journal[:6] == [
        "web warms up",
        "campaign",
        "web is closed",
        "web warms up",
        "web works",
        "web finished",
    ]


@virtual_time
async def test_a_component_can_be_removed_while_others_run() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal))
    manager.add(FakeController("api", journal))
    async with manager:
        await manager.ready
        await asyncio.sleep(1)
        del journal[:]
        await manager.remove("web")
        assert journal == ["web finished", "web is closed"]
        assert [each.name for each in manager.status().components] == ["api"]
        manager.add(FakeController("web", journal))
        with pytest.raises(ConfigError, match="no component 'nobody'; added: api, web"):
            await manager.remove("nobody")


@virtual_time
async def test_a_component_removed_before_its_first_step_does_not_hold_up_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manager = new_manager()
    manager.add(FakeController("web", []))
    synced = asyncio.Event()

    async def wait_until_synced(timeout: float | None) -> None:
        await synced.wait()

    async def remove() -> None:
        await synced.wait()
        await manager.remove("web")

    monkeypatch.setattr(manager._clusters, "wait_until_synced", wait_until_synced)
    async with manager:
        await asyncio.sleep(1)
        removing = asyncio.create_task(remove())
        await asyncio.sleep(1)
        synced.set()  # wakes the start first, and the removal before the first step of web
        async with asyncio.timeout(60):
            await manager.ready
        await removing


def test_two_components_of_one_name_are_refused() -> None:
    manager = new_manager()
    manager.add(FakeController("web", []))

    with pytest.raises(ConfigError, match="has a component 'web' already"):
        manager.add(FakeController("web", []))


@virtual_time
async def test_a_stopping_manager_refuses_components_and_clusters() -> None:
    manager = new_manager()
    manager.add(FakeController("web", [], finishing=5))
    manager.start()
    await manager.ready
    await asyncio.sleep(1)
    manager.stop()
    await asyncio.sleep(1)
    for refused in (
        lambda: manager.add(FakeController("late", [])),
        lambda: manager.add_cluster("other", manager.cluster.live),
    ):
        with pytest.raises(AlreadyStoppedError, match="manager is stopping"):
            refused()
    await manager.stopped
    with pytest.raises(AlreadyStoppedError, match="manager is stopped"):
        manager.add(FakeController("late", []))


@virtual_time
async def test_a_manager_runs_once() -> None:
    manager = new_manager()
    async with manager:
        with pytest.raises(StateError, match="already running"):
            await manager.run()
    with pytest.raises(StateError, match="create another manager"):
        await manager.run()


async def test_a_running_manager_refuses_calls_of_other_threads() -> None:
    manager = new_manager()

    async def nothing() -> None:
        return

    async with manager:
        await manager.ready
        with pytest.raises(StateError, match="runs on another thread"):
            await asyncio.to_thread(manager.add, nothing)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"grace": -1}, "grace must be seconds, at least 0, or None, not -1"),
        ({"grace": "30s"}, "grace must be seconds"),
        ({"sync_timeout": None}, "sync_timeout must be seconds"),
        ({"max_staleness": True}, "max_staleness must be seconds"),
        ({"address": 8080}, r"address must be host:port, .* not 8080"),
        ({"election": "lease"}, "election must be a LeaderElector, not 'lease'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        new_manager(**options)


def test_a_manager_needs_a_client() -> None:
    with pytest.raises(ConfigError, match="Client"):
        Manager("https://server")  # type: ignore[arg-type]
