"""Compression: large answers when asked, and the initial events of a watch."""

from __future__ import annotations

import gzip
import json
import zlib

from tests.conformance.harness import JSON, Server
from tests.conformance.samples import config_map

LARGE = "0123456789abcdef" * 10_000  # More than the 128 KiB from which it is worth it.
GZIP = {"Accept-Encoding": "gzip"}


async def test_a_large_list_is_compressed(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one", key=LARGE))
    plain = await server.read(configmaps)

    answer = await server.request("GET", configmaps, headers=GZIP)

    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert answer.headers["Content-Type"] == JSON
    assert len(answer.body) < len(LARGE)
    assert json.loads(gzip.decompress(answer.body))["items"] == plain["items"]


async def test_a_large_object_is_compressed(server: Server, configmaps: str) -> None:
    created = await server.create(configmaps, config_map("one", key=LARGE))

    answer = await server.request("GET", f"{configmaps}/one", headers=GZIP)

    assert answer.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.body)) == created


async def test_a_small_list_is_not(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one"))

    answer = await server.request("GET", configmaps, headers=GZIP)

    assert "Content-Encoding" not in answer.headers
    assert answer.object()["kind"] == "ConfigMapList"


async def test_nothing_is_compressed_for_those_who_did_not_ask(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, config_map("one", key=LARGE))

    unasked = await server.get(configmaps)
    declined = await server.request("GET", configmaps, headers={"Accept-Encoding": "identity"})

    for answer in (unasked, declined):
        assert "Content-Encoding" not in answer.headers
        assert answer.object()["items"][0]["data"] == {"key": LARGE}


async def test_a_plain_watch_is_not_compressed(server: Server, configmaps: str) -> None:
    await server.create(configmaps, config_map("one", key=LARGE))

    async with server.watch(configmaps, headers=GZIP) as watch:
        assert "Content-Encoding" not in watch.headers
        assert (await watch.event())["object"]["data"] == {"key": LARGE}


async def test_a_watch_with_initial_events_is_compressed_in_any_number_of_members(
    server: Server, configmaps: str
) -> None:
    await server.create(configmaps, config_map("one", key=LARGE))
    await server.create(configmaps, config_map("two"))

    answer = await server.request(
        "GET",
        configmaps,
        params={
            "watch": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": 1,
        },
        headers=GZIP,
    )

    assert answer.headers["Content-Encoding"] == "gzip"
    lines = _decompressed(answer.body).splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["type"] for event in events][:3] == ["ADDED", "ADDED", "BOOKMARK"]
    assert events[0]["object"]["data"] == {"key": LARGE}


async def test_a_member_gives_out_its_events_before_its_last_block(
    server: Server, configmaps: str
) -> None:
    """Who decodes a stream must not have to wait for the next member to see this one."""
    await server.create(configmaps, config_map("one"))
    params = {
        "watch": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": 1,
    }

    answer = await server.request("GET", configmaps, params=params, headers=GZIP)

    first = zlib.decompressobj(wbits=31)
    whole = first.decompress(answer.body)
    member = answer.body[: len(answer.body) - len(first.unused_data)]
    # The checksum and the length take eight bytes, and no block is shorter than two.
    assert zlib.decompressobj(wbits=31).decompress(member[:-10]) == whole


def _decompressed(body: bytes) -> bytes:
    """Each flush may end a gzip member and begin the next."""
    whole = b""
    while body:
        member = zlib.decompressobj(wbits=31)
        whole += member.decompress(body) + member.flush()
        assert member.eof
        body = member.unused_data
    return whole
