"""Each fault at the start of a watch, as a client sees it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kinform.testing import ApiServer, faults
from tests.support import raw_http

MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{MAPS}?watch=true&resourceVersion=0"
STREAM = (
    f"{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&allowWatchBookmarks=true"
)
END = "k8s.io/initial-events-end"


def _config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.fixture
def api(kinform_api: ApiServer) -> ApiServer:
    """A server with three config maps."""
    for name in ("a", "b", "c"):
        kinform_api.create(_config_map(name))
    return kinform_api


def _names(events: list[Any]) -> list[tuple[str, str]]:
    return [(event["type"], event["object"]["metadata"].get("name", "")) for event in events]


async def test_the_bookmark_after_the_initial_events_can_be_missing() -> None:
    async with ApiServer(bookmark_interval=0.1) as api:
        api.create(_config_map("a"))
        api.faults.inject(faults.missing_end_bookmark())

        async with raw_http.open_answer(api.url, STREAM) as answer:
            added = await answer.event()
            # Bookmarks are only sent for new versions, so write to another resource.
            api.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "elsewhere"}})
            bookmark = await answer.event()

    assert added["type"] == "ADDED"
    # This is the first of the regular bookmarks.
    assert bookmark["type"] == "BOOKMARK"
    assert END not in bookmark["object"]["metadata"].get("annotations", {})


async def test_all_bookmarks_can_be_missing() -> None:
    async with ApiServer(bookmark_interval=0.05) as api:
        api.create(_config_map("a"))
        api.faults.inject(faults.missing_bookmarks())

        async with raw_http.open_answer(api.url, STREAM) as answer:
            assert (await answer.event())["type"] == "ADDED"
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(answer.line(), 0.2)


async def test_the_bookmark_after_the_initial_events_can_lack_its_annotation(
    api: ApiServer,
) -> None:
    api.faults.inject(faults.unannotated_end_bookmark())

    async with raw_http.open_answer(api.url, STREAM) as answer:
        events = [await answer.event() for _ in range(4)]

    assert [event["type"] for event in events] == ["ADDED"] * 3 + ["BOOKMARK"]
    assert "annotations" not in events[3]["object"]["metadata"]
    assert events[3]["object"]["metadata"]["resourceVersion"] == api.resource_version


async def test_an_object_can_change_and_go_and_come_back_before_the_initial_events_end(
    api: ApiServer,
) -> None:
    api.faults.inject(faults.changes_before_end_bookmark())

    async with raw_http.open_answer(api.url, STREAM) as answer:
        events = [await answer.event() for _ in range(7)]

    assert _names(events[:6]) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("ADDED", "c"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("ADDED", "a"),
    ]
    assert events[6]["object"]["metadata"]["annotations"][END] == "true"


async def test_a_resumed_watch_can_be_given_everything_again(api: ApiServer) -> None:
    api.faults.inject(faults.replay_on_resume())
    resumed = f"{MAPS}?watch=true&resourceVersion={api.resource_version}"

    async with raw_http.open_answer(api.url, resumed) as answer:
        replayed = [await answer.event() for _ in range(3)]
        api.create(_config_map("d"))
        following = await answer.event()

    assert _names([*replayed, following]) == [("ADDED", name) for name in "abcd"]


async def test_a_watch_from_the_start_has_nothing_to_replay(api: ApiServer) -> None:
    injection = api.faults.inject(faults.replay_on_resume())

    async with raw_http.open_answer(api.url, WATCH) as answer:
        await answer.event()

    assert injection.hits == 0
