"""How a handler wants to be told: what to do when it falls behind, and what to leave out."""

from __future__ import annotations

import asyncio

import pytest

from kinform.api import LabelSelector
from kinform.informers import (
    DeletedObject,
    Latch,
    SharedIndexInformer,
)
from kinform.objects import Unstructured
from kinform.testing import ApiServer
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import (
    AsyncRecorder,
    LoggedSource,
    Notes,
    Recorder,
    informer_of,
)

# -- policies --------------------------------------------------------------------------------


async def test_a_blocking_handler_holds_the_store_back_and_loses_nothing() -> None:
    source = LoggedSource()
    informer = informer_of(source)
    told: list[str] = []
    go_on, done = asyncio.Event(), asyncio.Event()

    async def slow(obj: Unstructured) -> None:
        await go_on.wait()
        told.append(obj.name)
        if len(told) == 3000:
            done.set()

    registration = informer.add_event_handler(on_add=slow, policy="block", capacity=10)
    async with informer:
        await informer.has_synced
        for number in range(30):
            for more in range(100):
                source.add(f"{number:02}-{more:02}")
            await asyncio.sleep(0)
        for _ in range(2000):
            await asyncio.sleep(0)
        # What the store takes in one step may be above the capacity, but the rest has to wait.
        assert registration.stats.depth < 3000 > len(informer.indexer)
        go_on.set()
        async with asyncio.timeout(30):
            await done.wait()
        assert len(informer.indexer) == 3000

    assert told == [f"{number:02}-{more:02}" for number in range(30) for more in range(100)]


async def test_who_comes_late_and_blocks_has_all_there_was_and_holds_up_what_comes() -> None:
    source = LoggedSource(*(f"n{number}" for number in range(500)))
    recorder = AsyncRecorder()
    async with informer_of(source) as informer:
        await informer.has_synced
        registration = informer.add_event_handler(recorder, policy="block", capacity=1)
        source.add("end")
        await registration.has_synced
        told = await recorder.until("add end@501")

    assert len(told) == 501


async def test_a_coalescing_handler_is_told_the_outcome_alone() -> None:
    source = LoggedSource("a", "b")
    informer = informer_of(source)
    began, go_on = Latch("began"), Latch("go on")
    recorder = AsyncRecorder()

    class Slow(AsyncRecorder):
        async def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
            began.set()
            await go_on
            await super().on_add(obj, is_in_initial_list)

    slow = Slow()
    informer.add_event_handler(slow, policy="coalesce")
    informer.add_event_handler(recorder)
    async with informer:
        await began
        for _ in range(50):
            source.update("b")
        source.add("c")
        source.delete("c")
        source.add("end")
        await recorder.until("add end@55")
        go_on.set()
        told = await slow.until("add end@55")

    # Of b it had not been told, so that what it is now is an addition; of c there is nothing.
    assert [line.removesuffix(" initial") for line in told] == ["add a@1", "add b@52", "add end@55"]


async def test_the_same_changes_reach_every_policy() -> None:
    source = LoggedSource()
    informer = informer_of(source)
    recorders = {policy: Recorder() for policy in ("unbounded", "block", "coalesce")}
    for policy, recorder in recorders.items():
        informer.add_event_handler(recorder, policy=policy, capacity=2)  # type: ignore[arg-type]  # mypy takes the keys for any text
    async with informer:
        await informer.has_synced
        for number in range(100):
            source.add(f"n{number}")
        for recorder in recorders.values():
            await recorder.until("add n99@100")

    assert all(recorder.lines == recorders["block"].lines for recorder in recorders.values())


# -- filters and unchanged updates -----------------------------------------------------------


@pytest.mark.parametrize("as_selector", [True, False], ids=["selector", "function"])
async def test_crossing_a_filter_is_an_addition_or_a_deletion(
    kinform_api: ApiServer, maps: SharedIndexInformer[Unstructured], as_selector: bool
) -> None:
    changes = Notes()

    class Blue:
        def on_add(self, obj: Unstructured, is_in_initial_list: bool, /) -> None:
            changes.write(f"add {obj.name}")

        def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
            changes.write(f"update {new.name}")

        def on_delete(self, deleted: DeletedObject[Unstructured], /) -> None:
            known = "" if deleted.final_state_unknown else " known"
            changes.write(f"delete {deleted.name}{known}")

    blue = LabelSelector.parse("color=blue")
    maps.add_event_handler(
        Blue(), filter=blue if as_selector else lambda obj: obj.labels.get("color") == "blue"
    )
    kinform_api.create(config_map("a", color="red"))
    kinform_api.create(config_map("b", color="blue"))
    async with maps:
        await maps.has_synced
        for number, color in enumerate(("blue", "blue", "red", "red", "blue")):
            patch = {"metadata": {"labels": {"color": color}}, "data": {"n": str(number)}}
            kinform_api.patch(MAPS, "a", patch, "default")
        kinform_api.delete(MAPS, "b", "default")
        told = await changes.until("delete b known")

    assert told == [
        "add b",
        "add a",
        "update a",
        "delete a known",
        "add a",
        "delete b known",
    ]


@pytest.mark.parametrize("wanted", [True, False])
async def test_an_update_to_the_same_version_is_told_to_who_asked(wanted: bool) -> None:
    source = LoggedSource("a", "b")
    recorder = Recorder()
    informer = informer_of(source)
    informer.add_event_handler(recorder, unchanged_updates=wanted)
    async with informer:
        await informer.has_synced
        source.update("b", missed=True)
        source.forget_history()
        await recorder.until("update b@2 b@3")
        source.add("end")
        told = await recorder.until("add end@5")

    assert ("update a@1 a@1" in told) is wanted
