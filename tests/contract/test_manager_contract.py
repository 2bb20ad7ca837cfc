"""The contract of the manager, with real controllers, caches and electors, on both servers."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from kinform import Cache
from kinform.controllers import Context, Controller, LeaderElector, Manager, Request
from kinform.errors import (
    AlreadyStoppedError,
    ControllerError,
    LeadershipLostError,
    ShutdownTimeoutError,
)
from kinform.models.coordination.v1 import Lease
from kinform.models.core.v1 import ConfigMap
from tests.contract.cache_server import CacheServer
from tests.support.waiting import wait_until

Work = Callable[[], Awaitable[None]]


class Reconciler:
    """Notes the names it reconciles; each reconcile can be held."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.finished: list[str] = []
        self.cancelled: list[str] = []
        self.tokens: list[int | None] = []
        self.may_finish = asyncio.Event()
        self.may_finish.set()

    async def reconcile(self, request: Request, context: Context[Any]) -> None:
        self.names.append(request.name)
        self.tokens.append(context.fencing_token)
        try:
            await self.may_finish.wait()
        except asyncio.CancelledError:
            self.cancelled.append(request.name)
            raise
        self.finished.append(request.name)


class Setting:
    """A namespace with one map, a cache of it, and managers with a controller of maps."""

    def __init__(self, server: CacheServer, namespace: str) -> None:
        self.server = server
        self.namespace = namespace
        self.reconciler = Reconciler()
        self.controller: Controller[Any] = Controller("maps", self.reconciler, for_=ConfigMap)

    def cache(self) -> Cache:
        return Cache(self.server.client, namespace=self.namespace, kinds=[ConfigMap])

    def manager(self, **options: Any) -> Manager:
        return Manager(self.server.client, cache=self.cache(), **options)

    def elector(self, identity: str = "a") -> LeaderElector:
        return LeaderElector(
            self.server.client,
            "manager",
            namespace=self.namespace,
            identity=identity,
            lease_duration=3,
            renew_deadline=2,
            retry_period=0.2,
        )

    async def holder(self) -> str:
        lease = await self.server.client.get(Lease, "manager", namespace=self.namespace)
        return lease.spec.holder_identity or ""


@pytest.fixture
async def setting(server: CacheServer) -> Setting:
    namespace = await server.new_namespace()
    await server.create_map("a", namespace)
    return Setting(server, namespace)


# -- start ---------------------------------------------------------------------------------------


async def test_caches_of_all_clusters_have_synced_before_any_component(setting: Setting) -> None:
    """cr-48: the cache before everything, and extra clusters too."""
    manager = setting.manager()
    other = manager.add_cluster("other", setting.server.client, cache=setting.cache())
    seen: list[str] = []

    async def look() -> None:
        for cache in (manager.cache, other.cache):
            seen.extend(each.name for each in cache.peek(ConfigMap).list() if each.name == "a")

    manager.add(look, needs_leader=False)
    async with manager:
        await manager.ready
        await wait_until(lambda: seen == ["a", "a"])


async def test_clusters_and_controllers_may_be_added_after_the_start(setting: Setting) -> None:
    """cr-48: caches added after the start are started, and controllers of them work."""
    manager = setting.manager()
    async with manager:
        await manager.ready
        manager.add_cluster("late", setting.server.client, cache=setting.cache())
        manager.add(setting.controller, cluster="late")
        await wait_until(lambda: "a" in setting.reconciler.finished)


async def test_every_component_starts_and_probes_answer_meanwhile(setting: Setting) -> None:
    """cr-49: all groups start together without a deadlock; the server comes before the caches."""
    manager = setting.manager(election=setting.elector(), address="127.0.0.1:0")
    ran: list[str] = []

    def noting(name: str) -> Work:
        async def note() -> None:
            ran.append(name)

        return note

    manager.add(setting.controller)
    manager.add(noting("leader"), name="leader")
    manager.add(noting("all"), name="all", needs_leader=False)
    async with manager:
        await manager.elected
        await wait_until(lambda: sorted(ran) == ["all", "leader"])
        await wait_until(lambda: "a" in setting.reconciler.finished)
        async with aiohttp.ClientSession() as session:
            for page in ("healthz", "readyz"):
                async with session.get(f"http://{manager.address}/{page}") as response:
                    assert (response.status, await response.text()) == (200, "ok")


