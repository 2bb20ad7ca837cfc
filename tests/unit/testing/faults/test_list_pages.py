"""Each fault of a list, and each server that is not quite Kubernetes, on the wire."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinform.testing import ApiServer, faults
from tests.support import raw_http

MAPS = "/api/v1/namespaces/default/configmaps"
METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def _config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v"}}


@pytest.fixture
def api(kinform_api: ApiServer) -> ApiServer:
    """A server with three config maps."""
    for name in ("a", "b", "c"):
        kinform_api.create(_config_map(name))
    return kinform_api


async def _pages(api: ApiServer) -> list[list[str]]:
    """The names on each page of a paged list."""
    pages, token = [], ""
    while True:
        answer = await raw_http.ask(api.url, f"{MAPS}?limit=2&continue={token}")
        body = answer.json()
        pages.append([item["metadata"]["name"] for item in body["items"]])
        token = body["metadata"].get("continue", "")
        if not token:
            return pages


@pytest.mark.parametrize(
    ("after", "pages"),
    [(0, [[], ["a", "b"], ["c"]]), (1, [["a", "b"], [], ["c"]])],
    ids=["first", "second"],
)
async def test_an_empty_page_has_a_token_that_leads_on_so_nothing_is_lost(
    api: ApiServer, after: int, pages: list[list[str]]
) -> None:
    api.faults.inject(faults.empty_page(), after=after)

    assert await _pages(api) == pages


async def test_items_can_say_their_kind(api: ApiServer) -> None:
    api.faults.inject(faults.items_with_kind())

    items = (await raw_http.ask(api.url, MAPS)).json()["items"]

    assert {(item["kind"], item["apiVersion"]) for item in items} == {("ConfigMap", "v1")}


async def test_items_can_be_without_their_kind(api: ApiServer) -> None:
    api.faults.inject(faults.items_without_kind())

    items = (await raw_http.ask(api.url, MAPS)).json()["items"]

    assert len(items) == 3
    assert not any({"kind", "apiVersion"} & item.keys() for item in items)


async def test_a_malformed_list_is_complete_and_no_json(api: ApiServer) -> None:
    api.faults.inject(faults.malformed_list())

    answer = await raw_http.ask(api.url, MAPS)

    assert (answer.status, answer.end) == (200, raw_http.COMPLETE)
    with pytest.raises(json.JSONDecodeError):
        answer.json()


async def test_a_server_can_send_whole_objects_to_who_asked_for_metadata(api: ApiServer) -> None:
    api.faults.inject(faults.ignore_metadata_accept())

    ignored = (await raw_http.ask(api.url, MAPS, headers={"Accept": METADATA})).json()
    honoured = (await raw_http.ask(api.url, MAPS, headers={"Accept": METADATA})).json()

    assert (ignored["kind"], ignored["items"][0]["data"]) == ("ConfigMapList", {"k": "v"})
    assert honoured["kind"] == "PartialObjectMetadataList"
    assert "data" not in honoured["items"][0]


async def test_a_server_from_before_watch_list_sends_everything_and_never_the_bookmark(
    api: ApiServer,
) -> None:
    injection = api.faults.inject(faults.ignore_initial_events())
    streaming = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

    async with raw_http.open_answer(api.url, f"{MAPS}?watch=true&{streaming}") as answer:
        initial = [await answer.event() for _ in range(3)]
        api.create(_config_map("d"))
        following = await answer.event()

    assert [event["type"] for event in initial] == ["ADDED"] * 3
    assert following["object"]["metadata"]["name"] == "d"
    assert injection.hits == 1


@pytest.mark.parametrize(
    "fault",
    [faults.ignore_shard_selector(), faults.ignore_parameters("shardSelector", "labelSelector")],
    ids=lambda fault: fault.name,
)
async def test_a_parameter_that_is_ignored_changes_nothing_and_is_not_refused(
    api: ApiServer, fault: faults.Fault
) -> None:
    api.faults.inject(fault)
    shard = "shardSelector=shardRange(object.metadata.uid,'0x0','0x1')"

    answer = await raw_http.ask(api.url, f"{MAPS}?{shard}")

    assert len(answer.json()["items"]) == 3
    assert "shardInfo" not in answer.json()["metadata"]


async def test_a_selector_that_is_ignored_lets_everything_through(api: ApiServer) -> None:
    api.faults.inject(faults.ignore_parameters("labelSelector"))

    ignored = await raw_http.ask(api.url, f"{MAPS}?labelSelector=no=such")
    honoured = await raw_http.ask(api.url, f"{MAPS}?labelSelector=no=such")

    assert (len(ignored.json()["items"]), len(honoured.json()["items"])) == (3, 0)


@pytest.mark.parametrize(
    ("fault", "is_theirs"),
    [
        (faults.opaque_resource_versions("rv-"), lambda version: version.startswith("rv-")),
        (faults.huge_resource_versions(), lambda version: int(version) > 2**64),
    ],
    ids=["opaque", "huge"],
)
async def test_strange_resource_versions_are_everywhere_and_work(
    api: ApiServer, fault: faults.Fault, is_theirs: Any
) -> None:
    api.faults.inject(fault, resource="configmaps", times=None)

    listed = (await raw_http.ask(api.url, MAPS)).json()
    version = listed["metadata"]["resourceVersion"]
    async with raw_http.open_answer(
        api.url, f"{MAPS}?watch=true&resourceVersion={version}"
    ) as answer:
        api.create(_config_map("d"))
        event = await answer.event()
    got = (await raw_http.ask(api.url, f"{MAPS}/a")).json()
    got["data"] = {"k": "changed"}
    updated = await raw_http.ask(
        api.url,
        f"{MAPS}/a",
        method="PUT",
        headers={"Content-Type": "application/json"},
        body=json.dumps(got).encode(),
    )
    stale = await raw_http.ask(
        api.url,
        f"{MAPS}/a",
        method="PUT",
        headers={"Content-Type": "application/json"},
        body=json.dumps(got).encode(),
    )

    bodies = [listed, *listed["items"], event["object"], got, updated.json()]
    assert all(is_theirs(body["metadata"]["resourceVersion"]) for body in bodies)
    assert event["object"]["metadata"]["name"] == "d"
    assert (updated.status, stale.status) == (200, 409)
