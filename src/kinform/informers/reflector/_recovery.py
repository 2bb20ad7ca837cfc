"""Counts the failures of a reflector, has each judged, and says how long to wait after it."""

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
# Informers whose connections ended together do not come back at the same instant. This also
# bounds how often a server that closes after every event is asked: about 100 times a second.
_RESUME_JITTER = 0.02
# A list this soon after the one before is too soon.
_JUST_LISTED = 1.0
# A refusal that lasts is worth a line in the log at first, and then now and then.
_LOUD_FROM = 3
_LOUD_EVERY = 10


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What a reflector tried when it failed.

    Attributes:
        phase: What it was doing.
        versioned: It asked for a resource version, so it can ask without.
        progressed: It brought something new before it failed; see ``Facts``.
        resumable: It was a paged list that can go on where it was.
    """

    phase: Phase
    versioned: bool = False
    progressed: bool = False
    resumable: bool = False


class Recovery:
    """Counts what fails in a row and decides what to do about it.

    There are two sequences of delays: one for connections that brought nothing, one for refusals
    of the server. Progress begins both anew, however the connection ended.

    Attributes:
        on_error: Called with every failure.
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
        self.on_error: Callable[[WatchFailure], object] | None = None

    @property
    def may_stream(self) -> bool:
        """Whether a streamed list is worth another attempt before the next complete list."""
        return self._cut_streams < CUT_STREAMS

    def judge(self, attempt: Attempt, error: KinformError) -> tuple[Verdict, float]:
        """The verdict on a failure, and how long to wait before it is carried out."""
        if attempt.progressed:
            self._progressed(attempt.phase)
        self._count(attempt, error)
        facts = Facts(
            versioned=attempt.versioned,
            progressed=attempt.progressed,
            resumable=attempt.resumable,
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
        self._log(attempt.phase, error, delay)
        self._report(attempt.phase, error, delay)
        return verdict, delay

    def synced(self, resource_version: str) -> None:
        """A list is complete. Whether the server can be watched is still to be seen."""
        self._cut_streams = 0
        if resource_version:  # or every watch that ends would bring another list, ever as soon
            self._last = None
            self._unreachable.reset()

    def _just_listed(self) -> bool:
        listed_at = self._state.list_at
        return listed_at is not None and self._state.clock() - listed_at < _JUST_LISTED

    def watch_ended(self) -> float:
        """A watch that made progress ended cleanly; how long to wait before the next."""
        self._progressed(Phase.WATCHING)
        return self._resume_delay()

    def _progressed(self, phase: Phase) -> None:
        self._unreachable.reset()
        if phase is Phase.WATCHING:
            # Not so after a list alone: a server may list and refuse every watch.
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
        asked = error.retry_after if isinstance(error, ApiError) else None
        return self._refused.next(
            patience=verdict.patience, at_least=min(asked or 0.0, _LONGEST_RETRY_AFTER)
        )

    def _resume_delay(self) -> float:
        return random.uniform(0.0, _RESUME_JITTER)

    def _log(self, phase: Phase, error: KinformError, delay: float) -> None:
        attempts = self._state.attempts
        ordinary = isinstance(error, ExpiredError | WatchSilenceError)
        refused = isinstance(error, ApiError) and error.code in (401, 403, 404, 405)
        lasting = not ordinary and attempts % _LOUD_EVERY == _LOUD_FROM
        logger.log(
            logging.WARNING if lasting or (refused and attempts == 1) else logging.DEBUG,
            "%s: %s failed (attempt %d, at version %s): %s; %s",
            self._name,
            phase.value,
            attempts,
            self._state.resource_version or "none",
            error,
            f"next attempt in {delay:.1f} s" if delay else "next attempt now",
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
        except Exception:  # the user's code
            logger.exception("%s: the watch error handler failed", self._name)
