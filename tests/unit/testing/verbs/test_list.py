"""Pages that stay consistent while everything changes, and lists too large to hold."""

from __future__ import annotations

import asyncio
import base64
import json
import zlib
from typing import Any
from urllib.parse import quote

import pytest

from kinform.api import GVR
from kinform.errors import BadRequestError
from kinform.testing import ApiServer
from kinform.testing.requests import decode_token, encode_token
from tests.support import raw_http

CONFIG_MAPS = GVR("", "v1", "configmaps")
MAPS = "/api/v1/configmaps"


def _map(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": data,
    }


async def _page(api: ApiServer, token: str = "", limit: int = 3) -> tuple[Any, list[str]]:
    path = f"{MAPS}?limit={limit}&continue={quote(token)}"
    listed = (await raw_http.ask(api.url, path)).json()
    return listed["metadata"], [
        f"{item['metadata']['name']}={item['data']['k']}" for item in listed["items"]
    ]


async def test_pages_show_the_moment_of_the_first_however_much_happens_since() -> None:
    # The history is far shorter than what happens between the pages.
    async with ApiServer(history=5) as api:
        api.load(_map(f"m{number}", k="old") for number in range(9))
        metadata, first = await _page(api)
        version = metadata["resourceVersion"]
        seen = list(first)
        while token := metadata.get("continue"):
            for number in range(9):
                api.patch(CONFIG_MAPS, f"m{number}", {"data": {"k": str(len(seen))}}, "default")
            api.create(_map(f"m0-new-{len(seen)}", k="new"))
            metadata, names = await _page(api, token)
            assert metadata["resourceVersion"] == version
            seen += names

    assert seen == [f"m{number}=old" for number in range(9)]


async def test_after_compaction_the_rest_can_be_had_inconsistently(
    kinform_api: ApiServer,
) -> None:
    api = kinform_api
    api.load(_map(f"m{number}", k="old") for number in range(4))
    metadata, _ = await _page(api, limit=2)
    api.patch(CONFIG_MAPS, "m3", {"data": {"k": "new"}}, "default")
    api.compact()

    path = f"{MAPS}?limit=2&continue={metadata['continue']}"
    expired = await raw_http.ask(api.url, path)
    assert (expired.status, expired.json()["reason"]) == (410, "Expired")

    _, names = await _page(api, expired.json()["metadata"]["continue"], limit=2)
    assert names == ["m2=old", "m3=new"]


async def test_a_large_list_leaves_room_for_others() -> None:
    async with ApiServer() as api:
        api.load(_map(f"m{number:04d}", k="x" * 50_000) for number in range(400))
        async with raw_http.open_answer(api.url, MAPS) as large:
            assert large.headers["transfer-encoding"] == "chunked"
            # Nobody reads the 20 MB yet.
            async with asyncio.timeout(5):
                small = await raw_http.ask(api.url, f"{MAPS}?limit=1")
            assert small.status == 200
            body, end = await large.read()

    assert end == raw_http.COMPLETE
    assert len(json.loads(body)["items"]) == 400


async def test_a_large_list_is_compressed_as_it_is_made(kinform_api: ApiServer) -> None:
    kinform_api.load(_map(f"m{number:04d}", k="x" * 50_000) for number in range(20))

    answer = await raw_http.ask(kinform_api.url, MAPS, headers={"Accept-Encoding": "gzip"})

    assert answer.headers["content-encoding"] == "gzip"
    assert len(json.loads(zlib.decompress(answer.body, 31))["items"]) == 20


def test_a_token_leads_back_to_where_it_was_made() -> None:
    token = encode_token(1234, "ns/name\0")

    assert decode_token(token) == (1234, "ns/name\0")
    padded = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    assert json.loads(padded) == {"v": "meta.k8s.io/v1", "rv": 1234, "start": "ns/name\0"}


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"not json", "continue key is not valid"),
        (b'{"v":"v9","rv":1,"start":"a"}', "does not recognize this encoded version"),
        (b'{"v":"meta.k8s.io/v1","start":"a"}', "incorrect encoded start resourceVersion"),
        (b'{"v":"meta.k8s.io/v1","rv":1}', "encoded start key empty"),
        (b'{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets"}', r"continue key is not valid: \.\."),
        (b'{"v":"meta.k8s.io/v1","rv":"x","start":"a"}', "continue key is not valid"),
    ],
    ids=["rubbish", "version", "no version", "no start", "outside", "type"],
)
def test_a_token_of_somebodys_own_making_is_refused(content: bytes, complaint: str) -> None:
    token = base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    with pytest.raises(BadRequestError, match=complaint):
        decode_token(token)


async def test_events_can_be_listed_as_of_a_retained_version(kinform_api: ApiServer) -> None:
    kinform_api.create(_map("a", k="1"))
    version = kinform_api.resource_version
    kinform_api.patch(CONFIG_MAPS, "a", {"data": {"k": "2"}}, "default")
    kinform_api.create(_map("b", k="1"))

    path = f"{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact"
    listed = (await raw_http.ask(kinform_api.url, path)).json()

    assert listed["metadata"] == {"resourceVersion": version}
    assert [item["data"]["k"] for item in listed["items"]] == ["1"]
