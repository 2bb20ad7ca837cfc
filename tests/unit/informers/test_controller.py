"""The controller: a reflector into a queue, and the queue into one function."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.errors import AlreadyStartedError
from kinform.informers import (
    Controller,
    ControllerConfig,
    DeltaFIFO,
    Deltas,
    DeltasKind,
    DeltaType,
    Store,
    WatchFailure,
)
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.informer_sources import QUICK, LoggedSource
from tests.support.running import running
from tests.support.waiting import wait_until


class Taking:
    """Writes down the deltas that it is given."""

    def __init__(self) -> None:
        self.kinds: list[DeltasKind] = []
        self.lines: list[str] = []

    def __call__(self, deltas: Deltas[Unstructured]) -> None:
        self.kinds.append(deltas.kind)
        self.lines += [f"{delta.type.value} {delta.key}" for delta in deltas]


def config(source: LoggedSource, process: Any, **more: Any) -> ControllerConfig[Unstructured]:
    return ControllerConfig(
        source=source.list_watch(), process=process, **{"options": QUICK, **more}
    )


async def test_deltas_are_handed_out_in_their_order() -> None:
    source, taking = LoggedSource("a"), Taking()
    controller = Controller(config(source, taking))
    async with running(controller):
        await controller.has_synced
        source.add("b")
        source.update("a")
        source.delete("b")
        await wait_until(lambda: len(taking.lines) == 4)
        assert controller.last_sync_resource_version == source.version

    assert taking.kinds[0] is DeltasKind.REPLACE
    assert taking.lines == [
        f"{DeltaType.REPLACED.value} default/a",
        f"{DeltaType.ADDED.value} default/b",
        f"{DeltaType.UPDATED.value} default/a",
        f"{DeltaType.DELETED.value} default/b",
    ]


async def test_it_has_synced_when_the_first_list_was_processed_and_not_before() -> None:
    go_on, began = asyncio.Event(), asyncio.Event()

    async def process(deltas: Deltas[Unstructured]) -> None:
        began.set()
        await go_on.wait()

    controller = Controller(config(LoggedSource("a"), process))
    async with running(controller):
        await began.wait()
        assert not controller.has_synced
        go_on.set()
        await controller.has_synced


async def test_an_empty_list_is_processed_too() -> None:
    controller = Controller(config(LoggedSource(), Taking()))
    async with running(controller), asyncio.timeout(20):
        await controller.has_synced


async def test_what_the_function_raises_ends_it_and_closes_its_watch() -> None:
    source = LoggedSource("a")

    def process(deltas: Deltas[Unstructured]) -> None:
        if deltas.kind is DeltasKind.CHANGES:
            raise LookupError("b")

    controller = Controller(config(source, process))
    tasks = asyncio.all_tasks()
    async with running(controller) as task:
        await controller.has_synced
        source.add("b")
        with pytest.raises(LookupError, match="b"):
            await task
        assert asyncio.all_tasks() - tasks == set()


async def test_it_runs_once() -> None:
    controller = Controller(config(LoggedSource("a"), Taking()))
    async with running(controller):
        await controller.has_synced
        with pytest.raises(AlreadyStartedError, match="controller pods ran before"):
            await controller.run()
    with pytest.raises(AlreadyStartedError):
        await controller.run()


@virtual_time
async def test_a_resync_says_everything_again_if_it_is_wanted() -> None:
    taking, answers = Taking(), [True, False, True]
    store: Store[Unstructured] = Store(Unstructured)
    queue: DeltaFIFO[Unstructured] = DeltaFIFO(known_objects=store)

    def process(deltas: Deltas[Unstructured]) -> None:
        taking(deltas)
        for delta in deltas:
            if isinstance(delta.object, Unstructured):
                store.update(delta.object)

    controller = Controller(
        config(
            LoggedSource("a"),
            process,
            queue=queue,
            full_resync_period=10.0,
            should_resync=lambda: answers.pop(0),
        )
    )
    async with running(controller):
        await asyncio.sleep(35)

    assert controller.queue is queue
    assert answers == []
    assert taking.lines[1:] == [f"{DeltaType.SYNC.value} default/a"] * 2


async def test_it_tells_of_failures_under_its_own_name() -> None:
    source = LoggedSource("a")
    source.list_error = RuntimeError("not yet")
    failures: list[WatchFailure] = []

    def hear(failure: WatchFailure) -> None:
        failures.append(failure)
        source.list_error = None

    controller = Controller(config(source, Taking(), name="mine", on_watch_error=hear))
    async with running(controller):
        await controller.has_synced

    assert [failure.name for failure in failures] == ["mine"]
