"""How a reflector waits for a server in trouble, and what it keeps; ids as in docs/parity.md."""

from __future__ import annotations

import pytest

from kinform.api import ListOptions
from kinform.errors import ServiceUnavailableError, TooManyRequestsError, TransportError
from kinform.informers import Reflector, ReflectorOptions, Store, WatchFailure
from kinform.testing import virtual_time
from tests.contract.played_source import (
    After,
    ExactBackoff,
    PlayedSource,
    Stream,
    bookmark,
    error,
    modified,
    running,
    sends,
    sends_and_ends,
    untimed,
)
from tests.support.answers import pod, pod_list

REFUSED = TransportError("connection refused")
RESET = TransportError("reset by peer")
RECONNECT_STEPS = (0.1, 0.2, 0.4, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75)
REFUSAL_STEPS = (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0, 30.0)
WATCH_FROM_10 = ListOptions(resource_version="10", allow_watch_bookmarks=True)


def busy(retry_after: float | None = None) -> TooManyRequestsError:
    return TooManyRequestsError("busy", code=429, reason="TooManyRequests", retry_after=retry_after)


def failing_after(seconds: float) -> Stream:
    """A watch that lives for some time and then breaks off with an internal error."""
    return sends(After(seconds), error(500, "InternalError", "etcd is away"))


# -- refused, and busy -------------------------------------------------------------------------


@virtual_time
async def test_refused_watches_wait_ever_longer_up_to_a_cap_and_bring_no_list() -> None:
    """C-08: the n-th delay is drawn from [d, 2d), d = 0.1 s · 2ⁿ and never above 0.75 s."""
    script = PlayedSource(lists=[pod_list(rv="10")], watches=[REFUSED] * 10 + [sends()])

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["list"] + ["watch"] * 11
    assert untimed(script.watches) == [WATCH_FROM_10] * 11
    for delay, step in zip(script.gaps[1:], RECONNECT_STEPS, strict=True):
        assert step <= delay < 2 * step


@virtual_time
async def test_refused_lists_wait_by_the_same_steps() -> None:
    """C-08: a connection that is refused costs the same, whatever was to be asked."""
    script = PlayedSource(lists=[REFUSED] * 10 + [pod_list(rv="10")], watches=[sends()])

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.lists == [ListOptions(resource_version="0", limit=500)] * 11
    for delay, step in zip(script.gaps[:10], RECONNECT_STEPS, strict=True):
        assert step <= delay < 2 * step


@virtual_time
async def test_refusals_of_a_live_server_wait_longer_than_lost_connections() -> None:
    """C-08, C-11: d = 0.8 s · 2ⁿ, never above 30 s; a sequence of its own."""
    script = PlayedSource(
        lists=[pod_list(rv="10")], watches=[REFUSED] * 3 + [busy()] * 10 + [REFUSED, sends()]
    )

    async with running(Reflector(script.source, Store())):
        await script.played()

    for delay, step in zip(script.gaps[4:14], REFUSAL_STEPS, strict=True):
        assert step <= delay < 2 * step
    assert 0.75 <= script.gaps[14] < 1.5


@virtual_time
async def test_a_backoff_of_ones_own_is_used() -> None:
    """C-09: one for lost connections, one for refusals."""
    script = PlayedSource(
        lists=[pod_list(rv="10")], watches=[REFUSED] * 5 + [busy()] * 3 + [sends()]
    )
    told: list[WatchFailure] = []
    reflector = Reflector(
        script.source,
        Store(),
        options=ReflectorOptions(
            backoff=lambda: ExactBackoff(1, cap=10),
            reconnect_backoff=lambda: ExactBackoff(0.01, cap=0.1),
        ),
        on_watch_error=told.append,
    )

    async with running(reflector):
        await script.played()

    expected = [0.01, 0.02, 0.04, 0.08, 0.1, 1, 2, 4]
    assert [round(gap, 6) for gap in script.gaps] == [0, *expected]
    assert [failure.retry_in for failure in told] == pytest.approx(expected)


@virtual_time
async def test_a_busy_answer_takes_one_step_on_opening_and_one_inside_the_stream() -> None:
    """C-10: and neither costs the place in the stream; the first step, if an event came before."""
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[
            busy(),
            sends(error(429, "TooManyRequests")),
            sends(modified("a", "11"), error(429, "TooManyRequests")),
            sends(),
        ],
    )
    backoff = ExactBackoff(0.01, cap=0.1)
    options = ReflectorOptions(backoff=lambda: backoff)

    async with running(Reflector(script.source, Store(), options=options)):
        await script.played()

    assert backoff.delays == [0.01, 0.02, 0.01]
    assert [asked.resource_version for asked in script.watches] == ["10", "10", "10", "11"]
    assert len(script.lists) == 1


@virtual_time
async def test_a_busy_server_is_not_asked_for_a_list() -> None:
    """C-11: five refusals, one list."""
    script = PlayedSource(lists=[pod_list(rv="10")], watches=[busy()] * 5 + [sends()])

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["list"] + ["watch"] * 6
    assert untimed(script.watches) == [WATCH_FROM_10] * 6


