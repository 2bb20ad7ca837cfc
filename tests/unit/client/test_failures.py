"""Whatever goes wrong on the wire, only errors of this package come out, with the cause chained."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml

from kinform.api import GVR
from kinform.client import Client
from kinform.errors import DecodeError, KinformError, TransportError
from kinform.transport import ClusterConfig
from tests.support.answers import Answer, json_answer, pod
from tests.support.scripted_server import WATCH_HEAD, Close, Reset, ScriptedServer, Step
from tests.support.waiting import wait_until
from tests.support.wire import chunk

PODS = GVR("", "v1", "pods")
FOREIGN = (aiohttp.ClientError, msgspec.MsgspecError, ssl.SSLError, yaml.YAMLError, OSError)

Verb = Callable[[Client], Awaitable[Any]]


async def _watch(client: Client) -> None:
    async with client.watch(PODS) as watch:
        async for _ in watch:
            pass


VERBS: dict[str, Verb] = {
    "get": lambda client: client.get(PODS, "a", namespace="x"),
    "list": lambda client: client.list(PODS),
    "watch": _watch,
    "patch": lambda client: client.patch(PODS, "a", {}, namespace="x"),
    "delete": lambda client: client.delete(PODS, "a", namespace="x"),
    "create": lambda client: client.create(pod()),
    "discovery": lambda client: client.discovery.resources(),
    "version": lambda client: client.server_version(),
    "metadata": lambda client: client.metadata.list(PODS),
}

FAILURES: dict[str, tuple[Step, ...]] = {
    "nothing": (Close(),),
    "a reset": (Reset(),),
    "no HTTP": (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", Close()),
    "half a head": (b"HTTP/1.1 200 OK\r\nContent-Ty", Close()),
    "a bad status line": (b"HTTP/1.1 banana\r\n\r\n", Close()),
    "a body cut short": (json_answer(pod()).raw()[:-9], Close()),
    "a body reset": (json_answer(pod()).raw()[:-9], Reset()),
    "chunks cut short": (WATCH_HEAD, chunk(b'{"kind"'), Close()),
    "a bad length": (b"HTTP/1.1 200 OK\r\nContent-Length: banana\r\n\r\n{}", Close()),
    "an unknown encoding": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}",
    ),
    "no gzip": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\nnot gzipped!",
    ),
    "rubbish": (json_answer(pod()).raw().replace(b'{"kind"', b"rubbish", 1),),
    "no text": (Answer(200, b"\xff\xfe\xfd\n", {"Content-Type": "application/json"}).raw(),),
    "a page": (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",),
    "a redirect elsewhere": (
        b"HTTP/1.1 302 Found\r\nLocation: https://login.test/\r\nContent-Length: 0\r\n\r\n",
    ),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("verb", VERBS)
async def test_no_foreign_error_escapes(server: ScriptedServer, verb: str, failure: str) -> None:
    for path in ("/api", "/apis", "/version", "/api/v1/pods", "/api/v1/namespaces/x/pods/a"):
        server.always(path, *FAILURES[failure])
    async with Client(server.config, timeout=5.0) as client:
        with pytest.raises(KinformError) as caught:
            await VERBS[verb](client)
    assert not isinstance(caught.value, FOREIGN)
    assert len(str(caught.value)) > 15
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("verb", VERBS)
async def test_a_server_that_is_not_there_is_named(verb: str, unused_tcp_port: int) -> None:
    config = ClusterConfig(server=f"http://127.0.0.1:{unused_tcp_port}")
    async with Client(config) as client:
        with pytest.raises(TransportError, match=f"{unused_tcp_port}.*refused") as caught:
            await VERBS[verb](client)
    assert isinstance(caught.value.__cause__, OSError)


@pytest.fixture
async def plain_port() -> AsyncIterator[int]:
    """Where a server without TLS complains about whatever it is greeted with."""

    async def complain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(complain, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("verb", VERBS)
async def test_a_server_without_tls_is_named(plain_port: int, verb: str) -> None:
    async with Client(ClusterConfig(server=f"https://127.0.0.1:{plain_port}")) as client:
        with pytest.raises(TransportError, match="does not speak TLS") as caught:
            await VERBS[verb](client)
    assert isinstance(caught.value.__cause__, OSError)


async def test_the_size_of_rubbish_is_shown_and_its_cause_is_chained(
    server: ScriptedServer, http_client: Client
) -> None:
    server.script(*FAILURES["rubbish"])
    with pytest.raises(DecodeError, match=r"a body of \d+ bytes") as caught:
        await http_client.get(PODS, "a", namespace="x")
    assert isinstance(caught.value.__cause__, msgspec.MsgspecError)


async def test_after_every_failure_the_client_still_works(server: ScriptedServer) -> None:
    async with Client(server.config, timeout=5.0) as client:
        for steps in FAILURES.values():
            server.script(*steps)
            with pytest.raises(KinformError):
                await client.get(PODS, "a", namespace="x")
        server.answer(json_answer(pod()))
        assert (await client.get(PODS, "a", namespace="x")).name == "a"


async def test_a_cancelled_request_is_cancelled_and_nothing_else(
    server: ScriptedServer, http_client: Client
) -> None:
    never = asyncio.Event()
    server.script(never)
    asking = asyncio.ensure_future(http_client.get(PODS, "a", namespace="x"))
    await wait_until(lambda: bool(server.received))
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    server.answer(json_answer(pod()))
    assert (await http_client.get(PODS, "a", namespace="x")).name == "a"
