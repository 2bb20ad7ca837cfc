"""Several processes that campaign for one Lease, and proof that no two of them worked at once."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from kinform import Client
from kinform.models.coordination.v1 import Lease
from kinform.models.core.v1 import ConfigMap
from tests.support import election_candidate
from tests.support.election_candidate import NAME
from tests.support.line import HasUrl, Line
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]
LEASE, DEADLINE, RETRY = 1.5, 1.0, 0.2
SHORT = (LEASE, DEADLINE, RETRY)
# In the Lease, the duration is rounded up. A candidate sees a renewal up to 2.2 retries late, and
# its next attempt may be as late.
FAILOVER = 2.0 + 2 * 2.2 * RETRY
PYTHON = (sys.executable, election_candidate.__file__)
# For what has no limit of its own, on a machine with other work.
PATIENCE = 40.0
_SIGNS_OF_WORK = 5


class Event(NamedTuple):
    """A line of a journal."""

    name: str
    token: int
    time: float
    identity: str


class CandidateProcess:
    """One process, its line to the server, and its journal.

    Args:
        identity: Its identity.
        folder: The folder of its files.
        line: Its line to the server.
        program: The command of the program, which takes the arguments of ``election_candidate``.
        durations: Those of the election.
    """

    def __init__(
        self,
        identity: str,
        folder: Path,
        line: Line,
        *,
        program: Sequence[str] = PYTHON,
        durations: tuple[float, float, float] = SHORT,
    ) -> None:
        self._program = program
        self._durations = durations
        self._was_told_to_end = False
        self.identity = identity
        self.line = line
        self.journal = folder / f"{identity}.journal"
        self.log = folder / f"{identity}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, kubeconfig: Path, namespace: str) -> None:
        arguments = (
            kubeconfig,
            self.line.url,
            namespace,
            self.identity,
            self.journal,
            *self._durations,
        )
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._program, *map(str, arguments)],
                stdout=output,
                stderr=output,
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )

    def signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def end(self) -> None:
        """Let it stop its work, release the Lease and end; a second signal would interrupt it."""
        if self.returncode is None and not self._was_told_to_end:
            self._was_told_to_end = True
            self.signal(signal.SIGTERM)

    @property
    def returncode(self) -> int | None:
        assert self._process is not None
        return self._process.poll()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def events(self) -> list[Event]:
        text = self.journal.read_text() if self.journal.exists() else ""
        lines = [line.split() for line in text.splitlines()]
        return [Event(name, int(token), float(at), self.identity) for name, token, at in lines]


class Race:
    """The candidates by identity, and what they did."""

    def __init__(self, candidates: list[CandidateProcess], client: Client) -> None:
        self.candidates = {each.identity: each for each in candidates}
        self._client = client

    def work(self) -> list[Event]:
        """All signs of work, in the order of time."""
        found = [each for one in self.candidates.values() for each in one.events]
        return sorted((each for each in found if each.name == "work"), key=lambda each: each.time)

    def events(self, name: str) -> list[Event]:
        found = [each for one in self.candidates.values() for each in one.events]
        return [each for each in found if each.name == name]

    async def worker(self) -> CandidateProcess:
        """Wait for new work; return the process that does it, just when it did something."""
        began = time.monotonic()

        def new() -> list[Event]:
            return [each for each in self.work() if each.time > began]

        await wait_until(lambda: len(new()) >= _SIGNS_OF_WORK, timeout=PATIENCE)
        return self.candidates[new()[-1].identity]

    async def new_worker(self, old: CandidateProcess) -> tuple[CandidateProcess, float]:
        """Wait until another process works; return it, and the time since the last work."""
        last = [each for each in self.work() if each.identity == old.identity][-1]

        def successors() -> list[Event]:
            return [each for each in self.work() if each.token > last.token]

        await wait_until(lambda: bool(successors()), timeout=PATIENCE)
        first = successors()[0]
        print(f"failover from {old.identity} to {first.identity}: {first.time - last.time:.2f} s")
        return self.candidates[first.identity], first.time - last.time

    async def finish(self) -> None:
        """End all processes, which release the Lease."""
        for each in self.candidates.values():
            each.end()
        await wait_until(
            lambda: all(each.returncode is not None for each in self.candidates.values()),
            timeout=PATIENCE,
        )

    def check_terms(self, *, including_ends: bool = True) -> None:
        """Check that the terms of all processes, by their tokens, do not overlap.

        Args:
            including_ends: Whether the work has really ended before the next one began. A process
                that was stopped by a signal cannot end its work until it is continued.
        """
        events = self.work() + (self.events("end") if including_ends else [])
        terms: dict[tuple[int, str], list[float]] = {}
        for each in events:
            terms.setdefault((each.token, each.identity), []).append(each.time)
        order = sorted(terms)
        assert len({token for token, _ in order}) == len(order), f"one token, two terms: {order}"
        for before, after in itertools.pairwise(order):
            assert max(terms[before]) < min(terms[after]), f"{before} and {after} overlap"

    async def check_writes(self) -> None:
        """Check that the server stored no write of an earlier leader after one of a later."""
        maps = await self._client.list(ConfigMap, namespace=self._client.namespace)
        writes = [each for each in maps if "token" in each.data]
        writes.sort(key=lambda each: int(each.resource_version))
        tokens = [int(each.data["token"]) for each in writes]
        assert tokens == sorted(tokens)
        assert len(set(tokens)) > 1

    async def holder(self) -> str | None:
        return (await self._client.get(Lease, NAME)).spec.holder_identity


@asynccontextmanager
async def race(
    server: HasUrl, kubeconfig: Path, client: Client, folder: Path, *, candidates: int
) -> AsyncIterator[Race]:
    """Start candidates, each with its own line to the server, in the namespace of the client."""
    async with contextlib.AsyncExitStack() as stack:
        processes = []
        for number in range(candidates):
            line = await stack.enter_async_context(Line(server))
            process = CandidateProcess(f"c{number}", folder, line)
            process.start(kubeconfig, client.namespace)
            stack.callback(process.kill)
            processes.append(process)
        run = Race(processes, client)
        await wait_until(lambda: len(run.events("candidate")) == candidates, timeout=PATIENCE)
        try:
            yield run
        except BaseException:
            for process in processes:
                print(f"--- {process.identity}\n{process.log.read_text()[-4000:]}")
            raise


async def kill_leader(run: Race) -> float:
    """The leader is killed; another process takes over."""
    leader = await run.worker()
    leader.signal(signal.SIGKILL)
    _, failover = await run.new_worker(leader)
    await run.worker()
    await run.finish()
    run.check_terms()
    await run.check_writes()
    return failover


async def suspend_leader(run: Race) -> float:
    """The leader is stopped for longer than its lease, and continued: it does nothing more."""
    leader = await run.worker()
    leader.signal(signal.SIGSTOP)
    stopped = leader.events[-1]
    successor, failover = await run.new_worker(leader)
    await run.worker()
    leader.signal(signal.SIGCONT)
    await wait_until(
        lambda: Event("end", stopped.token, 0.0, "")[:2] in [each[:2] for each in leader.events],
        timeout=PATIENCE,
    )
    assert leader.events[-1].name == "end"
    assert await run.worker() is successor
    await run.finish()
    run.check_terms(including_ends=False)
    await run.check_writes()
    return failover


async def cut_leader_off(run: Race, *, frozen: bool) -> float:
    """The leader loses its network, with or without noticing, and gets it back later."""
    leader = await run.worker()
    if frozen:
        leader.line.freeze()
    else:
        leader.line.cut()
    _, failover = await run.new_worker(leader)
    ended = [each for each in leader.events if each.name == "end"]
    assert ended, "it stopped before its successor started"
    leader.line.mend()
    for _ in range(5):
        await run.worker()
    assert leader.returncode is None
    await run.finish()
    run.check_terms()
    await run.check_writes()
    return failover
