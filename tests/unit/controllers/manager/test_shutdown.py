"""Shutdown: the grace period, components that are late, and what each path leaves behind."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kinform.controllers.manager import Manager
from kinform.errors import CacheSyncError, ShutdownTimeoutError
from kinform.testing import virtual_time
from tests.support.managed_fakes import FakeController, FakeElector, FakeRecorder, new_manager


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _started(manager: Manager) -> Manager:
    manager.start()
    await manager.ready
    await asyncio.sleep(1)
    return manager


async def _stopped(manager: Manager) -> float:
    """Stop a manager, and return how long it took."""
    began = _now()
    manager.stop()
    await manager.stopped
    return _now() - began


def _no_tasks_left() -> bool:
    return asyncio.all_tasks() == {asyncio.current_task()}


@virtual_time
async def test_controllers_may_finish_their_keys() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal, finishing=20))
    await _started(manager)

    assert 20 <= await _stopped(manager) < 21
    assert journal[-2:] == ["web finished", "web is closed"]
    assert manager.failure is None
    assert _no_tasks_left()


@virtual_time
async def test_functions_are_cancelled_after_controllers_have_finished() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal, finishing=5))

    async def publish() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            journal.append("publish cleans up")
            await asyncio.sleep(1)
            journal.append("publish ends")

    manager.add(publish)
    await _started(manager)
    del journal[:]
    await _stopped(manager)

    assert journal == ["web finished", "publish cleans up", "publish ends", "web is closed"]


@virtual_time
async def test_a_late_controller_is_cancelled_and_named() -> None:
    journal: list[str] = []
    manager = new_manager(grace=10)
    manager.add(FakeController("web", journal, finishing=60))
    await _started(manager)

    assert 8 <= await _stopped(manager) < 10
    assert journal[-2:] == ["web is cancelled", "web is closed"]
    assert str(manager.failure) == "manager did not stop within 10 s: web was cancelled"
    assert _no_tasks_left()


@virtual_time
async def test_a_component_that_ignores_cancellation_is_named_and_everything_else_stops() -> None:
    journal: list[str] = []
    recorder = FakeRecorder(journal)
    manager = new_manager(grace=10, recorder=recorder)
    stubborn = FakeController("stubborn", journal, finishing=60, ignores_cancel=True)
    manager.add(stubborn)
    manager.add(FakeController("web", journal))
    await _started(manager)

    assert 10 <= await _stopped(manager) <= 14
    assert isinstance(manager.failure, ShutdownTimeoutError)
    assert "stubborn still runs, although it was cancelled" in str(manager.failure)
    assert "web" not in str(manager.failure)
    assert manager.cache.is_stopped
    assert "recorder stops" in journal
    stubborn.let_go.set()
    await asyncio.sleep(1)
    assert _no_tasks_left()


@virtual_time
async def test_work_that_needs_no_lease_is_abandoned_by_a_second_cancellation() -> None:
    manager = new_manager(grace=5)

    async def waits_for_a_thread() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()

    manager.add(waits_for_a_thread, needs_leader=False)
    await _started(manager)
    await _stopped(manager)
    await asyncio.sleep(1)

    assert "waits_for_a_thread still runs" in str(manager.failure)
    assert _no_tasks_left()


@virtual_time
async def test_without_grace_nothing_may_finish() -> None:
    journal: list[str] = []
    manager = new_manager(grace=0)
    manager.add(FakeController("web", journal, finishing=60))
    await _started(manager)

    assert await _stopped(manager) == 0
    assert journal[-2:] == ["web is cancelled", "web is closed"]
    assert manager.failure is None
    assert _no_tasks_left()


@virtual_time
async def test_with_endless_grace_controllers_may_take_for_ever() -> None:
    journal: list[str] = []
    manager = new_manager(grace=None)
    manager.add(FakeController("web", journal, finishing=86_400))
    await _started(manager)

    assert await _stopped(manager) >= 86_400
    assert "web finished" in journal
    assert manager.failure is None


@virtual_time
async def test_a_late_component_is_a_note_of_the_error_that_stopped_the_manager() -> None:
    manager = new_manager(grace=10)
    manager.add(FakeController("web", [], finishing=60))

    async def broken() -> None:
        await asyncio.sleep(5)
        raise RuntimeError("disk full")

    manager.add(broken)
    with pytest.raises(RuntimeError, match="disk full") as raised:
        await manager.run()

    assert raised.value.__notes__ == ["manager did not stop within 10 s: web was cancelled"]


@virtual_time
async def test_errors_while_stopping_are_logged_and_do_not_replace_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    manager = new_manager()

    async def broken() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise RuntimeError("cannot save")

    manager.add(broken)
    await _started(manager)
    with caplog.at_level(logging.ERROR):
        await _stopped(manager)

    assert manager.failure is None
    assert "broken failed while stopping: RuntimeError: cannot save" in caplog.text


@virtual_time
async def test_a_stop_during_the_warm_up_leaves_nothing() -> None:
    journal: list[str] = []
    elector = FakeElector(journal)
    manager = new_manager(election=elector)
    web = FakeController("web", journal)
    web.may_warm_up.clear()
    manager.add(web)
    manager.start()
    await asyncio.sleep(5)
    elector.win()

    assert await _stopped(manager) < 1
    assert journal == ["web warms up", "web stays cold", "web is closed"]
    assert manager.failure is None
    assert _no_tasks_left()


@virtual_time
async def test_warm_ups_are_cancelled_at_once_while_others_finish() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal, finishing=10))
    await _started(manager)
    cold = FakeController("cold", journal)
    cold.may_warm_up.clear()
    manager.add(cold)
    await asyncio.sleep(1)
    del journal[:]
    await _stopped(manager)

    assert journal[:2] == ["cold stays cold", "web finished"]


@virtual_time
async def test_a_stop_before_the_first_step_leaves_nothing() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal))
    manager.start()

    assert await _stopped(manager) == 0
    assert journal == []
    assert _no_tasks_left()


@virtual_time
async def test_cancelling_run_stops_gracefully() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal, finishing=5))
    running = asyncio.create_task(manager.run())
    await asyncio.sleep(5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert "web finished" in journal
    assert _no_tasks_left()


@virtual_time
async def test_a_stop_during_the_stop_after_a_failure_cuts_nothing_short() -> None:
    journal: list[str] = []
    manager = new_manager()
    manager.add(FakeController("web", journal, finishing=10))

    async def broken() -> None:
        await asyncio.sleep(5)
        raise RuntimeError("disk full")

    manager.add(broken)
    manager.start()
    await asyncio.sleep(7)
    manager.stop()
    manager.stop()
    await manager.stopped

    assert "web finished" in journal


def test_the_end_of_the_loop_ends_the_grace_period() -> None:
    journal: list[str] = []

    async def program() -> None:
        manager = new_manager(grace=None)
        manager.add(FakeController("web", journal, finishing=3600))
        await _started(manager)
        manager.stop()
        await asyncio.sleep(0.1)

    asyncio.run(program())

    assert journal[-2:] == ["web is cancelled", "web is closed"]


@virtual_time
async def test_a_failed_start_closes_what_was_started() -> None:
    journal: list[str] = []
    manager = new_manager(recorder=FakeRecorder(journal))
    manager.add(FakeController("web", journal))
    manager.add(FakeController("bad", journal, warm_up_error=CacheSyncError("forbidden")))
    with pytest.raises(CacheSyncError):
        await manager.run()

    assert {"web is closed", "bad is closed", "recorder stops"} < set(journal)
    assert manager.cache.is_stopped
    assert _no_tasks_left()


@virtual_time
async def test_a_close_that_hangs_is_named() -> None:
    manager = new_manager(grace=5)
    web = FakeController("web", [])

    async def close() -> None:
        await asyncio.Event().wait()

    web.close = close  # type: ignore[method-assign]
    manager.add(web)
    await _started(manager)

    assert await _stopped(manager) <= 8
    assert str(manager.failure) == "manager did not stop within 5 s: web did not stop"


@virtual_time
async def test_stop_and_close_that_raise_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    journal: list[str] = []
    manager = new_manager()
    web = FakeController("web", journal)

    def stop() -> None:
        raise RuntimeError("no stop")

    async def close() -> None:
        raise RuntimeError("no close")

    web.stop = stop  # type: ignore[method-assign]
    web.close = close  # type: ignore[method-assign]
    manager.add(web)
    await _started(manager)
    await _stopped(manager)

    assert "stop() of web failed; it is cancelled" in caplog.text
    assert "web could not be closed: RuntimeError: no close" in caplog.text
    assert journal[-1] == "web is cancelled"
    assert manager.failure is None
