"""How a reflector lists: versions, pages and what is forgotten; ids as in docs/parity.md."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest

from kinform.api import GVR, ListOptions
from kinform.client import Client
from kinform.errors import ExpiredError, ForbiddenError
from kinform.informers import ListWatch, Reflector, ReflectorOptions, Store, WatchFailure
from kinform.testing import virtual_time
from kinform.transport import ClusterConfig
from tests.contract.noting_store import NotingStore
from tests.contract.played_source import (
    After,
    PlayedSource,
    Stream,
    bookmark,
    deleted,
    error,
    running,
    sends,
    untimed,
)
from tests.support.answers import (
    Answer,
    event,
    json_answer,
    pod,
    pod_list,
    status,
    watch_answer,
)
from tests.support.memory_transport import MemoryTransport

PODS_PATH = "/api/v1/pods"
FIRST = ListOptions(resource_version="0", limit=500)
NEWEST = ListOptions(limit=500)


def expired() -> ExpiredError:
    return ExpiredError("too old resource version", code=410, reason="Expired")


def moves_to(version: str) -> Stream:
    """A watch that comes as far as ``version``, and whose history is then forgotten."""
    return sends(bookmark(version), After(10), error(410, "Expired", "too old resource version"))


async def lists_of(
    lists: Sequence[dict[str, Any] | Exception],
    watches: Sequence[Stream | Exception],
    *,
    page_size: int | None = None,
) -> list[ListOptions]:
    """What is asked for, when these are the answers."""
    script = PlayedSource(lists=lists, watches=[*watches, sends()])
    options = ReflectorOptions(page_size=page_size)
    async with running(Reflector(script.source, Store(), options=options)):
        await script.played()
    return script.lists


# -- which version -----------------------------------------------------------------------------


@virtual_time
async def test_a_list_from_any_cache_is_followed_by_a_watch_from_its_version() -> None:
    """C-06: these options and no others."""
    script = PlayedSource(lists=[pod_list(pod("a"), rv="10")])

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.verbs == ["list", "watch"]
    assert script.lists == [FIRST]
    assert untimed(script.watches) == [
        ListOptions(resource_version="10", allow_watch_bookmarks=True)
    ]
    assert 300 <= (script.watches[0].timeout_seconds or 0) <= 600


@virtual_time
async def test_versions_of_lists_never_go_back() -> None:
    """C-17: the first is taken from anywhere, later ones are not older than what was seen."""
    asked = await lists_of(
        [pod_list(rv="10"), pod_list(rv="20"), pod_list(rv="30")],
        [moves_to("15"), moves_to("25")],
    )

    assert [each.resource_version for each in asked] == ["0", "15", "25"]


@virtual_time
async def test_a_first_list_that_failed_is_asked_for_in_the_same_way() -> None:
    """C-17: nothing was seen yet."""
    forbidden = ForbiddenError("no", code=403, reason="Forbidden")

    assert await lists_of([forbidden, pod_list(rv="10")], []) == [FIRST, FIRST]


@virtual_time
async def test_a_list_at_a_forgotten_version_is_asked_for_the_newest_at_once() -> None:
    """C-18: client-go's 0, last, empty."""
    script = PlayedSource(
        lists=[pod_list(rv="5"), expired(), pod_list(rv="30")], watches=[moves_to("10"), sends()]
    )

    async with running(Reflector(script.source, Store())):
        await script.played()

    assert script.lists == [FIRST, ListOptions(resource_version="10"), NEWEST]
    assert script.verbs == ["list", "watch", "list", "list", "watch"]
    assert script.gaps[2] == 0


@virtual_time
async def test_after_the_newest_lists_begin_at_known_versions_again() -> None:
    """C-18: a version was unusable, not versions as such."""
    asked = await lists_of(
        [pod_list(rv="5"), expired(), pod_list(rv="30"), pod_list(rv="40")],
        [moves_to("10"), moves_to("35")],
    )

    assert [each.resource_version for each in asked] == ["0", "10", "", "35"]


