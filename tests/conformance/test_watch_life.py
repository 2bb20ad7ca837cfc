"""The life of a watch: refused, kept informed by bookmarks, expired, ended."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Json,
    Server,
    assert_failure,
    assert_refused,
    told,
    version,
    version_now,
)
from tests.conformance.samples import config_map, event

pytestmark = IN_BOTH_FORMS


async def test_a_watch_ends_cleanly_when_its_time_is_up(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    async with server.watch(configmaps, timeoutSeconds=1) as watch:
        events = await watch.rest()

    assert [told(event) for event in events] == [("ADDED", "one")]


async def _write_unseen(server: Server) -> Json:
    """A write that moves the version without an event for whoever watches a namespace."""
    elsewhere = await server.new_namespace()
    return await server.create(f"/api/v1/namespaces/{elsewhere}/configmaps", config_map("other"))


async def test_bookmarks_tell_of_progress_before_the_time_is_up(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(
        configmaps, resourceVersion=start, allowWatchBookmarks="true", timeoutSeconds=3
    ) as watch:
        unseen = await _write_unseen(server)
        bookmarks = await watch.rest()

    assert bookmarks
    assert {event["type"] for event in bookmarks} == {"BOOKMARK"}
    last = bookmarks[-1]
    assert version(last) >= version(unseen)
    assert last["object"] == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": last["object"]["metadata"]["resourceVersion"]},
    }


async def test_a_bookmark_can_be_resumed_from(server: Server, configmaps: str) -> None:
    start = await version_now(server, configmaps)
    async with server.watch(
        configmaps, resourceVersion=start, allowWatchBookmarks="true", timeoutSeconds=3
    ) as watch:
        await _write_unseen(server)
        bookmark = await watch.event()
    assert bookmark["type"] == "BOOKMARK"
    await server.create(configmaps, config_map("one"))

    start = bookmark["object"]["metadata"]["resourceVersion"]
    async with server.watch(configmaps, resourceVersion=start) as watch:
        assert told(await watch.event()) == ("ADDED", "one")


async def test_nobody_gets_a_bookmark_who_did_not_ask(server: Server, configmaps: str) -> None:
    start = await version_now(server, configmaps)

    async with server.watch(configmaps, resourceVersion=start, timeoutSeconds=3) as watch:
        await _write_unseen(server)

        assert await watch.rest() == []


async def test_a_version_of_the_future_is_waited_for_in_silence(
    server: Server, configmaps: str
) -> None:
    async with server.watch(
        configmaps, resourceVersion="999999999999999999", timeoutSeconds=1
    ) as watch:
        await server.create(configmaps, config_map("one"))

        assert await watch.rest() == []


async def _expired_version(server: Server, namespace: str, events: str) -> str:
    """A version that the server has forgotten, and after which something happened."""
    old: str = (await server.create(events, event("a", namespace)))["metadata"]["resourceVersion"]
    await server.create(events, event("b", namespace))
    await server.create(events, event("c", namespace))
    await server.forget_history()
    return old


async def test_a_forgotten_version_is_an_error_event_and_the_end(
    server: Server, namespace: str, events: str
) -> None:
    old = await _expired_version(server, namespace, events)

    async with server.watch(events, resourceVersion=old, timeoutSeconds=5) as watch:
        (told_off,) = await watch.rest()

    assert told_off["type"] == "ERROR"
    assert_failure(told_off["object"], 410, "Expired")
    assert "too old" in told_off["object"]["message"]


async def test_a_version_since_the_forgetting_is_fine(
    server: Server, namespace: str, events: str
) -> None:
    await _expired_version(server, namespace, events)
    start = await version_now(server, events)

    async with server.watch(events, resourceVersion=start) as watch:
        await server.create(events, event("d", namespace))

        assert told(await watch.event()) == ("ADDED", "d")


async def test_a_running_watch_survives_the_forgetting(
    server: Server, namespace: str, events: str
) -> None:
    start = await version_now(server, events)

    async with server.watch(events, resourceVersion=start) as watch:
        await server.create(events, event("a", namespace))
        await server.forget_history()
        await server.create(events, event("b", namespace))
        seen = await watch.events(2)

    assert [told(each) for each in seen] == [("ADDED", "a"), ("ADDED", "b")]


@pytest.mark.parametrize("illegal", ["newest", "-1"])
async def test_a_version_that_is_no_number_is_refused(
    server: Server, configmaps: str, illegal: str
) -> None:
    answer = await server.get(configmaps, watch="true", resourceVersion=illegal, timeoutSeconds=1)

    # A list with it is a bad request; a watch with it is a real server's own fault, it says.
    assert_refused(
        answer,
        500,
        None,
        f'resourceVersion: Invalid value: "{illegal}": '
        f'strconv.ParseUint: parsing "{illegal}": invalid syntax',
    )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"labelSelector": "!!"}, "unable to parse requirement: found '!', expected: identifier"),
        (
            {"fieldSelector": "data.key=x"},
            '"data.key" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ({"timeoutSeconds": "soon"}, 'strconv.ParseInt: parsing "soon": invalid syntax'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_a_bad_request_is_refused_before_the_stream_begins(
    server: Server, configmaps: str, query: dict[str, Any], message: str
) -> None:
    answer = await server.get(configmaps, watch="true", **query)

    assert_refused(answer, 400, "BadRequest", message)


@pytest.mark.parametrize("match", ["Exact", "NotOlderThan"])
async def test_a_version_match_is_not_for_plain_watches(
    server: Server, configmaps: str, match: str
) -> None:
    answer = await server.get(
        configmaps, watch="true", resourceVersion="1", resourceVersionMatch=match
    )

    status = assert_refused(answer, 422, "Invalid")
    causes: list[Json] = status["details"]["causes"]
    assert causes[0] == {
        "reason": "FieldValueForbidden",
        "message": "Forbidden: resourceVersionMatch is forbidden for watch "
        "unless sendInitialEvents is provided",
        "field": "resourceVersionMatch",
    }


async def test_a_watch_cannot_be_continued(server: Server, configmaps: str) -> None:
    answer = await server.get(configmaps, **{"watch": "true", "continue": "token"})

    assert_refused(answer, 422, "Invalid")


@pytest.mark.parametrize("yes", ["true", "1"])
async def test_watching_is_asked_for_with_true_or_1(
    server: Server, configmaps: str, yes: str
) -> None:
    await server.create(configmaps, config_map("one"))

    async with server.watch(configmaps, watch=yes) as watch:
        assert told(await watch.event()) == ("ADDED", "one")


async def test_watch_false_is_a_list(server: Server, configmaps: str) -> None:
    assert (await server.read(configmaps, watch="false"))["kind"] == "ConfigMapList"
