"""Each fault of the network as a client meets it on the wire."""

from __future__ import annotations

import asyncio
import json
import zlib

import pytest

from kinform.testing import ApiServer, faults
from tests.support import raw_http

MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = f"{MAPS}?watch=true&resourceVersion=0"


def _config_map(name: str, text: str = "") -> dict[str, object]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


async def test_a_dropped_connection_is_closed_without_a_byte_of_answer(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.drop_connection(), verb="list")

    assert await raw_http.ask(kinform_api.url, MAPS) == raw_http.Answer(0, {}, b"", raw_http.CUT)
    assert (await raw_http.ask(kinform_api.url, MAPS)).status == 200


async def test_a_reset_connection_ends_with_a_tcp_reset(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.reset_connection(), verb="list")

    assert (await raw_http.ask(kinform_api.url, MAPS)).end == raw_http.RESET


async def test_a_hanging_server_neither_answers_nor_closes(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.hang(), verb="list")

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(raw_http.ask(kinform_api.url, MAPS), 0.2)
    hung = await kinform_api.requests.wait_for(lambda request: not request.is_open)

    # The server noticed that its client left, and let go of the request.
    assert (hung.status, hung.faults) == (None, ("hang",))


async def test_a_server_stops_at_once_while_a_client_hangs() -> None:
    async with ApiServer() as api:
        api.faults.inject(faults.hang(), verb="list")
        asking = asyncio.create_task(raw_http.ask(api.url, MAPS))
        await api.requests.wait_for(lambda request: bool(request.faults))
        stopping = asyncio.get_running_loop().time()

    assert asyncio.get_running_loop().time() - stopping < 5
    assert (await asking).status == 0


async def test_a_delayed_answer_comes_whole_and_late(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.delay_answer(0.2), verb="list")
    began = asyncio.get_running_loop().time()

    answer = await raw_http.ask(kinform_api.url, MAPS)

    assert (answer.status, answer.end) == (200, raw_http.COMPLETE)
    assert asyncio.get_running_loop().time() - began >= 0.2


async def test_a_delayed_body_leaves_the_head_in_time(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.delay_body(0.2), verb="list")

    async with raw_http.open_answer(kinform_api.url, MAPS) as answer:
        head_came = asyncio.get_running_loop().time()
        body, end = await answer.read()

    assert asyncio.get_running_loop().time() - head_came >= 0.15
    assert (end, json.loads(body)["kind"]) == (raw_http.COMPLETE, "ConfigMapList")


async def test_delayed_events_come_one_by_one(kinform_api: ApiServer) -> None:
    for name in ("a", "b", "c"):
        kinform_api.create(_config_map(name))
    kinform_api.faults.inject(faults.delay_events(0.05), verb="watch")
    began = asyncio.get_running_loop().time()

    async with raw_http.open_answer(kinform_api.url, WATCH) as answer:
        names = [(await answer.event())["object"]["metadata"]["name"] for _ in range(3)]

    assert names == ["a", "b", "c"]
    assert asyncio.get_running_loop().time() - began >= 0.15


async def test_a_stalled_answer_stops_after_so_many_bytes_and_stays_open(
    kinform_api: ApiServer,
) -> None:
    kinform_api.create(_config_map("a"))
    kinform_api.faults.inject(faults.stall_after(10), verb="watch")

    async with raw_http.open_answer(kinform_api.url, WATCH) as answer:
        assert await answer.chunk() == b'{"type":"A'
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(answer.chunk(), 0.2)


@pytest.mark.parametrize(
    ("fault", "end"),
    [(faults.cut_after(25), raw_http.CUT), (faults.reset_after(25), raw_http.RESET)],
    ids=["cut", "reset"],
)
async def test_an_answer_can_break_off_after_so_many_bytes(
    kinform_api: ApiServer, fault: faults.Fault, end: str
) -> None:
    kinform_api.create(_config_map("a"))
    kinform_api.faults.inject(fault, verb="watch")

    answer = await raw_http.ask(kinform_api.url, WATCH)

    assert answer.end == end
    # A reset may overtake the bytes that were sent before it.
    assert answer.body in (
        (b'{"type":"ADDED","object":',)
        if end == raw_http.CUT
        else (b"", b'{"type":"ADDED","object":')
    )


async def test_a_connection_can_be_cut_right_after_the_head(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.cut_after(0), verb="list")

    answer = await raw_http.ask(kinform_api.url, MAPS)

    assert (answer.status, answer.body, answer.end) == (200, b"", raw_http.CUT)


async def test_a_truncated_answer_claims_to_be_complete(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.truncate(20), verb="list")

    answer = await raw_http.ask(kinform_api.url, MAPS)

    assert (answer.end, answer.body) == (raw_http.COMPLETE, b'{"kind":"ConfigMapLi')


async def test_after_a_truncated_watch_the_server_holds_nothing_open(
    kinform_api: ApiServer,
) -> None:
    kinform_api.create(_config_map("a"))
    kinform_api.faults.inject(faults.truncate(5), verb="watch")

    answer = await raw_http.ask(kinform_api.url, WATCH)
    request = await kinform_api.requests.wait_for(lambda request: not request.is_open)

    assert (answer.body, request.bytes_sent) == (b'{"typ', 5)


async def test_rechunked_bytes_are_the_same_bytes_even_inside_characters(
    kinform_api: ApiServer,
) -> None:
    kinform_api.create(_config_map("a", text="é漢🎉" * 20))
    kinform_api.faults.inject(faults.rechunk(1), verb="watch")

    async with raw_http.open_answer(kinform_api.url, WATCH) as answer:
        received = b""
        while not received.endswith(b"\n"):
            chunk = await answer.chunk()
            assert len(chunk) == 1
            received += chunk

    assert json.loads(received)["object"]["data"]["text"] == "é漢🎉" * 20


async def test_gzip_members_come_one_per_piece_and_can_be_cut_at_each_byte(
    kinform_api: ApiServer,
) -> None:
    kinform_api.faults.inject(faults.gzip_members(), verb="watch")
    kinform_api.faults.inject(faults.rechunk(1), verb="watch")

    async with raw_http.open_answer(kinform_api.url, WATCH) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        received = b""
        for name in ("a", "b"):
            kinform_api.create(_config_map(name))
            while _decompressed(received).count(b"\n") < 1 + "ab".index(name):
                received += await answer.chunk()

    first = zlib.decompressobj(wbits=31)
    first.decompress(received)
    assert first.eof
    assert first.unused_data.startswith(b"\x1f\x8b")
    lines = _decompressed(received).splitlines()
    assert [json.loads(line)["object"]["metadata"]["name"] for line in lines] == ["a", "b"]


def _decompressed(data: bytes) -> bytes:
    """As much as can be had of members that are still coming."""
    out = b""
    while data:
        member = zlib.decompressobj(wbits=31)
        out += member.decompress(data)
        data = member.unused_data
        if not member.eof:
            break
    return out


async def test_an_answer_can_be_the_last_of_its_connection(kinform_api: ApiServer) -> None:
    kinform_api.faults.inject(faults.close_after_answer(), verb="list")

    async with raw_http.open_answer(kinform_api.url, MAPS) as answer:
        body, end = await answer.read()

        assert answer.headers["connection"] == "close"
        assert (end, json.loads(body)["items"]) == (raw_http.COMPLETE, [])
        assert await answer.connection_closes()
