"""One open stream: its pulse, the limits on its silence, and its end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

import pytest

from kinform._runtime import Demand, ReadOutcome
from kinform.api import ListOptions
from kinform.client import BatchConsumer, EventType, Frame, Reachability
from kinform.errors import TransportError, WatchSilenceError
from kinform.informers import ListWatch
from kinform.informers.reflector._open_watch import OpenWatch
from kinform.informers.reflector._silence_limit import SilenceLimit
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.changes import record
from tests.support.reading import read_all, read_next

FRAME = Frame(EventType.ADDED, record("a"))
STAY = 1e6


class Stream(ListWatch[Unstructured]):
    """A source whose only stream waits, and then gives a frame, for each of its ``pauses``."""

    def __init__(
        self,
        *pauses: float,
        error: Exception | None = None,
        opens_after: float = 0.0,
        refusal: Exception | None = None,
    ) -> None:
        super().__init__(lambda options: (), lambda options: ())
        self._pauses = deque(pauses)
        self._error = error
        self._opens_after = opens_after
        self._refusal = refusal
        self.opened = self.closed = 0

    async def open_watch(self, options: ListOptions) -> Stream:
        await asyncio.sleep(self._opens_after)
        if self._refusal is not None:
            raise self._refusal
        self.opened += 1
        return self

    async def close(self) -> None:
        self.closed += 1
        if self._error is not None:
            raise self._error

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        while self._pauses:
            await asyncio.sleep(self._pauses.popleft())
            if consumer([FRAME]) is Demand.STOP:
                return ReadOutcome.STOPPED
        return ReadOutcome.ENDED


async def opened(
    stream: Stream, *, lifetime: float = 330.0, limit: SilenceLimit | None = None
) -> OpenWatch:
    watch = OpenWatch(
        what="pods",
        resource_version="7",
        lifetime=lifetime,
        silence_limit=limit or SilenceLimit(),
        reachability=Reachability(),
    )
    await watch.open(stream, ListOptions(resource_version="7"))
    return watch


async def next_batch(watch: OpenWatch, longest_silence: float | None = None) -> list[Frame] | None:
    return await read_next(partial(watch.read_into, longest_silence=longest_silence))


@virtual_time
async def test_batches_come_as_they_come_and_none_when_the_server_ends_it() -> None:
    watch = await opened(Stream(1, 2))
    assert await next_batch(watch) == [FRAME]
    assert await next_batch(watch) == [FRAME]
    assert await next_batch(watch) is None
    assert watch.age == pytest.approx(3)
    await watch.close()


@virtual_time
async def test_one_wait_takes_all_the_batches_that_it_is_not_told_to_stop_at() -> None:
    watch = await opened(Stream(1, 2, 3))
    assert await read_all(watch.read_into) == [[FRAME], [FRAME], [FRAME]]
    assert watch.age == pytest.approx(6)
    await watch.close()


@pytest.mark.parametrize(
    "error",
    [LookupError("not this"), TimeoutError("not this")],
    ids=["refusal", "timeout"],
)
@virtual_time
async def test_what_who_takes_it_raises_is_raised_and_no_silence(error: Exception) -> None:
    watch = await opened(Stream(1, STAY))

    def refuse(batch: list[Frame]) -> Demand:
        raise error

    with pytest.raises(type(error), match="not this"):
        await watch.read_into(refuse)
    await watch.close()


@virtual_time
async def test_what_was_given_back_comes_first() -> None:
    watch = await opened(Stream(1))
    other = Frame(EventType.DELETED, record("b"))
    watch.unread([other])
    assert await next_batch(watch) == [other]
    assert await next_batch(watch) == [FRAME]
    await watch.close()


@virtual_time
async def test_what_was_given_back_and_what_follows_come_in_one_wait() -> None:
    watch = await opened(Stream(1))
    other = Frame(EventType.DELETED, record("b"))
    watch.unread([other])
    assert await read_all(watch.read_into) == [[other], [FRAME]]
    assert await read_all(watch.read_into) == []
    await watch.close()


@virtual_time
async def test_a_limit_on_silence_is_kept_to_the_second() -> None:
    watch = await opened(Stream(29, STAY))
    assert await next_batch(watch, 30) == [FRAME]
    with pytest.raises(WatchSilenceError, match="pods"):
        await next_batch(watch, 30)
    assert watch.age == pytest.approx(59)
    await watch.close()


@virtual_time
async def test_each_batch_begins_the_silence_anew_within_one_wait_too() -> None:
    watch = await opened(Stream(29, 29, 29, STAY))
    heard: list[float] = []

    def hear(batch: list[Frame]) -> Demand:
        heard.append(watch.age)
        return Demand.MORE

    with pytest.raises(WatchSilenceError, match="no data was received in time"):
        await watch.read_into(hear, 30)
    assert heard == pytest.approx([29, 58, 87])
    assert watch.age == pytest.approx(117)
    await watch.close()


@pytest.mark.parametrize("limit", [0.0, -5.0])
@virtual_time
async def test_a_limit_that_has_passed_is_no_missing_limit(limit: float) -> None:
    watch = await opened(Stream(1))
    with pytest.raises(WatchSilenceError):
        await next_batch(watch, limit)
    assert watch.age == pytest.approx(0)
    await watch.close()


@virtual_time
async def test_a_server_that_does_not_end_a_watch_in_time_is_taken_for_dead() -> None:
    watch = await opened(Stream(300, STAY), lifetime=330)
    await next_batch(watch)
    with pytest.raises(WatchSilenceError, match="did not end the watch"):
        await next_batch(watch)
    assert watch.age == pytest.approx(330)
    await watch.close()


@virtual_time
async def test_a_source_that_never_opens_a_watch_is_taken_for_dead_when_it_would_be_over() -> None:
    started = asyncio.get_running_loop().time()
    stream = Stream(opens_after=STAY)
    with pytest.raises(WatchSilenceError, match="pods: the server did not respond"):
        await opened(stream, lifetime=330)
    assert asyncio.get_running_loop().time() - started == pytest.approx(330)
    assert stream.opened == 0


@virtual_time
async def test_a_timeout_of_the_source_is_its_own() -> None:
    with pytest.raises(TimeoutError, match="mine"):
        await opened(Stream(opens_after=1, refusal=TimeoutError("mine")))


@virtual_time
async def test_the_pulse_is_learned_from_bookmarks_and_kept_for_the_next_watch() -> None:
    limit = SilenceLimit()
    watch = await opened(Stream(STAY), limit=limit)
    watch.received_bookmark()
    await asyncio.sleep(20)
    watch.received_bookmark()
    await watch.close()

    following = await opened(Stream(STAY), limit=limit)
    with pytest.raises(WatchSilenceError, match="no data was received in time"):
        await next_batch(following)
    assert following.age == pytest.approx(60)
    assert limit.seconds == 120
    await following.close()


@virtual_time
async def test_a_pulse_that_is_learned_within_one_wait_counts_from_then_on() -> None:
    limit = SilenceLimit()
    watch = await opened(Stream(10, 20, STAY), limit=limit)

    def hear(batch: list[Frame]) -> Demand:
        watch.received_bookmark()
        return Demand.MORE

    with pytest.raises(WatchSilenceError, match="no data was received in time"):
        await watch.read_into(hear)
    assert watch.age == pytest.approx(30 + 3 * 20)
    assert limit.seconds == 120
    await watch.close()


@virtual_time
async def test_batches_do_not_put_off_the_end_of_a_watch() -> None:
    watch = await opened(Stream(*[50] * 20), lifetime=330)
    with pytest.raises(WatchSilenceError, match="did not end the watch"):
        await read_all(watch.read_into)
    assert watch.age == pytest.approx(330)
    await watch.close()


@virtual_time
async def test_only_a_missing_bookmark_is_a_reason_to_doubt_less() -> None:
    limit = SilenceLimit()
    limit.received_bookmark(60)
    for lifetime, longest in ((330.0, 30.0), (100.0, None)):
        watch = await opened(Stream(STAY), lifetime=lifetime, limit=limit)
        with pytest.raises(WatchSilenceError):
            await next_batch(watch, longest)
        assert watch.age == pytest.approx(longest or lifetime)
        await watch.close()
    assert limit.seconds == 180


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
        what="pods",
        resource_version="",
        lifetime=1,
        silence_limit=SilenceLimit(),
        reachability=Reachability(),
    )
    await watch.close()
    assert stream.closed == 0


class _AlwaysReady(Stream):
    """Never lets another task run."""

    def __init__(self, passes: Callable[[], None]) -> None:
        super().__init__()
        self._passes = passes

    async def read_into(self, consumer: BatchConsumer) -> ReadOutcome:
        for _ in range(1000):
            self._passes()
            if consumer([FRAME]) is Demand.STOP:
                return ReadOutcome.STOPPED
        return ReadOutcome.ENDED


async def test_a_source_that_is_always_ready_does_not_outlive_its_watch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()

    def pass_a_second() -> None:
        nonlocal now
        now += 1

    watch = await opened(_AlwaysReady(pass_a_second), lifetime=100)
    monkeypatch.setattr(loop, "time", lambda: now)
    with pytest.raises(WatchSilenceError, match="did not end the watch"):
        await read_all(watch.read_into)
    monkeypatch.undo()
    await watch.close()
