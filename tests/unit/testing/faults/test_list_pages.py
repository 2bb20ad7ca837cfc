"""Each fault of a list, as a client sees it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinform.testing import ApiServer, faults
from tests.support import raw_http

MAPS = "/api/v1/namespaces/default/configmaps"


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
