"""An owner: a thread that may not wait may not close the object either; it stays open."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from kinform import blocking
from kinform.blocking import LoopThread
from kinform.blocking._owner import Owner
from kinform.errors import StateError
from kinform.transport import ClusterConfig
from tests.support.memory_transport import MemoryTransport


class Thing:
    def __init__(self) -> None:
        self.closed = 0
        self.began = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    async def close(self) -> None:
        self.began.set()
        await asyncio.to_thread(self.go_on.wait, 20)
        self.closed += 1


async def _answer() -> int:
    return 42


@pytest.fixture
def shared() -> Iterator[LoopThread]:
    loop = LoopThread(name="the shared loop")
    loop.start()
    yield loop
    loop.stop()


def _own(thing: Thing, loop: LoopThread | None) -> Owner:
    return Owner(thing.close, name="the thing", instead="the other thing", loop=loop)


@pytest.mark.parametrize("is_shared", [True, False], ids=["on a shared loop", "alone"])
async def test_a_close_that_was_refused_has_closed_nothing_and_can_be_done_elsewhere(
    shared: LoopThread, is_shared: bool
) -> None:
    thing = Thing()
    owner = _own(thing, shared if is_shared else None)
    assert await asyncio.to_thread(owner.run, _answer()) == 42

    with pytest.raises(StateError, match="event loop; use the other thing in asyncio code"):
        owner.close()

    assert thing.closed == 0
    assert await asyncio.to_thread(owner.run, _answer()) == 42
    await asyncio.to_thread(owner.close)
    assert thing.closed == 1
    with pytest.raises(StateError, match="the thing is closed"):
        await asyncio.to_thread(owner.run, _answer())


def test_a_close_on_its_own_loop_has_closed_nothing() -> None:
    thing = Thing()
    owner = _own(thing, None)

    async def close() -> None:
        owner.close()

    with pytest.raises(StateError, match="would deadlock"):
        owner.run(close())
    assert owner.run(_answer()) == 42
    owner.close()

    assert thing.closed == 1


async def test_on_a_shared_loop_each_names_what_to_use_instead(shared: LoopThread) -> None:
    client = blocking.Client(
        ClusterConfig(server="https://cluster.test"), transport=MemoryTransport(), loop=shared
    )
    factory = blocking.DynamicSharedInformerFactory(client)
    source = blocking.ListWatch(lambda options: [], lambda options: [], loop=shared)

    with pytest.raises(StateError, match=r"use kinform\.Client in asyncio code"):
        client.server_version()
    with pytest.raises(StateError, match=r"use kinform\.informers\.DynamicShared"):
        factory.start()
    with pytest.raises(
        StateError, match=r"use kinform\.informers\.SharedIndexInformer in asyncio code"
    ):
        blocking.SharedIndexInformer(source).start()


def test_all_who_close_it_at_once_wait_and_it_is_closed_once(shared: LoopThread) -> None:
    thing = Thing()
    thing.go_on.clear()
    owner = _own(thing, shared)
    found: list[int] = []

    def close() -> None:
        owner.close()
        found.append(thing.closed)

    threads = [threading.Thread(target=close) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert thing.began.wait(20)
    thing.go_on.set()
    for thread in threads:
        thread.join(20)

    assert found == [1] * 4


def test_what_is_closed_asks_nobody_whether_it_may(shared: LoopThread) -> None:
    thing = Thing()
    owner = _own(thing, shared)
    owner.close()

    asyncio.run(_close_again(owner))

    assert thing.closed == 1


async def _close_again(owner: Owner) -> None:
    owner.close()
