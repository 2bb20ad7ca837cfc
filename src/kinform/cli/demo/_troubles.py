"""Breaks the connections of the demo: first so that watches resume, then so that they expire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kinform.cli.demo._follower import Follower
from kinform.cli.demo._ledger import Ledger
from kinform.cli.demo._picture import Health
from kinform.testing import ApiServer, faults

_POLL = 0.01


class Troubles:
    """Troubles for the informers of a follower.

    Args:
        api: The server.
        follower: The informers, running.
        ledger: Notes which changes a list may replace.
        duration: The length of the demo in seconds; the troubles come within its first two thirds.

    Attributes:
        resumed: The number of watches that continued where they were broken.
    """

    def __init__(self, api: ApiServer, follower: Follower, ledger: Ledger, duration: float) -> None:
        self.resumed = 0
        self._api = api
        self._follower = follower
        self._ledger = ledger
        self._duration = duration

    @property
    def relisted(self) -> int:
        """The number of times that a resource was listed again."""
        informers = self._follower.informers.values()
        return sum(sum(informer.status().relists.values()) for informer in informers)

    async def run(self) -> None:
        await asyncio.sleep(self._duration * 0.25)
        await self._break_connections()
        await asyncio.sleep(self._duration * 0.2)
        await self._expire_watches()

    async def _break_connections(self) -> None:
        opened, relisted = len(self._api.requests.watches()), self.relisted
        broken = self._api.end_watches(reset=True)
        self._follower.announce(Health.BAD, "demo", f"resets the connections of {broken} watches")
        await _until(lambda: len(self._api.requests.watches()) >= opened + broken)
        if self.relisted == relisted:
            self.resumed += broken
        self._follower.announce(
            Health.GOOD, "informers", f"resumed {self.resumed} watches where they were"
        )

    async def _expire_watches(self) -> None:
        informers = self._follower.informers
        before = self.relisted
        seconds = self._duration * 0.1
        for gvr, informer in informers.items():
            self._ledger.open_gap(gvr, int(informer.last_sync_resource_version))
        with self._api.faults.inject(faults.reset_connection(), times=None):
            self._api.end_watches(reset=True)
            self._follower.announce(
                Health.BAD, "demo", f"resets all connections for {seconds:.1f} s, drops the history"
            )
            await asyncio.sleep(seconds)
            self._api.compact()
        await _until(lambda: self.relisted >= before + len(informers))
        for gvr, informer in informers.items():
            self._ledger.close_gap(gvr, int(informer.last_sync_resource_version))
        self._follower.announce(
            Health.GOOD,
            "informers",
            f"got 410 Expired, listed {self.relisted - before} resources again",
        )


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110  # the informers announce neither
        await asyncio.sleep(_POLL)
