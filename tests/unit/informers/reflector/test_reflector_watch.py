"""Watching: what is resumed, what is listed again, and that no event is lost or repeated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.errors import (
    ApiError,
    BadRequestError,
    ExpiredError,
    ForbiddenError,
    NoMatchError,
    NotAcceptableError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ServiceUnavailableError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
    WatchError,
)
from kinform.informers import Phase, Store
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

GONE = ("ERROR", status(410, "Expired"))


def listed(*items: Any, rv: str = "10") -> ScriptedSource:
    return ScriptedSource().lists(pod_list(*items, rv=rv))


# -- events ----------------------------------------------------------------------------------------


@virtual_time
async def test_events_are_applied_in_their_order_and_the_version_follows() -> None:
    script = listed(pod("a")).watches(
        [
            ("ADDED", pod("b", rv="11")),
            ("MODIFIED", pod("a", rv="12")),
            [("DELETED", pod("b", rv="13")), ("ADDED", pod("b", rv="14"))],
            STAY,
        ]
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "12", "b": "14"}
        assert reflector.last_sync_resource_version == "14"
        found = reflector.status()
        assert found.event_age == pytest.approx(1)
        assert found.bookmark_age is None


@virtual_time
async def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    script = listed(pod("a")).watches([bookmark("17"), 10.0], [STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "1"}
        assert store.resource_version == reflector.last_sync_resource_version == "17"
        assert reflector.status().bookmark_age == pytest.approx(5)
        assert reflector.status().event_age is None
        await asyncio.sleep(6)
    assert script.trace == ["list 0", "watch 10", "watch 17"]


@virtual_time
async def test_what_a_watch_from_anywhere_begins_with_does_not_move_the_version() -> None:
    """It comes in the order of names, so any of its versions would skip others."""
    script = ScriptedSource().lists(pod_list(rv=""))
    script.watches(
        [("ADDED", pod("a", rv="9")), ("ADDED", pod("b", rv="3")), 1.0, bookmark("9"), STAY]
    )
    async with reflecting(script) as reflector:
        await asyncio.sleep(0.5)
        assert reflector.last_sync_resource_version == ""
        await asyncio.sleep(1)
        assert reflector.last_sync_resource_version == "9"


@virtual_time
async def test_every_watch_is_to_last_five_to_ten_minutes_and_no_two_the_same() -> None:
    script = listed().watches(*[[10.0]] * 50)
    async with reflecting(script):
        await asyncio.sleep(499)
    asked = [each.options for each in script.asked if each.verb == "watch"]
    timeouts = [options.timeout_seconds for options in asked]
    assert len(timeouts) == 50
    assert all(timeout is not None and 300 <= timeout < 600 for timeout in timeouts)
    assert len(set(timeouts)) > 20
    assert all(options.allow_watch_bookmarks for options in asked)


# -- resuming --------------------------------------------------------------------------------------


@virtual_time
async def test_a_watch_that_ends_is_resumed_at_once_from_the_last_version() -> None:
    script = listed().watches([10.0, ("ADDED", pod("a", rv="11"))], [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(11)
        assert reflector.status().relists == {}
        assert reflector.status().errors == {}
        assert reflector.status().watch_opens == 2
    assert script.trace == ["list 0", "watch 10", "watch 11"]
    assert 10 <= script.gaps()[1] <= 10.02 + 1e-6


@pytest.mark.parametrize("life", [0.0, 0.5, 10.0])
@pytest.mark.parametrize(
    "error",
    [
        TransportError("reset"),
        WatchError("the stream ended inside an event"),
        RuntimeError("a bug of the source"),
    ],
    ids=["reset", "mid-line", "bug"],
)
@virtual_time
async def test_a_watch_that_breaks_after_an_event_is_resumed_at_once_without_a_list(
    error: Any, life: float
) -> None:
    script = listed().watches([("ADDED", pod("a", rv="11")), life, error], [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().relists == {}
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace == ["list 0", "watch 10", "watch 11"]
    assert 0 <= script.gaps()[1] - life <= 0.02 + 1e-6


@pytest.mark.parametrize(
    "error",
    [
        ("ERROR", status(429, "TooManyRequests")),
        ("ERROR", status(503, "ServiceUnavailable")),
        ("ERROR", {"message": "no kind at all", "code": 500}),
    ],
    ids=["429", "503", "no kind"],
)
@virtual_time
async def test_a_watch_that_ends_with_a_refusal_is_resumed_after_a_moment_without_a_list(
    error: Any,
) -> None:
    script = listed().watches([("ADDED", pod("a", rv="11")), 10.0, error], [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().relists == {}
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace == ["list 0", "watch 10", "watch 11"]
    assert 10.8 <= script.gaps()[1] < 11.6


@pytest.mark.parametrize(
    "refusal",
    [
        TransportError("refused"),
        TooManyRequestsError("later", code=429),
        ServiceUnavailableError("later", code=503),
        UnauthorizedError("who", code=401),
        ForbiddenError("no", code=403),
    ],
    ids=lambda error: type(error).__name__,
)
@virtual_time
async def test_a_watch_that_is_refused_for_now_keeps_its_version_for_ever(
    refusal: Exception,
) -> None:
    script = listed(pod("a")).watches(*[refusal] * 6, [STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(0.5)
        assert contents(store) == {"a": "1"}  # stale is better than nothing
        assert reflector.status().phase is Phase.WAITING
        await asyncio.sleep(300)
        assert reflector.status().phase is Phase.WATCHING
        assert reflector.status().relists == {}
    assert script.trace == ["list 0", *["watch 10"] * 7]


@virtual_time
async def test_a_refused_reflector_waits_longer_than_a_disconnected_one() -> None:
    script = listed().watches(*[ForbiddenError("no", code=403)] * 3)
    async with reflecting(script):
        await asyncio.sleep(100)
    for number, gap in enumerate(script.gaps("watch")):
        assert 1.6 * 2**number <= gap < 3.2 * 2**number


# -- fetching again --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expired",
    [
        ExpiredError("too old", code=410, reason="Expired"),
        ExpiredError("too old", code=410, reason="Gone"),
        [GONE],
        [("ERROR", status(410, "Gone"))],
        [("ERROR", {"code": 410, "message": "too old resource version"})],
    ],
    ids=["http", "http gone", "event", "event gone", "event without reason"],
)
@virtual_time
async def test_a_version_that_is_history_is_listed_again(expired: Any) -> None:
    script = listed(pod("a"), pod("b")).watches([10.0, bookmark("11")], expired, [STAY])
    script.lists(pod_list(pod("b", rv="15"), rv="20"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(20)
        assert contents(store) == {"b": "15"}
        assert reflector.status().relists == {"expired": 1}
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace == ["list 0", "watch 10", "watch 11", "list 11", "watch 20"]


@virtual_time
async def test_a_watch_that_expires_is_listed_at_once_and_the_second_without_progress_later() -> (
    None
):
    script = listed().watches([bookmark("11"), GONE], [bookmark("21"), GONE], [GONE], [GONE])
    script.lists(*[pod_list(rv=rv) for rv in ("20", "30", "40", "50")])
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace[2:6] == ["list 11", "watch 20", "list 21", "watch 30"]
    assert script.trace[6:] == ["list newest", "watch 40", "list newest", "watch 50"]
    to_lists = script.gaps()[1::2]
    assert to_lists[:2] == [0, 0]
    assert 0.8 <= to_lists[2] < 1.6 <= to_lists[3] < 3.2


@virtual_time
async def test_a_slow_list_does_not_prove_that_watches_are_served() -> None:
    """A server that needs a minute to stream and then says 410 would be asked all day."""
    script = ScriptedSource(streaming=True).watches(
        *[[20.0, ("ADDED", pod("a")), end_bookmark("9"), GONE]] * 4
    )
    async with reflecting(script):
        await asyncio.sleep(85)
    first, second, third = script.gaps()[:3]
    assert first == pytest.approx(20)
    assert 20.8 <= second < 21.6 <= third < 23.2


@virtual_time
async def test_a_dead_version_is_not_asked_for_a_second_time() -> None:
    """A cache that lists at a version which the same server cannot watch any more."""
    script = listed(rv="10").lists(pod_list(rv="30")).watches([GONE], [STAY])
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace == ["list 0", "watch 10", "list newest", "watch 30"]


@virtual_time
async def test_movement_before_the_last_list_does_not_count_as_progress_after_it() -> None:
    script = listed().lists(pod_list(rv="20"), pod_list(rv="30"))
    script.watches([10.0, bookmark("11"), GONE], [GONE], [STAY])
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace[2:] == ["list 11", "watch 20", "list newest", "watch 30"]


@virtual_time
async def test_a_server_that_hides_a_410_behind_a_clean_end_is_found_out() -> None:
    script = listed().watches([], [0.2], [], [STAY]).lists(pod_list(pod("a"), rv="20"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(30)
        assert contents(store) == {"a": "1"}
        assert reflector.status().errors == {"VeryShortWatchError": 3}
        assert reflector.status().relists == {"closed at once": 1}
    assert script.trace == ["list 0", *["watch 10"] * 3, "list 10", "watch 20"]
    first, second, third = script.gaps()[1:4]
    # The second watch lived 0.2 s; the rest of each gap is waiting.
    assert first < second - 0.2 < third


@virtual_time
async def test_after_a_list_short_watches_are_counted_anew() -> None:
    script = listed().watches(*[[]] * 6, [STAY]).lists(pod_list(rv="20"), pod_list(rv="30"))
    async with reflecting(script):
        await asyncio.sleep(200)
    first, second = [*["watch 10"] * 3, "list 10"], [*["watch 20"] * 3, "list 20"]
    assert script.trace == ["list 0", *first, *second, "watch 30"]


@pytest.mark.parametrize("sign", [("ADDED", pod("x", rv="11")), bookmark("11"), 6.0])
@virtual_time
async def test_a_watch_with_something_to_say_breaks_the_row_of_short_ones(sign: Any) -> None:
    script = listed().watches([], [], [sign], [], [], [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(60)
        assert reflector.status().relists == {}
    assert len(script.asked) == 7


@virtual_time
async def test_internal_errors_are_borne_twice_and_then_listed() -> None:
    trouble = [("ERROR", status(500, "InternalError"))]
    script = listed().watches(trouble, trouble, trouble, [STAY]).lists(pod_list(rv="20"))
    async with reflecting(script) as reflector:
        await asyncio.sleep(60)
        assert reflector.status().relists == {"internal errors": 1}
    assert script.trace == ["list 0", *["watch 10"] * 3, "list 10", "watch 20"]


@virtual_time
async def test_internal_errors_of_watches_that_lived_are_not_in_a_row() -> None:
    hourly = [10.0, ("ERROR", status(500, "InternalError"))]
    script = listed().watches(*[hourly] * 5, [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(100)
        assert reflector.status().relists == {}
    assert script.trace == ["list 0", *["watch 10"] * 6]


@virtual_time
async def test_an_object_that_the_storage_cannot_read_is_listed_without() -> None:
    script = listed(pod("a")).watches([("ERROR", status(500, "StorageReadError"))], [STAY])
    script.lists(pod_list(rv="20"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {}
        assert reflector.status().relists == {"storage read error": 1}


@virtual_time
async def test_a_version_from_the_future_is_tried_once_more_and_then_the_newest_listed() -> None:
    future = ResourceVersionTooLargeError("too large", code=504, reason="Timeout", retry_after=1)
    script = listed(rv="900").watches(future, future, [STAY]).lists(pod_list(pod("a"), rv="905"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"a": "1"}
        assert reflector.last_sync_resource_version == "905"
        assert reflector.status().relists == {"version too large": 1}
    assert script.trace == ["list 0", "watch 900", "watch 900", "list newest", "watch 905"]
    assert 1 <= script.gaps()[1] < 1.6


@virtual_time
async def test_a_server_that_catches_up_is_not_listed() -> None:
    future = ("ERROR", status(504, "Timeout", details={"causes": [TOO_LARGE_CAUSE]}))
    script = listed(rv="900").watches([future], [STAY])
    async with reflecting(script):
        await asyncio.sleep(10)
    assert script.trace == ["list 0", "watch 900", "watch 900"]


TOO_LARGE_CAUSE = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}


@pytest.mark.parametrize(
    "absent", [NotFoundError("no such resource", code=404), NoMatchError("no such kind")]
)
@virtual_time
async def test_a_resource_that_is_gone_is_waited_for_and_then_listed(absent: Exception) -> None:
    script = listed(pod("a")).watches(absent, [STAY])
    script.lists(absent, absent, pod_list(pod("new"), rv="20"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(60)
        assert list(contents(store)) == ["new"]
        assert reflector.status().relists == {"absent": 1}
    assert script.trace == ["list 0", "watch 10", *["list 10"] * 3, "watch 20"]


@pytest.mark.parametrize(
    "refusal", [BadRequestError("what", code=400), NotAcceptableError("what", code=406)]
)
@virtual_time
async def test_a_watch_that_is_not_understood_is_begun_from_the_newest(refusal: ApiError) -> None:
    script = listed().watches(refusal, [STAY]).lists(pod_list(rv="20"))
    async with reflecting(script) as reflector:
        await asyncio.sleep(10)
        assert reflector.status().relists == {"refused": 1}
    assert script.trace == ["list 0", "watch 10", "list newest", "watch 20"]
