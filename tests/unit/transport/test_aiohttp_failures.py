"""What can go wrong on the wire: named, chained, and never at another request's expense."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import struct
import threading
import warnings

import pytest
import trustme
from msgspec.structs import replace

from kinform.errors import StateError, TransportError
from kinform.transport import (
    AiohttpTransport,
    BasicAuth,
    ClusterConfig,
    Request,
    Response,
    StaticToken,
)
from tests.support.waiting import wait_until
from tests.support.wire import (
    Connect,
    Received,
    Serve,
    answer,
    chunk,
    pem_of,
    server_context,
    stream_head,
)

GET = Request("GET", "/api/v1/pods")
SECRET = "s3cr3t-token"

# Streams share no connections, so there is nothing in these for them.
pooled = pytest.mark.parametrize("connect", ["requests"], indirect=True)
both_ways = pytest.mark.parametrize(
    "get", [GET, replace(GET, is_stream=True)], ids=["request", "stream"]
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def silent(_request: Received, _writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def hang_up(_request: Received, writer: asyncio.StreamWriter) -> None:
    writer.close()


def reset(writer: asyncio.StreamWriter) -> None:
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def endless(_request: Received, writer: asyncio.StreamWriter) -> None:
    writer.write(stream_head() + chunk(b"first"))
    await asyncio.Event().wait()


async def test_a_refused_connection_names_the_address(connect: Connect) -> None:
    port = free_port()
    with pytest.raises(TransportError) as caught:
        await connect(f"http://127.0.0.1:{port}").send(GET)
    assert str(caught.value) == (
        f"GET http://127.0.0.1:{port}/api/v1/pods: cannot connect to 127.0.0.1:{port}: "
        "connection refused; is the server running there?"
    )
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_host_that_does_not_exist_is_named(connect: Connect) -> None:
    with pytest.raises(TransportError, match=r"host name 'no-such-host\.invalid' cannot be res"):
        await connect("http://no-such-host.invalid").send(GET)


@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "PATCH", "DELETE"])
async def test_a_fresh_connection_that_closes_without_an_answer_is_not_tried_again(
    serve: Serve, connect: Connect, method: str
) -> None:
    server = await serve(hang_up)
    with pytest.raises(TransportError, match="closed the connection without an answer") as caught:
        await connect(server).send(Request(method, "/"))
    assert len(server.requests) == 1
    assert ("may or may not have been carried out" in str(caught.value)) is (method != "GET")


@pooled
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "PATCH", "DELETE"])
async def test_a_pooled_connection_that_died_is_replaced_only_where_repeating_is_safe(
    serve: Serve, connect: Connect, method: str
) -> None:
    async def close_on_second_use(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.connection == 1 and len(server.requests) == 2:
            writer.close()
        else:
            writer.write(answer())

    server = await serve(close_on_second_use)
    transport = connect(server)
    await (await transport.send(GET)).read()
    if method == "GET":
        response = await transport.send(Request(method, "/"))
        assert await response.read() == b"ok"
        assert len(server.requests) == 3
    else:
        with pytest.raises(TransportError, match="may or may not have been carried out"):
            await transport.send(Request(method, "/", body=b"{}"))
        assert len(server.requests) == 2


async def test_rubbish_instead_of_http_is_named(serve: Serve, connect: Connect) -> None:
    server = await serve(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    with pytest.raises(TransportError, match="the answer is not HTTP"):
        await connect(server).send(GET)


async def test_no_answer_in_time_is_named(serve: Serve, connect: Connect) -> None:
    server = await serve(silent)
    with pytest.raises(TransportError, match=r"/api/v1/pods: no answer within 0\.2 s"):
        await connect(server).send(Request("GET", "/api/v1/pods", total_timeout=0.2))


async def test_a_body_that_does_not_end_in_time_is_named(serve: Serve, connect: Connect) -> None:
    response = await connect(await serve(endless)).send(Request("GET", "/", total_timeout=0.3))
    with pytest.raises(TransportError, match="the body did not end within the time given"):
        await response.read()


@pytest.mark.parametrize("how", ["close", "reset", "short"])
async def test_a_body_that_breaks_off_is_an_error(serve: Serve, connect: Connect, how: str) -> None:
    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        if how == "short":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst")
        else:
            writer.write(stream_head() + chunk(b"first"))
        await started.wait()
        reset(writer) if how == "reset" else writer.close()

    started = asyncio.Event()
    server = await serve(handler)
    response = await connect(server).send(GET)
    chunks = response.chunks()
    assert await anext(chunks) == b"first"
    started.set()
    with pytest.raises(TransportError, match=f"GET {server.url}/api/v1/pods: ") as caught:
        await anext(chunks)
    assert caught.value.__cause__ is not None


async def test_one_streams_failure_leaves_the_others_alone(serve: Serve, connect: Connect) -> None:
    failing, going_on = asyncio.Event(), asyncio.Event()

    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.target == "/forbidden":
            writer.write(answer(b"no", status="403 Forbidden"))
            return
        writer.write(stream_head() + chunk(b"first"))
        if request.target == "/bad":
            await failing.wait()
            reset(writer)
        else:
            await going_on.wait()
            writer.write(chunk(b"second") + chunk(b""))

    transport = connect(await serve(handler))
    good = (await transport.send(Request("GET", "/good"))).chunks()
    bad = (await transport.send(Request("GET", "/bad"))).chunks()
    assert await anext(good) == await anext(bad) == b"first"
    failing.set()
    with pytest.raises(TransportError):
        await anext(bad)
    forbidden = await transport.send(Request("GET", "/forbidden"))
    assert forbidden.status == 403
    await forbidden.close()
    with pytest.raises(TransportError):
        await transport.send(Request("GET", "/bad", total_timeout=0.0))
    going_on.set()
    assert [piece async for piece in good] == [b"second"]


async def first_chunk(response: Response, reading: asyncio.Event) -> None:
    async for _piece in response.chunks():
        reading.set()


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
async def test_cancelling_a_blocked_read_wakes_it_and_drops_only_its_connection(
    serve: Serve, connect: Connect, authority: trustme.CA, secure: bool
) -> None:
    going_on = asyncio.Event()

    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + chunk(b"first"))
        if request.target == "/good":
            await going_on.wait()
            writer.write(chunk(b"second") + chunk(b""))
        else:
            await asyncio.Event().wait()

    server = await serve(handler, context=server_context(authority) if secure else None)
    transport = connect(server, certificate_authority=pem_of(authority) if secure else None)
    good = (await transport.send(Request("GET", "/good"))).chunks()
    assert await anext(good) == b"first"
    blocked = await transport.send(Request("GET", "/blocked"))
    reading = asyncio.Event()
    reader = asyncio.ensure_future(first_chunk(blocked, reading))
    await reading.wait()
    reader.cancel()
    async with asyncio.timeout(1):
        with pytest.raises(asyncio.CancelledError):
            await reader
    going_on.set()
    assert [piece async for piece in good] == [b"second"]


async def test_cancelling_drops_the_connection_at_the_server_too(
    serve: Serve, connect: Connect
) -> None:
    server = await serve(stream_head() + chunk(b"first"))
    response = await connect(server).send(GET)
    reading = asyncio.Event()
    reader = asyncio.ensure_future(first_chunk(response, reading))
    await reading.wait()
    reader.cancel()
    await asyncio.gather(reader, return_exceptions=True)
    await wait_until(lambda: not server.tasks)


async def test_leaving_a_stream_early_drops_its_connection_not_the_transport(
    serve: Serve, connect: Connect
) -> None:
    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        await (endless(request, writer) if request.target == "/watch" else respond(writer))

    async def respond(writer: asyncio.StreamWriter) -> None:
        writer.write(answer())

    server = await serve(handler)
    transport = connect(server)
    response = await transport.send(Request("GET", "/watch"))
    async for piece in response.chunks():
        assert piece == b"first"
        break
    await response.close()
    assert await (await transport.send(GET)).read() == b"ok"
    assert server.connections == 2


@pytest.mark.parametrize("what", ["response", "transport"])
async def test_closing_wakes_a_blocked_reader_with_an_error(
    serve: Serve, connect: Connect, what: str
) -> None:
    transport = connect(await serve(endless))
    response = await transport.send(GET)
    reading = asyncio.Event()
    reader = asyncio.ensure_future(first_chunk(response, reading))
    await reading.wait()
    await (response if what == "response" else transport).close()
    async with asyncio.timeout(1):
        with pytest.raises(TransportError, match="closed while being read"):
            await reader


async def test_closing_while_a_request_waits_for_its_answer_ends_it(
    serve: Serve, connect: Connect
) -> None:
    server = await serve(silent)
    transport = connect(server)
    sending = asyncio.ensure_future(transport.send(GET))
    await wait_until(lambda: bool(server.requests))
    await transport.close()
    async with asyncio.timeout(5):
        with pytest.raises(TransportError):
            await sending


async def test_cancelling_a_request_that_waits_for_its_answer_ends_only_it(
    serve: Serve, connect: Connect
) -> None:
    async def handler(request: Received, writer: asyncio.StreamWriter) -> None:
        if request.target == "/silent":
            await asyncio.Event().wait()
        writer.write(answer())

    server = await serve(handler)
    transport = connect(server)
    sending = asyncio.ensure_future(transport.send(Request("GET", "/silent")))
    await wait_until(lambda: bool(server.requests))
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert await (await transport.send(GET)).read() == b"ok"


def chain(error: BaseException | None) -> str:
    """Everything that a log or a crash report could show of an error."""
    shown = ""
    while error is not None:
        shown += f"{error} {error!r} {error.args}\n"
        error = error.__cause__ or error.__context__
    return shown


@pytest.mark.parametrize("trouble", [b"rubbish\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\nbad\r\n\r\n"])
async def test_no_failure_and_no_log_shows_a_secret(
    serve: Serve, connect: Connect, trouble: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(trouble)
        writer.close()

    server = await serve(handler)
    for credentials in (StaticToken(SECRET), BasicAuth("admin", SECRET)):
        transport = connect(server, credentials=credentials)
        with pytest.raises(TransportError) as caught:
            await transport.send(GET)
        (header,) = (await credentials.headers()).values()
        hidden = header.partition(" ")[2]
        for secret in (SECRET, hidden):
            assert secret not in chain(caught.value)
            assert secret not in repr(transport)
            assert secret not in caplog.text


async def test_a_malformed_chunk_ends_the_body_with_an_error_and_not_with_silence(
    serve: Serve, connect: Connect
) -> None:
    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + chunk(b"first"))
        await started.wait()
        writer.write(b"zz\r\n")
        await asyncio.Event().wait()

    started = asyncio.Event()
    response = await connect(await serve(handler)).send(GET)
    chunks = aiter(response.chunks())
    assert await anext(chunks) == b"first"
    started.set()
    async with asyncio.timeout(5):
        with pytest.raises(TransportError, match=r"middle of the body|a chunk of its body has"):
            await anext(chunks)


@both_ways
def test_a_stream_left_over_tls_leaves_no_socket_behind_when_the_loop_ends(
    authority: trustme.CA, get: Request
) -> None:
    """The server does not answer the goodbye, so a polite close would outlive the loop."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def speak_and_never_listen() -> None:
        raw, _ = listener.accept()
        with server_context(authority).wrap_socket(raw, server_side=True) as connection:
            connection.recv(65536)
            connection.sendall(stream_head() + chunk(b"first"))
            over.wait(30)

    async def leave_a_stream() -> None:
        config = ClusterConfig(
            server=f"https://127.0.0.1:{listener.getsockname()[1]}",
            certificate_authority=pem_of(authority),
        )
        transport = AiohttpTransport(config)
        response = await transport.send(get)
        assert await anext(aiter(response.chunks())) == b"first"
        await response.close()
        await transport.close()

    speaker = threading.Thread(target=speak_and_never_listen)
    speaker.start()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            asyncio.run(leave_a_stream())
            gc.collect()
        assert [str(warning.message) for warning in caught] == []
    finally:
        over.set()
        speaker.join()
        listener.close()


