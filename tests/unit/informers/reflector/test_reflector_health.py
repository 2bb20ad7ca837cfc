"""Backoff, silence limits, recovery, and the reports of failures."""

from __future__ import annotations

import asyncio
import functools
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kinform.errors import (
    ConfigError,
    ExpiredError,
    ForbiddenError,
    KinformError,
    ServiceUnavailableError,
    TooManyRequestsError,
    TransportError,
)
from kinform.informers import (
    Backoff,
    Phase,
    Reflector,
    ReflectorOptions,
    Store,
    WatchFailure,
)
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.support.answers import pod, pod_list, status
from tests.support.scripted_source import (
    STAY,
    ScriptedSource,
    bookmark,
    contents,
    end_bookmark,
    reflecting,
)

CUT = TransportError("cut")
EXPIRED = ExpiredError("too old", code=410)
BUSY = TooManyRequestsError("later", code=429)


def listed(*items: Any, rv: str = "10") -> ScriptedSource:
    return ScriptedSource().lists(pod_list(*items, rv=rv))


# -- backoff ---------------------------------------------------------------------------------------


@virtual_time
async def test_lost_connections_wait_exponentially_up_to_a_cap_and_never_in_step() -> None:
    script = listed().watches(*[CUT] * 12)
    async with reflecting(script):
        await asyncio.sleep(60)
    gaps = script.gaps("watch")[:12]
    for number, gap in enumerate(gaps):
        least = min(0.1 * 2**number, 0.75)
        assert least <= gap < 2 * least
    assert len({round(gap, 6) for gap in gaps}) == 12


@virtual_time
async def test_refusals_wait_exponentially_up_to_a_cap_and_never_in_step() -> None:
    script = listed().watches(*[BUSY] * 12)
    async with reflecting(script):
        await asyncio.sleep(600)
    gaps = script.gaps("watch")[:12]
    for number, gap in enumerate(gaps):
        least = min(0.8 * 2**number, 30)
        assert least <= gap < 2 * least
    assert len({round(gap, 6) for gap in gaps}) == 12


PROGRESS = {
    "lived": [1.1],
    "event": [("ADDED", pod("a", rv="11"))],
    "bookmark": [bookmark("11")],
}


@pytest.mark.parametrize("progress", PROGRESS.values(), ids=PROGRESS)
@virtual_time
async def test_a_watch_that_made_progress_resets_both_sequences(progress: Any) -> None:
    script = listed().watches(CUT, CUT, CUT, BUSY, BUSY, BUSY, [*progress, CUT], CUT, BUSY, [STAY])
    async with reflecting(script):
        await asyncio.sleep(100)
    *_, before, after, lost, refused = script.gaps("watch")
    life = progress[0] if isinstance(progress[0], float) else 0.0
    assert 3.2 <= before < 6.4
    assert 0 <= after - life <= 0.02 + 1e-6
    assert 0.1 <= lost < 0.2
    assert 0.8 <= refused < 1.6


NO_PROGRESS = {
    "opened": ([], 0.0),
    "short": ([0.9], 0.9),
    "known bookmark": ([bookmark("10")], 0.0),
}


@pytest.mark.parametrize(("short", "life"), NO_PROGRESS.values(), ids=NO_PROGRESS)
@virtual_time
async def test_a_watch_without_events_does_not_prove_health(short: Any, life: float) -> None:
    script = listed().watches(*[[*short, CUT]] * 5)
    async with reflecting(script):
        await asyncio.sleep(100)
    for number, gap in enumerate(script.gaps("watch")[:5]):
        least = min(0.1 * 2**number, 0.75)
        assert least <= gap - life < 2 * least + 0.001


@virtual_time
async def test_a_list_does_not_prove_that_watches_are_served() -> None:
    gone = [("ERROR", status(410, "Expired"))]
    script = ScriptedSource().lists(*[pod_list()] * 6).watches(*[gone] * 5)
    async with reflecting(script):
        await asyncio.sleep(100)
    first, *others = script.gaps("watch")[:5]
    assert first == 0
    for number, gap in enumerate(others):
        assert 0.8 * 2**number <= gap < 1.6 * 2**number


