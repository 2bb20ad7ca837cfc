"""Watching: what is resumed, what is fetched again, and that nothing is told twice or lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
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
from kinform.informers import DeletedObject, Phase, Reflector, Store
from kinform.informers._admission import Admission
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

GONE = ("ERROR", status(410, "Expired"))


def listed(*items: Any, rv: str = "10") -> ScriptedSource:
    return ScriptedSource().lists(pod_list(*items, rv=rv))


def poison(name: str, rv: str = "11") -> dict[str, Any]:
    bad = pod(name, rv=rv)
    bad["metadata"]["labels"] = ["no", "labels"]
    return bad


class Told(Store[Unstructured]):
    """A store that remembers what it was told, in order."""

    def __init__(self) -> None:
        super().__init__(Unstructured)
        self.calls: list[str] = []

    def add(self, obj: Unstructured) -> None:
        self.calls.append(f"put {obj.name} {obj.resource_version}")
        super().add(obj)

    def delete(self, obj: Any) -> None:
        self.calls.append(f"delete {obj.name}")
        super().delete(obj)


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
    assert script.gaps()[1] == pytest.approx(10)


@pytest.mark.parametrize(
    "error",
    [
        TransportError("reset"),
        WatchError("the stream ended inside an event"),
        RuntimeError("a bug of the source"),
        ("ERROR", status(429, "TooManyRequests")),
        ("ERROR", status(503, "ServiceUnavailable")),
        ("ERROR", {"message": "no kind at all", "code": 500}),
    ],
    ids=["reset", "mid-line", "bug", "429", "503", "no kind"],
)
@virtual_time
async def test_a_watch_that_breaks_is_resumed_after_a_moment_without_a_list(error: Any) -> None:
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
        await asyncio.sleep(5)
        assert contents(store) == {"a": "1"}  # stale is better than nothing
        assert reflector.status().phase is Phase.WAITING
        await asyncio.sleep(300)
        assert reflector.status().phase is Phase.WATCHING
        assert reflector.status().relists == {}
    assert script.trace == ["list 0", *["watch 10"] * 7]


@virtual_time
async def test_who_is_not_let_in_comes_back_later_than_who_was_cut_off() -> None:
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
async def test_a_healthy_watch_that_expires_is_listed_at_once_and_another_later() -> None:
    script = listed().watches([10.0, bookmark("11"), GONE], [bookmark("21"), GONE])
    script.lists(pod_list(rv="20"), pod_list(rv="30"))
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace[2:] == ["list 11", "watch 20", "list 21", "watch 30"]
    healthy, _, at_once = script.gaps()[1:4]
    assert healthy == pytest.approx(10)
    assert 0.8 <= at_once < 1.6


@virtual_time
async def test_a_list_that_took_long_is_no_proof_of_health() -> None:
    """A server that needs a minute to stream and then says 410 would be asked all day."""
    script = ScriptedSource(streaming=True).watches(
        *[[20.0, ("ADDED", pod("a")), end_bookmark("9"), GONE]] * 3
    )
    async with reflecting(script):
        await asyncio.sleep(65)
    first, second = script.gaps()[:2]
    assert 20.8 <= first < 21.6 <= second < 23.2


@virtual_time
async def test_a_dead_version_is_not_asked_for_a_second_time() -> None:
    """A cache that lists at a version which the same server cannot watch any more."""
    script = listed(rv="10").lists(pod_list(rv="30")).watches([GONE], [STAY])
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace == ["list 0", "watch 10", "list newest", "watch 30"]


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
    assert script.gaps()[1] < script.gaps()[2] < script.gaps()[3]


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
    script = listed(rv="900").watches(future, future, [STAY]).lists(pod_list(pod("a"), rv="20"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"a": "1"}
        assert reflector.last_sync_resource_version == "20"
        assert reflector.status().relists == {"version too large": 1}
    assert script.trace == ["list 0", "watch 900", "watch 900", "list newest", "watch 20"]
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


# -- servers that replay ---------------------------------------------------------------------------


@virtual_time
async def test_a_server_that_tells_everything_again_is_listed_instead() -> None:
    script = listed(pod("a", rv="3"), pod("b", rv="10")).watches(
        [10.0, bookmark("12")],
        [[("ADDED", pod("a", rv="3")), ("ADDED", pod("c", rv="12"))], STAY],
        [STAY],
    )
    script.lists(pod_list(pod("a", rv="3"), pod("c", rv="12"), rv="12"))
    store = Told()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(20)
        assert contents(store) == {"a": "3", "c": "12"}  # and b, which was deleted, is gone
        assert store.calls == []
        assert reflector.status().relists == {"replayed": 1}
    assert script.trace == ["list 0", "watch 10", "watch 12", "list 12", "watch 12"]


@virtual_time
async def test_versions_beyond_any_integer_are_compared_as_well() -> None:
    big = 10**30
    script = listed(rv=str(big)).watches(
        [("ADDED", pod("new", rv=str(big + 1))), ("ADDED", pod("old", rv="999")), STAY], [STAY]
    )
    script.lists(pod_list(rv=str(big + 2)))
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().relists == {"replayed": 1}


@virtual_time
async def test_without_an_order_of_versions_who_is_known_gives_the_replay_away() -> None:
    script = listed(pod("a", rv="x-a"), rv="x-1").watches(
        [("ADDED", pod("b", rv="x-b")), 10.0], [("ADDED", pod("a", rv="x-a")), STAY], [STAY]
    )
    script.lists(pod_list(pod("a", rv="x-a"), rv="x-2"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "x-a", "b": "x-b"}
        await asyncio.sleep(20)
        assert contents(store) == {"a": "x-a"}
        assert reflector.status().relists == {"replayed": 1}


@virtual_time
async def test_without_an_order_of_versions_who_is_reborn_is_no_replay() -> None:
    """A queue may not have told the store of the death yet when the birth arrives."""
    reborn = pod("a", rv="x-3")
    reborn["metadata"]["uid"] = "another"
    script = listed(pod("a", rv="x-1"), rv="x-1").watches([("ADDED", reborn), STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "x-3"}
        assert reflector.status().relists == {}


# -- poison ----------------------------------------------------------------------------------------


@virtual_time
async def test_an_unreadable_event_does_not_stop_the_watch_and_is_not_asked_for_again() -> None:
    script = listed(pod("a")).watches(
        [("MODIFIED", poison("a", "11")), ("ADDED", pod("b", rv="12")), 10.0],
        [("MODIFIED", poison("a", "13")), TransportError("cut")],
        [STAY],
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "1", "b": "12"}
        assert reflector.quarantine["default/a"].resource_version == "11"
        await asyncio.sleep(15)
        assert reflector.status().relists == {}
        assert reflector.status().errors["DecodeError"] == 2
    assert script.trace == ["list 0", "watch 10", "watch 12", "watch 13"]


@virtual_time
async def test_an_unreadable_object_leaves_quarantine_when_it_is_well_again() -> None:
    script = listed(pod("a")).watches(
        [("MODIFIED", poison("a", "11")), 5.0, ("MODIFIED", pod("a", rv="12")), STAY]
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert list(reflector.quarantine) == ["default/a"]
        await asyncio.sleep(5)
        assert not reflector.quarantine
        assert contents(store) == {"a": "12"}


@pytest.mark.parametrize("last_words", [pod("a", rv="12"), poison("a", "12")])
@virtual_time
async def test_an_unreadable_object_leaves_quarantine_and_store_when_it_is_deleted(
    last_words: dict[str, Any],
) -> None:
    script = listed(pod("a")).watches(
        [("MODIFIED", poison("a", "11")), 5.0, ("DELETED", last_words), STAY]
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1"}
        await asyncio.sleep(5)
        assert not reflector.quarantine
        assert contents(store) == {}


@virtual_time
async def test_a_line_that_is_no_event_is_put_away_without_a_name() -> None:
    script = listed().watches(["nonsense", ("ADDED", pod("a", rv="11")), STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "11"}
        assert list(reflector.quarantine) == ["?1"]


@virtual_time
async def test_a_watch_of_nothing_but_poison_is_no_short_one() -> None:
    script = listed().watches(*[[("ADDED", poison("a", str(11 + n)))] for n in range(5)])
    async with reflecting(script) as reflector:
        await asyncio.sleep(60)
        assert reflector.status().relists == {}


@virtual_time
async def test_a_transform_that_fails_puts_one_object_away_and_its_deletion_ends_that() -> None:
    def picky(obj: Unstructured) -> None:
        if obj.name == "a":
            raise ValueError("not this one")

    script = listed(pod("a"), pod("b")).watches(
        [1.0, ("MODIFIED", pod("a", rv="11")), 1.0, ("DELETED", pod("a", rv="12")), STAY]
    )
    store = Store()
    admission = Admission(Unstructured, transform=picky, known=store.table)
    async with reflecting(script, store, admission=admission) as reflector:
        await asyncio.sleep(0.5)
        assert list(contents(store)) == ["b"]
        assert list(reflector.quarantine) == ["default/a"]
        await asyncio.sleep(1)
        assert reflector.quarantine["default/a"].resource_version == "11"
        await asyncio.sleep(1)
        assert not reflector.quarantine
        assert reflector.last_sync_resource_version == "12"


# -- stores that are anybody's ---------------------------------------------------------------------


def raising(method: str) -> Callable[..., None]:
    def fail(self: Any, *args: Any) -> None:
        raise ValueError(f"{method} is not for me")

    return fail


@pytest.mark.parametrize(
    ("method", "event"),
    [
        ("add", ("ADDED", pod("b", rv="11"))),
        ("update", ("MODIFIED", pod("a", rv="11"))),
        ("delete", ("DELETED", pod("a", rv="11"))),
        ("delete", ("DELETED", poison("a", "11"))),
    ],
)
@virtual_time
async def test_a_store_that_fails_on_an_event_is_given_everything_anew(
    method: str, event: Any
) -> None:
    picky = type("Picky", (Store,), {method: raising(method)})
    script = listed(pod("a")).watches([event, STAY], [STAY]).lists(pod_list(pod("z"), rv="20"))
    store = picky(Unstructured)
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"z": "1"}
        assert reflector.status().relists == {"store failed": 1}
        assert reflector.status().errors == {"CacheError": 1}


@virtual_time
async def test_a_bare_target_will_do() -> None:
    """Five methods, and none of what a store has beside them."""
    told: list[str] = []

    class Bare:
        def add(self, obj: Unstructured) -> None:
            told.append(f"add {obj.name}")

        def update(self, obj: Unstructured) -> None:
            told.append(f"update {obj.name}")

        def delete(self, obj: Unstructured | DeletedObject[Unstructured]) -> None:
            told.append(f"delete {obj.name}")

        def replace(self, objects: Any, resource_version: str) -> None:
            told.append(f"replace {[obj.name for obj in objects]} at {resource_version}")

        def resync(self) -> None:
            told.append("resync")

    script = listed(pod("a")).watches(
        [
            ("ADDED", pod("b", rv="11")),
            ("MODIFIED", pod("b", rv="12")),
            bookmark("13"),
            ("DELETED", poison("a", "14")),
            STAY,
        ]
    )
    async with reflecting(script, Bare(), resync_period=60):
        await asyncio.sleep(61)
    assert told == ["replace ['a'] at 10", "add b", "update b", "delete a", "resync"]


@virtual_time
async def test_the_reflector_waits_for_room_before_it_reads_on() -> None:
    gate = asyncio.Event()

    class Full(Store[Unstructured]):
        async def room(self) -> None:
            await gate.wait()

    events = [("ADDED", pod("a", rv="11")), 0.0, ("ADDED", pod("b", rv="12")), STAY]
    script = listed().watches(events)
    store = Full(Unstructured)
    async with reflecting(script, store):
        await asyncio.sleep(5)
        assert list(contents(store)) == ["a"]
        gate.set()
        await asyncio.sleep(1)
        assert list(contents(store)) == ["a", "b"]


@virtual_time
async def test_everything_queued_is_applied_before_everything_is_fetched_again() -> None:
    gate = asyncio.Event()

    class Queue(Store[Unstructured]):
        async def drained(self) -> None:
            await gate.wait()

    script = listed()
    async with reflecting(script, Queue(Unstructured)) as reflector:
        await asyncio.sleep(5)
        assert script.trace == []
        assert reflector.status().phase is Phase.NEW
        gate.set()
        await asyncio.sleep(1)
        assert script.trace == ["list 0", "watch 10"]


# -- the end ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["watching", "waiting", "listing", "streaming"])
@virtual_time
async def test_it_stops_at_once_wherever_it_is_and_leaves_nothing_open(moment: str) -> None:
    script = ScriptedSource(streaming=moment == "streaming")
    if moment == "watching":
        script.lists(pod_list())
    elif moment == "waiting":
        script.lists(TransportError("refused"))
    reflector: Reflector[Unstructured] = Reflector(script.listwatch, Store())
    task = asyncio.create_task(reflector.run())
    await asyncio.sleep(0.1)
    assert reflector.status().phase == moment
    before = asyncio.get_running_loop().time()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert asyncio.get_running_loop().time() == before
    assert task.cancelled()
    assert script.open == 0
    assert reflector.status().phase is Phase.STOPPED
    assert reflector.status().retry_in is None


class Stubborn(ScriptedSource):
    """Its watches make an error of being closed, and of being cancelled."""

    async def _play(self, steps: Any) -> AsyncIterator[Any]:
        try:
            async for event in super()._play(steps):
                yield event
        finally:
            raise RuntimeError("I do not close")


@virtual_time
async def test_a_source_that_cannot_even_be_closed_does_not_end_the_reflector() -> None:
    script = Stubborn().lists(pod_list()).watches([10.0, ("ERROR", status(503))], [STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace == ["list 0", "watch 10", "watch 10"]


@virtual_time
async def test_a_source_that_makes_an_error_of_cancellation_cannot_keep_it_alive() -> None:
    script = Stubborn().lists(pod_list()).watches([STAY])
    reflector: Reflector[Unstructured] = Reflector(script.listwatch, Store())
    task = asyncio.create_task(reflector.run())
    await asyncio.sleep(1)
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=5)
    task.cancel()
    assert done
    assert task.cancelled()
    assert reflector.status().phase is Phase.STOPPED
