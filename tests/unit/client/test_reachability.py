"""What informers of one client share: connections spaced out, and waits that an answer ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kinform.api import GVR
from kinform.client import Client, Reachability
from kinform.informers import ListWatch
from kinform.models.core.v1 import Pod
from kinform.testing import virtual_time

PODS = GVR("", "v1", "pods")


@contextmanager
def waits(
    reachability: Reachability, delay: float, times: int
) -> Iterator[list[asyncio.Task[bool]]]:
    tasks = [asyncio.create_task(reachability.wait(delay)) for _ in range(times)]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_a_wait_without_an_answer_lasts_its_delay() -> None:
    assert await Reachability().wait(3) is False
    assert now() == pytest.approx(3)


@virtual_time
async def test_an_answer_ends_a_wait_within_10_ms() -> None:
    reachability = Reachability()
    with waits(reachability, 100, 1) as (task,):
        await asyncio.sleep(5)
        reachability.answered()
        assert await task is True
    assert 5 <= now() <= 5.01


@pytest.mark.parametrize(("informers", "spread"), [(10, 0.1), (50, 0.5), (500, 1.0)])
@virtual_time
async def test_woken_informers_are_spread_over_10_ms_each_and_a_second_at_most(
    informers: int, spread: float
) -> None:
    reachability = Reachability()
    woken: list[float] = []
    with waits(reachability, 100, informers) as tasks:
        for task in tasks:
            task.add_done_callback(lambda done: woken.append(now()))
        await asyncio.sleep(5)
        reachability.answered()
        assert await asyncio.gather(*tasks) == [True] * informers
        await asyncio.sleep(0)
    assert 5 <= min(woken) <= max(woken) <= 5 + spread + 1e-6
    assert len(set(woken)) == informers
    assert max(woken) - min(woken) > spread / 3


@virtual_time
async def test_an_answer_wakes_nobody_who_waits_later() -> None:
    reachability = Reachability()
    reachability.answered()
    assert await reachability.wait(3) is False
    assert now() == pytest.approx(3)


@virtual_time
async def test_a_delay_that_ends_before_the_wake_ends_the_wait() -> None:
    reachability = Reachability()
    with waits(reachability, 5, 1) as (task,), waits(reachability, 100, 200):
        await asyncio.sleep(5)
        reachability.answered()
        await task
    assert now() == pytest.approx(5)


@virtual_time
async def test_only_those_that_wait_are_counted() -> None:
    reachability = Reachability()
    with waits(reachability, 100, 3) as tasks:
        await asyncio.sleep(0)
        assert reachability.waiting == 3
        tasks[0].cancel()
        await asyncio.sleep(0)
        assert reachability.waiting == 2
        reachability.answered()
        await asyncio.gather(*tasks[1:])
        assert reachability.waiting == 0


@virtual_time
async def test_delays_are_stretched_from_the_eleventh_waiting_informer_on() -> None:
    reachability = Reachability()
    assert reachability.stretch(1) == 1
    with waits(reachability, 100, 9):
        await asyncio.sleep(0)
        assert reachability.stretch(1) == 1
        with waits(reachability, 100, 30):
            await asyncio.sleep(0)
            assert reachability.stretch(0.5) == pytest.approx(2)


@virtual_time
async def test_connections_beyond_a_burst_of_20_are_admitted_at_200_a_second() -> None:
    reachability = Reachability()
    admitted: list[float] = []

    async def open_one() -> None:
        await reachability.admit()
        admitted.append(now())

    await asyncio.gather(*[open_one() for _ in range(120)])
    assert admitted[:20] == [0] * 20
    assert admitted[20:] == pytest.approx([number / 200 for number in range(1, 101)])


async def test_all_sources_of_one_client_share_it_and_others_do_not(client: Client) -> None:
    sources: list[ListWatch[Any]] = [
        ListWatch.for_resource(client, PODS),
        ListWatch.for_resource(client, PODS, namespace="home"),
        ListWatch.for_resource(client, Pod),
        ListWatch.for_resource(client.metadata, PODS),
    ]
    assert {id(source.reachability) for source in sources} == {id(client.reachability)}
    assert client.metadata.reachability is client.reachability

    def nothing(options: object) -> list[object]:
        return []

    assert ListWatch(nothing, nothing).reachability is not ListWatch(nothing, nothing).reachability
