"""Requests that are sent again when the server says when, and how long anything may take."""

from __future__ import annotations

import asyncio

import pytest

from kinform.api import GVR, ListOptions
from kinform.client import Client
from kinform.errors import (
    ApiError,
    ConfigError,
    ForbiddenError,
    ResponseTooLargeError,
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    TransportError,
    TruncatedResponseError,
)
from kinform.transport import ClusterConfig
from tests.support.answers import (
    Answer,
    event,
    json_answer,
    pod,
    pod_list,
    status,
    text_answer,
    watch_answer,
)
from tests.support.memory_transport import MemoryTransport
from tests.support.scripted_server import LAST_CHUNK, WATCH_HEAD, Close, Hold, ScriptedServer
from tests.support.waiting import wait_until
from tests.support.wire import chunk

PODS = GVR("", "v1", "pods")
POD_PATH = "/api/v1/namespaces/home/pods/a"


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits that were asked for; none of them takes any time."""
    asked: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float) -> None:
        if seconds:
            asked.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", note)
    return asked


@pytest.mark.parametrize(
    "busy",
    [
        text_answer("Too many requests", 429, Retry_After="1"),
        json_answer(status(429, "TooManyRequests"), 429, Retry_After="1"),
        json_answer(status(429, "TooManyRequests", details={"retryAfterSeconds": 1}), 429),
        text_answer("shutting down", 503, Retry_After="1"),
        json_answer(status(500, "ServerTimeout", details={"retryAfterSeconds": 1}), 500),
        json_answer(status(504, "Timeout"), 504, Retry_After="1"),
    ],
    ids=["429 text", "429 json", "429 details", "503", "500 details", "504"],
)
async def test_a_busy_server_is_asked_again_when_it_said(
    memory: MemoryTransport, client: Client, waits: list[float], busy: Answer
) -> None:
    memory.on(POD_PATH, busy, busy, json_answer(pod()))
    found = await client.get(PODS, "a", namespace="home")
    assert found.name == "a"
    assert waits == [1.0, 1.0]
    assert all(response.closed for response in memory.responses)


async def test_a_watch_is_opened_again_when_it_was_told_to_wait(
    memory: MemoryTransport, client: Client, waits: list[float]
) -> None:
    busy = text_answer("Too many requests", 429, Retry_After="2")
    memory.on("/api/v1/pods", busy, watch_answer(event("ADDED", pod())))
    async with client.watch(PODS) as watch:
        assert (await anext(watch)).object.name == "a"
    assert waits == [2.0]


@pytest.mark.parametrize(
    "busy",
    [
        text_answer("Too many requests", 429, Retry_After="1"),
        text_answer("shutting down", 503, Retry_After="1"),
        json_answer(status(504, "Timeout"), 504, Retry_After="1"),
    ],
    ids=["429", "503", "504"],
)
@pytest.mark.parametrize("form", ["whole", "metadata"])
async def test_who_paces_itself_hears_of_a_busy_server_at_once(
    memory: MemoryTransport, client: Client, waits: list[float], busy: Answer, form: str
) -> None:
    memory.on("/api/v1/pods", busy, busy, json_answer(pod_list()))
    verbs = client if form == "whole" else client.metadata
    with pytest.raises(ApiError) as listing:
        await verbs.page(PODS, ListOptions(), retry=False)
    with pytest.raises(ApiError) as watching:
        async with verbs.watch(PODS, retry=False):
            pass
    assert listing.value.code == watching.value.code == busy.status
    assert listing.value.retry_after == watching.value.retry_after == 1.0
    assert len(memory.requests_to("/api/v1/pods")) == 2
    assert waits == []


async def test_a_write_is_sent_again_with_its_body(
    memory: MemoryTransport, client: Client, waits: list[float]
) -> None:
    busy = text_answer("Too many requests", 429, Retry_After="1")
    memory.on("/api/v1/namespaces/home/pods", busy, json_answer(pod(), 201))
    await client.create(pod("a", namespace="home"))
    first, second = memory.requests_to("/api/v1/namespaces/home/pods")
    assert first.body == second.body
    assert first.body


async def test_patience_ends(memory: MemoryTransport, client: Client, waits: list[float]) -> None:
    memory.on(POD_PATH, text_answer("busy", 429, Retry_After="1"))
    with pytest.raises(TooManyRequestsError) as caught:
        await client.get(PODS, "a", namespace="home")
    assert caught.value.retry_after == 1.0
    assert len(memory.requests_to(POD_PATH)) == 4
    assert waits == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("asked", ["61", "86400", "Fri, 01 Jan 2100 00:00:00 GMT"])
async def test_a_wait_beyond_a_minute_is_left_to_the_caller(
    memory: MemoryTransport, client: Client, waits: list[float], asked: str
) -> None:
    memory.on(POD_PATH, text_answer("come back tomorrow", 429, Retry_After=asked))
    with pytest.raises(TooManyRequestsError) as caught:
        await client.get(PODS, "a", namespace="home")
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 60
    assert waits == []


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (text_answer("no time given", 429), TooManyRequestsError),
        (text_answer("no time given", 503), ServiceUnavailableError),
        (json_answer(status(500, "InternalError"), 500), ServerError),
        (json_answer(status(403, "Forbidden"), 403, Retry_After="1"), ForbiddenError),
    ],
)
async def test_what_does_not_say_when_is_not_sent_again(
    memory: MemoryTransport,
    client: Client,
    waits: list[float],
    answer: Answer,
    kind: type[Exception],
) -> None:
    memory.on(POD_PATH, answer)
    with pytest.raises(kind):
        await client.get(PODS, "a", namespace="home")
    assert len(memory.requests_to(POD_PATH)) == 1


async def test_a_request_without_an_answer_is_not_sent_again(
    memory: MemoryTransport, client: Client
) -> None:
    memory.on(POD_PATH, TransportError("reset"))
    with pytest.raises(TransportError, match="reset"):
        await client.get(PODS, "a", namespace="home")
    assert len(memory.requests_to(POD_PATH)) == 1


async def test_waiting_can_be_cancelled(memory: MemoryTransport, client: Client) -> None:
    memory.on(POD_PATH, text_answer("busy", 429, Retry_After="60"))
    asking = asyncio.ensure_future(client.get(PODS, "a", namespace="home"))
    await wait_until(lambda: bool(memory.responses))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_the_connection_of_a_refusal_serves_the_next_try(
    server: ScriptedServer, http_client: Client
) -> None:
    busy = text_answer("Too many requests", 429, Retry_After="0")
    server.answer(busy, busy, json_answer(pod()))
    await http_client.get(PODS, "a", namespace="home")
    assert len(server.received) == 3
    assert server.connections == 1


async def test_a_connection_that_ends_with_its_refusal_is_replaced(
    server: ScriptedServer, http_client: Client
) -> None:
    closing = text_answer("shutting down", 429, Retry_After="0", Connection="close")
    server.script(closing.raw(), Close())
    server.answer(json_answer(pod()))
    found = await http_client.get(PODS, "a", namespace="home")
    assert found.name == "a"
    assert server.connections == 2


async def test_an_answer_that_is_too_large_says_so_and_the_way_out(server: ScriptedServer) -> None:
    server.answer(json_answer(pod(spec={"x": "y" * 5000})))
    async with Client(server.config, max_body_size=1000) as client:
        with pytest.raises(ResponseTooLargeError, match="raise max_body_size") as caught:
            await client.get(PODS, "a", namespace="home")
    assert "1000 bytes" in str(caught.value)


async def test_a_list_that_is_too_large_is_found_out_while_it_streams(
    server: ScriptedServer,
) -> None:
    server.script(WATCH_HEAD, *[chunk(b" " * 4096)] * 20, Hold())
    async with Client(server.config, max_body_size=50_000) as client:
        with pytest.raises(ResponseTooLargeError):
            await client.list(PODS)
        await asyncio.wait_for(server.received[0].dropped.wait(), 5)


@pytest.mark.parametrize(
    "steps",
    [(Hold(),), (WATCH_HEAD, Hold())],
    ids=["no answer at all", "an answer without an end"],
)
async def test_a_silent_server_is_given_up(
    server: ScriptedServer, steps: tuple[bytes | Hold, ...]
) -> None:
    server.script(*steps)
    async with Client(server.config, timeout=0.05) as client:
        with pytest.raises(TransportError):
            await client.get(PODS, "a", namespace="home")


TEN_OF_TWENTY = b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789"


@pytest.mark.parametrize(
    "steps",
    [
        (TEN_OF_TWENTY, Close()),
        (TEN_OF_TWENTY, Hold()),
        (WATCH_HEAD, chunk(b'{"items": ['), Close()),
        (WATCH_HEAD, Hold()),
    ],
    ids=["closed", "silent", "closed between chunks", "silent after its head"],
)
async def test_an_answer_that_breaks_off_is_truncated(
    server: ScriptedServer, steps: tuple[bytes | Close | Hold, ...]
) -> None:
    server.script(*steps)
    async with Client(server.config, timeout=0.1) as client:
        with pytest.raises(TruncatedResponseError):
            await client.list(PODS)


@pytest.mark.parametrize("steps", [(Close(),), (Hold(),)], ids=["closed", "silent"])
async def test_no_answer_at_all_is_not_truncated(
    server: ScriptedServer, steps: tuple[Close | Hold, ...]
) -> None:
    server.script(*steps)
    async with Client(server.config, timeout=0.1) as client:
        with pytest.raises(TransportError) as caught:
            await client.list(PODS)
    assert type(caught.value) is TransportError


async def test_a_watch_that_does_not_open_is_given_up(server: ScriptedServer) -> None:
    server.script(Hold())
    async with Client(server.config, timeout=0.05) as client:
        with pytest.raises(TransportError, match=r"no answer within 0\.05 s"):
            async with client.watch(PODS):
                pass


async def test_an_open_watch_has_all_the_time(server: ScriptedServer) -> None:
    go_on = asyncio.Event()
    server.script(WATCH_HEAD, go_on, chunk(event("ADDED", pod())), LAST_CHUNK)
    async with Client(server.config, timeout=0.05) as client, client.watch(PODS) as watch:
        asyncio.get_running_loop().call_later(0.15, go_on.set)
        assert [found.object.name async for found in watch] == ["a"]


@pytest.mark.parametrize(
    "options",
    [
        {"page_size": 0},
        {"max_retries": -1},
        {"max_body_size": 0},
        {"timeout": 0},
        {"timeout": float("nan")},
    ],
)
def test_an_option_that_makes_no_sense_is_refused_at_once(options: dict[str, float]) -> None:
    (name,) = options
    config = ClusterConfig(server="https://cluster.test")
    with pytest.raises(ConfigError, match=name):
        Client(config, transport=MemoryTransport(), **options)  # type: ignore[arg-type]  # each is one
