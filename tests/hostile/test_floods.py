"""18.14: floods of garbage are bounded in memory, log lines and time."""

from __future__ import annotations

import asyncio
import gc
import logging
import tracemalloc

import pytest

from kinform import Client, DynamicSharedInformerFactory
from kinform.api import GVR, ListOptions
from kinform.client._garbage import _MOST_EVENTS, MOST_NAMELESS
from kinform.client._json_wire import JSON_WIRE
from kinform.client._lists import read_list
from kinform.client._protobuf_wire import PROTOBUF_WIRE
from kinform.client._wire import Wire
from kinform.errors import DecodeError, WatchError
from kinform.informers.reflector._admission import Admission
from kinform.informers.reflector._list_builder import ListBuilder
from kinform.informers.reflector._quarantine import LogLimit, Quarantine
from kinform.objects import Unstructured
from kinform.transport import ClusterConfig
from tests.hostile.heartbeat import Heartbeat
from tests.hostile.raw_server import RawServer, Script, Writer

PODS = GVR("", "v1", "pods")
MEGABYTE = 1 << 20
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
ITEMS = b"{}," * (MEGABYTE // 3) + b"{}"
LIST = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%b]}'
UNNAMED = b'{"type":"ADDED","object":{}}\n'
NAMED = b'{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"b"}}}\n'
UNEXPECTED = b'{"type":"ADDED","object":{"kind":"X","apiVersion":"v1","metadata":{"name":"a"}}}\n'


