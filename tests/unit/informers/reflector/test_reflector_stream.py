"""Streaming: the first way to fetch everything, and every way in which it is given up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.api import GVR
from kinform.errors import (
    ApiError,
    BadRequestError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ServerError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
)
from kinform.informers import Phase, ReflectorOptions, ServerCapabilities, Store, SyncMode
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

POISON = pod("bad", rv="6")
POISON["metadata"]["labels"] = ["no", "labels"]
# What a healthy watch goes on with before it loses its place.
LOST = [10.0, bookmark("6"), ("ERROR", status(410, "Expired"))]


def streaming(**options: Any) -> ScriptedSource:
    return ScriptedSource(streaming=True, **options)


@virtual_time
async def test_a_stream_is_tried_first_and_goes_on_as_the_watch() -> None:
    script = streaming().watches(
        [
            ("ADDED", pod("a", rv="3")),
            ("ADDED", pod("b", rv="2")),
            end_bookmark("9"),
            1.0,
            ("MODIFIED", pod("a", rv="10")),
            STAY,
        ]
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(0.5)
        assert contents(store) == {"a": "3", "b": "2"}
        assert store.resource_version == reflector.last_sync_resource_version == "9"
        await asyncio.sleep(1)
        assert contents(store) == {"a": "10", "b": "2"}
        found = reflector.status()
        assert (found.phase, found.mode, found.synced) == (Phase.WATCHING, SyncMode.STREAMING, True)
        assert (found.watch_opens, found.relists) == (1, {})
    assert script.trace == ["stream newest"]
    options = script.asked[0].options
    assert options.resource_version_match == "NotOlderThan"
    assert options.allow_watch_bookmarks
    assert options.timeout_seconds is not None
    assert 300 <= options.timeout_seconds < 600


@virtual_time
async def test_an_object_without_a_name_in_a_stream_is_quarantined() -> None:
    """18.9: one such object must not fail the whole list."""
    script = streaming().watches([("ADDED", pod("")), ("ADDED", pod("a")), end_bookmark("9"), STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(5)
        assert contents(store) == {"a": "1"}
        assert list(reflector.quarantine) == ["?1"]
        assert reflector.status().last_error is None


@virtual_time
@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({"k8s.io/initial-events-end": "true", "x": None}, id="a null"),
        pytest.param({"k8s.io/initial-events-end": "true", "x": 1}, id="a number"),
    ],
)
async def test_the_end_is_known_whatever_else_is_noted_beside_it(
    annotations: dict[str, object],
) -> None:
    kind, body = end_bookmark("9")
    body["metadata"]["annotations"] = annotations
    script = streaming().watches([("ADDED", pod("a")), (kind, body), STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(1)
        assert reflector.status().synced
        assert reflector.status().errors == {}


@virtual_time
@pytest.mark.parametrize("annotations", [None, [], {}, {"k8s.io/initial-events-end": True}])
async def test_a_bookmark_that_does_not_say_so_is_not_the_end(annotations: object) -> None:
    kind, body = end_bookmark("8")
    body["metadata"]["annotations"] = annotations
    script = streaming().watches([("ADDED", pod("a")), (kind, body), 1.0, end_bookmark("9"), STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(0.5)
        assert not reflector.status().synced
        await asyncio.sleep(1)
        assert reflector.last_sync_resource_version == "9"
        assert reflector.status().errors == {}


@virtual_time
async def test_the_store_sees_nothing_of_a_stream_before_it_is_complete() -> None:
    script = streaming().watches([("ADDED", pod("a")), 20.0, end_bookmark("9"), STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(19)
        assert (len(store), store.resource_version) == (0, "")
        assert reflector.last_sync_resource_version == ""
        assert reflector.status().phase is Phase.STREAMING
        await asyncio.sleep(2)
        assert contents(store) == {"a": "1"}


@virtual_time
async def test_what_follows_the_end_in_the_same_piece_is_not_lost() -> None:
    together = [("ADDED", pod("a")), end_bookmark("9"), ("ADDED", pod("b", rv="10"))]
    script = streaming().watches([together, STAY])
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1", "b": "10"}
        assert reflector.last_sync_resource_version == "10"


@virtual_time
async def test_changes_that_come_before_the_end_are_part_of_the_list() -> None:
    script = streaming().watches(
        [
            ("ADDED", pod("a", rv="1")),
            ("ADDED", pod("b", rv="2")),
            ("MODIFIED", pod("a", rv="3")),
            ("DELETED", pod("b", rv="4")),
            ("ADDED", pod("c", rv="5")),
            end_bookmark("5"),
            STAY,
        ]
    )
    store = Store()
    async with reflecting(script, store):
        await asyncio.sleep(1)
        assert contents(store) == {"a": "3", "c": "5"}


# -- its bounds: time, progress, clean closes ----------------------------------------------------


@virtual_time
async def test_a_stream_that_never_says_a_word_is_given_up_after_a_minute() -> None:
    script = streaming().watches([STAY]).lists(pod_list(pod("a")))
    async with reflecting(script) as reflector:
        await asyncio.sleep(59)
        assert reflector.status().phase is Phase.STREAMING
        await asyncio.sleep(2)
        assert reflector.status().phase is Phase.WATCHING
        assert reflector.status().mode is SyncMode.LIST
    assert script.trace == ["stream newest", "list 0", "watch 10"]
    assert script.gaps()[0] == pytest.approx(60)


@virtual_time
async def test_a_stream_that_stops_before_the_end_is_given_up_after_half_a_minute() -> None:
    script = streaming().watches([5.0, ("ADDED", pod("a")), STAY]).lists(pod_list(pod("a")))
    async with reflecting(script):
        await asyncio.sleep(40)
    assert script.trace == ["stream newest", "list 0", "watch 10"]
    assert script.gaps()[0] == pytest.approx(35)


@virtual_time
async def test_a_stream_that_makes_progress_may_take_its_time() -> None:
    slow = [step for n in range(10) for step in (29.0, ("ADDED", pod(f"p{n}")))]
    script = streaming().watches([*slow, end_bookmark("9"), STAY])
    store = Store()
    async with reflecting(script, store):
        await asyncio.sleep(291)
        assert len(store) == 10
    assert script.trace == ["stream newest"]


@pytest.mark.parametrize("busy", [("MODIFIED", pod("a", rv="11")), bookmark("11")])
@virtual_time
async def test_a_busy_resource_does_not_pass_for_progress(busy: Any) -> None:
    """A server that ignores the question sends everything, then changes, and never the end."""
    endless = [step for _ in range(100) for step in (busy, 5.0)]
    script = streaming().watches([("ADDED", pod("a")), *endless]).lists(pod_list(pod("a")))
    async with reflecting(script):
        await asyncio.sleep(40)
    assert script.trace == ["stream newest", "list 0", "watch 10"]
    assert script.gaps()[0] == pytest.approx(30)


@virtual_time
async def test_an_end_that_is_not_marked_as_one_is_none() -> None:
    script = streaming().watches([("ADDED", pod("a")), bookmark("9"), STAY])
    script.lists(pod_list(pod("a"), rv="12"))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(29)
        assert len(store) == 0
        await asyncio.sleep(2)
        assert reflector.last_sync_resource_version == "12"


@virtual_time
async def test_a_stream_that_is_closed_before_its_end_is_tried_twice() -> None:
    half = [("ADDED", pod("a")), 1.0]
    script = streaming().watches(half, half).lists(pod_list(pod("a"), pod("b")))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"a": "1", "b": "1"}
        assert reflector.status().errors == {"IncompleteStreamError": 2}
    assert script.trace == ["stream newest", "stream newest", "list 0", "watch 10"]
    between, after = script.gaps()[:2]
    assert 1 <= between <= 1.02 + 1e-6  # a second of life
    assert after == pytest.approx(1)


@virtual_time
async def test_what_came_of_a_broken_stream_is_not_part_of_the_next_one() -> None:
    script = streaming().watches(
        [("ADDED", pod("gone")), TransportError("cut")],
        [("ADDED", pod("a")), end_bookmark("9"), STAY],
    )
    store = Store()
    async with reflecting(script, store):
        await asyncio.sleep(10)
        assert contents(store) == {"a": "1"}


# -- its refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "refusal",
    [
        InvalidError("sendInitialEvents is forbidden", code=422),
        BadRequestError("what is sendInitialEvents", code=400),
        MethodNotAllowedError("no watch", code=405),
    ],
    ids=lambda error: str(error.code),
)
@virtual_time
async def test_a_server_without_streaming_is_listed_at_once(refusal: ApiError) -> None:
    script = streaming().watches(refusal).lists(pod_list(pod("a")))
    async with reflecting(script):
        await asyncio.sleep(1)
    assert script.trace == ["stream newest", "list 0", "watch 10"]
    assert script.gaps()[0] == 0


@virtual_time
async def test_the_downgrade_is_remembered_per_resource_and_forgotten_after_its_time() -> None:
    loop = asyncio.get_running_loop()
    options = ReflectorOptions(capabilities=ServerCapabilities(3600, clock=loop.time))
    pods, nodes = GVR("", "v1", "pods"), GVR("", "v1", "nodes")
    first = streaming(resource=pods).watches(InvalidError("no", code=422)).lists(pod_list())
    async with reflecting(first, options=options):
        await asyncio.sleep(1)
    assert first.trace[0] == "stream newest"

    again, other = streaming(resource=pods).lists(pod_list()), streaming(resource=nodes)
    async with reflecting(again, options=options), reflecting(other, options=options):
        await asyncio.sleep(1)
    assert again.trace == ["list 0", "watch 10"]
    assert other.trace == ["stream newest"]

    await asyncio.sleep(3600)
    later = streaming(resource=pods)
    async with reflecting(later, options=options):
        await asyncio.sleep(1)
    assert later.trace == ["stream newest"]


@virtual_time
async def test_sources_without_a_name_do_not_share_a_downgrade() -> None:
    options = ReflectorOptions()
    scripts = [streaming(), streaming()]
    for script in scripts:
        script.listwatch.name = ""
    scripts[0].watches(InvalidError("no", code=422))
    for script in scripts:
        async with reflecting(script, options=options):
            await asyncio.sleep(1)
    assert [script.trace[0] for script in scripts] == ["stream newest"] * 2


@virtual_time
async def test_the_downgrade_holds_for_the_next_relist() -> None:
    script = streaming().watches(InvalidError("no", code=422), [("ERROR", status(410, "Expired"))])
    script.lists(pod_list(), pod_list(rv="20"))
    async with reflecting(script):
        await asyncio.sleep(10)
    assert script.trace == ["stream newest", "list 0", "watch 10", "list newest", "watch 20"]


@virtual_time
async def test_a_client_that_may_list_but_not_watch_lists_and_this_is_not_remembered() -> None:
    forbidden = ForbiddenError("may not watch", code=403, reason="Forbidden")
    script = streaming().watches(forbidden, forbidden).lists(pod_list(pod("a")))
    store = Store()
    options = ReflectorOptions()
    async with reflecting(script, store, options=options) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1"}
        assert reflector.status().phase is Phase.WAITING
    assert script.trace == ["stream newest", "list 0", "watch 10"]
    after = streaming()
    async with reflecting(after, options=options):
        await asyncio.sleep(1)
    assert after.trace == ["stream newest"]


@pytest.mark.parametrize(
    "unusable",
    [
        ExpiredError("too old", code=410, reason="Expired"),
        ResourceVersionTooLargeError("too large", code=504),
        [("ERROR", status(410, "Expired"))],
        [("ERROR", status(410, "Gone"))],
    ],
    ids=["410", "504", "event", "gone"],
)
@virtual_time
async def test_a_stream_from_an_unusable_version_asks_for_the_newest_at_once(
    unusable: Any,
) -> None:
    script = streaming().watches(
        [end_bookmark("5"), *LOST],
        unusable,
        [("ADDED", pod("a")), end_bookmark("9"), STAY],
    )
    async with reflecting(script) as reflector:
        await asyncio.sleep(11)
        assert reflector.last_sync_resource_version == "9"
        assert reflector.status().relists == {"expired": 1}
    assert script.trace == ["stream newest", "stream 6", "stream newest"]
    assert script.gaps() == [pytest.approx(10), 0]


@virtual_time
async def test_a_server_that_calls_the_newest_too_old_is_not_asked_in_a_hurry() -> None:
    expired = ExpiredError("too old", code=410, reason="Expired")
    script = streaming().watches(expired, expired, [end_bookmark("9"), STAY])
    async with reflecting(script):
        await asyncio.sleep(10)
    assert script.trace == ["stream newest"] * 3
    first, second = script.gaps()
    assert 0.8 <= first < 1.6 <= second < 3.2


@pytest.mark.parametrize(
    "error",
    [
        ServerError("etcd", code=500, reason="InternalError"),
        [("ERROR", status(500, "InternalError"))],
        RuntimeError("a bug of the source"),
    ],
    ids=["500", "500 event", "bug"],
)
@virtual_time
async def test_a_stream_that_always_fails_is_replaced_by_a_list_after_three(error: Any) -> None:
    script = streaming().watches(error, error, error).lists(pod_list(pod("a")))
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace == [*["stream newest"] * 3, "list 0", "watch 10"]
    first, second, third = script.gaps()[:3]
    assert 0.8 <= first < 1.6 <= second < 3.2
    assert third == 0


@pytest.mark.parametrize("error", [TransportError("refused"), [TransportError("reset")]])
@virtual_time
async def test_a_stream_that_loses_every_connection_is_replaced_by_a_list_after_three(
    error: Any,
) -> None:
    script = streaming().watches(error, error, error).lists(pod_list(pod("a")))
    async with reflecting(script) as reflector:
        await asyncio.sleep(20)
        assert reflector.status().phase is Phase.WATCHING
    assert script.trace == [*["stream newest"] * 3, "list 0", "watch 10"]
    for number, gap in enumerate(script.gaps()[:3]):
        assert 0.1 * 2**number <= gap < 0.2 * 2**number


@virtual_time
async def test_a_stream_that_is_cut_after_objects_is_tried_once_more_and_then_listed() -> None:
    cut = [("ADDED", pod("a")), 1.0, TransportError("reset")]
    script = streaming().watches(cut, cut).lists(pod_list(pod("a"), pod("b")))
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(10)
        assert contents(store) == {"a": "1", "b": "1"}
        assert reflector.status().errors == {"TransportError": 2}
    assert script.trace == ["stream newest", "stream newest", "list 0", "watch 10"]
    for gap in script.gaps()[:2]:
        assert 1 <= gap <= 1.02 + 1e-6


@virtual_time
async def test_a_failure_does_not_downgrade_so_the_next_cycle_streams_again() -> None:
    error = TransportError("refused")
    script = streaming().watches(
        error, error, error, [10.0, bookmark("11"), ("ERROR", status(410, "Expired"))]
    )
    script.lists(pod_list())
    async with reflecting(script):
        await asyncio.sleep(20)
    assert script.trace[3:] == ["list 0", "watch 10", "stream 11"]


@virtual_time
async def test_a_busy_server_is_waited_for_as_long_as_it_asks() -> None:
    busy = TooManyRequestsError("later", code=429, retry_after=30)
    script = streaming().watches(*[busy] * 5, [end_bookmark("9"), STAY])
    async with reflecting(script):
        await asyncio.sleep(400)
    assert script.trace == ["stream newest"] * 6
    assert all(30 <= gap < 61 for gap in script.gaps())


@pytest.mark.parametrize(
    "error", [UnauthorizedError("who", code=401), NotFoundError("what", code=404)]
)
@virtual_time
async def test_what_somebody_has_to_mend_is_waited_for_twice_as_long(error: ApiError) -> None:
    script = streaming().watches(*[error] * 4, [end_bookmark("9"), STAY])
    async with reflecting(script) as reflector:
        await asyncio.sleep(100)
        assert reflector.status().synced
    assert script.trace == ["stream newest"] * 5
    for number, gap in enumerate(script.gaps()):
        assert 1.6 * 2**number <= gap < 3.2 * 2**number


# -- poison --------------------------------------------------------------------------------------


@virtual_time
async def test_an_unreadable_object_in_a_stream_is_put_away_and_the_others_are_not() -> None:
    script = streaming().watches(
        [("ADDED", pod("a")), ("ADDED", POISON), ("ADDED", pod("b")), end_bookmark("9"), STAY]
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(1)
        assert contents(store) == {"a": "1", "b": "1"}
        assert list(reflector.quarantine) == ["default/bad"]
        assert reflector.quarantine["default/bad"].resource_version == "6"


@pytest.mark.parametrize("last_words", [POISON, pod("bad", rv="8")], ids=["poison", "readable"])
@virtual_time
async def test_an_unreadable_object_that_is_deleted_before_the_end_is_gone(
    last_words: dict[str, Any],
) -> None:
    script = streaming().watches(
        [("ADDED", pod("bad", rv="4")), end_bookmark("5"), *LOST],
        [("ADDED", POISON), ("DELETED", last_words), end_bookmark("9"), STAY],
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(11)
        assert script.trace == ["stream newest", "stream 6"]
        assert len(store) == 0
        assert not reflector.quarantine


@virtual_time
async def test_a_relist_in_which_a_known_object_is_unreadable_keeps_its_last_good_state() -> None:
    script = streaming().watches(
        [("ADDED", pod("bad", rv="4")), end_bookmark("5"), *LOST],
        [("ADDED", POISON), end_bookmark("9"), STAY],
    )
    store = Store()
    async with reflecting(script, store) as reflector:
        await asyncio.sleep(11)
        assert contents(store) == {"bad": "4"}
        assert "default/bad" in reflector.quarantine
