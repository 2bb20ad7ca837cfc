"""Detects a server whose resource versions went back, as after a restore from a backup.

Such a server answers a watch from a version that it has not reached again with silence: no
events, no bookmarks, no error. The store would keep objects that no longer exist.

A lower version is proof only in the answer to a consistent read. A replica may lag behind and
answer anything else with an old version, so everything else is a suspicion: a bookmark below the
known version, an event that is not newer than the start of its watch, a list older than
requested, "too large resource version", or silence. Bookmarks and silence lead to a small
consistent list, the others to a complete one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from typing import Any

from kinform.api import ListOptions, is_older
from kinform.errors import KinformError, VersionRegressionError
from kinform.informers.reflector._state import ReflectorState
from kinform.informers.sources import Source

logger = logging.getLogger("kinform.reflector")

VERSIONS_WENT_BACK = "versions went back"
"""The reason for a relist."""

# Servers send about one bookmark per minute, so several are missing after this many seconds.
_SILENCE = 300.0
# After an outage: a server is not reachable while it is restored.
_SILENCE_AFTER_OUTAGE = 10.0
# The minimum time between two checks, whatever the server sends.
_LEAST_INTERVAL = 10.0


class VersionCheck:
    """Compares the server's version with the known one, where a watch gives reason to.

    Silence of a custom source is not checked: its list may ignore the limit.
    """

    def __init__(self, name: str, source: Source[Any], state: ReflectorState) -> None:
        self._name = name
        self._source = source
        self._state = state
        self._suspected = asyncio.Event()
        self._checked_at = -math.inf

    def suspect(self) -> None:
        """Check soon: the server sent something that only an earlier version explains."""
        self._suspected.set()

    async def run(self, confirmed_at: float, *, soon: bool) -> None:
        """Check whenever there is a suspicion, until cancelled.

        Args:
            confirmed_at: The property of this name, before the watch was opened.
            soon: Whether the server may have been restored since then.

        Raises:
            VersionRegressionError: The server's versions are below the known one.
        """
        clock = self._state.clock
        due = clock() + _jittered(_SILENCE_AFTER_OUTAGE) if soon else self._due(confirmed_at)
        while True:
            await self._wait_for_suspicion(due)
            if self._suspected.is_set() or self.confirmed_at <= confirmed_at:
                self._suspected.clear()
                await self._check()
                self._checked_at = clock()
                await asyncio.sleep(_LEAST_INTERVAL)
            confirmed_at = self.confirmed_at
            due = self._due(confirmed_at)

    @property
    def confirmed_at(self) -> float:
        """The time at which the server last showed that it is not behind, or was checked."""
        state = self._state
        seen = (state.list_at, state.event_at, state.bookmark_at)
        return max(self._checked_at, *(-math.inf if at is None else at for at in seen))

    def _due(self, confirmed_at: float) -> float:
        return confirmed_at + _jittered(_SILENCE)

    async def _wait_for_suspicion(self, due: float) -> None:
        """Wait until something is suspicious, or until silence is, at ``due``."""
        limit = None if self._source.resource is None else due - self._state.clock()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._suspected.wait()

    async def _check(self) -> None:
        known = self._state.resource_version
        try:
            # Without a version: a consistent read, never answered from a lagging cache.
            page = await self._source.page(ListOptions(limit=1))
        except KinformError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # The source converted the cancellation into another error.
                raise asyncio.CancelledError from error
            # The watch itself still works; an outage ends it, too.
            logger.debug("%s: the server's version is unknown: %s", self._name, error)
            return
        if is_older(page.resource_version, known):
            raise VersionRegressionError(
                f"{self._name}: the server is at version {page.resource_version}, "
                f"behind the known version {known}"
            )


def _jittered(seconds: float) -> float:
    """Spread the checks of many informers."""
    return seconds * random.uniform(1.0, 1.5)
