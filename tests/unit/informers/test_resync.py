"""Resync: the cache once more, to each handler at its own times, and never from the server."""

from __future__ import annotations

import asyncio

from kinform.informers import ChangeSource, ChangeType
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.informer_sources import AsyncRecorder, LoggedSource, informer_of


class TimedRecorder(AsyncRecorder):
    """Knows when it was reminded, by the loop's clock."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    async def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
        self.times.append(round(asyncio.get_running_loop().time(), 3))
        await super().on_update(old, new)


@virtual_time
async def test_handlers_of_different_periods_are_each_reminded_at_their_own() -> None:
    informer = informer_of(LoggedSource("a"), resync_period=60)
    recorders = {period: TimedRecorder() for period in (None, 10, 25, 0)}
    for period, recorder in recorders.items():
        informer.add_event_handler(recorder, resync_period=period)
    async with informer:
        await asyncio.sleep(130)

    assert recorders[None].times == [60, 120]
    assert recorders[10].times == list(range(10, 131, 10))
    assert recorders[25].times == [25, 50, 75, 100, 125]
    assert recorders[0].times == []


@virtual_time
async def test_who_comes_while_it_runs_is_reminded_from_then_on_until_removed() -> None:
    informer = informer_of(LoggedSource("a"))
    recorder = TimedRecorder()
    async with informer:
        await asyncio.sleep(7)
        registration = informer.add_event_handler(recorder, resync_period=10)
        await asyncio.sleep(25)
        registration.remove()
        await asyncio.sleep(100)

    assert recorder.times == [17, 27]


@virtual_time
async def test_it_tells_what_the_store_has_and_asks_nobody() -> None:
    source = LoggedSource("a", "b")
    informer = informer_of(source)
    recorder = AsyncRecorder()
    informer.add_event_handler(recorder, resync_period=10)
    async with informer:
        await informer.has_synced
        source.update("a")
        source.delete("b")
        source.add("c")
        await asyncio.sleep(1)
        asked = list(source.versions)
        del recorder.lines[:]
        await asyncio.sleep(10)

    assert sorted(recorder.lines) == ["update a@3 a@3", "update c@5 c@5"]
    assert source.versions == asked == ["0", "2"]


@virtual_time
async def test_a_handler_is_reminded_of_what_its_filter_lets_through() -> None:
    informer = informer_of(LoggedSource("a", "b"))
    recorder = AsyncRecorder()
    informer.add_event_handler(recorder, filter=lambda obj: obj.name == "b", resync_period=10)
    async with informer:
        await asyncio.sleep(15)

    assert recorder.lines == ["add b@2 initial", "update b@2 b@2"]


@virtual_time
async def test_after_a_restart_the_time_is_counted_from_there() -> None:
    informer = informer_of(LoggedSource("a"), resync_period=10)
    recorder = TimedRecorder()
    informer.add_event_handler(recorder)
    async with informer:
        await asyncio.sleep(15)
    await asyncio.sleep(100)
    restarted = asyncio.get_running_loop().time()
    async with informer:
        await asyncio.sleep(15)

    assert [recorder.times[0], recorder.times[1] - restarted] == [10, 10]
    assert len(recorder.times) == 2


@virtual_time
async def test_streams_are_reminded_if_they_ask_for_it() -> None:
    told: list[tuple[ChangeType, ChangeSource]] = []
    async with informer_of(LoggedSource("a"), resync_period=5) as informer:
        await informer.has_synced
        stream, silent = informer.events(resync_period=10), informer.events()
        async for event in stream:
            told.append((event.type, event.source))
            if len(told) == 3:
                break
        # A stream does not take the informer's period: it has had the snapshot alone.
        assert silent.stats.depth == 1

    assert told[0] == (ChangeType.ADDED, ChangeSource.REPLAY)
    assert told[1:] == [(ChangeType.UPDATED, ChangeSource.RESYNC)] * 2


@virtual_time
async def test_reminders_that_pile_up_are_one_for_who_coalesces() -> None:
    informer = informer_of(LoggedSource("a", "b"))
    go_on = asyncio.Event()
    updates: list[str] = []

    class Slow(AsyncRecorder):
        async def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
            await go_on.wait()
            updates.append(new.name)

    registration = informer.add_event_handler(Slow(), resync_period=10, policy="coalesce")
    async with informer:
        await asyncio.sleep(1000)
        assert registration.stats.depth <= 2
        go_on.set()
        await asyncio.sleep(5)

    assert updates == ["a", "b", "a"] or updates == ["a", "b"]


@virtual_time
async def test_nobody_is_reminded_before_there_is_a_list() -> None:
    source = LoggedSource("a")
    source.list_error = RuntimeError("not yet")
    informer = informer_of(source, resync_period=1)
    recorder = AsyncRecorder()
    registration = informer.add_event_handler(recorder)
    async with informer:
        await asyncio.sleep(10)
        assert recorder.lines == []
        source.list_error = None
        await registration.has_synced
        assert recorder.lines[0] == "add a@1 initial"
