"""One open stream: its pulse, the limits on its silence, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from kinform.client import EventType, Frame
from kinform.errors import TransportError, WatchSilenceError
from kinform.informers.reflector._open_watch import Cadence, OpenWatch
from kinform.testing import virtual_time
from tests.support.changes import record

FRAME = Frame(EventType.ADDED, record("a"))
STAY = 1e6


class Stream:
    """Waits, and then gives a frame, for each of its ``pauses``."""

    def __init__(self, *pauses: float, error: Exception | None = None) -> None:
        self._pauses = pauses
        self._error = error
        self.closed = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[AsyncIterator[list[Frame]]]:
        try:
            yield self._batches()
        finally:
            self.closed += 1
            if self._error is not None:
                raise self._error

    async def _batches(self) -> AsyncIterator[list[Frame]]:
        for pause in self._pauses:
            await asyncio.sleep(pause)
            yield [FRAME]


async def opened(
    stream: Stream, *, lifetime: float = 330.0, cadence: Cadence | None = None
) -> OpenWatch:
    watch = OpenWatch(
        stream.opened(),
        what="pods",
        resource_version="7",
        lifetime=lifetime,
        cadence=cadence or Cadence(),
    )
    await watch.open()
    return watch


def test_nothing_is_known_of_a_server_before_two_bookmarks() -> None:
    assert Cadence().longest_silence is None


def test_thrice_the_longest_gap_is_too_long_and_nothing_below_fifteen_seconds_is() -> None:
    cadence = Cadence()
    cadence.heard(1)
    assert cadence.longest_silence == 15
    cadence.heard(60)
    cadence.heard(20)
    assert cadence.longest_silence == 180


def test_each_false_alarm_doubles_the_patience_until_a_bookmark_comes() -> None:
    cadence = Cadence()
    cadence.heard(60)
    cadence.was_silent()
    cadence.was_silent()
    assert cadence.longest_silence == 720
    cadence.heard(60)
    assert cadence.longest_silence == 180


@virtual_time
async def test_batches_come_as_they_come_and_none_when_the_server_ends_it() -> None:
    watch = await opened(Stream(1, 2))
    assert await watch.next_batch() == [FRAME]
    assert await watch.next_batch() == [FRAME]
    assert await watch.next_batch() is None
    assert watch.age == pytest.approx(3)
    await watch.close()


@virtual_time
async def test_what_was_given_back_comes_first() -> None:
    watch = await opened(Stream(1))
    other = Frame(EventType.DELETED, record("b"))
    watch.give_back([other])
    assert await watch.next_batch() == [other]
    assert await watch.next_batch() == [FRAME]
    await watch.close()


@virtual_time
async def test_a_limit_on_silence_is_kept_to_the_second() -> None:
    watch = await opened(Stream(29, STAY))
    assert await watch.next_batch(30) == [FRAME]
    with pytest.raises(WatchSilenceError, match="pods"):
        await watch.next_batch(30)
    assert watch.age == pytest.approx(59)
    await watch.close()


@pytest.mark.parametrize("limit", [0.0, -5.0])
@virtual_time
async def test_a_limit_that_has_passed_is_no_missing_limit(limit: float) -> None:
    watch = await opened(Stream(0))
    with pytest.raises(WatchSilenceError):
        await watch.next_batch(limit)
    await watch.close()


@virtual_time
async def test_a_server_that_does_not_end_a_watch_in_time_is_taken_for_dead() -> None:
    watch = await opened(Stream(300, STAY), lifetime=330)
    await watch.next_batch()
    with pytest.raises(WatchSilenceError, match="did not end it"):
        await watch.next_batch()
    assert watch.age == pytest.approx(330)
    await watch.close()


@virtual_time
async def test_the_pulse_is_learned_from_bookmarks_and_kept_for_the_next_watch() -> None:
    cadence = Cadence()
    watch = await opened(Stream(STAY), cadence=cadence)
    watch.heard_bookmark()
    await asyncio.sleep(20)
    watch.heard_bookmark()
    await watch.close()

    following = await opened(Stream(STAY), cadence=cadence)
    with pytest.raises(WatchSilenceError, match="did not come in time"):
        await following.next_batch()
    assert following.age == pytest.approx(60)
    assert cadence.longest_silence == 120
    await following.close()


@virtual_time
async def test_only_a_missing_bookmark_is_a_reason_to_doubt_less() -> None:
    cadence = Cadence()
    cadence.heard(60)
    for lifetime, limit in ((330.0, 30.0), (100.0, None)):
        watch = await opened(Stream(STAY), lifetime=lifetime, cadence=cadence)
        with pytest.raises(WatchSilenceError):
            await watch.next_batch(limit)
        await watch.close()
    assert cadence.longest_silence == 180


@virtual_time
async def test_a_list_that_it_began_with_does_not_count_as_watching() -> None:
    watch = await opened(Stream())
    await asyncio.sleep(20)
    assert watch.watched_for == watch.age == pytest.approx(20)
    watch.begin("9")
    await asyncio.sleep(1)
    assert watch.opened_from == "9"
    assert watch.watched_for == pytest.approx(1)
    assert watch.age == pytest.approx(21)
    await watch.close()


@virtual_time
async def test_closing_is_done_once_and_never_fails() -> None:
    stream = Stream(error=TransportError("broken while closing"))
    watch = await opened(stream)
    await watch.close()
    await watch.close()
    assert stream.closed == 1


@virtual_time
async def test_what_never_opened_needs_no_closing() -> None:
    stream = Stream()
    watch = OpenWatch(
        stream.opened(), what="pods", resource_version="", lifetime=1, cadence=Cadence()
    )
    await watch.close()
    assert stream.closed == 0
