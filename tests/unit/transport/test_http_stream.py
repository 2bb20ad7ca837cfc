"""Streams over connections of their own: every byte, no more memory than agreed, nothing left."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from kinform.errors import TransportError
from kinform.transport import Request
from kinform.transport._http_stream import HttpStream, open_stream
from tests.support.held_connection import HeldConnection
from tests.support.waiting import wait_until
from tests.support.wire import (
    Connect,
    Received,
    Serve,
    WireServer,
    answer,
    chunk,
    pem_of,
    server_context,
    stream_head,
)

WATCH = Request("GET", "/api/v1/pods", is_stream=True)

streams = pytest.mark.parametrize("connect", ["streams"], indirect=True)
secure_or_not = pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def speaking(
    speak: Speak, *, host: str = "127.0.0.1", **options: Any
) -> AsyncIterator[WireServer]:
    """A server that does not wait for a request; only its address is used."""
    server = await asyncio.start_server(speak, host, 0, **options)
    async with server:
        place = WireServer(handler=lambda _request, _writer: asyncio.sleep(0))
        place.port = server.sockets[0].getsockname()[1]
        yield place


async def all_of(stream: HttpStream) -> bytes:
    body = b""
    while piece := await stream.next_piece():
        body += piece
    return body


# -- bytes -----------------------------------------------------------------------------------


@given(
    st.lists(st.binary(min_size=1, max_size=2000), max_size=20),
    st.lists(st.integers(min_value=1, max_value=500), min_size=1),
)
def test_whatever_comes_in_whatever_reads_comes_out_whole(
    chunks: Sequence[bytes], reads: Sequence[int]
) -> None:
    async def run() -> None:
        stream = HttpStream()
        connection = HeldConnection(stream)
        wire = stream_head() + b"".join(map(chunk, chunks)) + chunk(b"")
        start = turn = 0
        while start < len(wire):
            size = reads[turn % len(reads)]
            connection.deliver(wire[start : start + size])
            start, turn = start + size, turn + 1
        assert (await stream.head()).status == 200
        assert await all_of(stream) == b"".join(chunks)
        assert connection.is_dropped

    asyncio.run(run())


async def test_the_server_waits_while_nobody_reads_and_goes_on_when_somebody_does() -> None:
    stream = HttpStream()
    connection = HeldConnection(stream)
    connection.deliver(stream_head())
    held = 0
    while not connection.has_to_wait():
        connection.deliver(chunk(b"x" * 100_000))
        held += 100_000
    assert held < 2_000_000
    assert len(await stream.next_piece()) == held
    assert not connection.has_to_wait()
    connection.deliver(chunk(b"more"))
    assert not connection.has_to_wait()
    assert await stream.next_piece() == b"more"


@secure_or_not
@streams
async def test_a_body_of_any_size_waits_for_a_slow_reader_and_arrives_whole(
    serve: Serve, connect: Connect, authority: trustme.CA, secure: bool
) -> None:
    sent_all = asyncio.Event()
    part = bytes(range(256)) * 4096

    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head())
        for _ in range(48):
            writer.write(chunk(part))
            await writer.drain()
        writer.write(chunk(b""))
        sent_all.set()

    server = await serve(handler, context=server_context(authority) if secure else None)
    transport = connect(server, certificate_authority=pem_of(authority) if secure else None)
    response = await transport.send(WATCH)
    with pytest.raises(TimeoutError):  # it cannot get rid of it all
        async with asyncio.timeout(1):
            await sent_all.wait()
    assert await response.read() == part * 48
    assert sent_all.is_set()


@pytest.mark.parametrize("kilobytes", [1100, 1200, 1300, 1800])
@streams
async def test_what_was_sent_before_the_goodbye_is_not_lost_on_a_slow_reader(
    connect: Connect, authority: trustme.CA, kilobytes: int
) -> None:
    """More than is held for a reader has come when the other side leaves, as Go leaves: at once."""
    part = bytes(range(256)) * 4
    listener = socket.create_server(("127.0.0.1", 0))

    def speak_and_leave() -> None:
        raw, _ = listener.accept()
        with server_context(authority).wrap_socket(raw, server_side=True) as connection:
            connection.recv(65536)
            connection.sendall(stream_head() + chunk(part) * kilobytes + chunk(b""))

    with listener:
        speaker = asyncio.ensure_future(asyncio.to_thread(speak_and_leave))
        transport = connect(
            f"https://127.0.0.1:{listener.getsockname()[1]}",
            certificate_authority=pem_of(authority),
        )
        response = await transport.send(WATCH)
        await speaker
        for _ in range(200):
            await asyncio.sleep(0)  # each turn of the loop looks at the sockets
        assert await response.read() == part * kilobytes


# -- ends ------------------------------------------------------------------------------------


@streams
async def test_a_connection_that_ends_anywhere_too_early_is_an_error(
    serve: Serve, connect: Connect
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire = head + b"5;x\r\nhello\r\n0\r\nT: x\r\n\r\n"
    length = 0

    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(wire[:length])
        writer.close()

    transport = connect(await serve(handler))
    for length in range(len(wire)):
        complaint = "the body is incomplete" if length >= len(head) else "without an answer"
        with pytest.raises(TransportError, match=complaint):
            await (await transport.send(WATCH)).read()
    length = len(wire)
    assert await (await transport.send(WATCH)).read() == b"hello"


@streams
async def test_what_came_before_the_end_is_handed_out_before_the_error(
    serve: Serve, connect: Connect
) -> None:
    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + chunk(b"first"))
        writer.close()

    server = await serve(handler)
    response = await connect(server).send(WATCH)
    await wait_until(lambda: not server.tasks)
    for _ in range(100):
        await asyncio.sleep(0)
    pieces = response.chunks()
    assert await anext(pieces) == b"first"
    with pytest.raises(TransportError, match="the body is incomplete"):
        await anext(pieces)


@streams
async def test_a_body_without_a_length_ends_with_the_connection(
    serve: Serve, connect: Connect
) -> None:
    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nhello")
        writer.close()

    assert await (await connect(await serve(handler)).send(WATCH)).read() == b"hello"


@pytest.mark.parametrize(
    ("wire", "complaint"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\n", "its Content-Length is"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            "its transfer encoding is 'gzip, chunked', which was not requested",
        ),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000, "its head is longer than 65536 bytes"),
        (b"220 mail.example.org ready\r\n", "it begins b'220 mail"),
    ],
)
@streams
async def test_an_answer_that_cannot_be_read_is_refused_before_the_server_is_done(
    serve: Serve, connect: Connect, wire: bytes, complaint: str
) -> None:
    server = await serve(wire)
    async with asyncio.timeout(5):
        with pytest.raises(TransportError, match=f"the answer is not HTTP: {complaint}"):
            await connect(server).send(WATCH)
        await wait_until(lambda: not server.tasks)


@streams
async def test_closing_before_all_was_read_is_never_the_end_of_the_body(
    serve: Serve, connect: Connect
) -> None:
    going_on = asyncio.Event()

    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + chunk(b"first"))
        await going_on.wait()
        writer.write(chunk(b"rest") + chunk(b""))

    server = await serve(handler)
    transport = connect(server)
    pieces = (await transport.send(WATCH)).chunks()
    assert await anext(pieces) == b"first"
    going_on.set()
    await wait_until(lambda: not server.tasks)  # all has come, and the connection is dropped
    await transport.close()
    with pytest.raises(TransportError, match="closed while being read"):
        await anext(pieces)


@streams
async def test_a_forgotten_response_is_warned_about_and_dropped(
    serve: Serve, connect: Connect
) -> None:
    server = await serve(stream_head() + chunk(b"first"))
    response = await connect(server).send(WATCH)
    assert server.tasks
    held = [response]
    del response
    with pytest.warns(ResourceWarning, match="the response was not closed"):
        held.clear()
    await wait_until(lambda: not server.tasks)


@streams
async def test_a_stream_that_breaks_while_nobody_reads_is_nobodys_error(
    serve: Serve, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + chunk(b"first"))
        writer.transport.abort()

    server = await serve(handler)
    response = await connect(server).send(WATCH)
    await wait_until(lambda: not server.tasks)
    for _ in range(100):
        await asyncio.sleep(0)
    await response.close()
    del response
    gc.collect()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


# -- connections -----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["close", "cancel"])
@streams
async def test_a_server_that_never_shakes_hands_keeps_nobody_from_leaving(
    connect: Connect, end: str
) -> None:
    accepted, left = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        while await reader.read(1000):
            pass
        writer.close()
        left.set()

    async with speaking(silent) as server, asyncio.timeout(10):
        transport = connect(f"https://127.0.0.1:{server.port}")
        sending = asyncio.ensure_future(transport.send(WATCH))
        await accepted.wait()
        if end == "close":
            await transport.close()
            with pytest.raises(TransportError, match="closed while waiting for the answer"):
                await sending
        else:
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
        await left.wait()


@streams
async def test_a_server_that_hangs_up_on_the_handshake_is_named(connect: Connect) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.close()

    async with speaking(hang_up) as server:
        with pytest.raises(TransportError, match=r"cannot connect to 127\.0.* closed the conn"):
            await connect(f"https://127.0.0.1:{server.port}").send(WATCH)


@streams
async def test_a_server_that_answers_before_it_was_asked_is_heard(connect: Connect) -> None:
    async def impatient(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"too busy", status="503 Service Unavailable"))
        await writer.drain()
        await _reader.read(1000)
        writer.close()

    async with speaking(impatient) as server:
        response = await connect(server).send(WATCH)
        assert (response.status, await response.read()) == (503, b"too busy")


async def test_a_server_at_an_ipv6_address_is_asked_by_it(connect: Connect) -> None:
    asked = asyncio.Queue[bytes]()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.put_nowait(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer())
        await writer.drain()
        writer.close()

    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 here")
    async with speaking(respond, host="::1") as server:
        response = await connect(f"http://[::1]:{server.port}").send(WATCH)
        assert await response.read() == b"ok"
        assert f"\r\nHost: [::1]:{server.port}\r\n".encode() in await asked.get()


@streams
async def test_a_name_with_several_addresses_is_refused_in_one_sentence(connect: Connect) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(TransportError) as caught:
        await connect(f"http://localhost:{port}").send(WATCH)
    assert str(caught.value) == (
        f"GET http://localhost:{port}/api/v1/pods: cannot connect to localhost:{port}: "
        "connection refused; is the server running there?"
    )


@pytest.mark.parametrize("host", ["a..b", f"{'a' * 64}.example"])
@streams
async def test_a_name_that_no_host_can_have_is_named(connect: Connect, host: str) -> None:
    with pytest.raises(TransportError, match=f"the host name '{host}' cannot be resolved"):
        await connect(f"http://{host}").send(WATCH)


@pytest.mark.parametrize("connect", ["requests"], indirect=True)
async def test_only_a_get_is_a_stream_of_ours(serve: Serve, connect: Connect) -> None:
    server = await serve(answer())
    request = Request(
        "POST", "/", headers={"Content-Type": "text/plain"}, body=b"x", is_stream=True
    )
    assert await (await connect(server).send(request)).read() == b"ok"
    assert (server.requests[0].method, server.requests[0].body) == ("POST", b"x")


@streams
async def test_each_stream_has_its_own_connection(serve: Serve, connect: Connect) -> None:
    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + chunk(request.target.encode()))

    server = await serve(handler)
    transport = connect(server)
    responses = [await transport.send(Request("GET", f"/{n}", is_stream=True)) for n in range(20)]
    for number, response in enumerate(responses):
        assert await anext(aiter(response.chunks())) == f"/{number}".encode()
    assert server.connections == 20
    await transport.close()
    await wait_until(lambda: not server.tasks)


@streams
async def test_a_name_that_no_server_can_have_is_named_and_nothing_left_open(
    serve: Serve, connect: Connect
) -> None:
    authority = trustme.CA()
    server = await serve(answer(), context=server_context(authority))
    transport = connect(
        server, certificate_authority=pem_of(authority), tls_server_name=".internal"
    )
    with pytest.raises(TransportError, match=r"'\.internal' cannot be the name of a server"):
        await transport.send(WATCH)
    gc.collect()


@pytest.mark.skipif(sys.platform != "linux", reason="others answer a full queue in another way")
async def test_a_server_that_ignores_connections_is_given_up_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Packets that vanish are sent again after ever longer times; a new attempt is sooner back."""
    monkeypatch.setattr("kinform.transport._sockets._SOCKET_TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, ExitStack() as stack:
        for _ in range(3):  # as many as the system lets wait
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        host, port = server.getsockname()
        with pytest.raises(TransportError, match="no connection was established in time"):
            await open_stream(
                f"http://{host}:{port}/",
                action="GET /",
                headers=(),
                context=None,
                server_hostname=None,
            )