@pooled
async def test_a_connection_that_breaks_while_nobody_uses_it_is_nobodys_error(
    serve: Serve, connect: Connect
) -> None:
    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head())
        await answered.wait()
        writer.write(chunk(b"ok") + chunk(b""))
        await read.wait()
        reset(writer)

    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _loop, context: complaints.append(context["message"])
    )
    answered, read = asyncio.Event(), asyncio.Event()
    server = await serve(handler)
    transport = connect(server)
    response = await transport.send(GET)
    answered.set()
    assert await response.read() == b"ok"
    read.set()
    await wait_until(lambda: not server.tasks)
    for _ in range(100):
        await asyncio.sleep(0)  # each turn of the loop looks at the sockets
    # The next one finds the broken connection in the pool, and drops it.
    assert await (await transport.send(GET)).read() == b"ok"
    del response
    gc.collect()
    assert complaints == []


@both_ways
def test_a_transport_says_that_it_belongs_to_another_loop(get: Request) -> None:
    transport = AiohttpTransport(ClusterConfig(server=f"http://127.0.0.1:{free_port()}"))

    async def send() -> None:
        await transport.send(get)

    with pytest.raises(TransportError, match="connection refused"):
        asyncio.run(send())
    with pytest.raises(StateError, match="belongs to another event loop"):
        asyncio.run(send())
    asyncio.run(transport.close())
