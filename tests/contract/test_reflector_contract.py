"""What a reflector promises about events, errors and its end; ids as in docs/parity.md."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from kinform.api import GVK, ListOptions
from kinform.errors import (
    CacheError,
    DecodeError,
    ServerError,
    TransportError,
    VeryShortWatchError,
)
from kinform.informers import (
    Phase,
    Reflector,
    ReflectorOptions,
    Store,
    WatchFailure,
)
from kinform.informers.reflector._admission import Admission
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
    modified,
    running,
    sends,
    sends_and_ends,
    untimed,
)
from tests.support.answers import pod, pod_list

TABLE = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "12"}}


def watch_from(version: str) -> ListOptions:
    return ListOptions(resource_version=version, allow_watch_bookmarks=True)


# -- ends and errors of a watch ----------------------------------------------------------------


@virtual_time
async def test_an_error_event_closes_the_watch_and_does_not_end_the_run() -> None:
    """C-01: it goes on from the last version, after a pause and without a list."""
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[sends(modified("a", "11"), error(500, "InternalError", "etcd is away")), sends()],
    )
    told: list[WatchFailure] = []
    reflector = Reflector(script.source, Store(), on_watch_error=told.append)

    async with running(reflector) as run:
        await script.played()
        assert not run.done()

    assert script.closed[0] == 1
    assert untimed(script.watches) == [watch_from("10"), watch_from("11")]
    assert len(script.lists) == 1
    assert [(failure.phase, failure.resource_version) for failure in told] == [
        (Phase.WATCHING, "11")
    ]
    assert isinstance(told[0].error, ServerError)


@virtual_time
async def test_cancelling_closes_the_watch_and_ends_the_run() -> None:
    """C-02: stopping is cancelling."""
    script = PlayedSource(lists=[pod_list(rv="10")])
    reflector = Reflector(script.source, Store())
    run = asyncio.create_task(reflector.run())
    await script.played()

    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run

    assert script.closed == [1]
    assert reflector.status().phase is Phase.STOPPED


@pytest.mark.parametrize("streaming", [False, True])
@virtual_time
async def test_cancelling_while_it_backs_off_ends_the_run_at_once(streaming: bool) -> None:
    """C-02: also inside a streamed list, where client-go sleeps on."""
    refused = TransportError("connection refused")
    script = PlayedSource(lists=[refused] * 9, watches=[refused] * 9, streaming=streaming)
    reflector = Reflector(script.source, Store())
    run = asyncio.create_task(reflector.run())
    await script.called("watch" if streaming else "list", 7)
    await asyncio.sleep(1)
    assert reflector.status().phase is Phase.WAITING
    before = asyncio.get_running_loop().time()

    run.cancel()
    await asyncio.wait([run])

    assert asyncio.get_running_loop().time() == before


@virtual_time
async def test_cancelled_before_it_ran_it_asks_nothing() -> None:
    """C-03: neither a list nor a watch."""
    script = PlayedSource(lists=[pod_list()])
    run = asyncio.create_task(Reflector(script.source, Store()).run())

    run.cancel()
    await asyncio.wait([run])

    assert script.calls == []


@pytest.mark.parametrize(
    "ending",
    [
        sends_and_ends(modified("a", "11"), After(10)),
        sends(modified("a", "11"), error(500, "InternalError")),
        sends(modified("a", "11"), TransportError("reset by peer")),
    ],
    ids=["clean", "error event", "connection lost"],
)
@virtual_time
async def test_every_watch_is_closed_exactly_once(ending: Any) -> None:
    """C-03: however it ended."""
    script = PlayedSource(lists=[pod_list(pod("a"), rv="10")], watches=[ending, sends()])

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.closed == [1, 1]


@virtual_time
async def test_watches_closed_at_once_are_tried_again_and_the_third_brings_a_list() -> None:
    """C-04: one may be a server that goes away; three look like a 410 that nobody says."""
    script = PlayedSource(
        lists=[pod_list(rv="10"), pod_list(rv="20")],
        watches=[sends_and_ends(), sends_and_ends(After(0.9)), sends_and_ends(), sends()],
    )
    told: list[WatchFailure] = []
    reflector = Reflector(script.source, Store(), on_watch_error=told.append)

    async with running(reflector):
        await script.played()
        relists = reflector.status().relists

    assert script.verbs == ["list", "watch", "watch", "watch", "list", "watch"]
    assert untimed(script.watches) == [watch_from("10")] * 3 + [watch_from("20")]
    assert script.closed == [1, 1, 1, 1]
    assert [type(failure.error) for failure in told] == [VeryShortWatchError] * 3
    for failure, step in zip(told, (0.1, 0.8, 1.6), strict=True):
        assert step <= failure.retry_in < 2 * step
    assert relists == {"closed at once": 1}


@virtual_time
async def test_a_watch_that_lived_is_followed_by_another_at_once_and_without_a_list() -> None:
    """C-04: the server ends watches all the time, and nothing is lost by it."""
    script = PlayedSource(
        lists=[pod_list(rv="10")],
        watches=[
            sends_and_ends(After(300)),
            sends_and_ends(After(1.1)),
            sends_and_ends(After(0.5), added("a", "11")),
            sends(),
        ],
    )
    told: list[WatchFailure] = []

    async with running(Reflector(script.source, Store(), on_watch_error=told.append)):
        await script.played()

    assert script.verbs == ["list"] + ["watch"] * 4
    for gap, life in zip(script.gaps, (0, 300, 1.1, 0.5), strict=True):
        assert 0 <= gap - life <= 0.02 + 1e-6
    assert told == []


@virtual_time
async def test_a_server_that_closes_after_every_event_is_asked_a_hundred_times_a_second() -> None:
    """C-04: client-go comes back without a pause each time."""
    events = [sends_and_ends(modified("a", str(11 + number))) for number in range(1000)]
    script = PlayedSource(lists=[pod_list(pod("a"), rv="10")], watches=events)

    async with running(Reflector(script.source, Store())):
        await script.called("watch", 1000)

    assert script.verbs.count("list") == 1
    assert max(script.gaps) <= 0.02 + 1e-6
    assert 80 <= 999 / sum(script.gaps) <= 120


# -- events ------------------------------------------------------------------------------------


@virtual_time
async def test_events_are_applied_and_the_version_is_that_of_the_last_not_the_highest() -> None:
    """C-05: resuming from the highest would skip what is still to come."""
    store = Store()
    script = PlayedSource(
        lists=[pod_list(pod("gone"), pod("kept", rv="2"), rv="10")],
        watches=[
            sends(deleted("gone", "30"), modified("kept", "55"), added("new", "32"), After(1))
        ],
    )
    reflector = Reflector(script.source, store)

    async with running(reflector):
        await script.played()
        assert reflector.last_sync_resource_version == "32"

    versions = {pod.key: pod.resource_version for pod in store}
    assert versions == {"default/kept": "55", "default/new": "32"}


@virtual_time
async def test_what_is_of_another_kind_is_left_out_and_the_watch_goes_on() -> None:
    """C-05, C-26: and its version counts, so that it is not sent again."""
    service = {**pod("odd", rv="12"), "kind": "Service"}
    store = Store()
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[sends(added("b", "11"), ("ADDED", service))],
    )
    told: list[WatchFailure] = []
    admission = Admission(Unstructured, expected_kind=GVK.of("v1", "Pod"))
    reflector = Reflector(script.source, store, admission=admission, on_watch_error=told.append)

    async with running(reflector):
        await script.played()
        assert reflector.last_sync_resource_version == "12"

    assert store.list_keys() == ["default/a", "default/b"]
    assert told == []
    assert script.closed == [1]


@virtual_time
async def test_tables_are_left_out_of_a_watch() -> None:
    """C-26: a table is no object."""
    store = Store()
    script = PlayedSource(
        lists=[pod_list(rv="10")],
        watches=[sends(("ADDED", TABLE), ("MODIFIED", TABLE), added("b", "13"))],
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    assert store.list_keys() == ["default/b"]
    assert len(script.calls) == 2


@virtual_time
async def test_a_list_of_tables_is_refused_and_tried_again() -> None:
    """C-26: and says that this is why."""
    store = Store()
    tables = {"metadata": {"resourceVersion": "9"}, "items": [{**TABLE, "rows": []}]}
    script = PlayedSource(lists=[tables, pod_list(pod("a"), rv="10")], watches=[sends()])
    told: list[WatchFailure] = []

    async with running(Reflector(script.source, store, on_watch_error=told.append)):
        await script.played()

    assert [type(failure.error) for failure in told] == [DecodeError]
    assert "table" in str(told[0].error)
    assert store.list_keys() == ["default/a"]


@virtual_time
async def test_a_store_hears_of_every_version_in_its_order() -> None:
    """C-22: a store that has ``bookmark`` hears of those as well."""
    store = NotingStore()
    script = PlayedSource(
        lists=[pod_list(rv="5")],
        watches=[sends(added("a", "10"), modified("a", "20"), bookmark("30"), deleted("a", "40"))],
    )
    reflector = Reflector(script.source, store)

    async with running(reflector):
        await script.played()

    assert store.asked == ["replace 5", "add 10", "update 20", "bookmark 30", "delete 40"]
    assert store.resource_version == reflector.last_sync_resource_version == "40"


@virtual_time
async def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    """C-22: the next watch begins there."""
    store = Store()
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10")],
        watches=[sends_and_ends(bookmark("99"), After(10)), sends()],
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    assert untimed(script.watches) == [watch_from("10"), watch_from("99")]
    assert store.list_keys() == ["default/a"]


# -- across cycles -----------------------------------------------------------------------------


@virtual_time
async def test_whatever_fails_is_told_with_its_cause_and_the_store_still_converges() -> None:
    """C-07: the error names the source, and its cause is what the source raised."""
    store = Store()
    broken = OSError("no route to host")
    script = PlayedSource(
        lists=[broken, pod_list(pod("a"), pod("b"), rv="10"), pod_list(pod("b", rv="14"), rv="14")],
        watches=[
            broken,
            sends(deleted("a", "11"), added("c", "12"), error(410, "Expired", "too old")),
            sends(added("d", "15")),
        ],
    )
    told: list[WatchFailure] = []

    async with running(Reflector(script.source, store, on_watch_error=told.append)):
        await script.played()

    assert store.list_keys() == ["default/b", "default/d"]
    assert [(failure.phase, failure.error.__cause__) for failure in told] == [
        (Phase.LISTING, broken),
        (Phase.WATCHING, broken),
        (Phase.WATCHING, None),
    ]
    assert all(failure.name == "pods" and "pods" in str(told[0].error) for failure in told)


@virtual_time
async def test_an_object_that_vanished_behind_a_storage_error_leaves_with_one_replace() -> None:
    """C-24: the deletion that could not be told is found by the list."""
    store = NotingStore()
    script = PlayedSource(
        lists=[
            pod_list(pod("a"), pod("corrupt"), rv="10"),
            pod_list(pod("a"), pod("b", rv="12"), rv="13"),
        ],
        watches=[
            sends(added("b", "12"), error(500, "StorageReadError", "object was deleted")),
            sends(),
        ],
    )
    reflector = Reflector(script.source, store)

    async with running(reflector):
        await script.played()
        relists = reflector.status().relists

    assert store.asked == ["replace 10", "add 12", "replace 13"]
    assert store.list_keys() == ["default/a", "default/b"]
    assert relists == {"storage read error": 1}


class RefusingStore(NotingStore):
    """Cannot take one object, once."""

    def update(self, obj: Unstructured) -> None:
        if "update 11" not in self.asked:
            self.asked.append("update 11")
            raise OSError("disk full")
        super().update(obj)


@virtual_time
async def test_an_event_that_the_store_refused_is_made_up_for_by_a_list() -> None:
    """C-24: client-go logs it and the event is lost."""
    store = RefusingStore()
    script = PlayedSource(
        lists=[pod_list(pod("a"), rv="10"), pod_list(pod("a", rv="11"), rv="11")],
        watches=[sends(modified("a", "11")), sends()],
    )
    told: list[WatchFailure] = []

    async with running(Reflector(script.source, store, on_watch_error=told.append)):
        await script.played()

    assert store.asked == ["replace 10", "update 11", "replace 11"]
    assert [type(failure.error) for failure in told] == [CacheError]


# -- resync and watch timeout ------------------------------------------------------------------


class FailingResync(NotingStore):
    """Counts resyncs, and fails on each."""

    def __init__(self) -> None:
        super().__init__()
        self.resynced_at: list[float] = []

    def resync(self) -> None:
        self.resynced_at.append(asyncio.get_running_loop().time())
        raise OSError("no")


@virtual_time
async def test_a_failing_resync_ends_neither_the_watch_nor_the_run() -> None:
    """C-13: in client-go it would end the watch."""
    store = FailingResync()
    script = PlayedSource(lists=[pod_list(rv="10")], watches=[sends(After(35), added("a", "11"))])

    async with running(Reflector(script.source, store, resync_period=10.0)):
        await script.played()

    assert store.resynced_at == [10, 20, 30]
    assert store.asked == ["replace 10", "add 11"]
    assert len(script.calls) == 2


@virtual_time
async def test_a_resync_asks_first_and_never_asks_the_server() -> None:
    """C-13: what is replayed is the cache."""
    due = itertools.cycle([False, True])
    store = FailingResync()
    script = PlayedSource(lists=[pod_list(rv="10")], watches=[sends(After(45))])
    reflector = Reflector(script.source, store, resync_period=10.0, should_resync=lambda: next(due))

    async with running(reflector):
        await script.played()

    assert store.resynced_at == [20, 40]
    assert script.verbs == ["list", "watch"]


async def _timeouts(options: ReflectorOptions) -> Sequence[int]:
    script = PlayedSource(
        lists=[pod_list(rv="10")], watches=[sends_and_ends(After(10))] * 200 + [sends()]
    )
    async with running(Reflector(script.source, Store(), options=options)):
        await script.played()
    return [asked.timeout_seconds or 0 for asked in script.watches]


@pytest.mark.parametrize(
    ("options", "shortest"),
    [
        (ReflectorOptions(), 300),
        (ReflectorOptions(watch_timeout=1.0), 300),
        (ReflectorOptions(watch_timeout=1800.0), 1800),
    ],
    ids=["default", "too short", "longer"],
)
@virtual_time
async def test_a_watch_is_asked_to_last_between_its_timeout_and_twice_that(
    options: ReflectorOptions, shortest: int
) -> None:
    """C-21: never below five minutes."""
    timeouts = await _timeouts(options)

    assert all(shortest <= timeout <= 2 * shortest for timeout in timeouts)
    # Drawn by lot, so that a thousand informers do not come back together.
    assert max(timeouts) - min(timeouts) > shortest / 2
