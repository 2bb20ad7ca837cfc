"""Servers that are not quite like Kubernetes, as a client sees them."""

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


async def test_metadata_requests_get_whole_objects(api: ApiServer) -> None:
    api.faults.inject(faults.ignore_metadata_accept())

    ignored = (await raw_http.ask(api.url, MAPS, headers={"Accept": METADATA})).json()
    honoured = (await raw_http.ask(api.url, MAPS, headers={"Accept": METADATA})).json()

    assert (ignored["kind"], ignored["items"][0]["data"]) == ("ConfigMapList", {"k": "v"})
    assert honoured["kind"] == "PartialObjectMetadataList"
    assert "data" not in honoured["items"][0]


async def test_a_server_before_watch_list_sends_no_end_bookmark(
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
async def test_an_ignored_parameter_changes_nothing(api: ApiServer, fault: faults.Fault) -> None:
    api.faults.inject(fault)
    shard = "shardSelector=shardRange(object.metadata.uid,'0x0','0x1')"

    answer = await raw_http.ask(api.url, f"{MAPS}?{shard}")

    assert len(answer.json()["items"]) == 3
    assert "shardInfo" not in answer.json()["metadata"]


async def test_an_ignored_selector_selects_everything(api: ApiServer) -> None:
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
async def test_unusual_resource_versions_are_used_everywhere(
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
