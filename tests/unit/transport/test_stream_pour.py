"""A stream that pours: each piece where it comes, none twice, none lost, and no task in between."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinform._runtime import Demand, ReadOutcome
from kinform.testing import virtual_time
from kinform.transport._http_stream import HttpStream
from tests.support.held_connection import HeldConnection
from tests.support.reading import read_all, read_next
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


async def test_a_piece_is_handed_on_where_it_comes_before_anybody_is_woken() -> None:
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


async def test_what_came_before_is_given_first() -> None:
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


async def test_what_comes_after_enough_waits_for_the_next_to_pour() -> None:
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


async def test_enough_of_what_came_before_is_enough_too() -> None:
    stream, connection = opened()
    connection.deliver(chunk(b"one"))
    assert await read_next(stream.read_into) == b"one"
    connection.deliver(chunk(b"two"))
    assert await read_next(stream.read_into) == b"two"


async def test_who_pours_may_change_from_one_time_to_the_next() -> None:
    stream, connection = opened()
    first, second = Collector(enough=1), Collector()
    task = await reading(stream, first)
    connection.deliver(chunk(b"one"))
    await task
    task = await reading(stream, second)
    connection.deliver(chunk(b"two") + LAST)
    assert await task is ReadOutcome.ENDED
    assert (first.pieces, second.pieces) == ([b"one"], [b"two"])


async def test_who_reads_piece_by_piece_after_who_collected_gets_the_pieces() -> None:
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
def test_whatever_comes_in_whatever_reads_pours_out_whole(
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
async def test_what_who_takes_it_raises_is_raised_by_pour(error: Exception, early: bool) -> None:
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
async def test_one_that_no_coroutine_may_raise_is_an_error_and_no_silence(early: bool) -> None:
    stream, connection = opened()
    if early:
        connection.deliver(chunk(b"one"))
    task = await reading(stream, refusing(StopIteration("no")))
    if not early:
        connection.deliver(chunk(b"one"))
    with pytest.raises(RuntimeError, match="StopIteration") as caught:
        await asyncio.wait_for(task, 5)
    assert isinstance(caught.value.__cause__, StopIteration)


async def test_a_cancellation_that_who_takes_it_raises_reaches_the_reader() -> None:
    stream, connection = opened()
    task = await reading(stream, refusing(asyncio.CancelledError("no")))
    connection.deliver(chunk(b"one"))
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 5)


async def test_a_refusal_is_told_once_and_what_comes_after_it_is_kept() -> None:
    stream, connection = opened()
    task = await reading(stream, refusing(LookupError("no")))
    for piece in (b"one", b"two"):
        connection.deliver(chunk(piece))
    with pytest.raises(LookupError):
        await task
    connection.deliver(chunk(b"three") + LAST)
    assert b"".join(await read_all(stream.read_into)) == b"twothree"


async def test_a_refusal_of_the_last_piece_comes_before_the_end() -> None:
    stream, connection = opened()
    task = await reading(stream, refusing(LookupError("no")))
    connection.deliver(chunk(b"one") + LAST)
    with pytest.raises(LookupError):
        await task
    assert await read_all(stream.read_into) == []


# -- ends ------------------------------------------------------------------------------------


async def test_the_end_is_told_again_to_who_asks_again() -> None:
    stream, connection = opened()
    connection.deliver(chunk(b"one") + LAST)
    assert await read_all(stream.read_into) == [b"one"]
    assert await read_all(stream.read_into) == []
    assert await read_all(stream.read_into) == []


async def test_enough_with_the_last_piece_is_not_yet_the_end() -> None:
    stream, connection = opened()
    collector = Collector(enough=1)
    task = await reading(stream, collector)
    connection.deliver(chunk(b"one") + LAST)
    assert await task is ReadOutcome.STOPPED
    assert await read_next(stream.read_into) is None


@pytest.mark.parametrize("early", [False, True], ids=["as it comes", "come before"])
async def test_a_connection_that_breaks_gives_all_that_came_and_then_its_error(early: bool) -> None:
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


async def test_an_answer_that_turns_into_rubbish_gives_all_that_came_and_then_an_error() -> None:
    stream, connection = opened()
    collector = Collector()
    task = await reading(stream, collector)
    connection.deliver(chunk(b"one"))
    connection.deliver(b"rubbish\r\n")
    with pytest.raises(Exception, match="rubbish"):
        await task
    assert collector.pieces == [b"one"]
    assert connection.is_dropped


async def test_closing_wakes_who_pours_and_is_never_the_end() -> None:
    stream, _ = opened()
    task = await reading(stream, Collector())
    stream.close()
    with pytest.raises(ConnectionAbortedError, match="closed while it was being read"):
        await task


async def test_who_takes_a_piece_may_close_the_stream() -> None:
    stream, connection = opened()

    def consume(piece: bytes) -> Demand:
        stream.close()
        return Demand.MORE

    task = await reading(stream, consume)
    connection.deliver(chunk(b"one"))
    with pytest.raises(ConnectionAbortedError):
        await asyncio.wait_for(task, 5)


# -- cancellation ----------------------------------------------------------------------------


async def test_a_cancelled_pour_takes_nothing_more_and_loses_nothing() -> None:
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
async def test_a_pour_that_is_cancelled_after_its_answer_leaves_no_trace(
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


async def test_the_server_waits_while_nobody_pours_and_goes_on_when_somebody_does() -> None:
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


async def test_the_server_waits_too_when_who_pours_had_enough() -> None:
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


# -- pieces that are worth it ----------------------------------------------------------------


def low_water(connection: socket.socket) -> int:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


def flooded(ours: socket.socket) -> tuple[HttpStream, HeldConnection]:
    """A stream over this socket that has just read so much that it waits for more."""
    ours.setblocking(False)
    stream, connection = opened()
    stream.pace(ours, stream, latency=PATIENCE)
    for _ in range(BUSY):
        connection.deliver(chunk(b"."))
    assert low_water(ours) > 1
    return stream, connection


@virtual_time
async def test_what_lies_in_the_socket_when_patience_ends_is_read_there_and_then() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream, _ = flooded(ours)
        assert await read_next(stream.read_into) == b"." * BUSY
        collector = Collector()
        task = await reading(stream, collector)
        for number in range(5):
            theirs.send(chunk(b"%d" % number))
            assert len(collector.pieces) == number
            await asyncio.sleep(PATIENCE * (1 if number else 1.1))
            assert collector.pieces[number:] == [b"%d" % number]
            assert low_water(ours) > 1
        await asyncio.sleep(0.01)
        assert low_water(ours) == 1
        stream.close()
        with pytest.raises(ConnectionAbortedError):
            await task


@virtual_time
async def test_an_error_of_the_socket_when_patience_ends_is_the_streams() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        theirs, _ = listener.accept()
    with ours, theirs:
        stream, connection = flooded(ours)
        collector = Collector()
        task = await reading(stream, collector)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()  # which resets it
        await asyncio.sleep(0.01)
        assert connection.is_dropped
        with pytest.raises(ConnectionResetError):
            await task
        assert collector.pieces == [b"." * BUSY]


@virtual_time
async def test_the_end_of_a_connection_is_left_to_the_loop() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream, connection = flooded(ours)
        await read_next(stream.read_into)
        task = await reading(stream, Collector())
        theirs.close()
        await asyncio.sleep(0.01)
        assert not connection.is_dropped
        assert not task.done()
        assert low_water(ours) == 1  # so it hears of it
        stream.close()
        with pytest.raises(ConnectionAbortedError):
            await task


@pytest.mark.parametrize("why", ["paused", "closed", "lost", "over"])
@virtual_time
async def test_a_stream_that_wants_nothing_reads_nothing_when_patience_ends(why: str) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream, connection = flooded(ours)
        if why == "paused":
            await_flood(connection)
        elif why == "closed":
            stream.close()
        elif why == "lost":
            stream.connection_lost(None)
        else:
            connection.deliver(LAST)
        theirs.send(b"more")
        await asyncio.sleep(0.01)
        assert low_water(ours) == 1
        assert ours.recv(100) == b"more"
