"""Leases of shared informers, requested and released on threads and on the loop."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform.client import Client
from kinform.errors import AlreadyStoppedError, StateError
from kinform.informers import (
    DynamicSharedInformerFactory,
    InformerKey,
    InformerMap,
    ResourceInformer,
    SharedIndexInformer,
)
from kinform.testing import ApiServer
from tests.property.history_runs import Step
from tests.property.test_histories import steps
from tests.support.config_maps import MAPS, config_map
from tests.support.informer_sources import QUICK
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(120)

FACTORIES = 2
QUESTIONS: dict[str, dict[str, Any]] = {
    "everything": {},
    "one namespace": {"namespace": "default"},
    "the same as a list": {"namespace": ["default"]},
    "selected": {"namespace": "default", "labels": {"app": "web"}},
    "the same as text": {"namespace": "default", "labels": "app=web"},
}
SAME_AS = {"the same as a list": "one namespace", "the same as text": "selected"}


class Held(NamedTuple):
    question: str
    factory: int
    lease: ResourceInformer[Any]


class LeaseWorld:
    """Two factories with one map; the steps of scripts are its methods."""

    def __init__(self, api: ApiServer, client: Client) -> None:
        self._api = api
        self._map = InformerMap()
        self._factories = [
            DynamicSharedInformerFactory(client, options=QUICK, informer_map=self._map)
            for _ in range(FACTORIES)
        ]
        self._held: list[Held] = []
        self._ended: list[Held] = []
        self._started: set[str] = set()
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="lessee")

    async def play(self, script: list[Step]) -> None:
        with self._threads:
            for step in script:
                await getattr(self, step.do)(*step.args)
                self.check()
            for number in range(FACTORIES):
                await self.shut_down(number)
                self.check()
            await self._map.shutdown()
        await wait_until(lambda: not any(each.is_open for each in self._api.requests.watches(MAPS)))

    # -- steps -------------------------------------------------------------------------------

    async def request(self, question: str, factory: int, on_thread: bool) -> None:
        await self._run(on_thread, lambda: self._request(question, factory))

    async def request_at_once(self, question: str) -> None:
        """Several threads request the same, and all get the same informer."""
        before = len(self._held)
        both = [*range(FACTORIES)] * 2
        loop = asyncio.get_running_loop()
        gate = threading.Barrier(len(both))

        def request(factory: int) -> None:
            gate.wait()
            self._request(question, factory)

        await asyncio.gather(
            *(loop.run_in_executor(self._threads, request, number) for number in both)
        )
        assert len(self._held) == before + len(both)

    async def release(self, index: int, on_thread: bool) -> None:
        if self._held:
            held = self._held.pop(index % len(self._held))
            self._ended.append(held)
            await self._run(on_thread, held.lease.release)

    async def release_at_once(self, question: str) -> None:
        """All leases of an informer end on threads, each of them twice."""
        going = [each for each in self._held if _same(each.question, question)]
        self._held = [each for each in self._held if each not in going]
        self._ended += going
        loop = asyncio.get_running_loop()
        releases = [each.lease.release for each in going for _ in range(2)]
        await asyncio.gather(*(loop.run_in_executor(self._threads, each) for each in releases))

    async def release_again(self) -> None:
        """A lease that has ended cannot end another one."""
        for held in self._ended:
            held.lease.release()

    async def start(self, factory: int, on_thread: bool) -> None:
        await self._run(on_thread, self._factories[factory].start)
        self._started |= {each.question for each in self._held if each.factory == factory}
        self._started = {SAME_AS.get(each, each) for each in self._started}

    async def remove(self, question: str) -> None:
        """Whatever leases there are, the informer stops."""
        found = [each for each in self._held if _same(each.question, question)]
        if found:
            (key,) = {_key_of(self._map.keys(), self._map.get, each) for each in found}
            latch = self._map.remove(key)
            self._held = [each for each in self._held if each not in found]
            self._ended += found
            await latch
            assert not any(each.lease.informer.is_running for each in found)

    async def change_scope(self, question: str, on_thread: bool) -> None:
        """Refused, without an effect, while somebody else has a lease."""
        found = [each for each in self._held if _same(each.question, question)]
        if question == "everything" or len(found) < 2:
            return
        informer = found[0].lease.informer
        before = informer.scope
        with pytest.raises(StateError):
            await self._run(on_thread, lambda: informer.set_selectors(labels="app=db"))
        with pytest.raises(StateError):
            await self._run(on_thread, lambda: informer.add_namespace("kube-system"))
        assert informer.scope == before

    async def shut_down(self, factory: int) -> None:
        """Its leases end; informers that the other factory has leases of go on."""
        going = [each for each in self._held if each.factory == factory]
        self._held = [each for each in self._held if each.factory != factory]
        await self._factories[factory].shutdown()
        kept = {id(each.lease.informer) for each in self._held}
        for held in going:
            assert not held.lease.informer.is_running or id(held.lease.informer) in kept
        with pytest.raises(AlreadyStoppedError):
            self._factories[factory].start()

    def _request(self, question: str, factory: int) -> None:
        lease = self._factories[factory].for_resource(MAPS, **QUESTIONS[question])
        self._held.append(Held(question, factory, lease))

    async def _run(self, on_thread: bool, call: Callable[[], object]) -> None:
        if on_thread:
            await asyncio.get_running_loop().run_in_executor(self._threads, call)
        else:
            call()

    # -- checks ------------------------------------------------------------------------------

    def check(self) -> None:
        informers: defaultdict[str, set[int]] = defaultdict(set)
        for held in self._held:
            question = SAME_AS.get(held.question, held.question)
            informers[question].add(id(held.lease.informer))
            assert not held.lease.is_released
            assert held.lease.informer.is_running is (question in self._started), question
        assert all(len(each) == 1 for each in informers.values()), "equal requests share one"
        assert len(set().union(*informers.values())) == len(informers), "others do not"
        assert len(self._map) == len(informers)
        self._started &= set(informers)
        for held in self._ended:
            assert held.lease.is_released


def _same(one: str, other: str) -> bool:
    return SAME_AS.get(one, one) == SAME_AS.get(other, other)


def _key_of(
    keys: list[InformerKey],
    get: Callable[[InformerKey], SharedIndexInformer[Any] | None],
    held: Held,
) -> InformerKey:
    (found,) = (key for key in keys if get(key) is held.lease.informer)
    return found


questions = st.sampled_from(sorted(QUESTIONS))
factories = st.integers(0, FACTORIES - 1)
on_thread = st.booleans()
script = st.lists(
    st.one_of(
        steps("request", questions, factories, on_thread),
        steps("request", questions, factories, on_thread),
        steps("request_at_once", questions),
        steps("release", st.integers(0, 9), on_thread),
        steps("release_at_once", questions),
        steps("release_again"),
        steps("start", factories, on_thread),
        steps("remove", questions),
        steps("change_scope", questions, on_thread),
    ),
    max_size=30,
)


@settings(max_examples=150)
@given(script=script)
def test_informers_run_while_they_have_leases(script: list[Step]) -> None:
    async def play() -> None:
        async with ApiServer() as api, Client(api.config) as client:
            api.create(config_map("a", app="web"))
            await LeaseWorld(api, client).play(script)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, f"tasks are left: {others}"

    threads = threading.active_count()
    asyncio.run(play())
    assert threading.active_count() <= threads