@virtual_time
async def test_a_list_that_leads_to_the_same_410_is_not_asked_for_again() -> None:
    """C-18: client-go would list at this version for ever (kubernetes/kubernetes 133810)."""
    gone = sends(After(10), error(410, "Expired", "too old resource version"))
    asked = await lists_of([pod_list(rv="10"), pod_list(rv="90")], [gone])

    assert [each.resource_version for each in asked] == ["0", ""]


# -- pages -------------------------------------------------------------------------------------


@virtual_time
async def test_a_page_size_holds_for_every_list() -> None:
    """C-14: a limit would turn a bare version into "exactly this", so it says what is meant."""
    asked = await lists_of(
        [
            pod_list(pod("a"), pod("b"), rv="10", continue_token="next"),
            pod_list(pod("c"), rv="10"),
            pod_list(pod("a"), rv="20"),
        ],
        [moves_to("15")],
        page_size=2,
    )

    assert asked == [
        ListOptions(resource_version="0", limit=2),
        ListOptions(continue_token="next", limit=2),
        ListOptions(resource_version="15", resource_version_match="NotOlderThan", limit=2),
    ]


@virtual_time
async def test_a_list_at_a_known_version_has_no_limit() -> None:
    """C-15: only so can the server answer it from its cache."""
    asked = await lists_of([pod_list(rv="10"), pod_list(rv="20")], [moves_to("15")])

    assert asked == [FIRST, ListOptions(resource_version="15")]


@virtual_time
async def test_a_server_that_pages_its_first_list_is_asked_for_pages_later() -> None:
    """C-16: it has no cache to spare, then."""
    asked = await lists_of(
        [
            pod_list(pod("a"), rv="10", continue_token="next"),
            pod_list(pod("b"), rv="10"),
            pod_list(pod("a"), rv="20"),
            pod_list(pod("a"), rv="30"),
        ],
        [moves_to("15"), moves_to("25")],
    )

    assert asked == [
        FIRST,
        ListOptions(continue_token="next", limit=500),
        ListOptions(resource_version="15", resource_version_match="NotOlderThan", limit=500),
        ListOptions(resource_version="25", resource_version_match="NotOlderThan", limit=500),
    ]


@virtual_time
async def test_a_page_that_came_too_late_brings_the_whole_list_in_one_request() -> None:
    """C-19: at the version that was asked for, and no page of the broken one is kept."""
    store = NotingStore()
    script = PlayedSource(
        lists=[
            pod_list(pod("a"), rv="5"),
            pod_list(pod("stale"), rv="12", continue_token="next"),
            expired(),
            pod_list(pod("a"), pod("b"), rv="20"),
        ],
        watches=[moves_to("10"), sends()],
    )
    options = ReflectorOptions(page_size=1)
    told: list[WatchFailure] = []

    async with running(
        Reflector(script.source, store, options=options, on_watch_error=told.append)
    ):
        await script.played()

    assert script.lists == [
        ListOptions(resource_version="0", limit=1),
        ListOptions(resource_version="10", resource_version_match="NotOlderThan", limit=1),
        ListOptions(continue_token="next", limit=1),
        ListOptions(resource_version="10"),
    ]
    assert store.asked == ["replace 5", "bookmark 10", "replace 20"]
    assert store.list_keys() == ["default/a", "default/b"]
    # The 410 of the watch, and no word of the other: it was not lost, only asked for differently.
    assert len(told) == 1


