"""Deleting many objects in one call."""

from __future__ import annotations

from tests.conformance.harness import (
    IN_BOTH_FORMS,
    Server,
    assert_refused,
    names,
    told,
)
from tests.conformance.samples import config_map, finalized

pytestmark = IN_BOTH_FORMS


async def _fill(server: Server, configmaps: str) -> None:
    for number in range(4):
        await server.create(configmaps, config_map(f"n{number}", labels={"odd": str(number % 2)}))


async def test_it_removes_everything_and_answers_what_it_was(
    server: Server, configmaps: str
) -> None:
    await _fill(server, configmaps)
    before = await server.read(configmaps)

    answer = (await server.delete(configmaps)).object()

    assert (answer["kind"], answer["apiVersion"]) == ("ConfigMapList", "v1")
    assert answer["items"] == before["items"]
    assert names(await server.read(configmaps)) == []


async def test_it_stays_within_the_namespace(server: Server, configmaps: str) -> None:
    elsewhere = f"/api/v1/namespaces/{await server.new_namespace()}/configmaps"
    await server.create(elsewhere, config_map("other"))
    await _fill(server, configmaps)

    await server.delete(configmaps)

    assert names(await server.read(elsewhere)) == ["other"]


async def test_a_label_selector_chooses(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)

    answer = (await server.delete(configmaps, labelSelector="odd=1")).object()

    assert names(answer) == ["n1", "n3"]
    assert names(await server.read(configmaps)) == ["n0", "n2"]


async def test_a_field_selector_chooses(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)

    answer = (await server.delete(configmaps, fieldSelector="metadata.name=n2")).object()

    assert names(answer) == ["n2"]
    assert names(await server.read(configmaps)) == ["n0", "n1", "n3"]


async def test_nothing_chosen_is_an_empty_list(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)

    answer = (await server.delete(configmaps, labelSelector="missing")).object()

    assert answer["items"] == []
    assert len(names(await server.read(configmaps))) == 4


async def test_finalizers_hold_what_they_hold(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)
    await server.create(configmaps, finalized("held"))

    await server.delete(configmaps)

    (held,) = (await server.read(configmaps))["items"]
    assert held["metadata"]["name"] == "held"
    assert held["metadata"]["deletionTimestamp"]


async def test_dry_run_removes_nothing(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)

    answer = (await server.delete(configmaps, dryRun="All")).object()

    assert len(names(answer)) == 4
    assert len(names(await server.read(configmaps))) == 4


async def test_watchers_see_each_removal(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)
    start = (await server.read(configmaps))["metadata"]["resourceVersion"]

    async with server.watch(configmaps, resourceVersion=start) as watch:
        await server.delete(configmaps)
        removed = await watch.events(4)

    # Which of them goes first is nobody's promise: a real server deletes several at a time.
    assert sorted(told(event) for event in removed) == [("DELETED", f"n{n}") for n in range(4)]


async def test_a_bad_selector_is_a_bad_request(server: Server, configmaps: str) -> None:
    await _fill(server, configmaps)

    assert_refused(await server.delete(configmaps, labelSelector="!!"), 400, "BadRequest")
    assert len(names(await server.read(configmaps))) == 4


async def test_all_namespaces_at_once_is_not_allowed(server: Server) -> None:
    assert_refused(await server.delete("/api/v1/configmaps"), 405, "MethodNotAllowed")


async def test_namespaces_are_deleted_one_by_one(server: Server) -> None:
    assert_refused(await server.delete("/api/v1/namespaces"), 405, "MethodNotAllowed")
