"""Watches of a selection: entering it is an addition, leaving it a deletion."""

from __future__ import annotations

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Server,
    told,
    version,
    version_now,
)
from tests.conformance.samples import config_map, pod

pytestmark = IN_BOTH_FORMS


async def test_leaving_a_label_selector_is_a_deletion_with_the_old_body(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("one", labels={"in": "yes"}, key="old"))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(configmaps, labelSelector="in=yes", resourceVersion=start) as watch:
        left = await server.edit(
            f"{configmaps}/one", {"metadata": {"labels": {"in": "no"}}, "data": {"key": "new"}}
        )
        event = await watch.event()

    assert told(event) == ("DELETED", "one")
    assert event["object"]["metadata"]["labels"] == {"in": "yes"}
    assert event["object"]["data"] == {"key": "old"}
    assert version(event) == version(left)


async def test_entering_a_label_selector_is_an_addition(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", labels={"in": "no"}))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(configmaps, labelSelector="in=yes", resourceVersion=start) as watch:
        await server.edit(f"{configmaps}/one", {"data": {"unseen": "1"}})
        entered = await server.edit(f"{configmaps}/one", {"metadata": {"labels": {"in": "yes"}}})
        edited = await server.edit(f"{configmaps}/one", {"data": {"seen": "1"}})
        events = await watch.events(2)

    assert events == [
        {"type": "ADDED", "object": entered},
        {"type": "MODIFIED", "object": edited},
    ]


async def test_the_end_of_what_a_selector_never_chose_is_not_told(
    server: Server, configmaps: str
) -> None:
    created = await server.create(configmaps, config_map("outside"))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(configmaps, labelSelector="in=yes", resourceVersion=start) as watch:
        await server.delete(f"{configmaps}/outside")
        await server.create(configmaps, config_map("inside", labels={"in": "yes"}))

        assert told(await watch.event()) == ("ADDED", "inside")


async def test_a_resumed_watch_applies_its_selector_to_history(
    server: Server, configmaps: str
) -> None:
    start = await version_now(server, configmaps)
    await server.create(configmaps, config_map("one", labels={"in": "yes"}))
    await server.edit(f"{configmaps}/one", {"metadata": {"labels": {"in": "no"}}})
    await server.delete(f"{configmaps}/one")
    await server.create(configmaps, config_map("two", labels={"in": "yes"}))

    async with server.watch(configmaps, labelSelector="in=yes", resourceVersion=start) as watch:
        events = await watch.events(3)

    assert [told(event) for event in events] == [
        ("ADDED", "one"),
        ("DELETED", "one"),
        ("ADDED", "two"),
    ]


async def test_leaving_a_field_selector_is_a_deletion(server: Server, pods: str) -> None:
    created = await server.create(pods, pod("one", node="somewhere"))
    await server.edit(f"{pods}/one/status", {"status": {"phase": "Running"}})
    start = created["metadata"]["resourceVersion"]

    async with server.watch(
        pods, fieldSelector="status.phase=Running", resourceVersion=start
    ) as watch:
        await server.edit(f"{pods}/one/status", {"status": {"phase": "Failed"}})
        events = await watch.events(2)

    assert [told(event) for event in events] == [("ADDED", "one"), ("DELETED", "one")]
    assert events[1]["object"]["status"]["phase"] == "Running"
    assert version(events[1]) > version(events[0])


async def test_one_object_can_be_watched_by_name(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("mine"))
    await server.create(configmaps, config_map("other"))

    async with server.watch(configmaps, fieldSelector="metadata.name=mine") as watch:
        first = await watch.event()
        await server.edit(f"{configmaps}/other", {"data": {"a": "b"}})
        await server.delete(f"{configmaps}/mine")
        second = await watch.event()

    assert [told(first), told(second)] == [("ADDED", "mine"), ("DELETED", "mine")]
