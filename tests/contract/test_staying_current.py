"""How soon a reflector is current again after each kind of failure; ids as in docs/parity.md.

Delays are exact here: the backoffs have no jitter, and the jitter of a resumed watch is its bound.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform.api import ListOptions
from kinform.client import Reachability
from kinform.errors import (
    ExpiredError,
    ForbiddenError,
    InvalidError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    TransportError,
    TruncatedResponseError,
    VeryShortWatchError,
    WatchError,
)
from kinform.informers import ListWatch, Reflector, ReflectorOptions, Store, WatchFailure
from kinform.objects import Unstructured
from kinform.testing import run_virtual, virtual_time
from tests.contract.faulty_server import (
    Busy,
    Close,
    Fault,
    FaultyServer,
    Gone,
    Refused,
    Reset,
    Truncated,
)
from tests.contract.played_source import (
    After,
    ExactBackoff,
    PlayedSource,
    Stream,
    added,
    bookmark,
    error,
    list_ends,
    modified,
    running,
    sends,
    sends_and_ends,
)
from tests.support.answers import pod, pod_list
from tests.support.scripted_source import contents

REFUSED = TransportError("connection refused")
RESET = TransportError("reset by peer")
TRUNCATED = TruncatedResponseError("the answer broke off")
TORN = WatchError("the stream ended inside an event")
BUSY = TooManyRequestsError("busy", code=429)
AWAY = ServiceUnavailableError("going down", code=503, retry_after=60)
FORBIDDEN = ForbiddenError("no", code=403)
FAILED = ServerError("etcd is away", code=500, reason="InternalError")
GONE = error(410, "Expired")
EXPIRED = ExpiredError("too old", code=410, reason="Expired")

JITTER = 0.02
"""The longest delay after progress."""
ROUNDING = 1e-6


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> ReflectorOptions:
    """Delays of 0.1, 0.2, 0.4, 0.75 s after lost connections; of 0.8, 1.6 … 30 s after refusals."""
    monkeypatch.setattr(random, "uniform", lambda low, high: high)
    return ReflectorOptions(
        backoff=lambda: ExactBackoff(0.8, cap=30),
        reconnect_backoff=lambda: ExactBackoff(0.1, cap=0.75),
    )


def rounded(delays: Sequence[float]) -> list[float]:
    return [round(delay, 6) for delay in delays]


# -- watches -----------------------------------------------------------------------------------


WATCHES: dict[str, tuple[list[Stream | Exception], list[float]]] = {
    "refused": ([REFUSED] * 6, [0.1, 0.2, 0.4, 0.75, 0.75, 0.75]),
    "reset with nothing": ([sends(RESET)] * 3, [0.1, 0.2, 0.4]),
    "reset after a known bookmark": ([sends(bookmark("10"), RESET)] * 3, [0.1, 0.2, 0.4]),
    "reset after events": (
        [sends(modified("a", rv), RESET) for rv in ("11", "12", "13")],
        [JITTER] * 3,
    ),
    "reset after bookmarks": ([sends(bookmark(rv), RESET) for rv in ("11", "12")], [JITTER] * 2),
    "torn after events": ([sends(modified("a", rv), TORN) for rv in ("11", "12")], [JITTER] * 2),
    "torn with nothing": ([sends(TORN)] * 3, [0.8, 1.6, 3.2]),
    "closed after events": (
        [sends_and_ends(modified("a", rv)) for rv in ("11", "12", "13")],
        [JITTER] * 3,
    ),
    "events end the sequence": (
        [REFUSED, REFUSED, REFUSED, sends(modified("a", "11"), RESET), REFUSED],
        [0.1, 0.2, 0.4, JITTER, 0.1],
    ),
    "busy": ([BUSY] * 8, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]),
    "Retry-After": ([AWAY, AWAY], [60, 60]),
    "forbidden": ([FORBIDDEN] * 3, [1.6, 3.2, 6.4]),
    "busy after events": (
        [BUSY, BUSY, sends(modified("a", "11"), error(429, "TooManyRequests")), BUSY],
        [0.8, 1.6, 0.8, 1.6],
    ),
    "two sequences": (
        [REFUSED, BUSY, REFUSED, BUSY, REFUSED, BUSY],
        [0.1, 0.8, 0.2, 1.6, 0.4, 3.2],
    ),
}


@pytest.mark.parametrize(("watches", "expected"), WATCHES.values(), ids=WATCHES)
@virtual_time
async def test_watches_that_fail_resume_after_exact_delays(
    exact: ReflectorOptions, watches: list[Stream | Exception], expected: list[float]
) -> None:
    """C-04, C-08, C-10, C-11: and no list is asked for."""
    script = PlayedSource(lists=[pod_list(pod("a"), rv="10")], watches=[*watches, sends()])

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert script.verbs == ["list"] + ["watch"] * (len(watches) + 1)
    assert rounded(script.gaps[1:]) == expected


@pytest.mark.parametrize("ending", [[], [RESET], [TORN]], ids=["closed", "reset", "torn"])
@virtual_time
async def test_a_watch_open_for_a_second_resumes_at_once_though_nothing_came(
    exact: ReflectorOptions, ending: list[Exception]
) -> None:
    """C-04, C-08: 0.9 s are not enough."""
    lived, short = Stream([After(1), *ending], False), Stream([After(0.9), RESET], False)
    script = PlayedSource(
        lists=[pod_list(rv="10")], watches=[REFUSED, REFUSED, lived, short, short, sends()]
    )

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert rounded(script.gaps) == [0, 0.1, 0.2, 1 + JITTER, 0.9 + 0.1, 0.9 + 0.2]


@virtual_time
async def test_only_failures_are_reported_after_progress(exact: ReflectorOptions) -> None:
    """C-04: a clean close is no failure; a lost connection is, with how soon it is retried."""
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[
            sends_and_ends(modified("a", "11")),
            sends(modified("a", "12"), RESET),
            sends_and_ends(After(1)),
            sends(),
        ],
    )
    told: list[WatchFailure] = []

    async with running(
        Reflector(script.source, Store(), options=exact, on_watch_error=told.append)
    ):
        await script.played()

    assert [(failure.error, failure.retry_in) for failure in told] == [(RESET, JITTER)]


@virtual_time
async def test_watches_closed_at_once_reconnect_then_back_off_then_list(
    exact: ReflectorOptions,
) -> None:
    """C-04: an event in between begins the count anew."""
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10"), pod_list(pod("a"), rv="20")],
        watches=[
            *[sends_and_ends()] * 2,
            sends_and_ends(modified("a", "11")),
            *[sends_and_ends()] * 3,
            sends(),
        ],
    )
    told: list[WatchFailure] = []
    reflector = Reflector(script.source, Store(), options=exact, on_watch_error=told.append)

    async with running(reflector):
        await script.played()
        relists = reflector.status().relists

    assert script.verbs == ["list", *["watch"] * 6, "list", "watch"]
    assert rounded(script.gaps) == [0, 0.1, 0.8, JITTER, 0.1, 0.8, 1.6, 0]
    assert {type(failure.error) for failure in told} == {VeryShortWatchError}
    assert relists == {"closed at once": 1}


@virtual_time
async def test_internal_errors_wait_by_the_steps_of_refusals_across_their_list(
    exact: ReflectorOptions,
) -> None:
    """C-12: the list does not shorten them, a watch that made progress does."""
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10"), pod_list(pod("a"), rv="20")],
        watches=[
            FAILED,
            FAILED,
            FAILED,
            FAILED,
            sends(modified("a", "21"), RESET),
            FAILED,
            sends(),
        ],
    )

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert script.verbs == ["list", *["watch"] * 3, "list", *["watch"] * 4]
    assert rounded(script.gaps) == [0, 0.8, 1.6, 3.2, 0, 6.4, JITTER, 0.8]


@virtual_time
async def test_a_server_that_closes_after_every_event_is_never_fallen_behind() -> None:
    """C-04: each event is in the store 20 ms after it happened, at 100 requests a second."""
    server = FaultyServer([Close(), *[Close(events=1)] * 2000])
    store = Store()
    behind: list[bool] = []

    async with running(Reflector(server.source, store)):
        for _ in range(100):
            await asyncio.sleep(0.1)
            behind.append(contents(store) != server.contents)

    assert sum(behind) == 0
    assert 80 <= len(server.attempts) / 10 <= 120


# -- 410 ---------------------------------------------------------------------------------------


@virtual_time
async def test_a_410_lists_at_once_and_the_next_without_progress_ever_later(
    exact: ReflectorOptions,
) -> None:
    """C-18: the newest, if nothing moved since the last list."""
    watches = [
        sends(modified("a", "11"), GONE),
        sends(modified("a", "21"), GONE),
        *[sends(GONE)] * 3,
        sends(modified("a", "61"), GONE),
        sends(),
    ]
    lists = [pod_list(pod("a"), rv=str(rv)) for rv in (10, 20, 30, 40, 50, 60, 70)]
    script = PlayedSource(lists=lists, watches=watches)

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert script.verbs == ["list", "watch"] * 7
    assert rounded(script.gaps[::2]) == [0] * 7
    assert rounded(script.gaps[1::2]) == [0, 0, 0.8, 1.6, 3.2, 0]
    versions = [asked.resource_version for asked in script.lists]
    assert versions == ["0", "11", "21", "", "", "", "61"]


@virtual_time
async def test_a_410_after_every_event_is_slowed_down_from_the_fourth_list_on(
    exact: ReflectorOptions,
) -> None:
    """C-18: each 410 comes after progress, and each list within a second of the one before."""
    watches = [sends(modified("a", f"{rv}1"), GONE) for rv in range(1, 8)]
    lists = [pod_list(pod("a"), rv=f"{rv}0") for rv in range(1, 9)]
    script = PlayedSource(lists=lists, watches=[*watches, sends()])

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert script.verbs == ["list", "watch"] * 8
    assert rounded(script.gaps[1::2]) == [0, 0, 0, 0.1, 0.1, 0.1, 0.1]


@virtual_time
async def test_a_410_after_a_long_outage_lists_at_once(exact: ReflectorOptions) -> None:
    """C-18: the delays of the outage are not those of the 410."""
    script = PlayedSource(
        lists=[pod_list(rv="10"), pod_list(rv="20")],
        watches=[*[REFUSED] * 5, BUSY, sends(GONE), sends()],
    )

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert script.verbs[-3:] == ["watch", "list", "watch"]
    assert rounded(script.gaps[-2:]) == [0, 0]


# -- streamed lists ----------------------------------------------------------------------------


OBJECT = added("a", "1")
STREAMS: dict[str, tuple[list[Stream | Exception], list[float]]] = {
    "reset after objects": ([sends(OBJECT, RESET)] * 2, [JITTER] * 2),
    "closed after objects": ([sends_and_ends(OBJECT)] * 2, [JITTER, 0]),
    "closed, then reset": ([sends_and_ends(OBJECT), sends(OBJECT, RESET)], [JITTER] * 2),
    "reset, then closed": ([sends(OBJECT, RESET), sends_and_ends(OBJECT)], [JITTER] * 2),
    "refused": ([REFUSED] * 3, [0.1, 0.2, 0.4]),
    "reset with nothing": ([sends(RESET)] * 3, [0.1, 0.2, 0.4]),
    "closed with nothing": ([sends_and_ends()] * 2, [0.1, 0]),
    "refused between cuts": (
        [sends(OBJECT, RESET), REFUSED, sends(OBJECT, RESET)],
        [JITTER, 0.1, JITTER],
    ),
    "not understood": ([InvalidError("no", code=422)], [0]),
    "busy and then reset": ([BUSY, BUSY, *[sends(OBJECT, RESET)] * 2], [0.8, 1.6, JITTER, JITTER]),
}


@pytest.mark.parametrize(("streams", "expected"), STREAMS.values(), ids=STREAMS)
@virtual_time
async def test_streamed_lists_that_fail_end_in_a_paged_list_after_exact_delays(
    exact: ReflectorOptions, streams: list[Stream | Exception], expected: list[float]
) -> None:
    """C-27: a cut stream is tried once more, and neither that nor the list waits."""
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")], watches=[*streams, sends()], streaming=True
    )

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert script.verbs == [*["watch"] * len(streams), "list", "watch"]
    assert rounded(script.gaps) == [*expected, 0]


@virtual_time
async def test_after_two_cut_streams_only_lists_are_tried_until_one_is_complete(
    exact: ReflectorOptions,
) -> None:
    """C-27: then a stream again, for a cut is no reason to remember."""
    script = PlayedSource(
        lists=[REFUSED, BUSY, pod_list(pod("a"), rv="10")],
        watches=[
            *[sends(OBJECT, RESET)] * 2,
            sends(modified("a", "11"), GONE),
            sends(list_ends("20")),
        ],
        streaming=True,
    )

    async with running(Reflector(script.source, Store(), options=exact)):
        await script.played()

    assert script.verbs == ["watch", "watch", "list", "list", "list", "watch", "watch"]
    assert rounded(script.gaps) == [JITTER, JITTER, 0.1, 0.8, 0, 0]
    assert script.watches[-1].send_initial_events


@virtual_time
async def test_two_clean_early_closes_are_remembered_and_two_cuts_are_not(
    exact: ReflectorOptions,
) -> None:
    """C-27: a server that closes every stream early cannot stream."""
    for cut, verbs in ((sends_and_ends(OBJECT), ["list"]), (sends(OBJECT, RESET), ["watch"])):
        options = ReflectorOptions(backoff=exact.backoff, reconnect_backoff=exact.reconnect_backoff)
        first = PlayedSource(lists=[pod_list(rv="10")], watches=[cut, cut], streaming=True)
        async with running(Reflector(first.source, Store(), options=options)):
            await first.called("watch", 3)
        second = PlayedSource(lists=[pod_list(rv="10")], watches=[sends()], streaming=True)
        async with running(Reflector(second.source, Store(), options=options)):
            await second.called(verbs[0], 1)
        assert second.verbs[:1] == verbs


# -- paged lists -------------------------------------------------------------------------------


def page(name: str, *, more: str = "", rv: str = "10") -> dict[str, Any]:
    return pod_list(pod(name), rv=rv, continue_token=more)


@virtual_time
async def test_a_list_cut_between_pages_goes_on_with_the_same_token_at_once(
    exact: ReflectorOptions,
) -> None:
    """C-18: what came is kept and not asked for again."""
    script = PlayedSource(
        lists=[
            page("a", more="1"),
            RESET,
            page("b", more="2"),
            page("c", more="3"),
            RESET,
            page("d"),
        ],
        watches=[sends()],
    )
    store = Store()

    async with running(Reflector(script.source, store, options=exact)):
        await script.played()

    tokens = [asked.continue_token for asked in script.lists]
    assert tokens == ["", "1", "1", "2", "3", "3"]
    assert [asked.limit for asked in script.lists] == [500] * 6
    assert rounded(script.gaps) == [0, JITTER, 0, 0, JITTER, 0]
    assert sorted(contents(store)) == ["a", "b", "c", "d"]


@virtual_time
async def test_a_truncated_page_is_asked_for_in_half_the_size(exact: ReflectorOptions) -> None:
    """C-18: with its token, and down to ten objects."""
    script = PlayedSource(
        lists=[page("a", more="1"), *[TRUNCATED] * 8, page("b", more="2"), page("c")],
        watches=[sends()],
    )
    store = Store()

    async with running(Reflector(script.source, store, options=exact)):
        await script.played()

    limits = [asked.limit for asked in script.lists]
    assert limits == [500, 500, 250, 125, 62, 31, 15, 10, 10, 10, 10]
    assert [asked.continue_token for asked in script.lists] == ["", *["1"] * 9, "2"]
    expected = [0, JITTER, 0.1, 0.2, 0.4, *[0.75] * 4, 0, 0]
    assert rounded(script.gaps) == expected
    assert sorted(contents(store)) == ["a", "b", "c"]


@virtual_time
async def test_a_truncated_first_page_is_asked_for_again_at_the_newest_version(
    exact: ReflectorOptions,
) -> None:
    """C-18: at any other version servers may send everything in one answer."""
    script = PlayedSource(
        lists=[
            page("a"),
            TRUNCATED,
            TRUNCATED,
            page("a", more="1", rv="20"),
            page("b", rv="20"),
        ],
        watches=[sends(modified("a", "11"), GONE), sends()],
    )
    store = Store()

    async with running(Reflector(script.source, store, options=exact)):
        await script.played()

    asked = [(each.resource_version, each.limit, each.continue_token) for each in script.lists]
    assert asked == [
        ("0", 500, ""),
        ("11", None, ""),
        ("", 250, ""),
        ("", 125, ""),
        ("", 125, "1"),
    ]
    assert rounded(script.gaps) == [0, 0, 0.1, 0.2, 0, 0]
    assert sorted(contents(store)) == ["a", "b"]


@virtual_time
async def test_a_list_that_was_refused_after_a_cut_keeps_its_pages(
    exact: ReflectorOptions,
) -> None:
    """C-18: a connection that brought no page waits, and the next goes on where the list was."""
    script = PlayedSource(
        lists=[page("a", more="1"), RESET, REFUSED, REFUSED, page("b")], watches=[sends()]
    )
    store = Store()

    async with running(Reflector(script.source, store, options=exact)):
        await script.played()

    assert [asked.continue_token for asked in script.lists] == ["", "1", "1", "1", "1"]
    assert rounded(script.gaps) == [0, JITTER, 0.1, 0.2, 0]
    assert sorted(contents(store)) == ["a", "b"]


@virtual_time
async def test_a_token_that_expired_after_a_cut_leads_to_one_list_without_pages(
    exact: ReflectorOptions,
) -> None:
    """C-18: at once; the pages that came are of no use."""
    script = PlayedSource(
        lists=[page("gone", more="1"), RESET, EXPIRED, page("a", rv="20")], watches=[sends()]
    )
    store = Store()

    async with running(Reflector(script.source, store, options=exact)):
        await script.played()

    assert [asked.limit for asked in script.lists] == [500, 500, 500, None]
    assert rounded(script.gaps) == [0, JITTER, 0, 0]
    assert list(contents(store)) == ["a"]


# -- many informers of one client --------------------------------------------------------------


class Outage:
    """Serves some informers of one client, or refuses and resets all their connections.

    Attributes:
        reflectors: One for each informer.
        openings: When a connection was asked for.
        served: When each informer last opened a watch.
    """

    def __init__(self, informers: int) -> None:
        self._lost: asyncio.Event | None = None
        self.openings: list[float] = []
        self.served: dict[int, float] = {}
        reachability = Reachability()
        self.reflectors = []
        for number in range(informers):
            source = self._source(number)
            source.reachability = reachability
            self.reflectors.append(Reflector(source, Store()))

    def begin(self) -> None:
        assert self._lost is not None
        self._lost.set()
        self._lost = None

    def end(self) -> None:
        self._lost = asyncio.Event()

    async def run(self) -> None:
        async with AsyncExitStack() as stack:
            for reflector in self.reflectors:
                await stack.enter_async_context(running(reflector))
            await asyncio.Event().wait()

    def _source(self, number: int) -> ListWatch[Unstructured]:
        async def listed(options: ListOptions) -> object:
            self._open()
            return pod_list(rv="10")

        async def watched(options: ListOptions) -> object:
            lost = self._open()
            self.served[number] = asyncio.get_running_loop().time()
            return until(lost)

        async def until(lost: asyncio.Event) -> AsyncIterator[Any]:
            yield []
            await lost.wait()
            raise ConnectionResetError("reset by peer")

        return ListWatch(listed, watched, name=f"pods {number}")

    def _open(self) -> asyncio.Event:
        self.openings.append(asyncio.get_running_loop().time())
        if self._lost is None:
            raise ConnectionRefusedError("connection refused")
        return self._lost


def most_within(seconds: float, moments: Sequence[float]) -> int:
    """How many of them, at most, lie within so many seconds."""
    return max(sum(first <= each < first + seconds for each in moments) for first in moments)


@virtual_time
async def test_a_hundred_informers_are_back_within_two_seconds_of_the_first_one() -> None:
    """C-08: each would need up to a step of its own, and all at once would be a stampede."""
    outage = Outage(100)
    outage.end()
    async with running(outage):
        await asyncio.sleep(10)
        assert len(outage.served) == 100
        outage.begin()
        await asyncio.sleep(60)
        attempts = [moment for moment in outage.openings if moment > 40]
        assert len(attempts) / 30 <= 20
        outage.served.clear()
        outage.openings.clear()
        outage.end()
        over = asyncio.get_running_loop().time()
        await asyncio.sleep(10)

    assert len(outage.served) == 100
    first, last = min(outage.served.values()), max(outage.served.values())
    assert first - over <= 1.5
    assert last - first <= 1.5
    assert most_within(0.1, outage.openings) <= 40


@virtual_time
async def test_a_hundred_informers_do_not_reopen_their_watches_at_the_same_instant() -> None:
    """C-04: a burst of 20, and then 200 a second."""
    outage = Outage(100)
    outage.end()
    async with running(outage):
        await asyncio.sleep(10)
        outage.openings.clear()
        outage.begin()
        outage.end()
        await asyncio.sleep(10)

    assert len(outage.openings) == 100
    assert most_within(0.005, outage.openings) <= 20 + 1
    assert most_within(0.1, outage.openings) <= 20 + 20 + 1
    assert max(outage.openings) - 10 <= 0.45


@pytest.mark.parametrize(
    ("lists", "watches"),
    [([pod_list(rv="10")], []), ([], [sends_and_ends(added("b", "2"))])],
    ids=["a page", "an opened watch"],
)
@virtual_time
async def test_an_informer_waiting_for_a_connection_is_woken_by_an_answer_to_another(
    lists: list[dict[str, Any]], watches: list[Stream]
) -> None:
    """C-08: within 10 ms for each that waits."""
    waiting = PlayedSource(lists=[REFUSED, pod_list(rv="10")])
    other = PlayedSource(lists=lists, watches=watches, streaming=bool(watches))
    other.source.reachability = waiting.source.reachability
    slow = ReflectorOptions(reconnect_backoff=lambda: ExactBackoff(100, cap=100))

    async with running(Reflector(waiting.source, Store(), options=slow)):
        await asyncio.sleep(50)
        async with running(Reflector(other.source, Store())):
            await waiting.called("list", 2)

    assert 50 <= waiting.gaps[0] <= 50.01 + ROUNDING


@virtual_time
async def test_the_first_page_of_a_long_list_wakes_those_that_wait() -> None:
    """C-08: not only the last one."""
    waiting = PlayedSource(lists=[REFUSED, pod_list(rv="10")])
    slow = ReflectorOptions(reconnect_backoff=lambda: ExactBackoff(100, cap=100))

    async def two_pages(options: ListOptions) -> object:
        if options.continue_token:
            await asyncio.sleep(1000)
        return page("a", more="1")

    other: ListWatch[Unstructured] = ListWatch(two_pages, two_pages)
    other.reachability = waiting.source.reachability

    async with running(Reflector(waiting.source, Store(), options=slow)):
        await asyncio.sleep(50)
        async with running(Reflector(other, Store())):
            await waiting.called("list", 2)

    assert 50 <= waiting.gaps[0] <= 50.01 + ROUNDING


@virtual_time
async def test_a_wait_after_a_refusal_is_not_shortened_by_an_answer_to_another() -> None:
    """C-11: what the server asked for is honoured."""
    waiting = PlayedSource(lists=[AWAY, pod_list(rv="10")])
    other = PlayedSource(lists=[pod_list(rv="10")])
    other.source.reachability = waiting.source.reachability

    async with running(Reflector(waiting.source, Store())):
        await asyncio.sleep(10)
        async with running(Reflector(other.source, Store())):
            await waiting.called("list", 2)

    assert waiting.gaps[0] == pytest.approx(60)


@virtual_time
async def test_an_informer_that_was_woken_and_failed_again_waits_its_whole_delay() -> None:
    """C-08: while another gets an answer a hundred times a second, it does not spin."""
    failing = PlayedSource(lists=[REFUSED] * 1000)
    busy = FaultyServer([Close(), *[Close(events=1)] * 20_000])
    failing.source.reachability = busy.source.reachability
    slow = ReflectorOptions(reconnect_backoff=lambda: ExactBackoff(10, cap=10))

    async with (
        running(Reflector(busy.source, Store())),
        running(Reflector(failing.source, Store(), options=slow)),
    ):
        await asyncio.sleep(100)

    assert 18 <= len(failing.calls) <= 22
    for woken, whole in zip(failing.gaps[::2], failing.gaps[1::2], strict=False):
        assert woken < 0.1
        assert whole == pytest.approx(10)


# -- any sequence ------------------------------------------------------------------------------


EVENTS = st.integers(0, 3)
FAULTS: st.SearchStrategy[Fault] = st.one_of(
    st.just(Refused()),
    st.builds(Reset, events=EVENTS),
    st.builds(Truncated, events=EVENTS),
    st.builds(Close, events=EVENTS),
    st.builds(Close, idle=st.sampled_from([0.5, 1.1, 5.0, 50.0])),
    st.builds(Gone, events=EVENTS),
    st.builds(Busy, events=EVENTS, retry_after=st.sampled_from([None, 1.0, 20.0, 1000.0])),
)


@settings(deadline=None, max_examples=300)
@given(faults=st.lists(FAULTS, max_size=30), streaming=st.booleans())
def test_after_any_failures_delays_are_bounded_and_at_most_20_ms_after_progress(
    faults: list[Fault], streaming: bool
) -> None:
    """C-04, C-08, C-11, C-18, C-27: a refusal takes its first step, or Retry-After."""
    run_virtual(play(faults, streaming=streaming))


async def play(faults: list[Fault], *, streaming: bool) -> None:
    server = FaultyServer(faults, streaming=streaming)
    store = Store()
    async with running(Reflector(server.source, store)):
        await server.is_calm()
        await asyncio.sleep(0)
        assert contents(store) == server.contents
    check_delays(server)


def check_delays(server: FaultyServer) -> None:
    reconnects = refusals = 0  # how far each sequence is, at most
    for (attempt, following), delay in zip(pairwise(server.attempts), server.delays, strict=True):
        what = f"{attempt} and then {following}"
        if attempt.progressed:
            reconnects = 0
            if attempt.verb == "watch":
                refusals = 0
        reconnect = min(0.1 * 2**reconnects, 0.75)
        refusal = min(0.8 * 2**refusals, 30)
        fault = attempt.fault
        if isinstance(fault, Busy):
            asked = min(fault.retry_after or 0, 300)
            assert max(0.8, asked) <= delay + ROUNDING, what
            assert delay <= max(2 * refusal, asked) + ROUNDING, what
            refusals += 1
        elif isinstance(fault, Gone):
            assert delay <= 2 * refusal + ROUNDING, what
            if attempt.progressed and attempt.verb == "watch":
                assert delay <= 2 * 0.1 + ROUNDING, what  # and 0, but for lists within a second
            refusals += delay > 0
        elif attempt.progressed:
            assert delay <= JITTER + ROUNDING, what
        elif isinstance(fault, Close) and attempt.verb == "watch":
            assert delay + ROUNDING >= 0.1, what
            assert delay <= max(2 * reconnect, 2 * refusal) + ROUNDING, what
            reconnects += 1
            refusals += 1
        elif isinstance(fault, Close):
            assert delay <= 2 * reconnect + ROUNDING, what
            reconnects += delay > 0
        else:
            assert delay + ROUNDING >= 0.1, what
            assert delay <= 2 * reconnect + ROUNDING, what
            reconnects += 1
