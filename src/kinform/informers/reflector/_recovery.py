"""Recovery: counts the failures of a reflector, and determines its reaction and backoff."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable

import msgspec

from kinform.client import Reachability
from kinform.errors import (
    ApiError,
    ExpiredError,
    IncompleteStreamError,
    KinformError,
    NoMatchError,
    WatchSilenceError,
)
from kinform.informers.reflector._options import ReflectorOptions
from kinform.informers.reflector._state import Phase, ReflectorState, WatchFailure, error_kind
from kinform.informers.reflector._verdicts import (
    CUT_STREAMS,
    UNUSABLE_WATCH,
    Facts,
    Pause,
    Verdict,
    is_lost_connection,
    judge,
)
from kinform.metrics import Metrics

logger = logging.getLogger("kinform.reflector")

_LONGEST_RETRY_AFTER = 300.0
# Spreads the reconnects of informers whose connections were lost together. This also limits the
# requests to a server that closes after every event to about 100 per second.
_RESUME_JITTER = 0.02
# A second list within this many seconds counts as too soon.
_JUST_LISTED = 1.0
# A persistent refusal is logged as a warning at first, then at intervals.
_WARN_FROM = 3
_WARN_EVERY = 10
# A shorter delay would be logged as 0.0 s.
_SHORTEST_SHOWN = 0.05


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt of a reflector that failed.

    Attributes:
        phase: The phase of the reflector.
        versioned: Whether it requested a resource version, so that it can retry without one.
        progressed: Whether it received something new before it failed; see ``Facts``.
        resumable: Whether it was a paged list that can be resumed.
        unconfirmed: Whether it was a watch over a target filled elsewhere; see ``Facts``.
    """

    phase: Phase
    versioned: bool = False
    progressed: bool = False
    resumable: bool = False
    unconfirmed: bool = False


