"""Reading a response with ``read_into``: the same for every transport and every encoding."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass

import pytest
import trustme

from kinform.errors import StateError, TransportError
from kinform.transport import Demand, ReadOutcome, Request, Response
from tests.support.reading import read_all, read_next
from tests.support.wire import (
    Connect,
    Received,
    Serve,
    chunk,
    pem_of,
    server_context,
    stream_head,
)

streams = pytest.mark.parametrize("connect", ["streams"], indirect=True)
LAST = chunk(b"")


@dataclass(frozen=True)
class Way:
    """How a body comes: packed or not, in its own time or within a limit."""

    packed: bool = False
    limit: float | None = None

    @property
    def request(self) -> Request:
        return Request("GET", "/api/v1/pods", total_timeout=self.limit)

    @property
    def head(self) -> bytes:
        return stream_head(Content_Encoding="gzip") if self.packed else stream_head()

    def pack(self, piece: bytes) -> bytes:
        return chunk(gzip.compress(piece) if self.packed else piece)


@pytest.fixture(
    params=[Way(), Way(packed=True), Way(limit=30.0)], ids=["plain", "gzip", "with a limit"]
)
def way(request: pytest.FixtureRequest) -> Way:
    found: Way = request.param
    return found


class Server:
    """Answers one request with a body whose every piece the test sends."""

    def __init__(self, way: Way) -> None:
        self._way = way
        self._writer: asyncio.StreamWriter | None = None
        self.is_left = asyncio.Event()

    def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self._write(self._way.pack(piece))

    def end(self) -> None:
        self._write(LAST)

    def cut(self) -> None:
        assert self._writer is not None
        self._writer.close()

    def _write(self, data: bytes) -> None:
        assert self._writer is not None
        self._writer.write(data)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self._writer = writer
        writer.write(self._way.head)
        with suppress(ConnectionError):
            await reader.read()
        self.is_left.set()
        writer.close()


Open = Callable[[Way], Awaitable[tuple[Server, Response]]]


@pytest.fixture
async def open_way(connect: Connect) -> AsyncIterator[Open]:
    """Ask a server for a body that comes this way."""
    async with AsyncExitStack() as stack:

        async def build(way: Way) -> tuple[Server, Response]:
            server = Server(way)
            listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
            stack.callback(listening.close)
            port = listening.sockets[0].getsockname()[1]
            response = await connect(f"http://127.0.0.1:{port}").send(way.request)
            stack.push_async_callback(response.close)
            return server, response

        yield build


Opened = tuple[Server, Response]


@pytest.fixture
async def opened(open_way: Open, way: Way) -> Opened:
    return await open_way(way)


# -- pieces ----------------------------------------------------------------------------------


async def test_next_read_continues_after_stop(
    opened: Opened,
) -> None:
    server, response = opened
    server.send(b"one")
    assert await read_next(response.read_into) == b"one"
    server.send(b"two")
    assert await read_next(response.read_into) == b"two"
    server.send(b"three", b"four")
    server.end()
    assert b"".join(await read_all(response.read_into)) == b"threefour"
    assert await read_all(response.read_into) == []


async def test_one_read_consumes_everything(opened: Opened) -> None:
    server, response = opened
    got: list[bytes] = []

    def take(piece: bytes) -> Demand:
        got.append(piece)
        server.send(b"%d" % len(got)) if len(got) < 5 else server.end()
        return Demand.MORE

    server.send(b"0")
    assert await response.read_into(take) is ReadOutcome.ENDED
    assert got == [b"0", b"1", b"2", b"3", b"4"]


async def test_empty_body_ends_at_once(serve: Serve, connect: Connect) -> None:
    server = await serve(b"HTTP/1.1 204 No Content\r\n\r\n")
    response = await connect(server).send(Way().request)
    assert await read_all(response.read_into) == []
    assert await read_all(response.read_into) == []


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
@streams
async def test_many_small_pieces_arrive_complete_and_in_order(
    serve: Serve, connect: Connect, authority: trustme.CA, secure: bool
) -> None:
    count = 300
    taken = asyncio.Semaphore(0)

    async def handler(_request: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head())
        for number in range(count):
            writer.write(chunk(b"%d " % number))
            await taken.acquire()
        writer.write(LAST)

    server = await serve(handler, context=server_context(authority) if secure else None)
    transport = connect(server, certificate_authority=pem_of(authority) if secure else None)
    response = await transport.send(Request("GET", "/", is_stream=True))
    got: list[bytes] = []

    def take(piece: bytes) -> Demand:
        got.append(piece)
        taken.release()
        return Demand.MORE

    assert await response.read_into(take) is ReadOutcome.ENDED
    assert got == [b"%d " % number for number in range(count)]


# -- refusals --------------------------------------------------------------------------------


def refusing(error: Exception) -> Callable[[bytes], Demand]:
    def refuse(piece: bytes) -> Demand:
        raise error

    return refuse


async def test_exception_of_the_consumer_closes_the_connection(opened: Opened) -> None:
    server, response = opened
    error = LookupError("no")
    server.send(b"one")
    with pytest.raises(LookupError) as caught:
        await response.read_into(refusing(error))
    assert caught.value is error
    await asyncio.wait_for(server.is_left.wait(), 5)


@pytest.mark.parametrize("error", [OSError("no"), TimeoutError("no")], ids=["OSError", "timeout"])
async def test_error_of_the_consumer_is_not_converted(opened: Opened, error: Exception) -> None:
    server, response = opened
    server.send(b"one")
    with pytest.raises(type(error)) as caught:
        await response.read_into(refusing(error))
    assert caught.value is error
    await asyncio.wait_for(server.is_left.wait(), 5)


async def test_stop_iteration_of_the_consumer_closes_the_connection(opened: Opened) -> None:
    server, response = opened
    server.send(b"one")
    with pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(response.read_into(refusing(StopIteration())), 5)
    await asyncio.wait_for(server.is_left.wait(), 5)


async def test_read_after_an_exception_raises(opened: Opened) -> None:
    server, response = opened
    server.send(b"one")
    with pytest.raises(LookupError):
        await response.read_into(refusing(LookupError("no")))
    with pytest.raises((TransportError, StateError)):
        await read_all(response.read_into)


# -- ends ------------------------------------------------------------------------------------


async def test_stop_keeps_the_connection(opened: Opened) -> None:
    server, response = opened
    server.send(b"one")
    await read_next(response.read_into)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await server.is_left.wait()
    await response.close()
    await asyncio.wait_for(server.is_left.wait(), 5)


async def test_cancelled_read_closes_the_connection(opened: Opened) -> None:
    server, response = opened
    server.send(b"one")
    came = asyncio.Event()

    def take(piece: bytes) -> Demand:
        came.set()
        return Demand.MORE

    task = asyncio.create_task(response.read_into(take))
    await came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(server.is_left.wait(), 5)


async def test_read_after_a_cancelled_read_raises(opened: Opened) -> None:
    _, response = opened
    task = asyncio.create_task(response.read_into(lambda piece: Demand.MORE))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises((TransportError, StateError)):
        await read_all(response.read_into)


async def test_truncated_body_delivers_all_data_then_raises(
    opened: Opened,
) -> None:
    server, response = opened
    got: list[bytes] = []

    def take(piece: bytes) -> Demand:
        got.append(piece)
        server.cut()
        return Demand.MORE

    server.send(b"one")
    with pytest.raises(TransportError, match="/api/v1/pods"):
        await response.read_into(take)
    assert got == [b"one"]


async def test_read_of_a_truncated_body_raises_again(opened: Opened) -> None:
    server, response = opened
    server.send(b"one")
    server.cut()
    with pytest.raises(TransportError):
        await read_all(response.read_into)
    with pytest.raises((TransportError, StateError)):
        await read_all(response.read_into)


async def test_close_raises_in_the_reader(opened: Opened) -> None:
    server, response = opened
    came = asyncio.Event()

    def take(piece: bytes) -> Demand:
        came.set()
        return Demand.MORE

    server.send(b"one")
    task = asyncio.create_task(response.read_into(take))
    await came.wait()
    await response.close()
    with pytest.raises(TransportError, match="closed while being read"):
        await asyncio.wait_for(task, 5)
    await response.close()


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
async def test_late_body_raises(open_way: Open, packed: bool) -> None:
    server, response = await open_way(Way(packed=packed, limit=0.2))
    server.send(b"one")
    with pytest.raises(TransportError, match="the body did not end within the time given"):
        await asyncio.wait_for(read_all(response.read_into), 10)
    await asyncio.wait_for(server.is_left.wait(), 5)


@streams
async def test_end_of_body_closes_the_connection(opened: Opened) -> None:
    server, response = opened
    server.send(b"one")
    server.end()
    assert await read_all(response.read_into) == [b"one"]
    await asyncio.wait_for(server.is_left.wait(), 5)


# -- read once -------------------------------------------------------------------------------


async def read_it(response: Response) -> None:
    await response.read()


async def take_its_chunks(response: Response) -> None:
    async for _ in response.chunks():
        pass


@pytest.mark.parametrize("before", [read_it, take_its_chunks])
async def test_read_into_after_another_read_raises(
    opened: Opened, before: Callable[[Response], Awaitable[None]]
) -> None:
    server, response = opened
    server.send(b"one")
    server.end()
    await before(response)
    with pytest.raises(StateError, match="only once"):
        await response.read_into(lambda piece: Demand.STOP)


async def test_read_into_during_another_read_raises_and_keeps_it(opened: Opened) -> None:
    server, response = opened
    server.send(b"one")
    pieces = aiter(response.chunks())
    assert await anext(pieces) == b"one"
    with pytest.raises(StateError, match="only once"):
        await response.read_into(lambda piece: Demand.STOP)
    server.send(b"two")
    assert await anext(pieces) == b"two"
    await response.close()


@pytest.mark.parametrize("after", [read_it, take_its_chunks])
async def test_other_reads_after_read_into_raise(
    opened: Opened, after: Callable[[Response], Awaitable[None]]
) -> None:
    server, response = opened
    server.send(b"one")
    await read_next(response.read_into)
    with pytest.raises(StateError, match="only once"):
        await after(response)
    await response.close()
