"""Pods are deleted with grace: their node has the last word, if they have one."""

from __future__ import annotations

from datetime import datetime

from tests.conformance.harness import Json, Server, assert_refused, told, version
from tests.conformance.samples import pod


def _seconds_of_grace(marked: Json, *, asked_at: datetime) -> float:
    ends = datetime.fromisoformat(marked["metadata"]["deletionTimestamp"])
    return (ends - asked_at).total_seconds()


async def test_a_pod_without_a_node_goes_at_once(server: Server, pods: str) -> None:
    await server.create(pods, pod("one"))

    last = (await server.delete(f"{pods}/one")).object()

    assert last["kind"] == "Pod"
    assert last["metadata"]["deletionGracePeriodSeconds"] == 0
    assert_refused(await server.get(f"{pods}/one"), 404, "NotFound")


async def test_a_pod_on_a_node_is_marked_and_stays(server: Server, pods: str) -> None:
    created = await server.create(pods, pod("one", node="somewhere", grace=45))
    asked_at = datetime.fromisoformat(created["metadata"]["creationTimestamp"])

    marked = (await server.delete(f"{pods}/one")).object()

    assert marked["metadata"]["deletionGracePeriodSeconds"] == 45
    # The time at which the grace ends, not the time of the call.
    assert 45 <= _seconds_of_grace(marked, asked_at=asked_at) <= 50
    assert marked["metadata"]["generation"] == 2
    assert await server.read(f"{pods}/one") == marked


async def test_the_caller_may_choose_the_grace(server: Server, pods: str) -> None:
    await server.create(pods, pod("one", node="somewhere"))

    marked = (await server.delete(f"{pods}/one", gracePeriodSeconds=7)).object()

    assert marked["metadata"]["deletionGracePeriodSeconds"] == 7


async def test_a_second_delete_may_shorten_the_grace(server: Server, pods: str) -> None:
    await server.create(pods, pod("one", node="somewhere"))
    first = (await server.delete(f"{pods}/one")).object()

    second = (await server.delete(f"{pods}/one", {"gracePeriodSeconds": 5})).object()

    assert second["metadata"]["deletionGracePeriodSeconds"] == 5
    assert second["metadata"]["deletionTimestamp"] < first["metadata"]["deletionTimestamp"]
    assert version(second) > version(first)


async def test_a_second_delete_cannot_lengthen_the_grace(server: Server, pods: str) -> None:
    await server.create(pods, pod("one", node="somewhere"))
    first = (await server.delete(f"{pods}/one", gracePeriodSeconds=5)).object()

    assert (await server.delete(f"{pods}/one", gracePeriodSeconds=60)).object() == first


async def test_no_grace_removes_a_pod_from_its_node(server: Server, pods: str) -> None:
    await server.create(pods, pod("one", node="somewhere"))
    await server.delete(f"{pods}/one")

    last = (await server.delete(f"{pods}/one", gracePeriodSeconds=0)).object()

    assert last["kind"] == "Pod"
    assert_refused(await server.get(f"{pods}/one"), 404, "NotFound")


async def test_a_finished_pod_goes_at_once(server: Server, pods: str) -> None:
    await server.create(pods, pod("one", node="somewhere"))
    await server.edit(f"{pods}/one/status", {"status": {"phase": "Succeeded"}})

    await server.delete(f"{pods}/one")

    assert_refused(await server.get(f"{pods}/one"), 404, "NotFound")


async def test_finalizers_hold_a_pod_beyond_its_grace(server: Server, pods: str) -> None:
    body = pod("one", node="somewhere")
    body["metadata"]["finalizers"] = ["kinform.test/hold"]
    await server.create(pods, body)

    held = (await server.delete(f"{pods}/one", gracePeriodSeconds=0)).object()

    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert (await server.read(f"{pods}/one"))["metadata"]["finalizers"] == ["kinform.test/hold"]
    await server.edit(f"{pods}/one", {"metadata": {"finalizers": None}})
    assert_refused(await server.get(f"{pods}/one"), 404, "NotFound")


async def test_watchers_of_a_graceful_deletion_see_the_mark_and_the_removal(
    server: Server, pods: str
) -> None:
    created = await server.create(pods, pod("one", node="somewhere"))
    start = created["metadata"]["resourceVersion"]

    async with server.watch(pods, resourceVersion=start) as watch:
        await server.delete(f"{pods}/one")
        marked = await watch.event()
        await server.delete(f"{pods}/one", gracePeriodSeconds=0)
        removed = await watch.event()
        while removed["type"] == "MODIFIED":  # The end of the grace may be an event of its own.
            removed = await watch.event()

    assert told(marked) == ("MODIFIED", "one")
    assert marked["object"]["metadata"]["deletionGracePeriodSeconds"] == 30
    assert told(removed) == ("DELETED", "one")


async def test_binding_puts_a_pod_on_its_node(server: Server, pods: str) -> None:
    await server.create(pods, pod("one"))
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "one"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "somewhere"},
    }

    answer = await server.post(f"{pods}/one/binding", binding)

    assert answer.object(201)["status"] == "Success"
    assert (await server.read(f"{pods}/one"))["spec"]["nodeName"] == "somewhere"
