"""The faulty proxy of the benchmark does to connections what its commands say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

import pytest

from benchmarks.faults.link import Link
from benchmarks.faults.proxy import Proxy, chosen
from tests.support.waiting import wait_until

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

# Long enough for a few bytes on loopback; what is late for another reason only weakens the test.
SILENCE = 0.05


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def echo_server() -> AsyncIterator[int]:
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


class TestedProxy(Proxy):
    """A proxy with clients, whose connections end with the test."""

    __test__ = False

    def __init__(self, server_port: int, ports: int) -> None:
        super().__init__(server_port, ports)
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self, port: int = 0) -> Connection:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[port].number)
        self._writers.append(writer)
        return reader, writer

    async def stop(self) -> None:
        await self.obey({"do": "refuse"})
        for writer in self._writers:
            writer.close()
        await wait_until(lambda: not any(port.links for port in self.ports))


@pytest.fixture
async def proxy() -> AsyncIterator[TestedProxy]:
    """Two ports before an echo server."""
    async with echo_server() as port:
        proxy = TestedProxy(port, 2)
        await proxy.start()
        yield proxy
        await proxy.stop()


async def ask(connection: Connection, data: bytes) -> bytes:
    reader, writer = connection
    writer.write(data)
    return await reader.readexactly(len(data))


async def is_silent(connection: Connection) -> bool:
    reader, writer = connection
    writer.write(b"anybody?")
    try:
        await asyncio.wait_for(reader.read(1), SILENCE)
    except TimeoutError:
        return True
    return False


async def test_bytes_pass_unchanged_and_are_counted_per_port(proxy: TestedProxy) -> None:
    data = bytes(range(256)) * 4000
    assert await ask(await proxy.connect(0), data) == data
    assert await ask(await proxy.connect(1), b"few") == b"few"
    answer = await proxy.obey({"do": "stats"})
    assert answer["ports"] == [
        {"connections": 1, "to_client": len(data), "to_server": len(data)},
        {"connections": 1, "to_client": 3, "to_server": 3},
    ]


async def test_end_of_data_passes_through(proxy: TestedProxy) -> None:
    reader, writer = await proxy.connect()
    writer.write(b"last words")
    writer.write_eof()
    assert await reader.read() == b"last words"
    await wait_until(lambda: not proxy.ports[0].links)


async def test_reset_hits_all_connections_of_all_ports(proxy: TestedProxy) -> None:
    connections = [await proxy.connect(port) for port in (0, 0, 1)]
    for connection in connections:
        await ask(connection, b"x")
    await proxy.obey({"do": "reset", "share": 1.0, "seed": 0})
    for reader, _ in connections:
        with pytest.raises(ConnectionResetError):
            await reader.read(1)
    assert await ask(await proxy.connect(), b"again") == b"again"


async def test_connection_is_cut_after_exactly_so_many_bytes(proxy: TestedProxy) -> None:
    await proxy.obey({"do": "set", "cut_after": 1000})
    reader, writer = await proxy.connect()
    assert await ask((reader, writer), b"x" * 900) == b"x" * 900
    writer.write(b"y" * 900)
    assert await reader.readexactly(100) == b"y" * 100
    with pytest.raises(ConnectionResetError):
        await reader.read(1)


async def test_stalled_bytes_arrive_after_the_stall(proxy: TestedProxy) -> None:
    connection = await proxy.connect()
    await ask(connection, b"x")
    await proxy.obey({"do": "stall"})
    assert await is_silent(connection)
    late = await proxy.connect()
    assert await is_silent(late)
    await proxy.obey({"do": "resume"})
    for reader, _ in (connection, late):
        assert await reader.readexactly(8) == b"anybody?"


async def test_half_open_connection_stays_silent_while_new_ones_work(proxy: TestedProxy) -> None:
    connection = await proxy.connect()
    await ask(connection, b"x")
    await proxy.obey({"do": "half_open"})
    assert await is_silent(connection)
    assert await ask(await proxy.connect(), b"new") == b"new"
    assert await is_silent(connection)


async def test_closed_port_refuses_and_opens_again_at_the_same_number(proxy: TestedProxy) -> None:
    reader, _ = connection = await proxy.connect()
    await ask(connection, b"x")
    await proxy.obey({"do": "refuse"})
    with pytest.raises(ConnectionResetError):
        await reader.read(1)
    with pytest.raises(ConnectionRefusedError):
        await proxy.connect()
    await proxy.obey({"do": "accept"})
    assert await ask(await proxy.connect(), b"back") == b"back"


async def test_connection_is_closed_in_order_at_the_end_of_its_lifetime(proxy: TestedProxy) -> None:
    await proxy.obey({"do": "set", "lifetime": 0.05})
    reader, _ = await proxy.connect()
    assert await reader.read() == b""


async def test_lifetime_counts_for_connections_that_are_open_already(proxy: TestedProxy) -> None:
    reader, _ = connection = await proxy.connect()
    await ask(connection, b"x")
    await proxy.obey({"do": "set", "lifetime": 0.05})
    assert await reader.read() == b""


async def test_slow_connection_takes_as_long_as_its_rate_says(proxy: TestedProxy) -> None:
    await proxy.obey({"do": "set", "bytes_per_second": 1_000_000})
    loop = asyncio.get_running_loop()
    began = loop.time()
    data = b"x" * 300_000
    assert await ask(await proxy.connect(), data) == data
    # The last piece that is read, of at most 256 KiB, is not waited for.
    assert loop.time() - began > (len(data) - 262_144) / 1_000_000


async def test_client_is_reset_when_the_server_is_down() -> None:
    async with echo_server() as port:
        pass
    proxy = TestedProxy(port, 1)
    await proxy.start()
    reader, _ = await proxy.connect()
    with pytest.raises(ConnectionResetError):
        await reader.read(1)
    await proxy.stop()


class _IdleLink:
    def __init__(self, last_data: float) -> None:
        self.last_data = last_data


def _links(*last_data: float) -> list[Link]:
    return [cast(Link, _IdleLink(at)) for at in last_data]


@pytest.mark.parametrize("seed", range(20))
def test_reset_of_half_treats_the_busiest_link_of_each_watcher_alike(seed: int) -> None:
    watch = 9.0
    alone = chosen(_links(watch), 0.5, seed)
    with_idle_ones = chosen(_links(1.0, watch, 2.0), 0.5, seed)
    assert bool(alone) == any(link.last_data == watch for link in with_idle_ones)


def test_reset_of_half_hits_about_half() -> None:
    hit = sum(len(chosen(_links(1.0), 0.5, seed)) for seed in range(1000))
    assert 400 < hit < 600