@virtual_time
async def test_a_list_that_succeeds_resets_the_delays_of_lost_connections() -> None:
    script = ScriptedSource().lists(*[CUT] * 5, pod_list(rv="10")).watches(CUT, [STAY])
    async with reflecting(script):
        await asyncio.sleep(100)
    assert 0.75 <= script.gaps()[4] < 1.5
    assert 0.1 <= script.gaps("watch")[0] < 0.2


@virtual_time
async def test_watches_that_are_closed_after_progress_are_followed_at_once() -> None:
    early = [0.5, ("MODIFIED", pod("a", rv="11"))], [0.5, bookmark("12")], [1.1]
    script = listed(pod("a")).watches(*early, [STAY])
    heard: list[WatchFailure] = []
    async with reflecting(script, on_watch_error=heard.append):
        await asyncio.sleep(100)
    for gap, life in zip(script.gaps("watch"), (0.5, 0.5, 1.1), strict=True):
        assert 0 <= gap - life <= 0.02 + 1e-6
    assert heard == []  # a server may end a watch whenever it likes


@virtual_time
async def test_both_backoffs_are_the_callers_to_choose() -> None:
    script = ScriptedSource().lists(CUT, CUT, BUSY, BUSY, pod_list())
    options = ReflectorOptions(
        backoff=lambda: Backoff(100, factor=1, cap=100),
        reconnect_backoff=lambda: Backoff(10, factor=1, cap=10),
    )
    async with reflecting(script, options=options):
        await asyncio.sleep(500)
    gaps = script.gaps("list")
    assert len(gaps) == 4
    assert all(10 <= gap < 20 for gap in gaps[:2])
    assert all(100 <= gap < 200 for gap in gaps[2:])


