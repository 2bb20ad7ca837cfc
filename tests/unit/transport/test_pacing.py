"""A list that pours in is read in large pieces, everything else at once."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from kinform.testing import virtual_time
from kinform.transport._pacing import Pacing

LARGE = 512 * 1024
QUARTER = 256 * 1024  # of what is much


class _Transport(asyncio.BaseTransport):
    """One that knows its socket, and nothing else."""

    def __init__(self, connection: object) -> None:
        super().__init__({"socket": connection})


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def _low_water(connection: socket.socket) -> int:
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT)


async def test_a_list_that_pours_in_is_waited_for_but_not_for_long(
    connection: socket.socket,
) -> None:
    pacing = Pacing(_Transport(connection))
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
        pacing = Pacing(_Transport(ours))
        for _ in range(1000):  # two hundred changes a second
            pacing.read(20 * 1024)
            await asyncio.sleep(0.005)
            assert _low_water(ours) == 1


@virtual_time
async def test_hundreds_of_changes_a_second_are_read_a_few_at_a_time_until_they_ebb_away() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        pacing = Pacing(_Transport(ours))
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
    pacing = Pacing(_Transport(connection))
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
    for pacing in (Pacing(_Transport(None)), Pacing(_Transport(connection))):
        connection.close()
        for _ in range(5):
            pacing.read(LARGE)
        pacing.stop()
