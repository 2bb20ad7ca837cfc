"""Watches that begin with a whole list, and say where it ends."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    METADATA,
    Json,
    Server,
    Watch,
    assert_failure,
    assert_refused,
    told,
    version,
)
from tests.conformance.samples import config_map, event, widget

pytestmark = IN_BOTH_FORMS

WATCH_LIST: dict[str, Any] = {
    "sendInitialEvents": "true",
    "resourceVersionMatch": "NotOlderThan",
    "allowWatchBookmarks": "true",
}
END = {"k8s.io/initial-events-end": "true"}
NEEDS_MATCH = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"


async def _initial(watch: Watch) -> list[Json]:
    """Everything up to and with the bookmark that ends the initial events."""
    found = [await watch.event()]
    while found[-1]["type"] != "BOOKMARK":
        found.append(await watch.event())
    return found


async def test_it_sends_everything_in_order_and_then_the_end(
    server: Server, configmaps: str
) -> None:
    for name in ("b", "c", "a"):
        last = await server.create(configmaps, config_map(name))

    async with server.watch(configmaps, **WATCH_LIST) as watch:
        *existing, end = await _initial(watch)

    assert [told(each) for each in existing] == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert version(end) >= version(last)
    assert end["object"] == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "resourceVersion": end["object"]["metadata"]["resourceVersion"],
            "annotations": END,
        },
    }


async def test_an_empty_collection_ends_at_once(server: Server, configmaps: str) -> None:
    async with server.watch(configmaps, **WATCH_LIST) as watch:
        (end,) = await _initial(watch)

    assert end["object"]["metadata"]["annotations"] == END


async def test_changes_follow_on_the_same_stream(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    async with server.watch(configmaps, **WATCH_LIST) as watch:
        end = (await _initial(watch))[-1]
        await server.delete(f"{configmaps}/one")
        change = await watch.event()

    assert told(change) == ("DELETED", "one")
    assert version(change) > version(end)


async def test_the_end_can_be_resumed_from(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))
    async with server.watch(configmaps, **WATCH_LIST) as watch:
        end = (await _initial(watch))[-1]
    await server.create(configmaps, config_map("two"))

    start = end["object"]["metadata"]["resourceVersion"]
    async with server.watch(configmaps, resourceVersion=start) as watch:
        assert told(await watch.event()) == ("ADDED", "two")


async def test_without_a_version_it_is_as_new_as_the_last_write(
    server: Server, configmaps: str
) -> None:
    for number in range(5):
        created = await server.create(configmaps, config_map(f"n{number}"))

        async with server.watch(configmaps, **WATCH_LIST) as watch:
            *existing, end = await _initial(watch)

        assert existing[-1]["object"] == created
        assert version(end) >= version(created)


async def test_it_is_at_least_as_new_as_the_version_it_names(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))
    bound = created["metadata"]["resourceVersion"]

    async with server.watch(configmaps, resourceVersion=bound, **WATCH_LIST) as watch:
        *existing, end = await _initial(watch)

    assert [told(each) for each in existing] == [("ADDED", "one")]
    assert version(end) >= version(created)


async def test_an_old_version_brings_the_present_state_not_its_history(
    server: Server, configmaps: str
) -> None:
    first = await server.create(configmaps, config_map("one", key="1"))
    await server.create(configmaps, config_map("gone"))
    await server.delete(f"{configmaps}/gone")
    latest = await server.edit(f"{configmaps}/one", {"data": {"key": "2"}})
    await server.read(configmaps)  # An old bound is any state since: make caches catch up.

    bound = first["metadata"]["resourceVersion"]
    async with server.watch(configmaps, resourceVersion=bound, **WATCH_LIST) as watch:
        *existing, _ = await _initial(watch)

    assert existing == [{"type": "ADDED", "object": latest}]


async def test_a_forgotten_version_is_no_hindrance(
    server: Server, namespace: str, events: str
) -> None:
    old = await server.create(events, event("a", namespace))
    await server.create(events, event("b", namespace))
    await server.forget_history()

    bound = old["metadata"]["resourceVersion"]
    async with server.watch(events, resourceVersion=bound, **WATCH_LIST) as watch:
        *existing, end = await _initial(watch)

    assert [told(each) for each in existing] == [("ADDED", "a"), ("ADDED", "b")]
    assert end["object"]["metadata"]["annotations"] == END


async def test_selectors_choose_what_it_sends(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("in", labels={"in": "yes"}))
    await server.create(configmaps, config_map("out"))

    async with server.watch(configmaps, labelSelector="in=yes", **WATCH_LIST) as by_label:
        labelled = await _initial(by_label)
    async with server.watch(configmaps, fieldSelector="metadata.name=out", **WATCH_LIST) as by_name:
        named = await _initial(by_name)

    assert [told(each) for each in labelled] == [("ADDED", "in"), ("BOOKMARK", "")]
    assert [told(each) for each in named] == [("ADDED", "out"), ("BOOKMARK", "")]


async def test_it_can_send_metadata_alone(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one", key="value"))

    async with server.watch(configmaps, accept=METADATA, **WATCH_LIST) as watch:
        added, end = await _initial(watch)

    for each in (added, end):
        assert each["object"]["kind"] == "PartialObjectMetadata"
        assert each["object"]["apiVersion"] == "meta.k8s.io/v1"
    assert "data" not in added["object"]
    assert end["object"]["metadata"]["annotations"] == END


async def test_custom_kinds_have_it_too(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one", color="red"))

    async with server.watch(widgets, **WATCH_LIST) as watch:
        added, end = await _initial(watch)

    assert added == {"type": "ADDED", "object": created}
    assert (end["object"]["kind"], end["object"]["apiVersion"]) == (
        "Widget",
        created["apiVersion"],
    )
    assert end["object"]["metadata"]["annotations"] == END


async def test_without_bookmarks_there_is_no_end(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))
    query: dict[str, Any] = {**WATCH_LIST, "allowWatchBookmarks": "false", "timeoutSeconds": "1"}

    async with server.watch(configmaps, **query) as watch:
        events = await watch.rest()

    assert [told(each) for each in events] == [("ADDED", "one")]


async def test_initial_events_can_be_declined(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))
    await server.read(configmaps)
    query: dict[str, Any] = {**WATCH_LIST, "sendInitialEvents": "false"}

    async with server.watch(configmaps, **query) as watch:
        await server.create(configmaps, config_map("two"))

        assert told(await watch.event()) == ("ADDED", "two")


async def test_a_version_of_the_future_is_an_error_event(server: Server, configmaps: str) -> None:
    """Takes 3 s: so long the server waits for the future to come."""
    async with server.watch(
        configmaps, resourceVersion="999999999999999999", **WATCH_LIST
    ) as watch:
        (told_off,) = await watch.rest()

    assert told_off["type"] == "ERROR"
    assert_failure(told_off["object"], 504, "Timeout")
    assert told_off["object"]["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize(
    "query",
    [
        {"sendInitialEvents": "true"},
        {"sendInitialEvents": "true", "allowWatchBookmarks": "true"},
        {"sendInitialEvents": "false"},
        {"sendInitialEvents": "true", "resourceVersion": "1"},
    ],
    ids=str,
)
async def test_it_needs_a_version_match(
    server: Server, configmaps: str, query: dict[str, str]
) -> None:
    answer = await server.get(configmaps, watch="true", **query)

    assert_refused(
        answer,
        422,
        "Invalid",
        f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: {NEEDS_MATCH}',
        details={
            "group": "meta.k8s.io",
            "kind": "ListOptions",
            "causes": [
                {
                    "reason": "FieldValueForbidden",
                    "message": NEEDS_MATCH,
                    "field": "resourceVersionMatch",
                }
            ],
        },
    )


async def test_an_exact_match_is_invalid(server: Server, configmaps: str) -> None:
    query: dict[str, Any] = {**WATCH_LIST, "resourceVersionMatch": "Exact", "resourceVersion": "1"}

    status = assert_refused(await server.get(configmaps, watch="true", **query), 422, "Invalid")

    assert [cause["message"] for cause in status["details"]["causes"]] == [
        NEEDS_MATCH,
        'Unsupported value: "Exact": supported values: "NotOlderThan"',
    ]
