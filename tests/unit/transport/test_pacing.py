"""A streamed list is read in large pieces, everything else at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from kinform.testing import virtual_time
from kinform.transport._pacing import Pacing

LARGE = 512 * 1024
QUARTER = 256 * 1024  # of what is much
PATIENCE = 0.008


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
        pacing = Pacing(ours, latency=0.004)
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


# -- the mark ----------------------------------------------------------------------------------


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
async def test_mark_is_restored_once_when_patience_ends(marks: Marks) -> None:
    pacing = Pacing(marks)
    for _ in range(4):
        pacing.read(QUARTER)
    assert marks.marks == [LARGE]
    await asyncio.sleep(PATIENCE * 0.9)
    assert marks.marks == [LARGE]
    await asyncio.sleep(PATIENCE * 0.2)
    assert marks.marks == [LARGE, 1]
    await asyncio.sleep(1)  # no timer goes on
    assert marks.marks == [LARGE, 1]


@virtual_time
async def test_read_during_patience_extends_it(marks: Marks) -> None:
    pacing = Pacing(marks)
    for _ in range(4):
        pacing.read(QUARTER)
    await asyncio.sleep(PATIENCE * 0.9)
    pacing.read(LARGE)
    await asyncio.sleep(PATIENCE * 0.9)
    assert marks.marks == [LARGE]
    await asyncio.sleep(PATIENCE * 0.2)
    assert marks.marks == [LARGE, 1]


@virtual_time
async def test_read_after_patience_waits_again_while_much_arrives(marks: Marks) -> None:
    pacing = Pacing(marks)
    for _ in range(4):
        pacing.read(QUARTER)
    await asyncio.sleep(PATIENCE * 1.1)
    pacing.read(1)
    assert marks.marks == [LARGE, 1, LARGE]
    await asyncio.sleep(1)
    pacing.read(1)  # long after the list
    assert marks.marks == [LARGE, 1, LARGE, 1]


@virtual_time
async def test_stop_restores_the_mark_and_ends_the_timer(marks: Marks) -> None:
    pacing = Pacing(marks)
    for _ in range(4):
        pacing.read(QUARTER)
    pacing.stop()
    assert marks.marks == [LARGE, 1]
    await asyncio.sleep(1)
    assert marks.marks == [LARGE, 1]
