"""What a watch does beyond what a real server lets one see: its rhythm, its limits, its end."""

from __future__ import annotations

import asyncio
import json
import time
import zlib
from typing import Any

import pytest

from kinform.api import GVR
from kinform.testing import ApiServer
from tests.support import raw_http
from tests.support.waiting import wait_until

CONFIG_MAPS = GVR("", "v1", "configmaps")
MAPS = "/api/v1/namespaces/default/configmaps"
STREAM = (
    f"{MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&allowWatchBookmarks=true"
)


def _map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


def secret(name: str) -> dict[str, Any]:
    """Something that moves the version of the server and not of the config maps."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}


async def test_bookmarks_come_at_the_rhythm_that_was_asked_for() -> None:
    async with ApiServer(bookmark_interval=0.05) as api:
        path = f"{MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion={api.resource_version}"
        async with raw_http.open_answer(api.url, path) as watch:
            began = time.monotonic()
            events = []
            for number in range(4):
                api.create(secret(f"elsewhere-{number}"))
                events.append(await watch.event())
            took = time.monotonic() - began

    assert [event["type"] for event in events] == ["BOOKMARK"] * 4
    assert took >= 4 * 0.05 * 0.9
    assert events[0]["object"] == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(int(api.resource_version) - 3)},
    }


@pytest.mark.parametrize("ahead", [0, 500])
async def test_no_bookmark_says_what_the_reader_knows_or_takes_it_back(ahead: int) -> None:
    async with ApiServer(bookmark_interval=0.02) as api:
        version = int(api.resource_version) + ahead
        path = f"{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1"
        async with raw_http.open_answer(api.url, f"{path}&resourceVersion={version}") as watch:
            assert await watch.read() == (b"", raw_http.COMPLETE)


async def test_a_bookmark_has_the_version_of_the_whole_server() -> None:
    async with ApiServer(bookmark_interval=0.05) as api:
        path = f"{MAPS}?watch=true&allowWatchBookmarks=true&resourceVersion={api.resource_version}"
        async with raw_http.open_answer(api.url, path) as watch:
            api.create(secret("elsewhere"))

            bookmark = await watch.event()

    assert bookmark["object"]["metadata"]["resourceVersion"] == api.resource_version


async def test_who_does_not_ask_gets_no_bookmarks() -> None:
    async with ApiServer(bookmark_interval=0.01) as api:
        path = f"{MAPS}?watch=true&timeoutSeconds=1&resourceVersion={api.resource_version}"
        answer = await raw_http.ask(api.url, path)

    assert answer.events() == []


async def test_a_reader_who_does_not_read_is_cut() -> None:
    async with ApiServer(watch_backlog=10) as api:
        path = f"{MAPS}?watch=true&resourceVersion={api.resource_version}"
        async with raw_http.open_answer(api.url, path) as watch:
            api.create(_map("big", text="x" * 500_000))
            # The network takes some megabytes; then the server notices that nobody reads.
            for number in range(200):
                change = {"data": {"round": str(number)}}
                api.patch(CONFIG_MAPS, "big", change, "default")
                await asyncio.sleep(0)

            body, end = await watch.read()

    assert end in (raw_http.CUT, raw_http.RESET)
    assert body.count(b"\n") < 200


async def test_a_burst_within_one_turn_of_the_loop_cuts_nobody() -> None:
    async with ApiServer(watch_backlog=10) as api:
        path = f"{MAPS}?watch=true&resourceVersion={api.resource_version}"
        async with raw_http.open_answer(api.url, path) as watch:
            api.load(_map(f"m{number:04d}") for number in range(2000))

            events = [await watch.event() for _ in range(2000)]

    assert [event["object"]["metadata"]["name"] for event in events] == [
        f"m{number:04d}" for number in range(2000)
    ]


async def test_stopping_ends_watches_cleanly_and_at_once() -> None:
    api = ApiServer()
    await api.start()
    path = f"{MAPS}?watch=true&resourceVersion={api.resource_version}"
    async with raw_http.open_answer(api.url, path) as watch:
        before = asyncio.all_tasks()
        async with asyncio.timeout(10):  # by itself the watch would last half an hour
            await api.stop()

        assert await watch.read() == (b"", raw_http.COMPLETE)

    assert not [task for task in asyncio.all_tasks() - {asyncio.current_task()} if task in before]


async def test_a_client_that_leaves_leaves_nothing_behind(kinform_api: ApiServer) -> None:
    before = len(asyncio.all_tasks())
    path = f"{MAPS}?watch=true&resourceVersion={kinform_api.resource_version}"
    async with raw_http.open_answer(kinform_api.url, path):
        assert len(asyncio.all_tasks()) > before

    await wait_until(lambda: len(asyncio.all_tasks()) <= before)


async def test_each_flush_of_a_streaming_list_is_a_gzip_member(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("a"))
    headers = {"Accept-Encoding": "gzip"}
    async with raw_http.open_answer(kinform_api.url, STREAM, headers=headers) as watch:
        assert watch.headers["content-encoding"] == "gzip"
        names = []
        for name in ("b", "c", "d"):
            member = zlib.decompressobj(31)
            text = member.decompress(await watch.chunk())
            # Complete after each write: whoever waits for more would wait for the next change.
            assert member.eof
            names += [json.loads(line)["type"] for line in text.splitlines()]
            if names[-1] == "ADDED" and len(names) == 1:
                continue
            kinform_api.create(_map(name))

    assert names[:2] == ["ADDED", "BOOKMARK"]


async def test_a_server_without_compression_sends_none() -> None:
    async with (
        ApiServer(compress=False) as api,
        raw_http.open_answer(api.url, STREAM, headers={"Accept-Encoding": "gzip"}) as watch,
    ):
        assert "content-encoding" not in watch.headers
        assert (await watch.event())["type"] == "BOOKMARK"


async def test_a_server_without_streaming_lists_refuses_them() -> None:
    async with ApiServer(watch_list=False) as api:
        refused = await raw_http.ask(api.url, STREAM)
        legacy = await raw_http.ask(
            api.url, f"{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=1"
        )

    assert refused.status == 422
    assert "WatchList feature gate" in refused.json()["message"]
    # And a watch from nothing has no annotated bookmark.
    assert all("annotations" not in event["object"]["metadata"] for event in legacy.events())


async def test_changes_while_initial_events_are_sent_come_after_them(
    kinform_api: ApiServer,
) -> None:
    for number in range(20):
        kinform_api.create(_map(f"m{number:02d}", text="x" * 100_000))
    async with raw_http.open_answer(kinform_api.url, STREAM) as watch:
        first = await watch.event()
        kinform_api.patch(CONFIG_MAPS, "m00", {"data": {"changed": "1"}}, "default")
        kinform_api.delete(CONFIG_MAPS, "m19", "default")
        rest = [await watch.event() for _ in range(22)]

    told = [(event["type"], event["object"]["metadata"].get("name")) for event in [first, *rest]]
    assert told == [
        *(("ADDED", f"m{number:02d}") for number in range(20)),
        ("BOOKMARK", None),
        ("MODIFIED", "m00"),
        ("DELETED", "m19"),
    ]


@pytest.mark.parametrize("prefix", ["/api/v1/watch/namespaces/default/configmaps/a"])
async def test_the_old_path_of_watches_still_works(kinform_api: ApiServer, prefix: str) -> None:
    kinform_api.create(_map("a"))
    kinform_api.create(_map("b"))

    answer = await raw_http.ask(kinform_api.url, f"{prefix}?timeoutSeconds=1")

    assert [event["object"]["metadata"]["name"] for event in answer.events()] == ["a"]