@virtual_time
async def test_what_a_server_says_about_when_to_come_back_is_heeded() -> None:
    """C-11: in a header or in the stream. client-go heeds neither inside a stream."""
    away = ServiceUnavailableError(
        "going down", code=503, reason="ServiceUnavailable", retry_after=60.0
    )
    script = PlayedSource(
        lists=[busy(90.0), pod_list(rv="10")],
        watches=[
            away,
            sends(error(429, "TooManyRequests", details={"retryAfterSeconds": 120})),
            sends(),
        ],
    )

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["list", "list", "watch", "watch", "watch"]
    assert script.gaps == [90, 0, 60, 120]


# -- reset -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "progress",
    [sends(modified("a", "11"), RESET), sends(bookmark("11"), RESET), sends(After(1), RESET)],
    ids=["event", "bookmark", "lived"],
)
@virtual_time
async def test_the_steps_begin_anew_after_a_watch_that_made_progress(progress: Stream) -> None:
    """C-08: client-go begins anew every two minutes, in the middle of an outage."""
    nothing = sends(After(0.9), RESET)
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[REFUSED, REFUSED, nothing, busy(), busy(), progress, REFUSED, busy(), sends()],
    )
    reconnect, refusal = ExactBackoff(0.01, cap=0.1), ExactBackoff(1, cap=10)
    options = ReflectorOptions(backoff=lambda: refusal, reconnect_backoff=lambda: reconnect)

    async with running(Reflector(script.source, Store(), options=options)):
        await script.played()

    assert reconnect.delays == [0.01, 0.02, 0.04, 0.01]
    assert refusal.delays == [1, 2, 1]


@virtual_time
async def test_a_list_resets_the_steps_of_lost_connections_and_not_those_of_refusals() -> None:
    """C-08: a server may list and refuse every watch."""
    failed = error(500, "InternalError", "etcd is away")
    script = PlayedSource(
        lists=[REFUSED, REFUSED, pod_list(rv="10"), pod_list(rv="20")],
        watches=[REFUSED, sends(failed), sends(failed), sends(failed), REFUSED, busy(), sends()],
    )
    reconnect, refusal = ExactBackoff(0.01, cap=0.1), ExactBackoff(1, cap=10)
    options = ReflectorOptions(backoff=lambda: refusal, reconnect_backoff=lambda: reconnect)

    async with running(Reflector(script.source, Store(), options=options)):
        await script.played()

    assert reconnect.delays == [0.01, 0.02, 0.01, 0.01]
    assert refusal.delays == [1, 2, 4, 8]


@virtual_time
async def test_an_outage_of_minutes_is_asked_about_once_a_second_and_brings_no_list() -> None:
    """C-08: the longest delay is 1.5 s and is kept until the server is proven well."""
    script = PlayedSource(lists=[pod_list(rv="10")], watches=[REFUSED] * 300 + [sends()])

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert len(script.lists) == 1
    assert min(script.gaps[4:]) >= 0.75
    assert max(script.gaps) < 1.5


# -- internal errors ---------------------------------------------------------------------------


@virtual_time
async def test_internal_errors_are_waited_out_and_the_third_in_a_row_brings_a_list() -> None:
    """C-12: client-go fetches everything again after the first, unless a time was set."""
    script = PlayedSource(
        lists=[pod_list(rv="10"), pod_list(rv="20")], watches=[failing_after(0)] * 3 + [sends()]
    )
    reflector = Reflector(script.source, Store())

    async with running(reflector):
        await script.played()
        relists = reflector.status().relists

    assert script.verbs == ["list", "watch", "watch", "watch", "list", "watch"]
    assert [asked.resource_version for asked in script.watches] == ["10", "10", "10", "20"]
    assert relists == {"internal errors": 1}
    for delay, step in zip(script.gaps[1:4], REFUSAL_STEPS, strict=False):
        assert step <= delay < 2 * step


@virtual_time
async def test_internal_errors_that_are_far_apart_do_not_add_up() -> None:
    """C-12, C-31: a watch that made progress in between ends the row."""
    script = PlayedSource(
        lists=[pod_list(rv="10")],
        watches=[failing_after(0), failing_after(0), *([failing_after(120)] * 6), sends()],
    )

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["list"] + ["watch"] * 9


@virtual_time
async def test_other_failures_do_not_count_as_internal_errors() -> None:
    """C-31: a row is of one kind."""
    in_turn: list[Stream | Exception] = [failing_after(0), REFUSED, busy()]
    script = PlayedSource(lists=[pod_list(rv="10")], watches=[*in_turn * 3, sends()])

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["list"] + ["watch"] * 10


@virtual_time
async def test_a_list_ends_the_row_of_internal_errors() -> None:
    """C-31: after it the watch has three attempts again."""
    script = PlayedSource(
        lists=[pod_list(rv="10"), pod_list(rv="20")],
        watches=[*([failing_after(0)] * 5), sends_and_ends(After(10)), sends()],
    )

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == [*["list", "watch", "watch", "watch"], *["list"], *["watch"] * 4]
