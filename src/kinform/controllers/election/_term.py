"""One term: runs the work of a leader, and stops it when the leadership ends."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from kinform.controllers.election._leadership import Leadership
from kinform.errors import ConfigError, LeadershipLostError

logger = logging.getLogger("kinform.election")

LeaderWork = Callable[[Leadership], Awaitable[None]]
"""The work of a leader; it is cancelled when the leadership ends."""


class Term:
    """Runs the work while a renewal task keeps the lease.

    Args:
        name: The name of the election, for logs.
        leadership: The leadership of this term.
        work: The work.
        keep_renewing: Renews the lease; returns the reason when it is lost.
        on_stopping: Called when the work is told to stop, or has ended.
        reminder_interval: Seconds between the logs about work that does not stop.

    Attributes:
        lost_because: Why the leadership was lost; empty if it was not.
        is_stopping: Whether the work was cancelled.
    """

    def __init__(
        self,
        name: str,
        leadership: Leadership,
        work: LeaderWork,
        keep_renewing: Callable[[], Coroutine[Any, Any, str]],
        *,
        on_stopping: Callable[[], None],
        reminder_interval: float,
    ) -> None:
        self._name = name
        self.leadership = leadership
        self._work = work
        self._keep_renewing = keep_renewing
        self._on_stopping = on_stopping
        self._reminder_interval = reminder_interval
        self.lost_because = ""
        self.is_stopping = False

    async def run(self) -> None:
        """Run the work to its end, however it ends. Cancelling this call stops the work first.

        The lease is renewed until the work has stopped, unless it is lost before.

        Raises:
            Exception: An error of the work, unless the leadership was lost before.
        """
        work = asyncio.create_task(self._call_work(), name=f"{self._name} work")
        renewal = asyncio.create_task(self._keep_renewing(), name=f"{self._name} renewal")
        was_cancelled = False
        try:
            while not work.done():
                try:
                    await self._wait(work, renewal)
                except asyncio.CancelledError:
                    was_cancelled = True
                    self._stop(work)
        finally:
            renewal.cancel()
            self._stop(work)
            await asyncio.wait([renewal])
        self._log_overrun()
        self._judge(work)
        if was_cancelled:
            raise asyncio.CancelledError

    async def _call_work(self) -> None:
        called = self._work(self.leadership)
        if not inspect.isawaitable(called):
            raise ConfigError(f"the work of a leader must be async, but {self._work!r} is not")
        await called

    async def _wait(self, work: asyncio.Task[None], renewal: asyncio.Task[str]) -> None:
        """Wait until the work ends, the lease is lost, or a reminder is due."""
        if not self.lost_because:
            await asyncio.wait([work, renewal], return_when=asyncio.FIRST_COMPLETED)
            if renewal.done() and not work.done():
                self.lost_because = _result(renewal)
                logger.error(
                    "%s: %s lost the leadership: %s; stopping the work",
                    self._name,
                    self.leadership.identity,
                    self.lost_because,
                )
                self._stop(work)
            return
        remaining = self.leadership.remaining
        await asyncio.wait([work], timeout=remaining or self._reminder_interval)
        late = self.leadership.overdue
        if late is not None and not work.done():
            logger.error(
                "%s: the work of %s has not stopped %.1f s after its lease ended; another process "
                "may be the leader by now",
                self._name,
                self.leadership.identity,
                late,
            )

    def _stop(self, work: asyncio.Task[None]) -> None:
        if not self.is_stopping:
            self.is_stopping = True
            self._on_stopping()
        self.leadership.lost.set()
        work.cancel()

    def _log_overrun(self) -> None:
        late = self.leadership.overdue
        if self.lost_because and late is not None and late > 0:
            logger.error(
                "%s: the work of %s stopped %.1f s after its lease ended",
                self._name,
                self.leadership.identity,
                late,
            )

    def _judge(self, work: asyncio.Task[None]) -> None:
        error = None if work.cancelled() else work.exception()
        if isinstance(error, LeadershipLostError) and not self.leadership.is_valid:
            # The work noticed first, for example because the event loop had been blocked.
            self.lost_because = self.lost_because or str(error)
        elif error is not None and self.lost_because and isinstance(error, Exception):
            logger.warning("%s: the work failed while it was stopped", self._name, exc_info=error)
        elif error is not None:
            raise error


def _result(renewal: asyncio.Task[str]) -> str:
    if renewal.cancelled():
        return "the renewal of the lease was cancelled"
    error = renewal.exception()
    return f"the renewal of the lease failed: {error!r}" if error else renewal.result()
