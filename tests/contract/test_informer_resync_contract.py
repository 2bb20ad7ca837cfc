"""What client-go promises of resyncs (C-50 to C-52), in virtual time."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.informer_sources import AsyncRecorder, LoggedSource, Notes, at, informer_of


class Timed(Notes):
    """Updates only, with the second they came at."""

    async def on_update(self, old: Unstructured, new: Unstructured, /) -> None:
        self.write(f"{asyncio.get_running_loop().time():.0f} {at(old)} {at(new)}")


@virtual_time
async def test_each_handler_is_reminded_at_its_own_times_and_no_other() -> None:
    """C-50: of periods 0, 2 and 3 seconds; each resync is of all objects in the store."""
    source = LoggedSource("a", "b")
    informer = informer_of(source)
    never, two, three = Timed(), Timed(), Timed()
    informer.add_event_handler(never)
    informer.add_event_handler(two, resync_period=2.0)
    informer.add_event_handler(three, resync_period=3.0)
    async with informer:
        await asyncio.sleep(6.5)

    def reminded(*seconds: int) -> list[str]:
        return [f"{second} {name} {name}" for second in seconds for name in ("a@1", "b@2")]

    assert never.lines == []
    assert two.lines == reminded(2, 4, 6)
    assert three.lines == reminded(3, 6)


@virtual_time
async def test_a_resync_has_the_store_as_it_is_then_and_asks_no_server() -> None:
    """C-50: the cache is replayed, nothing is fetched."""
    source = LoggedSource("a", "b")
    informer = informer_of(source)
    recorder = Timed()
    informer.add_event_handler(recorder, resync_period=10.0)
    async with informer:
        await informer.has_synced
        await asyncio.sleep(5)
        source.update("a")
        source.delete("b")
        source.add("c")
        await asyncio.sleep(6)
        asked = list(source.versions)

    assert recorder.lines == ["5 a@1 a@3", "10 a@3 a@3", "10 c@5 c@5"]
    assert asked == ["0", "2"]


@virtual_time
async def test_a_handler_that_falls_behind_its_resyncs_delays_nobody() -> None:
    """C-50: neither the others nor the store; it is told everything in its order."""
    source = LoggedSource("a")
    informer = informer_of(source)
    slow, quick = Timed(), Timed()

    async def dawdle(old: Unstructured, new: Unstructured) -> None:
        await asyncio.sleep(5)
        slow.write(f"{asyncio.get_running_loop().time():.0f} {at(new)}")

    informer.add_event_handler(on_update=dawdle, resync_period=2.0)
    informer.add_event_handler(quick, resync_period=2.0)
    async with informer:
        await asyncio.sleep(9)
        source.update("a")
        await asyncio.sleep(2.5)
        stored = informer.indexer.resource_version
        await asyncio.sleep(16)

    assert stored == "2"
    assert quick.lines[:6] == [
        "2 a@1 a@1",
        "4 a@1 a@1",
        "6 a@1 a@1",
        "8 a@1 a@1",
        "9 a@1 a@2",
        "10 a@2 a@2",
    ]
    assert slow.lines == ["7 a@1", "12 a@1", "17 a@1", "22 a@1", "27 a@2"]


@virtual_time
async def test_a_handlers_period_is_its_own_whatever_others_ask_for() -> None:
    """C-51: there is no common period that shrinks, so a shorter one changes no other."""
    informer = informer_of(LoggedSource("a"), resync_period=12 * 3600.0)
    told: Counter[float] = Counter()

    def counting(period: float | None) -> float:
        async def count(old: Unstructured, new: Unstructured) -> None:
            told[registration.resync_period] += 1

        registration = informer.add_event_handler(on_update=count, resync_period=period)
        return registration.resync_period

    asked = (None, 60.0, 55.0, 5.0)
    assert [counting(period) for period in asked] == [43200.0, 60.0, 55.0, 5.0]
    assert [each.resync_period for each in informer.registrations] == [43200.0, 60.0, 55.0, 5.0]
    async with informer:
        await asyncio.sleep(121)
        assert told == {60.0: 2, 55.0: 2, 5.0: 24}
        assert counting(2.0) == 2.0
        await asyncio.sleep(11)
        assert told[2.0] == 5
        for registration in informer.registrations[1:]:
            registration.remove()
        await asyncio.sleep(12 * 3600)
        assert told[43200.0] == 1


@virtual_time
async def test_a_handler_may_resync_where_the_informer_does_not() -> None:
    """C-51: client-go would make its period 0."""
    informer = informer_of(LoggedSource("a"), resync_period=0.0)
    recorder = Timed()
    informer.add_event_handler(recorder, resync_period=5.0)
    async with informer:
        await asyncio.sleep(11)

    assert recorder.lines == ["5 a@1 a@1", "10 a@1 a@1"]


@virtual_time
async def test_a_handler_may_refuse_the_informers_resyncs() -> None:
    """C-51: 0 is never, and leaving it out is what the informer says."""
    informer = informer_of(LoggedSource("a"), resync_period=5.0)
    unwilling, willing = Timed(), Timed()
    informer.add_event_handler(unwilling, resync_period=0.0)
    informer.add_event_handler(willing)
    async with informer:
        await asyncio.sleep(6)

    assert unwilling.lines == []
    assert willing.lines == ["5 a@1 a@1"]


@virtual_time
async def test_no_period_is_shorter_than_a_second(caplog: pytest.LogCaptureFixture) -> None:
    """C-51: the shortest there is, with a warning, for one that asks for less."""
    informer = informer_of(LoggedSource("a"))
    recorder = Timed()
    registration = informer.add_event_handler(recorder, resync_period=0.1, name="hasty")
    async with informer:
        await asyncio.sleep(2.5)

    assert registration.resync_period == 1.0
    assert recorder.lines == ["1 a@1 a@1", "2 a@1 a@1"]
    assert "hasty" in caplog.text


@virtual_time
async def test_a_list_tells_unchanged_objects_only_to_who_asked_for_them() -> None:
    """C-52: it is an option of the handler, and has nothing to do with its resync period."""
    source = LoggedSource("a", "b", "c")
    informer = informer_of(source)
    plain, resyncing, curious = AsyncRecorder(), AsyncRecorder(), AsyncRecorder()
    informer.add_event_handler(plain)
    informer.add_event_handler(resyncing, resync_period=3600.0)
    informer.add_event_handler(curious, unchanged_updates=True)
    async with informer:
        await informer.has_synced
        source.update("a", missed=True)
        source.delete("b", missed=True)
        source.add("d", missed=True)
        source.forget_history()
        await asyncio.sleep(60)

    changes = ["delete b@2?", "update a@1 a@4", "add d@6"]
    assert plain.lines[3:] == changes
    assert resyncing.lines[3:] == changes
    assert curious.lines[3:] == [*changes[:2], "update c@3 c@3", changes[2]]


@virtual_time
async def test_a_resync_reaches_its_handler_though_nothing_has_changed() -> None:
    """C-52: who wants reminders gets them without asking for unchanged updates."""
    informer = informer_of(LoggedSource("a"))
    curious, resyncing = Timed(), Timed()
    informer.add_event_handler(curious, unchanged_updates=True)
    informer.add_event_handler(resyncing, resync_period=4.0)
    async with informer:
        await asyncio.sleep(5)

    assert curious.lines == []
    assert resyncing.lines == ["4 a@1 a@1"]


@virtual_time
async def test_resyncs_and_lists_transform_nothing_again() -> None:
    """C-47: what is told again was transformed when it came."""
    calls: Counter[str] = Counter()

    def count(obj: Unstructured) -> None:
        calls[at(obj)] += 1

    source = LoggedSource("a", "b")
    informer = informer_of(source, transform=count)
    recorder = Timed()
    informer.add_event_handler(recorder, resync_period=2.0)
    async with informer:
        await asyncio.sleep(7)
        source.forget_history()
        await asyncio.sleep(7)

    assert len(recorder.lines) == 14
    assert calls == {"a@1": 1, "b@2": 1}
