"""A streamed list is read in large pieces, everything else at once."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kinform.testing import virtual_time
from kinform.transport._pacing import Pacing

LARGE = 512 * 1024
QUARTER = 256 * 1024  # of what is much
PATIENCE = 0.004


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def _low_water(connection: socket.socket) -> int:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


async def test_streamed_list_waits_for_more_but_not_long(
    connection: socket.socket,
) -> None:
    pacing = Pacing(connection)
    for _ in range(3):
        pacing.read(QUARTER)
        assert _low_water(connection) == 1
    pacing.read(QUARTER)
    assert _low_water(connection) == LARGE
    async with asyncio.timeout(10):
        while _low_water(connection) != 1:  # noqa: ASYNC110  # the system has no event for it
            await asyncio.sleep(0.001)


@virtual_time
async def test_what_comes_now_and_then_is_read_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pacing = Pacing(ours)
        for _ in range(1000):  # two hundred changes a second
            pacing.read(20 * 1024)
            await asyncio.sleep(0.005)
            assert _low_water(ours) == 1


@virtual_time
async def test_changes_are_read_at_once_however_many_come() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pacing = Pacing(ours)
        for _ in range(1000):  # a thousand a second
            pacing.read(10 * 1024)
            assert _low_water(ours) == 1
            await asyncio.sleep(0.001)


@virtual_time
async def test_with_a_latency_changes_are_read_a_few_at_a_time_until_they_ebb_away() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pacing = Pacing(ours, latency=PATIENCE)
        for _ in range(30):  # five hundred a second
            pacing.read(10 * 1024)
            await asyncio.sleep(0.002)
        assert _low_water(ours) == LARGE
        for _ in range(100):  # the same, read together
            pacing.read(25 * 1024)
            assert _low_water(ours) == LARGE
            await asyncio.sleep(0.005)
            assert _low_water(ours) == 1
        for _ in range(10):  # fifty a second
            pacing.read(10 * 1024)
            await asyncio.sleep(0.02)
        pacing.read(10 * 1024)
        assert _low_water(ours) == 1


async def test_as_long_as_much_comes_it_stays_so(connection: socket.socket) -> None:
    pacing = Pacing(connection)
    deadline = asyncio.get_running_loop().time() + 0.05
    for _ in range(4):
        pacing.read(LARGE)
    while asyncio.get_running_loop().time() < deadline:
        pacing.read(LARGE)
        assert _low_water(connection) == LARGE
        await asyncio.sleep(0)
    pacing.stop()
    assert _low_water(connection) == 1
    pacing.stop()


async def test_a_connection_that_is_gone_or_has_no_socket_is_left_alone(
    connection: socket.socket,
) -> None:
    for pacing in (Pacing(None), Pacing(connection)):
        connection.close()
        for _ in range(5):
            pacing.read(LARGE)
        pacing.stop()


# -- with somebody who can read ----------------------------------------------------------------


class Reader:
    """Reads what the test has put there, and tells the pacing of it."""

    def __init__(self, connection: socket.socket) -> None:
        self.pacing = Pacing(connection, self._read)
        self._lying: list[int] = []
        self.reads: list[int] = []
        self.looked: list[float] = []

    def put(self, size: int) -> None:
        self._lying.append(size)

    def _read(self) -> None:
        self.looked.append(asyncio.get_running_loop().time())
        if self._lying:
            size = sum(self._lying)
            self._lying.clear()
            self.reads.append(size)
            self.pacing.read(size)


class Marks(socket.socket):
    """Writes down each change of its low-water mark."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__(fileno=connection.detach())
        self.marks: list[int] = []

    def setsockopt(self, *option: Any) -> None:
        super().setsockopt(*option)
        self.marks.append(_low_water(self))


@pytest.fixture
def marks(connection: socket.socket) -> Iterator[Marks]:
    with Marks(connection) as marked:
        yield marked


@virtual_time
async def test_what_lies_there_when_patience_ends_is_read_and_the_mark_left_alone(
    marks: Marks,
) -> None:
    reader = Reader(marks)
    for _ in range(4):
        reader.pacing.read(QUARTER)
    assert marks.marks == [LARGE]
    for number in range(1, 6):
        reader.put(number)
        await asyncio.sleep(PATIENCE * (1 if reader.looked else 1.1))
        assert reader.reads[-1] == number
    assert marks.marks == [LARGE]
    reader.pacing.stop()


@virtual_time
async def test_when_nothing_lies_there_the_next_is_reported_at_once(marks: Marks) -> None:
    reader = Reader(marks)
    for _ in range(4):
        reader.pacing.read(QUARTER)
    await asyncio.sleep(1)
    assert reader.looked == pytest.approx([PATIENCE])  # once, and no timer goes on
    assert marks.marks == [LARGE, 1]


async def test_what_lies_there_long_after_the_flood_ends_the_waiting(marks: Marks) -> None:
    reader = Reader(marks)
    for _ in range(4):
        reader.pacing.read(QUARTER)
    reader.put(1)
    time.sleep(0.15)  # noqa: ASYNC251  # somebody keeps the loop from looking
    await asyncio.sleep(0.05)
    assert reader.reads == [1]
    assert len(reader.looked) == 1
    assert marks.marks == [LARGE, 1]


@virtual_time
async def test_what_comes_meanwhile_puts_the_look_off(marks: Marks) -> None:
    reader = Reader(marks)
    for _ in range(4):
        reader.pacing.read(QUARTER)
    await asyncio.sleep(PATIENCE * 0.9)
    reader.pacing.read(LARGE)
    await asyncio.sleep(PATIENCE * 0.9)
    assert reader.looked == []
    await asyncio.sleep(PATIENCE)
    assert reader.looked == pytest.approx([PATIENCE * 1.9])


@virtual_time
async def test_once_stopped_nothing_is_read_and_the_mark_is_as_it_was(marks: Marks) -> None:
    reader = Reader(marks)
    for _ in range(4):
        reader.pacing.read(QUARTER)
    reader.put(1)
    reader.pacing.stop()
    await asyncio.sleep(1)
    assert reader.looked == []
    assert marks.marks == [LARGE, 1]


@virtual_time
async def test_a_reader_may_stop_it_while_it_reads(marks: Marks) -> None:
    pacing = Pacing(marks, lambda: pacing.stop())
    for _ in range(4):
        pacing.read(QUARTER)
    await asyncio.sleep(1)
    assert marks.marks == [LARGE, 1]