async def test_a_port_in_use_stops_the_start_with_a_clear_error(setting: Setting) -> None:
    """cr-48: nothing runs, and the error names the address."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        manager = setting.manager(address=address)
        manager.add(setting.controller)
        with pytest.raises(ControllerError, match=f"cannot listen on {address}"):
            await manager.run()

    assert setting.reconciler.names == []


# -- stop ----------------------------------------------------------------------------------------


async def test_a_stop_waits_for_the_running_reconcile(setting: Setting) -> None:
    """cr-48: it waits for runnables; a clean stop is not an error, also if the run is cancelled."""
    manager = setting.manager()
    manager.add(setting.controller)
    setting.reconciler.may_finish.clear()
    running = asyncio.create_task(manager.run())
    await wait_until(lambda: setting.reconciler.names != [])
    manager.stop()
    await wait_until(lambda: manager.status().state == "stopping")
    assert not running.done()
    assert manager.cache.is_running
    setting.reconciler.may_finish.set()
    await running

    assert setting.reconciler.finished == setting.reconciler.names[:1]
    assert manager.cache.is_stopped


async def test_an_expired_grace_period_cancels_and_names_the_component(setting: Setting) -> None:
    """cr-48: an expired grace period is an error; it is added to the one that stopped it."""
    for error in (None, RuntimeError("disk full")):
        setting.reconciler = Reconciler()
        manager = setting.manager(grace=0.2)
        manager.add(Controller("maps", setting.reconciler, for_=ConfigMap))
        setting.reconciler.may_finish.clear()
        failing = asyncio.Event()

        async def fail(failing: asyncio.Event = failing, error: Any = error) -> None:
            await failing.wait()
            raise error

        manager.add(fail)
        running = asyncio.create_task(manager.run())
        await wait_until(lambda: setting.reconciler.names != [])
        if error is None:
            manager.stop()
            with pytest.raises(ShutdownTimeoutError, match=r"within 0\.2 s: maps was cancelled"):
                await running
        else:
            failing.set()
            with pytest.raises(RuntimeError, match="disk full") as raised:
                await running
            assert "maps was cancelled" in raised.value.__notes__[0]
        assert setting.reconciler.cancelled == setting.reconciler.names[:1]


async def test_a_grace_period_of_zero_waits_for_nothing(setting: Setting) -> None:
    """cr-48: 0 lets nothing finish, and is not an error."""
    manager = setting.manager(grace=0)
    manager.add(setting.controller)
    setting.reconciler.may_finish.clear()
    async with manager:
        await wait_until(lambda: setting.reconciler.names != [])

    assert setting.reconciler.cancelled == setting.reconciler.names[:1]


async def test_without_a_grace_period_it_waits_for_ever(setting: Setting) -> None:
    """cr-48: ``None`` is controller-runtime's negative period."""
    manager = setting.manager(grace=None)
    manager.add(setting.controller)
    setting.reconciler.may_finish.clear()
    async with manager:
        await wait_until(lambda: setting.reconciler.names != [])
        manager.stop()
        asyncio.get_running_loop().call_later(0.3, setting.reconciler.may_finish.set)

    assert setting.reconciler.cancelled == []
    assert setting.reconciler.finished == setting.reconciler.names[:1]


async def test_nothing_can_be_added_while_it_stops_or_afterwards(setting: Setting) -> None:
    """cr-48, cr-49: additions are refused, instead of being lost."""
    manager = setting.manager()
    manager.add(setting.controller)
    late: Controller[Any] = Controller("late", Reconciler(), for_=ConfigMap)
    setting.reconciler.may_finish.clear()
    async with manager:
        await wait_until(lambda: setting.reconciler.names != [])
        manager.stop()
        await wait_until(lambda: manager.status().state == "stopping")
        with pytest.raises(AlreadyStoppedError, match="is stopping"):
            manager.add(late)
        setting.reconciler.may_finish.set()
    with pytest.raises(AlreadyStoppedError, match="is stopped"):
        manager.add(late)


