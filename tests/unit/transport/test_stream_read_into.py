"""Reading a stream with ``read_into``: in the callback, nothing twice, nothing lost."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform._runtime import Demand, ReadOutcome
from kinform.testing import virtual_time
from kinform.transport._http_stream import HttpStream
from tests.support.held_connection import HeldConnection
from tests.support.reading import read_all, read_next
from tests.support.waiting import wait_until
from tests.support.wire import chunk, stream_head

LAST = chunk(b"")
BUSY = 30
"""So many pieces at once are a flood, of which a few more are worth waiting for."""

PATIENCE = 0.004


def opened() -> tuple[HttpStream, HeldConnection]:
    """A stream whose head has come."""
    stream = HttpStream()
    connection = HeldConnection(stream)
    connection.deliver(stream_head())
    return stream, connection


class Collector:
    """Collects pieces, and answers STOP from the piece number ``enough`` on."""

    def __init__(self, enough: int = 1_000_000) -> None:
        self.pieces: list[bytes] = []
        self._enough = enough

    def __call__(self, piece: bytes) -> Demand:
        self.pieces.append(piece)
        return Demand.STOP if len(self.pieces) >= self._enough else Demand.MORE


async def reading(
    stream: HttpStream, consumer: Callable[[bytes], Demand]
) -> asyncio.Task[ReadOutcome]:
    """Return a task that waits for data."""
    task = asyncio.create_task(stream.read_into(consumer))
    await asyncio.sleep(0)
    return task


# -- pieces ----------------------------------------------------------------------------------


async def test_piece_reaches_the_consumer_in_the_callback() -> None:
    stream, connection = opened()
    collector = Collector()
    task = await reading(stream, collector)
    connection.deliver(chunk(b"one"))
    assert collector.pieces == [b"one"]
    connection.deliver(chunk(b"two"))
    assert collector.pieces == [b"one", b"two"]
    await asyncio.sleep(0)
    assert not task.done()
    connection.deliver(LAST)
    assert await task is ReadOutcome.ENDED


async def test_earlier_data_comes_first() -> None:
    stream, connection = opened()
    connection.deliver(chunk(b"one"))
    connection.deliver(chunk(b"two"))
    collector = Collector()
    task = await reading(stream, collector)
    assert b"".join(collector.pieces) == b"onetwo"
    connection.deliver(chunk(b"three"))
    assert b"".join(collector.pieces) == b"onetwothree"
    connection.deliver(LAST)
    assert await task is ReadOutcome.ENDED


async def test_data_after_stop_waits_for_the_next_read() -> None:
    stream, connection = opened()
    collector = Collector(enough=2)
    task = await reading(stream, collector)
    for piece in (b"one", b"two", b"three", b"four"):
        connection.deliver(chunk(piece))
    assert collector.pieces == [b"one", b"two"]
    assert await task is ReadOutcome.STOPPED
    connection.deliver(chunk(b"five") + LAST)
    assert collector.pieces == [b"one", b"two"]
    assert b"".join(await read_all(stream.read_into)) == b"threefourfive"


async def test_stop_on_earlier_data_ends_the_read() -> None:
    stream, connection = opened()
    connection.deliver(chunk(b"one"))
    assert await read_next(stream.read_into) == b"one"
    connection.deliver(chunk(b"two"))
    assert await read_next(stream.read_into) == b"two"


async def test_consumer_may_change_between_reads() -> None:
    stream, connection = opened()
    first, second = Collector(enough=1), Collector()
    task = await reading(stream, first)
    connection.deliver(chunk(b"one"))
    await task
    task = await reading(stream, second)
    connection.deliver(chunk(b"two") + LAST)
    assert await task is ReadOutcome.ENDED
    assert (first.pieces, second.pieces) == ([b"one"], [b"two"])


async def test_next_piece_continues_after_read_into() -> None:
    stream, connection = opened()
    collector = Collector(enough=1)
    task = await reading(stream, collector)
    connection.deliver(chunk(b"one"))
    await task
    next_piece = asyncio.create_task(stream.next_piece())
    await asyncio.sleep(0)
    connection.deliver(chunk(b"two"))
    assert await asyncio.wait_for(next_piece, 5) == b"two"
    assert collector.pieces == [b"one"]


@given(
    st.lists(st.binary(min_size=1, max_size=2000), max_size=20),
    st.lists(st.integers(min_value=1, max_value=500), min_size=1),
    st.lists(st.integers(min_value=1, max_value=4), min_size=1),
)
def test_any_chunks_in_any_reads_arrive_complete(
    chunks: Sequence[bytes], reads: Sequence[int], stops: Sequence[int]
) -> None:
    async def run() -> None:
        stream, connection = opened()
        collected: list[bytes] = []

        async def read_on() -> None:
            for turn in range(10_000):
                collector = Collector(enough=stops[turn % len(stops)])
                outcome = await stream.read_into(collector)
                collected.extend(collector.pieces)
                if outcome is ReadOutcome.ENDED:
                    return

        task = asyncio.create_task(read_on())
        wire = b"".join(map(chunk, chunks)) + LAST
        start = turn = 0
        while start < len(wire):
            size = reads[turn % len(reads)]
            connection.deliver(wire[start : start + size])
            start, turn = start + size, turn + 1
            if turn % 3:
                await asyncio.sleep(0)
        await asyncio.wait_for(task, 5)
        assert b"".join(collected) == b"".join(chunks)

    asyncio.run(run())


# -- refusals --------------------------------------------------------------------------------


def refusing(error: BaseException) -> Callable[[bytes], Demand]:
    def consume(piece: bytes) -> Demand:
        raise error

    return consume


@pytest.mark.parametrize("early", [False, True], ids=["as it comes", "come before"])
@pytest.mark.parametrize("error", [LookupError("no"), OSError("no"), StopAsyncIteration("no")])
async def test_exception_of_the_consumer_is_raised_by_read_into(
    error: Exception, early: bool
) -> None:
    stream, connection = opened()
    if early:
        connection.deliver(chunk(b"one"))
    task = await reading(stream, refusing(error))
    if not early:
        connection.deliver(chunk(b"one"))
    with pytest.raises(type(error)) as caught:
        await asyncio.wait_for(task, 5)
    assert caught.value is error


@pytest.mark.parametrize("early", [False, True], ids=["as it comes", "come before"])
async def test_stop_iteration_of_the_consumer_becomes_a_runtime_error(early: bool) -> None:
    stream, connection = opened()
    if early:
        connection.deliver(chunk(b"one"))
    task = await reading(stream, refusing(StopIteration("no")))
    if not early:
        connection.deliver(chunk(b"one"))
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        await asyncio.wait_for(task, 5)
    assert isinstance(caught.value.__cause__, StopIteration)


async def test_cancellation_raised_by_the_consumer_reaches_the_reader() -> None:
    stream, connection = opened()
    task = await reading(stream, refusing(asyncio.CancelledError("no")))
    connection.deliver(chunk(b"one"))
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


async def test_exception_is_raised_once_and_later_data_is_kept() -> None:
    stream, connection = opened()
    task = await reading(stream, refusing(LookupError("no")))
    for piece in (b"one", b"two"):
        connection.deliver(chunk(piece))
    with pytest.raises(LookupError):
        await task
    connection.deliver(chunk(b"three") + LAST)
    assert b"".join(await read_all(stream.read_into)) == b"twothree"


async def test_exception_on_the_last_piece_comes_before_the_end() -> None:
    stream, connection = opened()
    task = await reading(stream, refusing(LookupError("no")))
    connection.deliver(chunk(b"one") + LAST)
    with pytest.raises(LookupError):
        await task
    assert await read_all(stream.read_into) == []


# -- ends ------------------------------------------------------------------------------------


async def test_end_is_reported_to_every_later_read() -> None:
    stream, connection = opened()
    connection.deliver(chunk(b"one") + LAST)
    assert await read_all(stream.read_into) == [b"one"]
    assert await read_all(stream.read_into) == []
    assert await read_all(stream.read_into) == []


async def test_stop_on_the_last_piece_is_not_the_end() -> None:
    stream, connection = opened()
    collector = Collector(enough=1)
    task = await reading(stream, collector)
    connection.deliver(chunk(b"one") + LAST)
    assert await task is ReadOutcome.STOPPED
    assert await read_next(stream.read_into) is None


@pytest.mark.parametrize("early", [False, True], ids=["as it comes", "come before"])
async def test_lost_connection_delivers_all_data_then_raises(early: bool) -> None:
    stream, connection = opened()
    collector = Collector()
    task = None if early else await reading(stream, collector)
    connection.deliver(chunk(b"one"))
    stream.connection_lost(ConnectionResetError("cut"))
    with pytest.raises(ConnectionResetError, match="cut"):
        await (task or stream.read_into(collector))
    assert collector.pieces == [b"one"]
    with pytest.raises(ConnectionResetError, match="cut"):
        await stream.read_into(collector)


async def test_malformed_rest_delivers_all_data_then_raises() -> None:
    stream, connection = opened()
    collector = Collector()
    task = await reading(stream, collector)
    connection.deliver(chunk(b"one"))
    connection.deliver(b"rubbish\r\n")
    with pytest.raises(Exception, match="rubbish"):
        await task
    assert collector.pieces == [b"one"]
    assert connection.is_dropped


async def test_close_raises_in_the_reader() -> None:
    stream, _ = opened()
    task = await reading(stream, Collector())
    stream.close()
    with pytest.raises(ConnectionAbortedError, match="closed while being read"):
        await task


async def test_consumer_may_close_the_stream() -> None:
    stream, connection = opened()

    def consume(piece: bytes) -> Demand:
        stream.close()
        return Demand.MORE

    task = await reading(stream, consume)
    connection.deliver(chunk(b"one"))
    with pytest.raises(ConnectionAbortedError):
        await asyncio.wait_for(task, 5)


# -- cancellation ----------------------------------------------------------------------------


async def test_cancelled_read_consumes_no_more_and_loses_nothing() -> None:
    stream, connection = opened()
    collector = Collector()
    task = await reading(stream, collector)
    connection.deliver(chunk(b"one"))
    task.cancel()
    connection.deliver(chunk(b"two"))  # before the task has heard of it
    with pytest.raises(asyncio.CancelledError):
        await task
    connection.deliver(chunk(b"three") + LAST)
    assert collector.pieces == [b"one"]
    assert b"".join(await read_all(stream.read_into)) == b"twothree"


@pytest.mark.parametrize(
    "answer",
    [lambda _: Demand.STOP, refusing(LookupError("no"))],
    ids=["it had enough", "it was refused"],
)
async def test_read_cancelled_after_its_answer_leaves_no_state(
    answer: Callable[[bytes], Demand],
) -> None:
    stream, connection = opened()
    task = await reading(stream, answer)
    connection.deliver(chunk(b"one"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    task = await reading(stream, Collector())
    connection.deliver(LAST)
    assert await task is ReadOutcome.ENDED


# -- the server waits ------------------------------------------------------------------------


async def test_server_is_paused_while_there_is_no_reader() -> None:
    stream, connection = opened()
    assert await_flood(connection) < 2_000_000
    collector = Collector()
    task = await reading(stream, collector)
    assert not connection.has_to_wait()
    for _ in range(50):
        connection.deliver(chunk(b"x" * 100_000))
        assert not connection.has_to_wait()
    connection.deliver(LAST)
    assert await task is ReadOutcome.ENDED


async def test_server_is_paused_after_stop() -> None:
    stream, connection = opened()
    task = await reading(stream, Collector(enough=1))
    held = await_flood(connection) - 100_000  # the first was taken
    assert await task is ReadOutcome.STOPPED
    assert connection.has_to_wait()
    found = await read_next(stream.read_into)
    assert found is not None
    assert len(found) == held
    assert not connection.has_to_wait()


def await_flood(connection: HeldConnection) -> int:
    """Deliver until the server has to wait; how much that was."""
    held = 0
    while not connection.has_to_wait() and held < 5_000_000:
        connection.deliver(chunk(b"x" * 100_000))
        held += 100_000
    assert connection.has_to_wait()
    return held


# -- pacing ----------------------------------------------------------------------------------


def low_water(connection: socket.socket) -> int:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


@pytest.mark.skipif(sys.platform != "linux", reason="pacing is for Linux")
async def test_data_below_the_mark_is_delivered_when_patience_ends() -> None:
    """Over TCP: the system must report data that waited in the socket."""
    ours, theirs = await _connected()
    stream = HttpStream()
    try:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: stream, sock=ours)
        stream.pace(ours)
        received = 0
        last = asyncio.Event()

        def count(piece: bytes) -> Demand:
            nonlocal received
            received += len(piece)
            if piece.endswith(b"last"):
                last.set()
            return Demand.MORE

        task = await reading(stream, count)
        await loop.sock_sendall(theirs, stream_head())
        sent = 0
        for _ in range(50):  # until the stream has seen so much at once that it waits for more
            await loop.sock_sendall(theirs, chunk(b"." * 2_000_000))
            sent += 2_000_000
            await wait_until(partial(lambda total: received == total, sent))
            if low_water(ours) > 1:
                break
        assert low_water(ours) > 1
        await loop.sock_sendall(theirs, chunk(b"last"))
        await asyncio.wait_for(last.wait(), 10)
        await wait_until(lambda: low_water(ours) == 1)
    finally:
        stream.close()
        theirs.close()
    with pytest.raises(ConnectionAbortedError):
        await task


async def _connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    for end in (ours, theirs):
        end.setblocking(False)
    return ours, theirs


@pytest.mark.parametrize("why", ["closed", "lost", "over"])
@virtual_time
async def test_mark_is_restored_when_the_stream_ends(why: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream, connection = opened()
        stream.pace(ours, latency=PATIENCE)
        for _ in range(BUSY):
            connection.deliver(chunk(b"."))
        assert low_water(ours) > 1
        if why == "closed":
            stream.close()
        elif why == "lost":
            stream.connection_lost(None)
        else:
            connection.deliver(LAST)
        assert low_water(ours) == 1
