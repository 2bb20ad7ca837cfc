"""How a reflector streams a list, and when it gives that up; ids as in docs/parity.md."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.api import ListOptions
from kinform.errors import (
    ExpiredError,
    ForbiddenError,
    IncompleteStreamError,
    InvalidError,
    ServerError,
    TooManyRequestsError,
    TransportError,
    WatchSilenceError,
)
from kinform.informers import (
    Phase,
    Reflector,
    ReflectorOptions,
    ServerCapabilities,
    SharedIndexInformer,
    Store,
    SyncMode,
    WatchFailure,
)
from kinform.objects import Unstructured
from kinform.testing import virtual_time
from tests.contract.noting_store import NotingStore
from tests.contract.played_source import (
    After,
    PlayedSource,
    added,
    bookmark,
    deleted,
    error,
    list_ends,
    modified,
    running,
    sends,
    sends_and_ends,
    untimed,
)
from tests.support.answers import pod, pod_list

LIST = ListOptions(resource_version="0", limit=500)
REFUSED = TransportError("connection refused")
NOT_ALLOWED = InvalidError("sendInitialEvents is forbidden", code=422, reason="Invalid")


def stream_from(version: str = "") -> ListOptions:
    """At least as new as ``version``, or the newest there is."""
    return ListOptions(
        resource_version=version,
        resource_version_match="NotOlderThan",
        send_initial_events=True,
        allow_watch_bookmarks=True,
    )


def watch_from(version: str) -> ListOptions:
    return ListOptions(resource_version=version, allow_watch_bookmarks=True)


# -- a streamed list ---------------------------------------------------------------------------


@virtual_time
async def test_a_streamed_list_is_one_watch_that_goes_on_as_the_watch() -> None:
    """C-06, C-27: these options and no others; no list, and no second watch."""
    store = NotingStore()
    script = PlayedSource(
        watches=[sends(added("a", "3"), added("b", "1"), list_ends("9"), modified("a", "10"))],
        streaming=True,
    )
    reflector = Reflector(script.source, store)

    async with running(reflector):
        await script.played()
        assert reflector.status().mode is SyncMode.STREAMING

    assert script.verbs == ["watch"]
    assert untimed(script.watches) == [stream_from()]
    assert 300 <= (script.watches[0].timeout_seconds or 0) <= 600
    assert store.asked == ["replace 9", "update 10"]


@virtual_time
async def test_nothing_is_in_the_store_before_the_bookmark_has_come() -> None:
    """C-27: and a reflector that is stopped until then leaves it as it was."""
    store = NotingStore()
    script = PlayedSource(watches=[sends(added("a", "1"), added("b", "2"))], streaming=True)
    reflector = Reflector(script.source, store)

    async with running(reflector):
        await script.played()
        assert not reflector.status().synced

    assert store.asked == []
    assert script.closed == [1]


@pytest.mark.parametrize("annotation", [None, "false", "", "True"])
@virtual_time
async def test_a_bookmark_that_does_not_say_so_does_not_end_the_list(
    annotation: str | None,
) -> None:
    """C-27: only the word "true" does."""
    store = NotingStore()
    ordinary = bookmark("5", initial_events_end=annotation)
    script = PlayedSource(
        watches=[sends(added("a", "1"), ordinary, After(1), list_ends("6"))], streaming=True
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    assert store.asked == ["replace 6"]


@virtual_time
async def test_changes_and_deletions_during_the_stream_count() -> None:
    """C-27: the list is what there is at its end."""
    store = Store()
    script = PlayedSource(
        watches=[
            sends(
                added("a", "1"),
                added("b", "2"),
                modified("a", "3"),
                added("c", "4"),
                deleted("c", "5"),
                list_ends("5"),
            )
        ],
        streaming=True,
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    versions = {obj.name: obj.resource_version for obj in store}
    assert versions == {"a": "3", "b": "2"}


@virtual_time
async def test_additions_of_the_initial_events_never_set_the_version() -> None:
    """C-28: they come in the order of their names, so none of them is a place to resume from."""
    script = PlayedSource(
        watches=[
            sends(added("a", "70"), added("b", "7"), After(5), REFUSED),
            sends(
                list_ends("70"), modified("a", "80"), After(10), error(410, "Expired", "too old")
            ),
            sends(added("a", "95"), added("b", "7"), After(5), list_ends("99"), After(5)),
        ],
        streaming=True,
    )
    reflector = Reflector(script.source, Store())

    async with running(reflector):
        await asyncio.sleep(1)
        assert reflector.last_sync_resource_version == ""
        await script.called("watch", 3)
        await asyncio.sleep(1)
        assert reflector.last_sync_resource_version == "80"
        await script.played()
        assert reflector.last_sync_resource_version == "99"


@virtual_time
async def test_a_watch_from_nowhere_has_no_version_before_its_first_change() -> None:
    """C-28: so it is with a source whose lists have no versions."""
    script = PlayedSource(
        lists=[pod_list(rv="")],
        watches=[sends(added("a", "7"), added("b", "3"), After(2), modified("b", "8"), After(2))],
    )
    reflector = Reflector(script.source, Store())

    async with running(reflector):
        await asyncio.sleep(1)
        assert reflector.last_sync_resource_version == ""
        await script.played()
        assert reflector.last_sync_resource_version == "8"


# -- ends and errors ---------------------------------------------------------------------------


@virtual_time
async def test_a_stream_that_ends_too_early_is_begun_anew_and_the_second_brings_a_list() -> None:
    """C-27: client-go would ask again for ever, and without a pause."""
    store = NotingStore()
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[sends_and_ends(added("x", "1")), sends_and_ends(added("x", "1")), sends()],
        streaming=True,
    )
    told: list[WatchFailure] = []

    async with running(Reflector(script.source, store, on_watch_error=told.append)):
        await script.played()

    assert script.verbs == ["watch", "watch", "list", "watch"]
    assert untimed(script.watches) == [stream_from(), stream_from(), watch_from("10")]
    assert script.lists == [LIST]
    assert all(gap <= 0.02 for gap in script.gaps)
    assert store.asked == ["replace 10"]
    assert [(type(each.error), each.phase) for each in told] == [
        (IncompleteStreamError, Phase.STREAMING)
    ] * 2


@virtual_time
async def test_after_the_list_is_complete_it_resumes_with_a_plain_watch() -> None:
    """C-27: from the last version, and nothing is streamed again."""
    store = NotingStore()
    script = PlayedSource(
        watches=[
            sends_and_ends(added("a", "1"), list_ends("2"), After(10), added("b", "3")),
            sends(added("c", "4")),
        ],
        streaming=True,
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    assert untimed(script.watches) == [stream_from(), watch_from("3")]
    assert store.asked == ["replace 2", "add 3", "add 4"]


@virtual_time
async def test_a_busy_server_is_asked_for_a_stream_again() -> None:
    """C-27: each time after a longer pause, and never for a list."""
    busy = TooManyRequestsError("busy", code=429, reason="TooManyRequests")
    script = PlayedSource(watches=[busy] * 6 + [sends(list_ends("1"))], streaming=True)

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert untimed(script.watches) == [stream_from()] * 7
    assert script.lists == []
    for delay, step in zip(script.gaps, (0.8, 1.6, 3.2, 6.4, 12.8, 25.6), strict=True):
        assert step <= delay < 2 * step


@virtual_time
async def test_a_connection_lost_before_any_object_is_retried_and_the_third_brings_a_list() -> None:
    """C-27: client-go goes on with streams, but a proxy may have cut them for what they are."""
    store = NotingStore()
    script = PlayedSource(
        lists=[REFUSED],
        watches=[REFUSED] * 3 + [sends(added("a", "1"), list_ends("2"))],
        streaming=True,
    )

    async with running(Reflector(script.source, store)):
        await script.called("watch", 4)
        await asyncio.sleep(1)

    assert script.verbs == ["watch", "watch", "watch", "list", "watch"]
    assert untimed(script.watches) == [stream_from()] * 4
    for gap, step in zip(script.gaps, (0.1, 0.2, 0.4, 0.75), strict=True):
        assert step <= gap < 2 * step
    assert store.asked == ["replace 2"]


@virtual_time
async def test_a_stream_cut_after_objects_is_begun_anew_and_the_second_brings_a_list() -> None:
    """C-27: without a wait; and no more streams before a list is complete."""
    store = NotingStore()
    cut = sends(added("a", "1"), TransportError("reset by peer"))
    script = PlayedSource(
        lists=[REFUSED, pod_list(pod("a"), rv="10")], watches=[cut, cut, sends()], streaming=True
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    assert script.verbs == ["watch", "watch", "list", "list", "watch"]
    assert untimed(script.watches) == [stream_from(), stream_from(), watch_from("10")]
    assert all(gap <= 0.02 for gap in script.gaps[:2])
    assert 0.1 <= script.gaps[2] < 0.2
    assert store.asked == ["replace 10"]


@virtual_time
async def test_a_server_that_cannot_stream_is_listed_at_once() -> None:
    """C-27: the refusal is the answer, so there is no pause."""
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")], watches=[NOT_ALLOWED, sends()], streaming=True
    )

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["watch", "list", "watch"]
    assert script.lists == [LIST]
    assert untimed(script.watches) == [stream_from(), watch_from("10")]
    assert script.gaps == [0, 0]


@virtual_time
async def test_any_other_error_brings_a_list_when_it_comes_three_times() -> None:
    """C-27: client-go lists after the first; that a stream can be had is not forgotten."""
    failed = ServerError("etcd is away", code=500, reason="InternalError")
    gone = sends(bookmark("20"), After(10), error(410, "Expired", "too old"))
    script = PlayedSource(
        lists=[pod_list(rv="10")],
        watches=[failed, failed, failed, gone, sends(list_ends("30"))],
        streaming=True,
    )

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["watch", "watch", "watch", "list", "watch", "watch"]
    assert untimed(script.watches)[-1] == stream_from("20")


@virtual_time
async def test_who_may_not_watch_gets_a_list() -> None:
    """C-27: 403 is about this account, so the server is not remembered as one that cannot."""
    forbidden = ForbiddenError("no", code=403, reason="Forbidden")
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[forbidden, forbidden, sends(modified("a", "11"))],
        streaming=True,
    )
    reflector = Reflector(script.source, Store())

    async with running(reflector):
        await script.played()
        assert reflector.status().mode is SyncMode.LIST

    assert script.verbs == ["watch", "list", "watch", "watch"]
    assert untimed(script.watches) == [stream_from(), watch_from("10"), watch_from("10")]


@virtual_time
async def test_a_watch_that_expired_is_followed_by_a_stream_from_its_version() -> None:
    """C-27: and if the server has forgotten that version too, by the newest, at once."""
    store = NotingStore()
    expired = ExpiredError("too old", code=410, reason="Expired")
    script = PlayedSource(
        watches=[
            sends(added("a", "1"), list_ends("2"), After(10), added("b", "3"), expired),
            expired,
            sends(added("b", "3"), list_ends("9")),
        ],
        streaming=True,
    )
    told: list[WatchFailure] = []
    reflector = Reflector(script.source, store, on_watch_error=told.append)

    async with running(reflector):
        await script.played()
        relists = reflector.status().relists

    assert untimed(script.watches) == [stream_from(), stream_from("3"), stream_from()]
    assert script.gaps == [10, 0]
    assert store.asked == ["replace 2", "add 3", "replace 9"]
    assert [each.phase for each in told] == [Phase.WATCHING, Phase.STREAMING]
    assert relists == {"expired": 1}


# -- whether to stream -------------------------------------------------------------------------


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("capable", [True, False])
@virtual_time
async def test_a_list_is_streamed_if_it_is_wanted_and_the_source_can(
    wanted: bool, capable: bool
) -> None:
    """C-29: both are needed."""
    script = PlayedSource(
        lists=[] if wanted and capable else [pod_list(rv="10")], streaming=capable
    )
    options = ReflectorOptions(streaming=wanted)

    async with running(Reflector(script.source, Store(), options=options)):
        await script.played()

    if wanted and capable:
        assert untimed(script.watches) == [stream_from()]
    else:
        assert script.lists == [LIST]
        assert untimed(script.watches) == [watch_from("10")]


@virtual_time
async def test_what_one_reflector_learned_about_a_resource_others_know_for_an_hour() -> None:
    """C-29: client-go tries anew in each cycle of each reflector."""
    memory = ServerCapabilities(clock=asyncio.get_running_loop().time)
    options = ReflectorOptions(capabilities=memory)
    first = PlayedSource(lists=[pod_list(rv="10")], watches=[NOT_ALLOWED, sends()], streaming=True)
    async with running(Reflector(first.source, Store(), options=options)):
        await first.played()

    second = PlayedSource(lists=[pod_list(rv="10")], streaming=True)
    async with running(Reflector(second.source, Store(), options=options)):
        await second.played()
    other = PlayedSource(name="nodes", streaming=True)
    async with running(Reflector(other.source, Store(), options=options)):
        await other.played()
    await asyncio.sleep(3600)
    third = PlayedSource(streaming=True)
    async with running(Reflector(third.source, Store(), options=options)):
        await third.played()

    assert second.verbs == ["list", "watch"]
    assert other.verbs == third.verbs == ["watch"]


@pytest.mark.parametrize(
    ("events", "given_up_at"),
    [
        ([], 60),
        ([After(50), added("a", "1")], 80),
        ([added("a", "1"), After(25), added("b", "2"), After(25), added("c", "3")], 80),
        ([added("a", "1"), *[After(9), modified("a", "2")] * 9], 39),
    ],
    ids=["nothing at all", "one object", "a slow list", "changes, and no end"],
)
@virtual_time
async def test_a_stream_without_an_end_is_given_up_for_a_list(
    events: list[Any], given_up_at: float
) -> None:
    """C-30: client-go writes a warning every ten seconds, and waits."""
    script = PlayedSource(
        lists=[pod_list(pod("a", rv="5"), rv="10")],
        watches=[sends(*events), sends()],
        streaming=True,
    )
    told: list[WatchFailure] = []
    reflector = Reflector(script.source, Store(), on_watch_error=told.append)

    async with running(reflector):
        await script.played()
        assert reflector.status().synced

    assert script.verbs == ["watch", "list", "watch"]
    assert script.gaps == [given_up_at, 0]
    assert script.closed[0] == 1
    assert [(type(each.error), each.phase) for each in told] == [
        (WatchSilenceError, Phase.STREAMING)
    ]


# -- transforms --------------------------------------------------------------------------------


class Labelling:
    """A transform that must not run twice on an object, and says on which it ran."""

    def __init__(self) -> None:
        self.ran_on: list[str] = []

    def __call__(self, obj: Unstructured) -> Unstructured:
        self.ran_on.append(f"{obj.name} {obj.resource_version}")
        labels = dict(obj.labels)
        obj["metadata"]["labels"] = {**labels, "runs": str(int(labels.get("runs", "0")) + 1)}
        return obj


@virtual_time
async def test_each_version_of_an_object_is_transformed_exactly_once() -> None:
    """C-25: client-go transforms three streamed objects five times."""
    transform = Labelling()
    script = PlayedSource(
        watches=[
            sends(added("a", "1"), added("b", "2"), TransportError("reset by peer")),
            sends(
                *(added(name, rv) for name, rv in (("a", "1"), ("b", "2"), ("c", "3"))),
                list_ends("3"),
                modified("a", "4"),
                After(10),
                error(410, "Expired", "too old"),
            ),
            sends(
                *(added(name, rv) for name, rv in (("a", "4"), ("b", "6"), ("c", "3"))),
                list_ends("6"),
            ),
        ],
        streaming=True,
    )
    informer = SharedIndexInformer(script.source, transform=transform)

    async with informer:
        await script.played()
        await informer.wait_for_rv("6")

    assert transform.ran_on == ["a 1", "b 2", "c 3", "a 4", "b 6"]
    assert [obj.labels["runs"] for obj in informer.store] == ["1", "1", "1"]