# -- election ------------------------------------------------------------------------------------


async def test_the_lease_is_released_after_the_last_reconcile(setting: Setting) -> None:
    """cr-49: the election ends only after all components have, and the lease is released."""
    manager = setting.manager(election=setting.elector())
    manager.add(setting.controller)
    setting.reconciler.may_finish.clear()
    async with manager:
        await wait_until(lambda: setting.reconciler.names != [])
        manager.stop()
        await wait_until(lambda: manager.status().state == "stopping")
        assert await setting.holder() == "a"
        setting.reconciler.may_finish.set()

    assert setting.reconciler.cancelled == []
    assert await setting.holder() == ""


async def test_a_lost_lease_cancels_reconciles_at_once(setting: Setting) -> None:
    """cr-49: there is no grace period without a lease. It campaigns again instead of exiting."""
    elector = setting.elector()
    manager = setting.manager(election=elector)
    manager.add(setting.controller)
    setting.reconciler.may_finish.clear()
    async with manager:
        await wait_until(lambda: setting.reconciler.names != [])
        await _take_lease(setting, "thief")
        await wait_until(lambda: setting.reconciler.cancelled != [])
        assert not manager.is_leader
        assert manager.status().state == "running"
        setting.reconciler.may_finish.set()
        # The thief does not renew, so the lease comes back, and the key is still in the queue.
        await wait_until(lambda: setting.reconciler.finished != [])

    first, *_, last = setting.reconciler.tokens
    assert first is not None
    assert last is not None
    assert first < last


async def test_a_lost_lease_ends_the_run_if_asked_for(setting: Setting) -> None:
    """cr-49: as in controller-runtime, where the process has to exit."""
    manager = setting.manager(election=setting.elector(), exit_on_lost_lease=True)
    manager.add(setting.controller)
    running = asyncio.create_task(manager.run())
    await manager.elected
    await _take_lease(setting, "thief")
    with pytest.raises(LeadershipLostError):
        await running


async def test_a_standby_is_warm_and_takes_over_with_a_full_queue(setting: Setting) -> None:
    """cr-49: the queue of a standby is filled, and its workers start with the leadership."""
    first = setting.manager(election=setting.elector("a"), name="first")
    first.add(setting.controller)
    second_reconciler = Reconciler()
    second = setting.manager(election=setting.elector("b"), name="second")
    standby: Controller[Any] = Controller("maps", second_reconciler, for_=ConfigMap)
    second.add(standby)
    async with first:
        await first.elected
        second.start()
        await second.ready
        assert len(standby.queue) >= 1
        assert second.health().ready
        assert second_reconciler.names == []
    await wait_until(lambda: "a" in second_reconciler.finished)
    second.stop()
    await second.stopped
    assert second.failure is None


async def test_a_standby_that_stops_is_never_elected(setting: Setting) -> None:
    """cr-49: even if the lease becomes free while it stops."""
    first = setting.manager(election=setting.elector("a"), name="first")
    second = setting.manager(election=setting.elector("b"), name="second")
    second.add(setting.controller)
    slow = asyncio.Event()

    async def ends_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await slow.wait()

    second.add(ends_slowly, needs_leader=False)
    async with first:
        await first.elected
        second.start()
        await second.ready
        await wait_until(lambda: second.status().leader == "a")
        second.stop()
        await wait_until(lambda: second.status().state == "stopping")
    slow.set()
    await second.stopped

    assert setting.reconciler.names == []
    assert await setting.holder() == ""


async def _take_lease(setting: Setting, identity: str) -> None:
    """Write a Lease as another candidate would that believes that it has run out."""
    client = setting.server.client
    lease = (await client.get(Lease, "manager", namespace=setting.namespace)).copy()
    lease.spec.holder_identity = identity
    lease.spec.lease_transitions = (lease.spec.lease_transitions or 0) + 1
    await client.update(lease)
