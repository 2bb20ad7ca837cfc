"""What goes over the wire, and what comes back as a response."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from kinform.errors import ConfigError, ResponseTooLargeError, StateError, TransportError
from kinform.transport import (
    AiohttpTransport,
    Anonymous,
    BasicAuth,
    ExecPlugin,
    Impersonation,
    Request,
    Response,
    StaticToken,
    TokenFile,
    Transport,
)
from tests.support.waiting import wait_until
from tests.support.wire import Connect, Received, Serve, answer, chunk, stream_head

GET = Request("GET", "/api/v1/pods")

# Streams share no connections, so there is nothing in these for them.
pooled = pytest.mark.parametrize("connect", ["requests"], indirect=True)

# What is no GET goes out in one way only.
written = pytest.mark.parametrize("connect", ["requests"], indirect=True)


def test_it_is_a_transport(connect: Connect) -> None:
    transport: Transport = connect("http://127.0.0.1:1")
    assert "127.0.0.1" in repr(transport)


@written
async def test_a_request_goes_out_as_it_was_made(serve: Serve, connect: Connect) -> None:
    server = await serve(answer(b'{"a":1}', status="201 Created", headers={"X-Y": "z"}))
    response: Response = await connect(server, user_agent="me/1").send(
        Request(
            "POST",
            "/api/v1/namespaces/default/pods",
            query={"fieldManager": "me & you", "labelSelector": "a=b,c in (ü)"},
            headers={"Content-Type": "application/json"},
            body=b"{}",
        )
    )
    assert response.status == 201
    assert response.headers["x-y"] == "z"
    assert await response.read() == b'{"a":1}'
    (request,) = server.requests
    assert request.method == "POST"
    assert request.target == (
        "/api/v1/namespaces/default/pods"
        "?fieldManager=me%20%26%20you&labelSelector=a%3Db%2Cc%20in%20%28%C3%BC%29"
    )
    assert request.body == b"{}"
    assert request.all_headers("Content-Type") == ["application/json"]
    assert request.all_headers("User-Agent") == ["me/1"]
    assert request.all_headers("Accept-Encoding") == ["identity"]
    assert request.header("Authorization") is None
    assert request.header("Cookie") is None


async def test_a_path_cannot_become_a_query_or_a_header(serve: Serve, connect: Connect) -> None:
    server = await serve(answer())
    paths = ["/a?b#c", "/a\r\nX-Evil: 1", "/sys:node/a%2Fb", "/ü", "/a/../b"]
    for path in paths:
        await (await connect(server).send(Request("GET", path))).read()
    assert [request.target for request in server.requests] == [
        "/a%3Fb%23c",
        "/a%0D%0AX-Evil:%201",
        "/sys:node/a%2Fb",
        "/%C3%BC",
        "/a/../b",
    ]


async def test_a_server_below_a_path_is_asked_there(serve: Serve, connect: Connect) -> None:
    server = await serve(answer())
    await (await connect(f"{server.url}/k8s/clusters/c-1/").send(GET)).read()
    assert server.requests[0].target == "/k8s/clusters/c-1/api/v1/pods"


async def test_the_callers_headers_win(serve: Serve, connect: Connect) -> None:
    server = await serve(answer())
    mine = {"authorization": "Bearer mine", "user-agent": "mine", "Accept": "application/json"}
    transport = connect(server, credentials=StaticToken("theirs"))
    await (await transport.send(Request("GET", "/", headers=mine))).read()
    for name, value in mine.items():
        assert server.requests[0].all_headers(name) == [value]


async def test_credentials_and_impersonation_are_added(serve: Serve, connect: Connect) -> None:
    server = await serve(answer())
    transport = connect(
        server,
        credentials=BasicAuth("admin", "x"),
        impersonation=Impersonation(user="jane", groups=["a", "b"], extra={"k/ü": ["v"]}),
    )
    await (await transport.send(GET)).read()
    request = server.requests[0]
    assert request.header("Authorization") == "Basic YWRtaW46eA=="
    assert request.header("Impersonate-User") == "jane"
    assert request.all_headers("Impersonate-Group") == ["a", "b"]
    assert request.header("Impersonate-Extra-k%2F%C3%BC") == "v"


class HeaderCredentials(Anonymous):
    """Says what it is told to, whatever that is."""

    def __init__(self, name: str, value: str) -> None:
        self._pair = {name: value}

    async def headers(self) -> Mapping[str, str]:
        return self._pair


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", "Bearer s3cr3t\r\nX-Evil: 1"),
        ("X-One", "s3cr3t\n"),
        ("X-One", "s3cr3t\r"),
        ("X-One", "s3cr3t\0"),
        ("X-One", "s3cr3t\ud800"),
        ("X-One\r\nX-Evil", "s3cr3t"),
        ("X One", "s3cr3t"),
        ("", "s3cr3t"),
    ],
)
async def test_a_header_that_would_become_several_is_refused_by_its_name_only(
    serve: Serve, connect: Connect, name: str, value: str
) -> None:
    server = await serve(answer())
    credentials = HeaderCredentials(name, value)
    for transport, headers in (
        (connect(server), {name: value}),
        (connect(server, credentials=credentials), {}),
    ):
        with pytest.raises(ConfigError) as caught:
            await transport.send(Request("GET", "/", headers=headers))
        assert name in str(caught.value) or repr(name) in str(caught.value)
        assert "s3cr3t" not in str(caught.value)
    assert server.requests == []


async def test_what_is_not_ascii_in_a_header_is_sent_as_utf_8(
    serve: Serve, connect: Connect
) -> None:
    server = await serve(answer(headers={"Warning": "299 - ü"}))
    response = await connect(server).send(Request("GET", "/", headers={"X-Name": "\tjürgen €"}))
    assert response.headers["warning"] == "299 - ü"
    await response.close()
    assert server.requests[0].header("X-Name") == "jürgen €"


async def test_an_interim_answer_is_not_the_answer(serve: Serve, connect: Connect) -> None:
    server = await serve(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"real"))
    response = await connect(server).send(GET)
    assert (response.status, await response.read()) == (200, b"real")


@written
async def test_a_large_body_arrives_whole(serve: Serve, connect: Connect) -> None:
    server = await serve(answer())
    body = b"x" * 3_000_000
    await (await connect(server).send(Request("PUT", "/", body=body))).read()
    assert server.requests[0].body == body
    assert server.requests[0].header("Content-Length") == "3000000"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_compressed_answers_are_undone(serve: Serve, connect: Connect, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    server = await serve(answer(pack(b"body " * 1000), headers={"Content-Encoding": encoding}))
    response = await connect(server, compression=True).send(GET)
    assert await response.read() == b"body " * 1000
    assert server.requests[0].header("Accept-Encoding") == "gzip"


async def test_a_watch_of_many_gzip_members_flows_event_by_event(
    serve: Serve, connect: Connect
) -> None:
    events = [f'{{"n":{n},"s":"a\u0085b"}}\n'.encode() for n in range(5)]
    seen = asyncio.Semaphore(0)

    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head(Content_Encoding="gzip"))
        for event in events:
            member = gzip.compress(event)
            writer.write(chunk(member[:7]))
            await writer.drain()
            writer.write(chunk(member[7:]))
            await seen.acquire()
        writer.write(chunk(b""))

    response = await connect(await serve(handler), compression=True).send(GET)
    received = []
    async for piece in response.chunks():
        received.append(piece)
        seen.release()
    assert received == events


@pytest.mark.parametrize(
    ("body", "encoding", "complaint"),
    [
        (gzip.compress(b"x" * 99)[:-3], "gzip", "the gzip body is incomplete"),
        (b"<html>", "gzip", "the body is not valid gzip"),
        (b"x", "br", "the body is encoded as 'br', which was not requested"),
    ],
)
async def test_a_body_that_is_not_what_it_claims_is_an_error(
    serve: Serve, connect: Connect, body: bytes, encoding: str, complaint: str
) -> None:
    server = await serve(answer(body, headers={"Content-Encoding": encoding}))
    response = await connect(server).send(GET)
    with pytest.raises(TransportError, match=f"GET {server.url}/api/v1/pods: {complaint}"):
        await response.read()


async def test_a_body_above_the_limit_is_refused_before_and_while_it_comes(
    serve: Serve, connect: Connect
) -> None:
    declared = await serve(answer(b"x" * 11))
    transport = connect(declared)
    assert await (await transport.send(GET)).read(11) == b"x" * 11
    with pytest.raises(ResponseTooLargeError, match="the body is larger than 10 bytes"):
        await (await transport.send(GET)).read(10)
    bomb = gzip.compress(bytes(50_000_000))
    streamed = await serve(stream_head(Content_Encoding="gzip") + chunk(bomb) + chunk(b""))
    with pytest.raises(ResponseTooLargeError, match="the body is larger than 1000000 bytes"):
        await (await connect(streamed).send(GET)).read(1_000_000)


async def test_a_body_is_read_once(serve: Serve, connect: Connect) -> None:
    response = await connect(await serve(answer())).send(GET)
    await response.read()
    with pytest.raises(StateError, match="only once"):
        await response.read()


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_an_answer_without_a_body_is_empty(
    serve: Serve, connect: Connect, status: str
) -> None:
    head = f"HTTP/1.1 {status}\r\nContent-Encoding: gzip\r\n\r\n".encode()
    response = await connect(await serve(head)).send(GET)
    assert await response.read() == b""


@pooled
async def test_requests_in_turn_share_a_connection_and_parallel_ones_do_not_wait(
    serve: Serve, connect: Connect
) -> None:
    everyone = asyncio.Barrier(150)

    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.target == "/together":
            await everyone.wait()
        writer.write(answer())

    server = await serve(handler)
    transport = connect(server)
    for _ in range(3):
        await (await transport.send(GET)).read()
    assert server.connections == 1

    async def one() -> bytes:
        return await (await transport.send(Request("GET", "/together"))).read()

    assert await asyncio.gather(*(one() for _ in range(150))) == [b"ok"] * 150


async def test_a_redirect_within_the_server_is_followed(serve: Serve, connect: Connect) -> None:
    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.target == "/openapi":
            writer.write(answer(status="301 Moved", headers={"Location": "/openapi?hash=1"}))
        else:
            writer.write(answer(b"spec"))

    server = await serve(handler)
    response = await connect(server, credentials=StaticToken("t")).send(Request("GET", "/openapi"))
    assert await response.read() == b"spec"
    assert server.requests[1].header("Authorization") == "Bearer t"


async def test_a_redirect_to_another_server_is_handed_back_with_nothing_told(
    serve: Serve, connect: Connect
) -> None:
    other = await serve(answer())
    server = await serve(answer(status="302 Found", headers={"Location": f"{other.url}/login"}))
    response = await connect(server, credentials=StaticToken("t")).send(GET)
    assert response.status == 302
    assert other.requests == []
    await response.close()


@written
async def test_a_write_is_never_redirected(serve: Serve, connect: Connect) -> None:
    server = await serve(answer(status="307 Temporary", headers={"Location": "/other"}))
    response = await connect(server).send(Request("POST", "/", body=b"x"))
    assert response.status == 307
    assert len(server.requests) == 1
    await response.close()


async def test_a_circle_of_redirects_is_an_error(serve: Serve, connect: Connect) -> None:
    server = await serve(answer(status="302 Found", headers={"Location": "/again"}))
    with pytest.raises(TransportError, match="redirected more than 5 times"):
        await connect(server).send(GET)


@pytest.mark.parametrize("location", ["http://[", "//[bad"])
async def test_a_redirect_to_nowhere_is_handed_back(
    serve: Serve, connect: Connect, location: str
) -> None:
    server = await serve(answer(status="302 Found", headers={"Location": location}))
    response = await connect(server).send(GET)
    assert response.status == 302
    await response.close()


async def test_a_401_makes_the_token_file_be_read_and_the_request_repeated(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        fine = request.header("Authorization") == "Bearer new"
        writer.write(answer() if fine else answer(b"who?", status="401 Unauthorized"))

    server = await serve(handler)
    path = tmp_path / "token"
    path.write_text("old")
    transport = connect(server, credentials=TokenFile(path))
    refused = await transport.send(GET)
    assert refused.status == 401
    assert await refused.read() == b"who?"
    assert len(server.requests) == 1

    path.write_text("new")
    accepted = await transport.send(Request("POST", "/", body=b"again"))
    assert accepted.status == 200
    await accepted.close()
    assert [request.body for request in server.requests[1:]] == [b"again", b"again"]


async def test_a_second_401_is_handed_back(serve: Serve, connect: Connect, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one")

    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        path.write_text("two")
        writer.write(answer(b"no", status="401 Unauthorized"))

    server = await serve(handler)
    response = await connect(server, credentials=TokenFile(path)).send(GET)
    assert (response.status, await response.read()) == (401, b"no")
    assert [r.header("Authorization") for r in server.requests] == ["Bearer one", "Bearer two"]


async def test_a_request_refused_with_an_old_token_is_repeated_with_the_one_another_got(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    renewed = asyncio.Event()

    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.header("Authorization") == "Bearer new":
            writer.write(answer())
            return
        if request.target == "/slow":
            await renewed.wait()
        writer.write(answer(status="401 Unauthorized"))

    server = await serve(handler)
    path = tmp_path / "token"
    path.write_text("old")
    transport = connect(server, credentials=TokenFile(path))
    slow = asyncio.ensure_future(transport.send(Request("GET", "/slow")))
    await wait_until(lambda: bool(server.requests))
    path.write_text("new")
    second = await transport.send(GET)
    renewed.set()
    first = await slow
    assert (first.status, second.status) == (200, 200)
    await first.close()
    await second.close()


async def test_a_fixed_token_is_not_tried_twice(serve: Serve, connect: Connect) -> None:
    server = await serve(answer(status="401 Unauthorized"))
    response = await connect(server, credentials=StaticToken("x")).send(GET)
    assert response.status == 401
    await response.close()
    assert len(server.requests) == 1


def write_plugin(folder: Path, body: str) -> str:
    plugin = folder / "plugin"
    plugin.write_text(f"#!/bin/sh\necho run >> {folder}/runs\n{body}\n")
    plugin.chmod(0o755)
    return str(plugin)


def print_token(token: str) -> str:
    return (
        'echo \'{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'
        f'"status":{{"token":"\'"{token}"\'"}}}}\''
    )


async def test_many_refused_requests_run_an_exec_plugin_once(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    everyone = asyncio.Barrier(10)

    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.header("Authorization") == "Bearer 1":
            await everyone.wait()
            writer.write(answer(status="401 Unauthorized"))
        else:
            writer.write(answer())

    server = await serve(handler)
    plugin = write_plugin(tmp_path, print_token(f"$(wc -l < {tmp_path}/runs | tr -d ' ')"))
    transport = connect(server, credentials=ExecPlugin(plugin))

    async def one() -> int:
        response = await transport.send(GET)
        await response.read()
        return response.status

    assert await asyncio.gather(*(one() for _ in range(10))) == [200] * 10
    assert (tmp_path / "runs").read_text() == "run\n" * 2


async def test_a_plugin_that_fails_on_a_401_is_named(
    serve: Serve, connect: Connect, tmp_path: Path
) -> None:
    server = await serve(answer(status="401 Unauthorized"))
    once = f"test $(wc -l < {tmp_path}/runs) -gt 1 && {{ echo log in >&2; exit 9; }}\n"
    plugin = write_plugin(tmp_path, once + print_token("t"))
    with pytest.raises(ConfigError, match=r"failed with exit code 9; it said:\nlog in"):
        await connect(server, credentials=ExecPlugin(plugin)).send(GET)


async def test_the_rate_limit_spaces_requests(serve: Serve, connect: Connect) -> None:
    server = await serve(answer())
    transport = connect(server, qps=20.0, burst=1)
    loop = asyncio.get_running_loop()
    start = loop.time()
    for _ in range(4):
        await (await transport.send(GET)).read()
    assert loop.time() - start >= 3 / 20


async def test_a_closed_transport_says_so_and_closes_again(serve: Serve, connect: Connect) -> None:
    transport = connect(await serve(answer()))
    await (await transport.send(GET)).read()
    await transport.close()
    await transport.close()
    with pytest.raises(StateError, match="is closed"):
        await transport.send(GET)


async def test_a_response_can_be_closed_unread_and_twice(serve: Serve, connect: Connect) -> None:
    server = await serve(stream_head() + chunk(b"x"))
    transport: AiohttpTransport = connect(server)
    response = await transport.send(GET)
    await response.close()
    await response.close()
    await wait_until(lambda: not server.tasks)