@virtual_time
async def test_pages_of_two_versions_are_never_joined() -> None:
    """C-19: such a list is of no moment, so it counts as forgotten."""
    store = Store()
    script = PlayedSource(
        lists=[
            pod_list(pod("gone"), rv="10", continue_token="next"),
            pod_list(pod("a"), rv="11"),
            pod_list(pod("a"), rv="12"),
        ],
        watches=[sends()],
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    assert script.lists == [
        FIRST,
        ListOptions(continue_token="next", limit=500),
        ListOptions(resource_version="0"),
    ]
    assert store.list_keys() == ["default/a"]
    assert store.resource_version == "12"


@virtual_time
async def test_an_empty_page_with_a_token_is_not_the_end() -> None:
    """C-19: with a selector whole pages may be filtered away."""
    store = Store()
    script = PlayedSource(
        lists=[
            pod_list(rv="10", continue_token="one"),
            pod_list(rv="10", continue_token="two"),
            pod_list(pod("a"), rv="10"),
        ],
        watches=[sends()],
    )

    async with running(Reflector(script.source, store)):
        await script.played()

    assert [each.continue_token for each in script.lists] == ["", "one", "two"]
    assert store.list_keys() == ["default/a"]


# -- with a client -----------------------------------------------------------------------------


def from_memory(memory: MemoryTransport) -> tuple[Client, ListWatch[Any]]:
    client = Client(ClusterConfig(server="https://cluster.test"), transport=memory)
    return client, ListWatch.for_resource(client, GVR("", "v1", "pods"))


TOO_LARGE_SHAPES = {
    "1.19 and later": status(
        504,
        "Timeout",
        "Timeout: too large resource version",
        details={"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1},
    ),
    "1.17 and 1.18": status(
        504,
        "Timeout",
        "Timeout: too large resource version",
        details={"causes": [{"message": "Too large resource version"}], "retryAfterSeconds": 1},
    ),
    "before 1.17": status(
        504,
        "Timeout",
        "Timeout: Too large resource version: 15, current: 10",
        details={"retryAfterSeconds": 1},
    ),
}


@pytest.mark.parametrize("shape", TOO_LARGE_SHAPES.values(), ids=TOO_LARGE_SHAPES)
@virtual_time
async def test_a_version_that_is_too_large_is_asked_for_the_newest_at_once(
    shape: dict[str, Any],
) -> None:
    """C-20: in all three forms in which servers have said so."""
    memory = MemoryTransport()
    lists = [json_answer(pod_list(rv="10")), json_answer(shape, 504), json_answer(pod_list(rv="5"))]
    watches = [event(*bookmark("15")), event(*error(410, "Expired"))]
    asked: list[tuple[str, float]] = []
    listed_again = asyncio.Event()

    def answer(request: Any) -> Answer:
        if request.query.get("watch"):
            return watch_answer(*watches)
        version = request.query.get("resourceVersion", "")
        asked.append((version, asyncio.get_running_loop().time()))
        if len(lists) == 1:
            listed_again.set()
        return lists.pop(0)

    memory.on(PODS_PATH, answer)
    client, source = from_memory(memory)
    async with (
        client,
        running(Reflector(source, Store(), options=ReflectorOptions(streaming=False))),
    ):
        await listed_again.wait()

    assert [version for version, _ in asked] == ["0", "15", ""]
    assert asked[2][1] == asked[1][1]


@virtual_time
async def test_what_is_deleted_is_freed_and_no_page_keeps_it_alive() -> None:
    """C-23: of 200 objects one stays, and so does its share of the memory."""
    pods = [pod(f"pod-{number}", spec={"blob": "x" * 50_000}) for number in range(200)]
    gone = [event(*deleted(f"pod-{number}", str(11 + number))) for number in range(1, 200)]
    memory = MemoryTransport()
    memory.on(PODS_PATH, json_answer(pod_list(*pods, rv="10")), watch_answer(*gone))
    client, source = from_memory(memory)
    reflector = Reflector(source, store := Store(), options=ReflectorOptions(streaming=False))
    gc.collect()
    tracemalloc.start()
    try:
        async with client, running(reflector):
            async with asyncio.timeout(60):
                while len(store) != 1:  # noqa: ASYNC110  # a store that nobody informs of
                    await asyncio.sleep(0.001)
            gc.collect()
            left, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most > 200 * 50_000
    assert left < 0.1 * 200 * 50_000
    assert store.list_keys() == ["default/pod-0"]
