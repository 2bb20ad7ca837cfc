"""A program that campaigns, and writes down when it worked: run by tests, several at once.

    python election_candidate.py KUBECONFIG SERVER NAMESPACE IDENTITY JOURNAL LEASE DEADLINE RETRY

The durations are in seconds. Each line of the journal is an event, the fencing token and the time.
While it is the leader, it creates a ConfigMap every few milliseconds, through a client with a
guard. SIGTERM ends it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import time

from msgspec.structs import replace

from kinform import Client
from kinform.controllers import LeaderElector, Leadership, LeadershipGuard
from kinform.errors import KinformError, LeadershipLostError
from kinform.models.core.v1 import ConfigMap
from kinform.models.meta.v1 import ObjectMeta
from kinform.transport import ClusterConfig

NAME = "race"


class Journal:
    """Appends lines that survive the end of the process."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(self, event: str, token: int) -> None:
        os.write(self._file, f"{event} {token} {time.monotonic():.6f}\n".encode())


class Candidate:
    def __init__(self, client: Client, journal: Journal, identity: str) -> None:
        self._client = client
        self._journal = journal
        self._identity = identity
        self._count = 0

    async def work(self, leadership: Leadership) -> None:
        guard = LeadershipGuard(leadership)
        self._client.add_write_hook(guard)
        try:
            while True:
                leadership.check()
                self._journal.note("work", leadership.token)
                await asyncio.sleep(0.05)
                try:
                    await self._write(leadership)
                except LeadershipLostError:
                    raise
                except KinformError:
                    logging.info("a write failed", exc_info=True)
        finally:
            self._journal.note("end", leadership.token)
            self._client.remove_write_hook(guard)

    async def _write(self, leadership: Leadership) -> None:
        self._count += 1
        name = f"write-{self._identity}-{self._count}"
        data = {"token": str(leadership.token)}
        await self._client.create(ConfigMap(metadata=ObjectMeta(name=name), data=data))


async def main(
    kubeconfig: str, server: str, namespace: str, identity: str, path: str, *durations: str
) -> None:
    logging.basicConfig(level=logging.DEBUG, format="%(relativeCreated)d %(name)s %(message)s")
    config = replace(ClusterConfig.from_kubeconfig(kubeconfig), server=server, namespace=namespace)
    lease_duration, renew_deadline, retry_period = map(float, durations)
    journal = Journal(path)
    async with Client(config) as writing, Client(config) as electing:
        elector = LeaderElector(
            electing,
            NAME,
            identity=identity,
            lease_duration=lease_duration,
            renew_deadline=renew_deadline,
            retry_period=retry_period,
        )
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, elector.stop)
        journal.note("candidate", 0)
        await elector.run(Candidate(writing, journal, identity).work)
        journal.note("released", 0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
