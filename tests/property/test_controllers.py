"""Whatever happens, each last change is reconciled, no key twice at once, and nothing is left."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinform.client import Client
from kinform.controllers import After, Cluster, Context, Controller, Request, Result, Retry
from kinform.models.core.v1 import ConfigMap
from kinform.testing import ApiServer
from kinform.workqueue import ExponentialBackoff
from tests.support.config_maps import MAPS, config_map
from tests.support.waiting import wait_until

# Many more find rare interleavings: KINFORM_CONTROLLER_EXAMPLES=2000.
EXAMPLES = int(os.environ.get("KINFORM_CONTROLLER_EXAMPLES", "120"))

pytestmark = [pytest.mark.usefixtures("silent_logs"), pytest.mark.timeout(120 + 2 * EXAMPLES)]

NAMES = ("a", "b", "c")
names = st.sampled_from(NAMES)
Step = tuple[str, Any]
changes = st.tuples(st.sampled_from(["put", "put", "put", "delete"]), names)
others = st.one_of(
    st.tuples(st.just("pause"), st.sampled_from([0.0, 0.001, 0.005])),
    st.tuples(st.just("restart"), st.sampled_from(["cancel", "close", "stop"])),
    st.tuples(st.just("end watches"), st.booleans()),
    st.tuples(st.just("compact"), st.none()),
)
scripts = st.lists(st.one_of(changes, changes, changes, others), min_size=1, max_size=25)
# How the next reconciles end, whichever they are; all later ones succeed.
ends = st.lists(
    st.sampled_from(["done", "done", "slow", "error", "retry", "after", "hang", "swallow"]),
    max_size=15,
)


@pytest.fixture
def silent_logs() -> Iterator[None]:
    """The expected failures of all examples would hide the one that matters."""
    logger = logging.getLogger("kinform")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    yield
    logger.setLevel(level)


class World:
    """A controller of config maps, whose reconciler checks itself and notes what it saw."""

    def __init__(self, api: ApiServer, cluster: Cluster, workers: int, ends: list[str]) -> None:
        self.wrong: list[str] = []
        self.controller: Controller[Request] = Controller(
            "maps",
            self.reconcile,
            for_=ConfigMap,
            workers=workers,
            timeout=0.03,
            rate_limiter=ExponentialBackoff(0.0005, cap=0.004),
        )
        self._api = api
        self._cluster = cluster
        self._ends = iter(ends)
        self._running: set[str] = set()
        # By name: the version on the server at the begin of the last reconcile without an error.
        self._seen: dict[str, str | None] = {}
        # By name: the failures in a row, as documented for Context.attempt.
        self._failures: defaultdict[str, int] = defaultdict(int)
        # Cancelled with the work, perhaps at the moment of the timeout, which is a failure.
        self._unsure: set[str] = set()
        self._is_ending = False
        self._work: asyncio.Task[None] | None = None

    # -- the reconciler ----------------------------------------------------------------------

    async def reconcile(self, request: Request, context: Context[Any]) -> Result:
        name = request.name
        if name in self._running:
            self.wrong.append(f"{name} is reconciled twice at a time")
        self._check_attempt(name, context.attempt)
        self._running.add(name)
        try:
            version = self._version(name)
            result = await self._end(name)
            self._seen[name] = version
            return result
        finally:
            self._running.discard(name)

    def _check_attempt(self, name: str, attempt: int) -> None:
        if name in self._unsure and attempt == self._failures[name] + 2:
            self._failures[name] += 1
        self._unsure.discard(name)
        if attempt != self._failures[name] + 1:
            self.wrong.append(f"attempt {attempt} of {name} after {self._failures[name]} failures")

    async def _end(self, name: str) -> Result:
        match next(self._ends, "done"):
            case "slow":
                await asyncio.sleep(0.002)
            case "error":
                self._failures[name] += 1
                raise RuntimeError("wanted")
            case "retry":
                self._failures[name] += 1
                return Retry()
            case "after":
                self._failures[name] = 0
                return After(0.001)
            case "hang":
                try:
                    await asyncio.Event().wait()
                finally:
                    if self._is_ending:
                        self._unsure.add(name)
                    else:
                        self._failures[name] += 1
            case "swallow":
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    self._failures[name] += 1
                    raise RuntimeError("wanted") from None
        self._failures[name] = 0
        return None

    def _version(self, name: str) -> str | None:
        for each in self._api.list(MAPS, "default"):
            if each["metadata"]["name"] == name:
                return str(each["metadata"]["resourceVersion"])
        return None

    # -- the script --------------------------------------------------------------------------

    async def start(self) -> None:
        if self.controller.status().state in ("new", "closed"):
            # What was deleted before is not seen any more.
            self._seen = {name: seen for name, seen in self._seen.items() if self._version(name)}
            await self.controller.warm_up(self._cluster)
        self._is_ending = False
        self._work = asyncio.create_task(self.controller.work())
        await asyncio.sleep(0)

    async def end(self, how: str) -> None:
        assert self._work is not None
        self._is_ending = how != "stop"
        async with asyncio.timeout(30):
            if how == "stop":
                self.controller.stop()
                await self._work
            if how == "cancel":
                self._work.cancel()
            else:
                await self.controller.close()
            await asyncio.wait([self._work])
        if self._running:
            self.wrong.append(f"{self._running} are reconciled after the end")
        if not self._work.cancelled() and (error := self._work.exception()) is not None:
            self.wrong.append(f"work raised {error!r}")

    async def play(self, script: list[Step]) -> None:
        await self.start()
        for number, (step, argument) in enumerate(script):
            match step:
                case "put" if self._version(argument) is None:
                    self._api.create(config_map(argument, step=str(number)))
                case "put":
                    labels = {"metadata": {"labels": {"step": str(number)}}}
                    self._api.patch(MAPS, argument, labels, "default")
                case "delete" if self._version(argument) is not None:
                    self._api.delete(MAPS, argument, "default")
                case "pause":
                    await asyncio.sleep(argument)
                case "restart":
                    await self.end(argument)
                    await self.start()
                case "end watches":
                    self._api.end_watches(MAPS, reset=argument)
                case "compact":
                    self._api.compact()
        # Each object was reconciled after its last change, also after its deletion.
        await wait_until(
            lambda: (
                bool(self.wrong)
                or all(self._seen.get(name) == self._version(name) for name in NAMES)
            ),
            timeout=20,
        )


@settings(max_examples=EXAMPLES)
@given(
    workers=st.integers(1, 4),
    script=scripts,
    ends=ends,
    last=st.sampled_from(["stop", "cancel", "close"]),
)
def test_every_last_change_is_reconciled_and_nothing_is_left(
    workers: int, script: list[Step], ends: list[str], last: str
) -> None:
    async def play() -> None:
        async with ApiServer() as api, Client(api.config) as client:
            cluster = Cluster(client)
            async with cluster.cache:
                world = World(api, cluster, workers, ends)
                await world.play(script)
                await world.end(last)
                await world.controller.close()
        assert world.wrong == []
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, f"tasks are left: {left}"

    threads = set(threading.enumerate())
    asyncio.run(play())
    for thread in set(threading.enumerate()) - threads:
        thread.join(5)
    assert set(threading.enumerate()) <= threads
