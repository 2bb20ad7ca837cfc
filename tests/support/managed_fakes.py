"""Controllers, electors and recorders that a test controls, and a journal of what they did."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from kinform import Client, ClusterConfig
from kinform._runtime import Latch
from kinform.controllers.manager import Manager
from kinform.errors import LeadershipLostError


def new_manager(**options: Any) -> Manager:
    """Return a manager whose client is never used."""
    return Manager(Client(ClusterConfig(server="http://127.0.0.1:9")), **options)


class FakeController:
    """Writes to a journal; each call can be made to wait, fail or ignore its cancellation.

    Args:
        name: The name.
        journal: Receives a line for each step.
        needs_leader: As of a controller.
        warm_up_error: Raised by ``warm_up``.
        work_error: Raised by ``work``.
        finishing: Seconds that the current key takes after ``stop``.
        ignores_cancel: Whether ``work`` goes on after its cancellation, until ``let_go``.
    """

    def __init__(
        self,
        name: str,
        journal: list[str],
        *,
        needs_leader: bool = True,
        warm_up_error: Exception | None = None,
        work_error: Exception | None = None,
        finishing: float = 0.0,
        ignores_cancel: bool = False,
    ) -> None:
        self.name = name
        self.needs_leader = needs_leader
        self.journal = journal
        self.warm_up_error = warm_up_error
        self.work_error = work_error
        self.found: tuple[str, ...] = ()
        self.may_warm_up = asyncio.Event()
        self.may_warm_up.set()
        self.let_go = asyncio.Event()
        self.cluster: Any = None
        self.recorder: Any = None
        self.leaderships: list[Any] = []
        self._finishing = finishing
        self._ignores_cancel = ignores_cancel
        self._stop = asyncio.Event()

    async def warm_up(self, cluster: Any, *, recorder: Any = None) -> None:
        self.cluster, self.recorder = cluster, recorder
        self.journal.append(f"{self.name} warms up")
        try:
            await self.may_warm_up.wait()
        except asyncio.CancelledError:
            self.journal.append(f"{self.name} stays cold")
            raise
        if self.warm_up_error is not None:
            raise self.warm_up_error

    async def work(self, leadership: Any = None) -> None:
        self.leaderships.append(leadership)
        self.journal.append(f"{self.name} works")
        try:
            if self.work_error is not None:
                raise self.work_error
            await self._stop.wait()
            await asyncio.sleep(self._finishing)
            self.journal.append(f"{self.name} finished")
        except asyncio.CancelledError:
            self.journal.append(f"{self.name} is cancelled")
            while self._ignores_cancel and not self.let_go.is_set():
                try:
                    await self.let_go.wait()
                except asyncio.CancelledError:
                    continue
            raise

    def stop(self) -> None:
        self._stop.set()

    async def close(self) -> None:
        self.journal.append(f"{self.name} is closed")

    def status(self) -> Any:
        return {"name": self.name, "state": "working"}

    def problems(self) -> tuple[str, ...]:
        return self.found


class FakeLeadership:
    """A leadership that a test can end."""

    def __init__(self, token: int) -> None:
        self.token = token
        self.is_valid = True

    def check(self) -> None:
        if not self.is_valid:
            raise LeadershipLostError(f"term {self.token} is over")


class FakeElector:
    """An elector that wins and loses when the test says so."""

    def __init__(self, journal: list[str] | None = None) -> None:
        self.journal = [] if journal is None else journal
        self.is_leader = False
        self.leader = ""
        self.last_error = ""
        self.found: tuple[str, ...] = ()
        self.terms = 0
        self.leadership: FakeLeadership | None = None
        self._won = asyncio.Event()
        self._lost = asyncio.Event()

    def win(self) -> None:
        self._won.set()

    def lose(self) -> None:
        self._lost.set()

    async def run(self, work: Callable[[Any], Awaitable[None]], *, again: bool = True) -> None:
        self.journal.append("campaign")
        try:
            while True:
                await self._won.wait()
                self._won.clear()
                if not await self._lead(work):
                    return
                if not again:
                    raise LeadershipLostError("the lease was lost")
                self.journal.append("campaign")
        finally:
            self.journal.append("campaign ends")

    async def _lead(self, work: Callable[[Any], Awaitable[None]]) -> bool:
        self.terms += 1
        self.is_leader, self.leader = True, "me"
        self.leadership = FakeLeadership(self.terms)

        async def lead() -> None:
            await work(self.leadership)

        task = asyncio.create_task(lead())
        lost = asyncio.create_task(self._lost.wait())
        try:
            await asyncio.wait([task, lost], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.is_leader = False
            was_lost = self._lost.is_set()
            self._lost.clear()
            self.leadership.is_valid = False
            for each in (task, lost):
                each.cancel()
            await asyncio.wait([task, lost])
        self.journal.append("lost" if was_lost else "released")
        return was_lost

    def status(self) -> Any:
        return self

    def problems(self) -> tuple[str, ...]:
        return self.found


class FakeRecorder:
    """A recorder that takes a while to send its last events."""

    def __init__(self, journal: list[str]) -> None:
        self.journal = journal
        self.is_running = False
        self.stopped = Latch("the recorder has stopped")

    def event(self, *arguments: Any, **options: Any) -> bool:
        return True

    def start(self) -> None:
        self.is_running = True
        self.journal.append("recorder starts")

    def stop(self) -> None:
        self.is_running = False
        self.journal.append("recorder stops")
        self.stopped.set()
