"""What a close reading of the engine found, each as the story of who would have suffered."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kinform.api import ListOptions
from kinform.client import Client
from kinform.errors import CacheSyncError, ConfigError
from kinform.informers import (
    DeltaController,
    DeltaControllerConfig,
    Deltas,
    DeltasKind,
    DynamicSharedInformerFactory,
    HandlerFailure,
    ListWatch,
    Phase,
    SharedIndexInformer,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer, virtual_time
from tests.support.answers import pod, pod_list, status
from tests.support.informer_sources import LoggedSource, informer_of
from tests.support.scripted_source import STAY, ScriptedSource


@virtual_time
async def test_what_came_before_a_refusal_in_one_batch_is_told_at_once() -> None:
    batch = [("MODIFIED", pod("a", rv="11")), ("ERROR", status(500, "InternalError"))]
    script = ScriptedSource().lists(pod_list(pod("a"), rv="10")).watches([batch], [STAY])
    informer = SharedIndexInformer(script.listwatch)
    async with informer:
        await informer.has_synced
        async with asyncio.timeout(60):
            await informer.wait_for_rv("11")


@virtual_time
async def test_a_resync_while_a_slow_process_runs_does_not_hold_up_the_watch() -> None:
    heard: list[str] = []

    async def process(deltas: Deltas[Unstructured]) -> None:
        heard.append(deltas.kind.value)
        if deltas.kind is DeltasKind.REPLACE:
            await asyncio.sleep(70)  # a resync comes meanwhile

    script = ScriptedSource().lists(pod_list(pod("a"), rv="10"))
    script.watches([("MODIFIED", pod("a", rv="11")), STAY])
    due = iter([True])
    controller = DeltaController(
        DeltaControllerConfig(
            source=script.listwatch,
            process=process,
            full_resync_period=60,
            should_resync=lambda: next(due, False),
        )
    )
    running = asyncio.create_task(controller.run())
    await asyncio.sleep(80)
    running.cancel()
    assert DeltasKind.CHANGES.value in heard


async def test_updates_of_objects_without_versions_are_told() -> None:
    told: asyncio.Queue[str] = asyncio.Queue()
    changes: asyncio.Queue[str] = asyncio.Queue()

    def item(note: str) -> dict[str, Any]:
        return {"kind": "Note", "apiVersion": "v1", "metadata": {"name": "n"}, "note": note}

    async def page(options: ListOptions) -> list[dict[str, Any]]:
        return [item("first")]

    async def watch(options: ListOptions) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        while True:
            yield ("MODIFIED", item(await changes.get()))

    async def on_update(old: Unstructured, new: Unstructured) -> None:
        told.put_nowait(new["note"])

    informer = SharedIndexInformer(ListWatch(page, watch, name="notes"))
    informer.add_event_handler(on_update=on_update)
    async with informer:
        await informer.has_synced
        changes.put_nowait("second")
        async with asyncio.timeout(20):
            assert await told.get() == "second"


async def test_a_stream_that_is_opened_while_the_informer_stops_ends_too() -> None:
    informer = informer_of(LoggedSource("a"))
    entered = asyncio.Event()

    async def slow(_pod: Unstructured) -> None:
        entered.set()
        await asyncio.sleep(0.2)

    informer.add_event_handler(on_add=slow)
    async with asyncio.timeout(20):
        informer.start()
        await entered.wait()
        informer.stop()
        await asyncio.sleep(0)
        await asyncio.sleep(0.05)
        assert not informer.is_stopped
        async for _ in informer.events():
            pass
        await informer.stopped


async def test_a_stream_that_is_opened_right_after_a_restart_belongs_to_it() -> None:
    informer = informer_of(LoggedSource("a"))
    async with informer:
        await informer.has_synced
    informer.start()
    events = informer.events()
    async with asyncio.timeout(20):
        assert (await anext(events)).key == "default/a"
    informer.stop()
    await informer.stopped


async def test_an_error_callback_that_exits_does_not_end_its_handler() -> None:
    def leave(_failure: HandlerFailure) -> None:
        sys.exit(1)

    def fails(_pod: Unstructured) -> None:
        raise ValueError("no")

    informer = informer_of(LoggedSource("a", "b"), on_handler_error=leave)
    registration = informer.add_event_handler(on_add=fails)
    async with informer, asyncio.timeout(20):
        await registration.has_synced
    assert registration.stats.failed == 2


async def test_an_async_error_callback_is_refused() -> None:
    async def hear(_failure: HandlerFailure) -> None: ...

    with pytest.raises(ConfigError, match="on_handler_error must not be async"):
        informer_of(LoggedSource("a"), on_handler_error=hear)


async def test_strict_waiting_says_that_nothing_was_started(kinform_api: ApiServer) -> None:
    async with Client(kinform_api.config) as client:
        factory = DynamicSharedInformerFactory(client)
        factory.for_resource("v1/configmaps")
        with pytest.raises(CacheSyncError, match=r"no informer was started; call start\(\) first"):
            await factory.wait_for_cache_sync(strict=True)


async def test_an_informer_that_ended_by_a_fault_says_so() -> None:
    class Fault(BaseException):
        pass

    def fails(_pod: Unstructured) -> list[str]:
        raise Fault("of the machine")

    informer = informer_of(LoggedSource("a"), indexers={"bad": fails})
    async with asyncio.timeout(20):
        await informer.run()
    found = informer.sync_status()
    assert (found.synced, found.phase) == (False, Phase.STOPPED)
    assert "stopped because of an internal error" in str(found.error)


async def test_handlers_of_an_informer_without_a_name_have_names_of_their_own() -> None:
    informer = SharedIndexInformer(ListWatch(lambda _: [], lambda _: iter(())))
    for _ in range(2):
        informer.add_event_handler(on_add=lambda _pod: None)
    assert len(informer.status().handlers) == 2


async def test_before_the_start_the_phase_is_as_old_as_the_informer() -> None:
    informer = informer_of(LoggedSource())
    assert informer.status().sources[""].phase_age < 60
