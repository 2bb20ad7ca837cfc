"""After every way to end, no task, thread or socket of a manager is left."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from kinform import Cache, Client
from kinform.controllers import Context, Controller, LeaderElector, Manager, Request
from kinform.errors import (
    CacheSyncError,
    ControllerError,
    LeadershipLostError,
    ShutdownTimeoutError,
)
from kinform.models.coordination.v1 import Lease
from kinform.models.core.v1 import ConfigMap
from kinform.testing import BlockingApiServer, faults
from tests.support.config_maps import config_map
from tests.support.informer_sources import QUICK
from tests.support.waiting import wait_until


class Program:
    """A manager with all that it can have: server, election, a controller that holds a key."""

    def __init__(self, client: Client, **options: Any) -> None:
        self.client = client
        self.reconciling = threading.Event()
        self.may_finish = threading.Event()
        self.elector = LeaderElector(
            client, "it", lease_duration=2, renew_deadline=1, retry_period=0.1
        )
        cache = Cache(client, kinds=[ConfigMap], options=QUICK)
        self.manager = Manager(
            client, **{"cache": cache, "election": self.elector, "address": ":0", **options}
        )
        self.manager.add(Controller("held", self._hold, for_=ConfigMap))
        self.manager.add(Controller("threads", self._hold_thread, for_=ConfigMap))

    async def _hold(self, request: Request, context: Context[Any]) -> None:
        self.reconciling.set()
        while not self.may_finish.is_set():  # noqa: ASYNC110  # set by a plain thread, too
            await asyncio.sleep(0.01)

    def _hold_thread(self, request: Request, context: Context[Any]) -> None:
        self.may_finish.wait()

    async def run_until_it_works(self) -> asyncio.Task[None]:
        running = asyncio.create_task(self.manager.run())
        await wait_until(self.reconciling.is_set)
        return running


async def stop(client: Client, server: BlockingApiServer) -> None:
    program = Program(client)
    running = await program.run_until_it_works()
    program.manager.stop()
    program.may_finish.set()
    await running


async def cancel(client: Client, server: BlockingApiServer) -> None:
    program = Program(client)
    running = await program.run_until_it_works()
    program.may_finish.set()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def grace_expired(client: Client, server: BlockingApiServer) -> None:
    program = Program(client, grace=0.2)
    running = await program.run_until_it_works()
    program.manager.stop()
    asyncio.get_running_loop().call_later(0.5, program.may_finish.set)
    with pytest.raises(ShutdownTimeoutError):
        await running


async def no_grace(client: Client, server: BlockingApiServer) -> None:
    program = Program(client, grace=0)
    running = await program.run_until_it_works()
    program.manager.stop()
    asyncio.get_running_loop().call_later(0.2, program.may_finish.set)
    await running


async def port_in_use(client: Client, server: BlockingApiServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        program = Program(client, address=f"127.0.0.1:{other.getsockname()[1]}")
        with pytest.raises(ControllerError, match="cannot listen"):
            await program.manager.run()


async def failed_start(client: Client, server: BlockingApiServer) -> None:
    with server.faults.inject(faults.forbidden(), resource="configmaps", times=None):
        program = Program(client, sync_timeout=0.2)
        with pytest.raises(CacheSyncError):
            await program.manager.run()


async def stop_while_starting(client: Client, server: BlockingApiServer) -> None:
    with server.faults.inject(faults.forbidden(), resource="configmaps", times=None):
        program = Program(client)
        running = asyncio.create_task(program.manager.run())
        await wait_until(lambda: "orbidden" in str(program.manager.cache.health()))
        program.manager.stop()
        await running


async def failed_component(client: Client, server: BlockingApiServer) -> None:
    program = Program(client)
    running = await program.run_until_it_works()

    async def broken() -> None:
        program.may_finish.set()
        raise RuntimeError("disk full")

    program.manager.add(broken)
    with pytest.raises(RuntimeError, match="disk full"):
        await running


async def lost_lease(client: Client, server: BlockingApiServer) -> None:
    program = Program(client, exit_on_lost_lease=True)
    running = await program.run_until_it_works()
    program.may_finish.set()
    lease = (await client.get(Lease, "it")).copy()
    lease.spec.holder_identity = "thief"
    await client.update(lease)
    with pytest.raises(LeadershipLostError):
        await running


PATHS: list[Callable[[Client, BlockingApiServer], Awaitable[None]]] = [
    stop,
    cancel,
    grace_expired,
    no_grace,
    port_in_use,
    failed_start,
    stop_while_starting,
    failed_component,
    lost_lease,
]


@pytest.fixture
def server(kinform_server: BlockingApiServer) -> BlockingApiServer:
    kinform_server.create(config_map("a"))
    return kinform_server


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="sockets cannot be counted here")
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
async def test_nothing_is_left_after(
    path: Callable[[Client, BlockingApiServer], Awaitable[None]], server: BlockingApiServer
) -> None:
    threads, sockets = set(threading.enumerate()), _sockets()
    async with Client(server.config) as client:
        await path(client, server)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        assert [task.get_name() for task in tasks] == []
    # A thread has ended a moment after its last function, and so has the server's side of a
    # connection.
    await wait_until(lambda: set(threading.enumerate()) <= threads, timeout=10)
    await wait_until(lambda: _sockets() <= sockets, timeout=10)


def _sockets() -> int:
    """The number of open sockets of this process."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            count += stat.S_ISSOCK(os.stat(f"/proc/self/fd/{name}").st_mode)
    return count
