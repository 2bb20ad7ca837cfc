"""The attempts of one candidate: to take the lease, to renew it, and to give it up."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from kinform.controllers.election._leadership import Leadership
from kinform.controllers.election._lease_lock import LeaseLock, LeaseTakenError
from kinform.controllers.election._timing import ElectionTiming

logger = logging.getLogger("kinform.election")


class Candidacy:
    """Repeats attempts, each with its own timeout, and remembers why the last one failed.

    Args:
        lock: The lease.
        title: The name of the election, for logs.
        identity: The identity of this candidate.
        timing: The durations of the election.
        clock: Returns the local time.

    Attributes:
        last_error: The error of the last attempt; empty if it succeeded.
    """

    def __init__(
        self,
        lock: LeaseLock,
        title: str,
        identity: str,
        *,
        timing: ElectionTiming,
        clock: Callable[[], float],
    ) -> None:
        self._lock = lock
        self._title = title
        self._identity = identity
        self._timing = timing
        self._clock = clock
        self.last_error = ""

    async def win(self) -> float:
        """Attempt to take the lease until it succeeds; return when the successful write was sent.

        If the call is cancelled, a lease that it may have taken is given up.
        """
        logger.info("%s: %s is a candidate", self._title, self._identity)
        try:
            while True:
                sent = await self._attempt_to_acquire()
                # The process may have been suspended since the write.
                if sent is not None and self._clock() < sent + self._timing.renew_deadline:
                    return sent
                await asyncio.sleep(self._timing.candidate_delay(self._lock.expires_in))
        except asyncio.CancelledError:
            if self._lock.may_be_held:
                await self.give_up()
            raise

    async def _attempt_to_acquire(self) -> float | None:
        limit = self._timing.attempt_timeout
        try:
            async with asyncio.timeout(limit):
                sent = await self._lock.try_acquire()
        except Exception as error:
            self._note_failure("cannot acquire the lease", error, limit)
            return None
        self._note_success()
        return sent

    async def keep_renewing(self, leadership: Leadership, sent: float) -> str:
        """Renew the lease until it is lost; return why."""
        timing = self._timing
        attempted = renewed = sent
        while True:
            deadline = renewed + timing.renew_deadline
            pause = min(attempted + timing.retry_period, deadline) - self._clock()
            await asyncio.sleep(max(0.0, pause))
            attempted = self._clock()
            if attempted >= deadline:
                return (
                    f"no renewal for {attempted - renewed:.1f} s: "
                    f"{self.last_error or 'the process or its event loop was blocked'}"
                )
            limit = min(timing.attempt_timeout, deadline - attempted)
            try:
                async with asyncio.timeout(limit):
                    renewed = await self._lock.renew()
            except LeaseTakenError as error:
                leadership._end()
                return f"{error}"
            except Exception as error:
                self._note_failure("cannot renew the lease", error, limit)
            else:
                self._note_success()
                leadership._extend(renewed + timing.lease_duration)

    async def give_up(self) -> None:
        """Release the lease if this process has it; a failure is logged."""
        limit = self._timing.attempt_timeout
        try:
            async with asyncio.timeout(limit):
                if await self._lock.release():
                    logger.info("%s: %s released the lease", self._title, self._identity)
        except Exception as error:
            logger.warning(
                "%s: cannot release the lease, which will run out: %s",
                self._title,
                _describe(error, limit),
            )

    def _note_failure(self, what: str, error: Exception, limit: float) -> None:
        level = logging.DEBUG if self.last_error else logging.WARNING
        self.last_error = _describe(error, limit)
        logger.log(level, "%s: %s %s: %s", self._title, self._identity, what, self.last_error)

    def _note_success(self) -> None:
        if self.last_error:
            logger.info("%s: requests of %s succeed again", self._title, self._identity)
        self.last_error = ""


def _describe(error: Exception, limit: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no response within {limit:.3g} s"
    return str(error) or type(error).__name__
