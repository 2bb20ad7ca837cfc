"""Watches: which events come, in which order, carrying what."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    JSON,
    Server,
    told,
    version,
    version_now,
)
from tests.conformance.samples import config_map, finalized, pod

pytestmark = IN_BOTH_FORMS


async def test_changes_come_in_the_order_they_were_made(server: Server, configmaps: str) -> None:
    start = await version_now(server, configmaps)

    async with server.watch(configmaps, resourceVersion=start) as watch:
        created = await server.create(configmaps, config_map("one"))
        edited = await server.edit(f"{configmaps}/one", {"data": {"key": "value"}})
        await server.delete(f"{configmaps}/one")
        await server.create(configmaps, config_map("two"))
        events = await watch.events(4)

    assert [told(event) for event in events] == [
        ("ADDED", "one"),
        ("MODIFIED", "one"),
        ("DELETED", "one"),
        ("ADDED", "two"),
    ]
    assert events[0]["object"] == created
    assert events[1]["object"] == edited
    versions = [version(event) for event in events]
    assert versions == sorted(set(versions))


async def test_a_watch_answers_chunked_json(server: Server, configmaps: str) -> None:
    async with server.watch(configmaps, accept=JSON, timeoutSeconds=5) as watch:
        assert watch.headers["Content-Type"] == JSON
        assert watch.headers["Transfer-Encoding"] == "chunked"
        assert watch.headers["Cache-Control"] == "no-cache, private"


async def test_an_event_has_a_type_and_a_whole_object(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))

    async with server.watch(configmaps) as watch:
        assert await watch.event() == {"type": "ADDED", "object": created}


async def test_a_watch_resumes_after_the_version_it_names(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("before"))
    last_seen = await server.create(configmaps, config_map("seen"))
    await server.create(configmaps, config_map("after"))
    await server.delete(f"{configmaps}/before")

    start = last_seen["metadata"]["resourceVersion"]
    async with server.watch(configmaps, resourceVersion=start) as watch:
        events = await watch.events(2)

    assert [told(event) for event in events] == [("ADDED", "after"), ("DELETED", "before")]


async def test_a_resumed_watch_replays_each_state_as_it_was(
    server: Server, configmaps: str
) -> None:
    start = await version_now(server, configmaps)
    first = await server.create(configmaps, config_map("one", key="1"))
    second = await server.edit(f"{configmaps}/one", {"data": {"key": "2"}})

    async with server.watch(configmaps, resourceVersion=start) as watch:
        events = await watch.events(2)

    assert [event["object"] for event in events] == [first, second]


@pytest.mark.parametrize("start", [{}, {"resourceVersion": "0"}], ids=["unset", "zero"])
async def test_without_a_version_what_exists_comes_first(
    server: Server, configmaps: str, start: dict[str, Any]
) -> None:
    await server.create(configmaps, config_map("b"))
    await server.create(configmaps, config_map("a"))
    await server.read(configmaps)  # "0" is whatever the cache has: make it catch up.

    async with server.watch(configmaps, **start) as watch:
        existing = await watch.events(2)
        await server.delete(f"{configmaps}/a")
        change = await watch.event()

    assert [told(event) for event in existing] == [("ADDED", "a"), ("ADDED", "b")]
    assert told(change) == ("DELETED", "a")


async def test_what_is_gone_is_not_among_what_exists(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("gone"))
    await server.delete(f"{configmaps}/gone")
    await server.create(configmaps, config_map("here"))

    async with server.watch(configmaps) as watch:
        assert told(await watch.event()) == ("ADDED", "here")


async def test_a_deletion_carries_the_last_state_at_a_new_version(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, config_map("one"))
    last = await server.edit(f"{configmaps}/one", {"data": {"last": "words"}})
    start = last["metadata"]["resourceVersion"]

    async with server.watch(configmaps, resourceVersion=start) as watch:
        await server.delete(f"{configmaps}/one")
        removed = await watch.event()

    assert removed["type"] == "DELETED"
    assert version(removed) > version(last)
    last["metadata"]["resourceVersion"] = removed["object"]["metadata"]["resourceVersion"]
    assert removed["object"] == last


async def test_the_version_of_a_deletion_can_be_resumed_from(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one"))
    start = created["metadata"]["resourceVersion"]
    async with server.watch(configmaps, resourceVersion=start) as watch:
        await server.delete(f"{configmaps}/one")
        removed = await watch.event()
    await server.create(configmaps, config_map("two"))

    start = removed["object"]["metadata"]["resourceVersion"]
    async with server.watch(configmaps, resourceVersion=start) as watch:
        assert told(await watch.event()) == ("ADDED", "two")


async def test_the_removal_of_a_finalized_object_carries_its_finalizer(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, finalized("one"))
    marked = (await server.delete(f"{configmaps}/one")).object()
    start = marked["metadata"]["resourceVersion"]

    async with server.watch(configmaps, resourceVersion=start) as watch:
        await server.edit(f"{configmaps}/one", {"metadata": {"finalizers": None}})
        removed = await watch.event()

    # The last *stored* state: the write without the finalizer became the removal.
    assert told(removed) == ("DELETED", "one")
    assert removed["object"]["metadata"]["finalizers"] == ["kinform.test/hold"]
    assert version(removed) > version(marked)


async def test_recreation_is_a_removal_and_an_addition(server: Server, configmaps: str) -> None:
    first = await server.create(configmaps, config_map("one"))
    start = first["metadata"]["resourceVersion"]

    async with server.watch(configmaps, resourceVersion=start) as watch:
        await server.delete(f"{configmaps}/one")
        second = await server.create(configmaps, config_map("one"))
        removed, added = await watch.events(2)

    assert (removed["type"], added["type"]) == ("DELETED", "ADDED")
    assert removed["object"]["metadata"]["uid"] == first["metadata"]["uid"]
    assert added["object"]["metadata"]["uid"] == second["metadata"]["uid"]


async def test_a_watch_of_a_namespace_sees_that_namespace(server: Server, configmaps: str) -> None:
    elsewhere = f"/api/v1/namespaces/{await server.new_namespace()}/configmaps"

    async with server.watch(configmaps) as watch:
        await server.create(elsewhere, config_map("other"))
        await server.create(configmaps, config_map("mine"))

        assert told(await watch.event()) == ("ADDED", "mine")


async def test_a_watch_of_the_cluster_sees_every_namespace(
    server: Server, namespace: str, configmaps: str
) -> None:
    another = await server.new_namespace()
    start = await version_now(server, "/api/v1/configmaps")

    async with server.watch("/api/v1/configmaps", resourceVersion=start) as watch:
        await server.create(configmaps, config_map("one"))
        await server.create(f"/api/v1/namespaces/{another}/configmaps", config_map("two"))
        events = await watch.events(2)

    assert [event["object"]["metadata"]["namespace"] for event in events] == [namespace, another]


async def test_a_missing_namespace_can_be_watched(server: Server) -> None:
    async with server.watch("/api/v1/namespaces/not-there/configmaps", timeoutSeconds=1) as watch:
        assert await watch.rest() == []


async def test_changes_of_another_kind_are_not_told(
    server: Server, configmaps: str, pods: str
) -> None:
    async with server.watch(configmaps) as watch:
        await server.create(pods, pod("one"))
        await server.create(configmaps, config_map("two"))

        assert told(await watch.event()) == ("ADDED", "two")