def flood(line: bytes, listed: bytes = b"") -> Script:
    """Return a script: watches receive ``line`` again and again, lists ``listed``."""
    block = line * (MEGABYTE // 4 // len(line))

    async def send(head: bytes, writer: Writer) -> None:
        if listed and b"sendInitialEvents" in head:
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            return
        writer.write(HEAD)
        if b"watch=true" not in head:
            writer.write(LIST % listed)
            return
        while True:
            writer.write(block)
            await writer.drain()

    return send


async def stop_within_a_second(server: RawServer, seconds: float) -> Heartbeat:
    """Run an informer for some time, then stop it."""
    async with (
        Client(ClusterConfig(server=server.url), max_retries=0) as client,
        Heartbeat() as beat,
    ):
        factory = DynamicSharedInformerFactory(client)
        factory.for_resource(PODS)
        factory.start()
        await asyncio.sleep(seconds)
        async with asyncio.timeout(1):
            await factory.shutdown()
    return beat


@pytest.mark.parametrize(
    ("line", "listed"),
    [
        pytest.param(b"{}\n", b"", id="two bytes"),
        pytest.param(b"x\n", b"", id="not JSON"),
        pytest.param(UNNAMED, b"", id="unnamed"),
        pytest.param(NAMED, b"", id="named"),
        pytest.param(UNEXPECTED, b"", id="unexpected kind"),
        pytest.param(b"\n", b"", id="empty lines"),
        pytest.param(b"{}\n", ITEMS, id="list"),
    ],
)
async def test_an_informer_survives_and_stops(
    line: bytes, listed: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """18.14: the loop was blocked for up to 50 s, and half a million lines were logged."""
    with caplog.at_level(logging.INFO, logger="kinform"):
        async with RawServer(flood(line, listed)) as server:
            beat = await stop_within_a_second(server, 0.7)
    assert any(b"watch=true" not in head for head in server.requests) or not listed
    assert beat.longest < 0.5
    assert len(caplog.records) < 200


async def test_a_list_of_garbage_keeps_a_bounded_number_of_errors() -> None:
    """18.14: a megabyte of ``{}`` cost 750 MB."""
    items = ITEMS[: MEGABYTE // 8 // 3 * 3 - 1]
    body = LIST % items
    tracemalloc.start()
    try:
        page = await read_list(body, JSON_WIRE, Unstructured, what="GET /pods")
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(page.undecodable) == MOST_NAMELESS
    assert page.more_undecodable == items.count(b"{}") - MOST_NAMELESS
    assert kept < 3 * MEGABYTE


async def test_the_log_has_the_number_of_unreadable_objects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """18.14: also of those that were not kept, in few lines."""
    count = 12 * MOST_NAMELESS
    body = LIST % (b"{}," * (count - 1) + b"{}")
    builder = ListBuilder(Admission(Unstructured))
    page = await read_list(body, JSON_WIRE, Unstructured, what="GET /pods")
    await builder.take_page(page)
    assert caplog.messages[-1].startswith(f"{count - MOST_NAMELESS} more objects of a page")
    assert f"({count} such objects; few of them are logged)" in caplog.messages[-1]
    await builder.take_page(page)
    assert len(caplog.records) < 20


async def test_objects_with_a_name_are_all_kept() -> None:
    """18.14: the store must know that they exist."""
    item = b'{"kind":1,"metadata":{"name":"n%d","namespace":"a"}}'
    body = LIST % b",".join(item % number for number in range(MOST_NAMELESS + 10))
    page = await read_list(body, JSON_WIRE, Unstructured, what="GET /pods")
    assert len({bad.error.key for bad in page.undecodable}) == MOST_NAMELESS + 10


async def test_kept_errors_hold_no_frames() -> None:
    """18.14: a traceback keeps the whole response in memory."""
    page = await read_list(LIST % b"{}", JSON_WIRE, Unstructured, what="GET /pods")
    error: BaseException | None = page.undecodable[0].error
    while error is not None:
        assert error.__traceback__ is None
        error = error.__cause__


async def test_the_error_of_a_list_counts_all() -> None:
    """18.14: also those that were not kept."""

    async def send(head: bytes, writer: Writer) -> None:
        writer.write(HEAD + LIST % (b"{}," * 2999 + b"{}"))

    async with RawServer(send) as server, Client(ClusterConfig(server=server.url)) as client:
        with pytest.raises(DecodeError, match="3000 of 3000 objects"):
            await client.list(PODS)


@pytest.mark.parametrize(
    ("wire", "event"),
    [(JSON_WIRE, b"{}\n"), (PROTOBUF_WIRE, b"\x00\x00\x00\x01x")],
    ids=["json", "protobuf"],
)
def test_a_watch_of_garbage_ends(wire: Wire, event: bytes) -> None:
    """18.14: in one chunk, and in many."""
    with pytest.raises(WatchError, match="more than 6000 events that cannot be decoded"):
        wire.framing(1000).feed(event * (_MOST_EVENTS + 1))
    framing = wire.framing(1000)
    for _ in range(_MOST_EVENTS):
        assert len(framing.feed(event)) == 1
    with pytest.raises(WatchError, match="more than 6000"):
        framing.feed(event)


def test_garbage_between_events_does_not_add_up() -> None:
    """18.14: a chunk without garbage resets the count."""
    framing = JSON_WIRE.framing(1000)
    for _ in range(3):
        framing.feed(b"{}\n" * _MOST_EVENTS)
        framing.feed(
            b'{"type":"ADDED","object":{"kind":"A","apiVersion":"v1","metadata":{"name":"a"}}}\n'
        )


async def test_a_client_watch_of_garbage_raises() -> None:
    """18.14: iteration ends with an error."""

    async def iterate(client: Client) -> None:
        async with client.watch(PODS, ListOptions(resource_version="1")) as watch:
            while True:
                try:
                    await anext(watch)
                except DecodeError:
                    continue

    async with (
        RawServer(flood(b"{}\n")) as server,
        Client(ClusterConfig(server=server.url)) as client,
    ):
        with pytest.raises(WatchError):
            await asyncio.wait_for(iterate(client), 10)


def test_the_payloads_of_a_quarantine_are_limited() -> None:
    """18.14: a thousand objects of a megabyte would be a gigabyte."""
    quarantine = Quarantine()
    for number in range(40):
        quarantine.put(DecodeError("bad", key=f"a/{number}"), payload=bytes(MEGABYTE))
    assert sum(len(each.payload) for each in quarantine.values()) == 16 * MEGABYTE
    quarantine.retain(())
    assert quarantine.put(DecodeError("bad", key="a/b"), payload=b"x").payload == b"x"


def test_few_of_many_are_logged() -> None:
    """18.14: the first ten, then every power of ten."""
    limit = LogLimit()
    logged = [number for number in range(1, 10_001) if limit.admits()]
    assert logged == [*range(1, 11), 100, 1000, 10_000]