class Recovery:
    """Counts consecutive failures and decides how to proceed.

    There are two backoffs: one for connections without progress, one for refusals of the server.
    Progress resets both, however the connection ended.

    Attributes:
        on_error: Called for every failure.
    """

    def __init__(
        self,
        name: str,
        state: ReflectorState,
        options: ReflectorOptions,
        reachability: Reachability,
        metrics: Metrics,
    ) -> None:
        self._name = name
        self._state = state
        self._refused = options.backoff()
        self._unreachable = options.reconnect_backoff()
        self._reachability = reachability
        self._metrics = metrics
        self._last: tuple[Phase, str] | None = None
        self._repeated = 0
        self._unusable = 0
        self._quick_lists = 0
        self._cut_streams = 0
        # Since the last success: when the failures began, and what was logged as a warning.
        self._failing_since: float | None = None
        self._warned: set[str] = set()
        self.on_error: Callable[[WatchFailure], object] | None = None

    @property
    def has_stream_attempts(self) -> bool:
        """Whether to try another streamed list before the next complete list."""
        return self._cut_streams < CUT_STREAMS

    def judge(self, attempt: Attempt, error: KinformError) -> tuple[Verdict, float]:
        """Return the verdict on a failure, and the delay in seconds before it is carried out."""
        if attempt.progressed:
            self._progressed(attempt.phase)
        self._count(attempt, error)
        facts = Facts(
            versioned=attempt.versioned,
            progressed=attempt.progressed,
            resumable=attempt.resumable,
            unconfirmed=attempt.unconfirmed,
            quick_lists=self._quick_lists,
            moved=self._state.moved,
            cut_streams=self._cut_streams,
            unusable=self._unusable,
            repeated=self._repeated,
        )
        verdict = judge(attempt.phase, error, facts)
        delay = self._delay(verdict, error)
        self._state.failed(error)
        self._metrics.failed(self._name, attempt.phase.value, error_kind(error))
        self._log(attempt.phase, error, verdict, delay)
        self._report(attempt.phase, error, delay)
        return verdict, delay

    def synced(self, resource_version: str) -> None:
        """Note a complete list. It does not show yet whether the server can be watched."""
        self._cut_streams = 0
        if resource_version:  # without versions, each end of a watch would relist without backoff
            self._last = None
            self._unreachable.reset()

    def recovered(self) -> None:
        """Note that the reflector is current: it has a list, and a watch if it can have one."""
        since, self._failing_since = self._failing_since, None
        if since is None:
            return
        level = logging.INFO if self._warned else logging.DEBUG
        self._warned.clear()
        logger.log(
            level, "%s: recovered after %.1f s", self._name, max(0.0, self._state.clock() - since)
        )

    def _just_listed(self) -> bool:
        listed_at = self._state.list_at
        return listed_at is not None and self._state.clock() - listed_at < _JUST_LISTED

    def watch_ended(self) -> float:
        """Note the clean end of a watch with progress, and return the delay before the next one."""
        self._progressed(Phase.WATCHING)
        return self._resume_delay()

    def _progressed(self, phase: Phase) -> None:
        self._unreachable.reset()
        if phase is Phase.WATCHING:
            # A list alone is not enough: a server may serve lists and refuse every watch.
            self._refused.reset()
            self._last = None
            self._unusable = 0

    def _count(self, attempt: Attempt, error: KinformError) -> None:
        failure = (attempt.phase, error_kind(error))
        self._repeated = self._repeated + 1 if failure == self._last else 1
        self._last = failure
        if isinstance(error, UNUSABLE_WATCH) and attempt.phase is Phase.WATCHING:
            self._unusable += 1
            is_quick = self._unusable == 1 and self._just_listed()
            self._quick_lists = self._quick_lists + 1 if is_quick else 0
        if attempt.phase is Phase.STREAMING and attempt.progressed:
            is_cut = is_lost_connection(error) or isinstance(error, IncompleteStreamError)
            self._cut_streams += is_cut

    def _delay(self, verdict: Verdict, error: KinformError) -> float:
        if verdict.pause is Pause.NONE:
            return 0.0
        if verdict.pause is Pause.RESUME:
            return self._resume_delay()
        if verdict.pause is Pause.RECONNECT:
            return self._reachability.stretch(self._unreachable.next())
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        return self._refused.next(
            patience=verdict.patience, at_least=min(retry_after or 0.0, _LONGEST_RETRY_AFTER)
        )

    def _resume_delay(self) -> float:
        return random.uniform(0.0, _RESUME_JITTER)

    def _log(self, phase: Phase, error: KinformError, verdict: Verdict, delay: float) -> None:
        attempts = self._state.attempts
        if self._failing_since is None:
            self._failing_since = self._state.clock()
        kind = error_kind(error)
        ordinary = isinstance(error, ExpiredError | WatchSilenceError)
        refused = isinstance(error, NoMatchError) or (
            isinstance(error, ApiError) and error.code in (401, 403, 404, 405)
        )
        lasting = not ordinary and attempts % _WARN_EVERY == _WARN_FROM
        is_warning = lasting or (refused and kind not in self._warned)
        if is_warning:
            self._warned.add(kind)
        is_plain_list = phase is Phase.STREAMING and verdict.next is Phase.LISTING
        logger.log(
            logging.WARNING if is_warning else logging.DEBUG,
            "%s: %s failed (attempt %d, at version %s): %s; %s %s",
            self._name,
            phase.value,
            attempts,
            self._state.resource_version or "none",
            error,
            "trying a plain list" if is_plain_list else "next attempt",
            f"in {delay:.1f} s" if delay >= _SHORTEST_SHOWN else "now",
        )

    def _report(self, phase: Phase, error: KinformError, delay: float) -> None:
        if self.on_error is None:
            return
        state = self._state
        failure = WatchFailure(
            self._name,
            phase,
            state.resource_version,
            error,
            state.attempts,
            delay,
            state.staleness(),
        )
        try:
            self.on_error(failure)
        except Exception:  # user code
            logger.exception("%s: on_watch_error failed", self._name)
