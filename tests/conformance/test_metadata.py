"""Metadata instead of whole objects, and other things an ``Accept`` header may ask for."""

from __future__ import annotations

import pytest

from tests.conformance.harness import JSON, METADATA, METADATA_LIST, Server, assert_refused
from tests.conformance.samples import config_map, widget


async def test_get_can_answer_metadata_alone(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", labels={"a": "b"}, key="value"))

    answer = await server.get(f"{configmaps}/one", accept=METADATA)

    assert answer.headers["Content-Type"] == JSON
    assert answer.object() == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": created["metadata"],
    }


async def test_list_can_answer_metadata_alone(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))

    listed = (await server.get(configmaps, accept=METADATA_LIST)).object()

    assert listed["kind"] == "PartialObjectMetadataList"
    assert listed["apiVersion"] == "meta.k8s.io/v1"
    assert listed["metadata"]["resourceVersion"]
    # Unlike the items of an ordinary list these name their kind.
    assert listed["items"] == [
        {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": created["metadata"],
        }
    ]


async def test_pages_can_be_of_metadata(server: Server, configmaps: str) -> None:
    for name in ("a", "b"):
        await server.create(configmaps, config_map(name))

    page = (await server.get(configmaps, accept=METADATA_LIST, limit=1)).object()

    assert page["metadata"]["continue"]
    assert page["metadata"]["remainingItemCount"] == 1
    assert len(page["items"]) == 1


async def test_watch_can_send_metadata_alone(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", key="value"))

    async with server.watch(configmaps, accept=METADATA) as watch:
        added = await watch.event()
        await server.delete(f"{configmaps}/one")
        removed = await watch.event()

    assert added == {
        "type": "ADDED",
        "object": {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": created["metadata"],
        },
    }
    assert removed["type"] == "DELETED"
    assert removed["object"]["kind"] == "PartialObjectMetadata"


async def test_custom_kinds_have_metadata_too(server: Server, widgets: str) -> None:
    created = await server.create(widgets, widget("one", color="red"))

    listed = (await server.get(widgets, accept=METADATA_LIST)).object()

    assert listed["kind"] == "PartialObjectMetadataList"
    assert [item["metadata"] for item in listed["items"]] == [created["metadata"]]


async def test_writes_can_answer_metadata_alone(server: Server, configmaps: str) -> None:
    answer = await server.request("POST", configmaps, config_map("one"), accept=METADATA)

    assert answer.object(201)["kind"] == "PartialObjectMetadata"


async def test_errors_stay_errors(server: Server, configmaps: str) -> None:
    assert_refused(await server.get(f"{configmaps}/nope", accept=METADATA), 404, "NotFound")


async def test_the_first_form_that_the_server_knows_is_taken(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, config_map("one"))
    unknown = "application/json;as=Bogus;g=meta.k8s.io;v=v1"

    preferred = await server.get(f"{configmaps}/one", accept=f"{METADATA},{JSON}")
    fallback = await server.get(f"{configmaps}/one", accept=f"{unknown},{JSON}")
    list_fallback = await server.get(configmaps, accept=f"{unknown},{JSON}")

    assert preferred.object()["kind"] == "PartialObjectMetadata"
    assert fallback.object()["kind"] == "ConfigMap"
    assert list_fallback.object()["kind"] == "ConfigMapList"


async def test_one_object_for_a_list_is_not_acceptable(server: Server, configmaps: str) -> None:
    status = assert_refused(await server.get(configmaps, accept=METADATA), 406, "NotAcceptable")

    said = "you requested PartialObjectMetadata, but the requested object is a list"
    assert status["message"].startswith(said)


async def test_a_list_for_one_object_is_not_acceptable(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.get(f"{configmaps}/one", accept=METADATA_LIST)

    status = assert_refused(answer, 406, "NotAcceptable")
    said = "you requested PartialObjectMetadataList, but the requested object is not a list"
    assert status["message"].startswith(said)


@pytest.mark.parametrize(
    "accept",
    [
        "text/html",
        "application/xml",
        "application/json;as=Bogus;g=meta.k8s.io;v=v1",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v2",
    ],
)
async def test_an_unknown_form_is_not_acceptable(
    server: Server, configmaps: str, accept: str
) -> None:
    await server.create(configmaps, config_map("one"))

    assert_refused(await server.get(f"{configmaps}/one", accept=accept), 406, "NotAcceptable")


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html,application/json;q=0.5"])
async def test_json_is_what_most_ask_for(server: Server, configmaps: str, accept: str) -> None:
    created = await server.create(configmaps, config_map("one"))

    assert (await server.get(f"{configmaps}/one", accept=accept)).object() == created