# -- Retry-After -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "refusal",
    [
        TooManyRequestsError("later", code=429, retry_after=50),
        ServiceUnavailableError("later", code=503, retry_after=50),
        ("ERROR", status(429, "TooManyRequests", details={"retryAfterSeconds": 50})),
    ],
    ids=["429", "503", "event"],
)
@virtual_time
async def test_what_the_server_asks_for_is_waited(refusal: Any) -> None:
    script = listed().watches([refusal] if isinstance(refusal, tuple) else refusal, [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(1)
        found = reflector.status()
        assert found.phase is Phase.WAITING
        assert found.retry_in == pytest.approx(49)
        await asyncio.sleep(100)
        assert reflector.status().retry_in is None
    assert script.gaps("watch")[0] == pytest.approx(50)


@virtual_time
async def test_it_is_waited_in_a_list_and_a_stream_as_well() -> None:
    busy = TooManyRequestsError("later", code=429, retry_after=50)
    for script in (ScriptedSource().lists(busy), ScriptedSource(streaming=True).watches(busy)):
        async with reflecting(script):
            await asyncio.sleep(60)
        assert script.gaps() == [pytest.approx(50)]


@virtual_time
async def test_no_server_can_send_us_away_for_a_day() -> None:
    script = listed().watches(TooManyRequestsError("later", code=429, retry_after=86_400))
    async with reflecting(script):
        await asyncio.sleep(400)
    assert script.gaps("watch") == [pytest.approx(300)]


# -- the pulse -------------------------------------------------------------------------------------


@virtual_time
async def test_a_server_whose_bookmarks_stop_is_resumed_after_thrice_their_usual_gap() -> None:
    beats = [bookmark("11"), 20.0, bookmark("12"), 20.0, bookmark("13"), STAY]
    script = listed(pod("a")).watches(beats, [STAY])
    heard: list[WatchFailure] = []
    async with reflecting(script, on_watch_error=heard.append) as reflector:
        await asyncio.sleep(99)
        assert len(script.asked) == 2
        await asyncio.sleep(2)
        assert reflector.status().phase is Phase.WATCHING
        assert reflector.status().relists == {}
    assert script.trace == ["list 0", "watch 10", "watch 13"]
    assert script.gaps("watch") == [pytest.approx(100)]
    assert [type(each.error).__name__ for each in heard] == ["WatchSilenceError"]


@virtual_time
async def test_events_are_a_sign_of_life_too() -> None:
    beats: list[Any] = [bookmark("11"), 10.0, bookmark("12")]
    for version in range(13, 23):
        beats += [29.0, ("ADDED", pod(f"p{version}", rv=str(version)))]
    script = listed().watches([*beats, STAY])
    async with reflecting(script):
        await asyncio.sleep(295)
    assert len(script.asked) == 2


@virtual_time
async def test_a_server_without_bookmarks_is_left_alone_until_its_time_is_up() -> None:
    script = listed().watches([STAY], [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(650)
        assert reflector.status().relists == {}
    asked = script.asked[1].options.timeout_seconds
    assert asked is not None
    assert asked + 30 <= script.gaps("watch")[0] < asked + 31


@virtual_time
async def test_a_quiet_server_is_doubted_ever_less() -> None:
    beats = [bookmark("11"), 10.0, bookmark("12"), STAY]
    script = listed().watches(beats, [STAY], [STAY], [STAY])
    async with reflecting(script):
        await asyncio.sleep(250)
    assert script.gaps("watch") == [pytest.approx(40), pytest.approx(60), pytest.approx(120)]


@virtual_time
async def test_what_a_stream_was_silent_for_teaches_nothing_about_bookmarks() -> None:
    script = ScriptedSource(streaming=True).lists(pod_list())
    beats = [bookmark("11"), 10.0, bookmark("12"), STAY]
    script.watches([STAY], beats, [STAY])
    async with reflecting(script):
        await asyncio.sleep(60 + 41)
    assert script.gaps("watch") == [pytest.approx(40)]


@virtual_time
async def test_the_objects_of_a_streamed_list_teach_nothing_about_the_gaps_between_events() -> None:
    objects = [step for n in range(60) for step in (("ADDED", pod(f"p{n}")), 0.01)]
    script = ScriptedSource(streaming=True).watches([*objects, end_bookmark("9"), STAY])
    async with reflecting(script):
        await asyncio.sleep(60)
    assert script.trace == ["stream newest"]


@virtual_time
async def test_a_busy_server_that_falls_silent_is_resumed_after_fifteen_seconds() -> None:
    events = [step for n in range(11, 71) for step in (("ADDED", pod(f"p{n}", rv=f"{n}")), 0.1)]
    missed = ("ADDED", pod("missed", rv="71"))
    script = listed().watches([*events, STAY], [missed, STAY])
    heard: list[WatchFailure] = []
    async with reflecting(script, on_watch_error=heard.append):
        await asyncio.sleep(22)
    assert script.trace == ["list 0", "watch 10", "watch 70"]
    assert script.gaps("watch") == [pytest.approx(59 * 0.1 + 15)]
    assert [type(each.error).__name__ for each in heard] == ["WatchSilenceError"]


# -- who hears of it -------------------------------------------------------------------------------


@virtual_time
async def test_the_handler_receives_every_failure_with_phase_and_version() -> None:
    refused = ForbiddenError("no", code=403, reason="Forbidden")
    script = ScriptedSource(streaming=True).lists(CUT, pod_list(pod("a")), pod_list(rv="20"))
    script.watches(
        refused,  # streaming
        refused,  # streaming again, for the list fails
        [("ADDED", pod("b", rv="11")), 10.0, CUT],
        refused,
        [("ERROR", status(410, "Expired"))],
        refused,  # streaming
    )
    heard: list[WatchFailure] = []
    async with reflecting(script, name="the pods", on_watch_error=heard.append):
        await asyncio.sleep(100)
    told = [(each.phase, each.resource_version, type(each.error).__name__) for each in heard]
    assert told == [
        (Phase.STREAMING, "", "ForbiddenError"),
        (Phase.LISTING, "", "TransportError"),
        (Phase.STREAMING, "", "ForbiddenError"),
        (Phase.WATCHING, "11", "TransportError"),
        (Phase.WATCHING, "11", "ForbiddenError"),
        (Phase.WATCHING, "11", "ExpiredError"),
        (Phase.STREAMING, "11", "ForbiddenError"),
    ]
    assert [each.attempts for each in heard] == [1, 2, 3, 1, 2, 1, 2]
    assert {each.name for each in heard} == {"the pods"}
    assert heard[0].retry_in == 0
    assert 0.1 <= heard[1].retry_in < 0.2
    assert heard[3].retry_in <= 0.02
    assert heard[3].staleness == pytest.approx(10)
    assert [each.staleness for each in heard[:3]] == [None] * 3


@virtual_time
async def test_failures_of_streams_that_opened_are_counted_in_a_row() -> None:
    script = ScriptedSource(streaming=True).watches(*[[("ERROR", status(503))]] * 4)
    heard: list[WatchFailure] = []
    async with reflecting(script, on_watch_error=heard.append):
        await asyncio.sleep(20)
    assert [each.attempts for each in heard] == [1, 2, 3, 4]


@virtual_time
async def test_a_handler_that_fails_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    def broken(failure: WatchFailure) -> None:
        raise ValueError("the handler's own trouble")

    script = ScriptedSource().lists(CUT, pod_list(pod("a"))).watches(CUT, [STAY])
    store = Store()
    async with reflecting(script, store, on_watch_error=broken) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().phase is Phase.WATCHING
        assert contents(store) == {"a": "1"}
    assert caplog.text.count("on_watch_error failed") == 2


class AsyncHandler:
    async def __call__(self, failure: WatchFailure) -> None: ...

    async def hear(self, extra: int, failure: WatchFailure) -> None: ...


@pytest.mark.parametrize(
    "handler",
    [
        AsyncHandler().__call__,
        AsyncHandler(),
        functools.partial(AsyncHandler().hear, 1),
        functools.partial(AsyncHandler()),
    ],
    ids=["async def", "object", "partial", "partial of an object"],
)
def test_async_watch_error_handlers_of_every_kind_are_refused(handler: Any) -> None:
    with pytest.raises(ConfigError, match="on_watch_error must not be async: pass a plain"):
        Reflector(ScriptedSource().listwatch, Store(), on_watch_error=handler)
    reflector = Reflector(ScriptedSource().listwatch, Store())
    with pytest.raises(ConfigError, match="on_watch_error must not be async: pass a plain"):
        reflector.set_watch_error_handler(handler)


@virtual_time
async def test_a_handler_can_be_set_later_and_taken_away() -> None:
    script = ScriptedSource().lists(BUSY, BUSY, BUSY)
    heard: list[WatchFailure] = []
    async with reflecting(script) as reflector:
        await asyncio.sleep(0.5)
        reflector.set_watch_error_handler(heard.append)
        await asyncio.sleep(1.2)
        reflector.set_watch_error_handler(None)
        await asyncio.sleep(20)
    assert [each.attempts for each in heard] == [2]


@virtual_time
async def test_a_refusal_is_logged_at_once_and_then_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = ScriptedSource().lists(*[ForbiddenError("no", code=403)] * 14)
    async with reflecting(script):
        await asyncio.sleep(5000)
    warnings = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert [each.args[2] for each in warnings if isinstance(each.args, tuple)] == [1, 3, 13]


@pytest.mark.parametrize(
    ("errors", "ending"),
    [([CUT] * 3, r"; next attempt in 0\.[4-8] s"), ([CUT] * 2 + [EXPIRED], "; next attempt now")],
)
@virtual_time
async def test_the_log_says_when_the_next_attempt_is(
    caplog: pytest.LogCaptureFixture, errors: list[Exception], ending: str
) -> None:
    caplog.set_level(logging.DEBUG, "kinform.reflector")
    script = ScriptedSource().lists(*errors)
    async with reflecting(script):
        await asyncio.sleep(5)
    lines = [line for line in caplog.messages if "failed (attempt 3," in line]
    assert len(lines) == 1
    assert re.search(ending + "$", lines[0])


@virtual_time
async def test_a_cut_or_an_expired_version_is_everyday_life_and_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = listed().watches(CUT, [("ERROR", status(410, "Expired"))]).lists(pod_list())
    async with reflecting(script):
        await asyncio.sleep(50)
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


# -- its account -----------------------------------------------------------------------------------


@virtual_time
async def test_the_status_says_what_goes_on_and_since_when() -> None:
    script = ScriptedSource().lists(CUT, pod_list(pod("a"))).watches([5.0, bookmark("12"), STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(0.05)
        found = reflector.status()
        assert (found.phase, found.synced, found.mode) == (Phase.WAITING, False, None)
        assert (found.attempts, found.last_error) == (1, CUT)
        assert found.phase_age == pytest.approx(0.05)
        assert (found.contact_age, found.list_age, found.staleness) == (None, None, None)
        assert found.retry_in is not None
        await asyncio.sleep(10)
        found = reflector.status()
        assert (found.phase, found.synced, found.attempts) == (Phase.WATCHING, True, 0)
        assert found.last_error is None
        assert [each.message for each in found.recent_errors] == ["cut"]
        assert found.error_age == pytest.approx(10.05)
        assert found.staleness == found.bookmark_age
        assert found.list_age is not None
        assert found.contact_age == found.bookmark_age
        assert found.errors == {"TransportError": 1}
        assert found.resource_version == "12"


@virtual_time
async def test_metrics_receive_lists_watches_and_failures() -> None:
    told: list[tuple[Any, ...]] = []

    class Metrics:
        def list_finished(self, informer: str, duration: float, items: int) -> None:
            told.append(("list", items))

        def watch_opened(self, informer: str) -> None:
            told.append(("opened",))

        def watch_closed(self, informer: str, duration: float, events: int, short: bool) -> None:
            told.append(("closed", round(duration), events, short))

        def relisted(self, informer: str, reason: str) -> None:
            told.append(("relisted", reason))

        def failed(self, informer: str, phase: str, kind: str) -> None:
            told.append(("failed", phase, kind))

    gone = [10.0, bookmark("11"), ("ERROR", status(410, "Expired"))]
    script = listed(pod("a")).watches(gone, []).lists(pod_list(rv="12"))
    async with reflecting(script, metrics=Metrics()):
        await asyncio.sleep(10.05)
    assert told == [
        ("list", 1),
        ("opened",),
        ("closed", 10, 1, False),
        ("failed", "watching", "Expired"),
        ("relisted", "expired"),
        ("list", 0),
        ("opened",),
        ("closed", 0, 0, True),
        ("failed", "watching", "VeryShortWatchError"),
    ]


# -- resync ----------------------------------------------------------------------------------------


class Reminded(Store[Unstructured]):
    def __init__(self) -> None:
        super().__init__(Unstructured)
        self.times: list[float] = []

    def resync(self) -> None:
        self.times.append(asyncio.get_running_loop().time())
        if len(self.times) == 1:
            raise ValueError("a bad moment")


@virtual_time
async def test_the_store_is_reminded_every_period_whatever_it_or_the_server_does() -> None:
    store = Reminded()
    script = listed().watches(*[CUT] * 5)
    async with reflecting(script, store, resync_period=60):
        await asyncio.sleep(200)
    assert store.times == [pytest.approx(60), pytest.approx(120), pytest.approx(180)]


@virtual_time
async def test_should_resync_may_return_false_or_raise() -> None:
    answers: Iterator[bool | Exception] = iter([True, False, ValueError("no idea"), True])

    def should() -> bool:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    store = Reminded()
    async with reflecting(listed(), store, resync_period=60, should_resync=should):
        await asyncio.sleep(250)
    assert store.times == [pytest.approx(60), pytest.approx(240)]


@pytest.mark.parametrize("period", [-1.0, float("nan")])
def test_a_resync_period_that_makes_no_sense_is_refused(period: float) -> None:
    with pytest.raises(ConfigError, match="resync_period"):
        Reflector(ScriptedSource().listwatch, Store(), resync_period=period)


@pytest.mark.parametrize(
    "options", [{"page_size": 0}, {"watch_timeout": 0.0}, {"poll_interval": float("nan")}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        ReflectorOptions(**options)


@virtual_time
async def test_a_watch_is_never_asked_to_be_shorter_than_five_minutes() -> None:
    short, long = listed(), listed()
    async with (
        reflecting(short, options=ReflectorOptions(watch_timeout=1)),
        reflecting(long, options=ReflectorOptions(watch_timeout=3600)),
    ):
        await asyncio.sleep(1)
    asked = [script.asked[1].options.timeout_seconds or 0 for script in (short, long)]
    assert 300 <= asked[0] < 600
    assert 3600 <= asked[1] < 7200


def test_a_reflector_is_called_like_its_source() -> None:
    script = ScriptedSource()
    assert Reflector(script.listwatch, Store()).name == "pods"
    assert Reflector(script.listwatch, Store(), name="mine").name == "mine"
    error: KinformError | None = Reflector(script.listwatch, Store()).status().last_error
    assert error is None
