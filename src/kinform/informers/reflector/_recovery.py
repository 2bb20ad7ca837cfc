"""Failures in; each judged in its context, told, and the seconds to wait out."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kinform.errors import ApiError, ExpiredError, KinformError, WatchSilenceError
from kinform.informers.reflector._backoff import Backoff
from kinform.informers.reflector._verdicts import Facts, Verdict, judge
from kinform.informers.reflector._vitals import Phase, Vitals, WatchFailure, error_kind
from kinform.metrics import Metrics

logger = logging.getLogger("kinform.reflector")

_LONGEST_RETRY_AFTER = 300.0
# A refusal that lasts is worth a line in the log at first, and then now and then.
_LOUD_FROM = 3
_LOUD_EVERY = 10


class Recovery:
    """Counts what goes wrong in a row, and decides on it.

    Attributes:
        on_error: Whom to tell of every failure.
    """

    def __init__(self, name: str, vitals: Vitals, backoff: Backoff, metrics: Metrics) -> None:
        self._name = name
        self._vitals = vitals
        self._backoff = backoff
        self._metrics = metrics
        self._last: tuple[Phase, str] | None = None
        self._repeated = 0
        self._early_closes = 0
        self.on_error: Callable[[WatchFailure], object] | None = None

    def judge(
        self, phase: Phase, error: KinformError, *, versioned: bool, healthy: bool
    ) -> tuple[Verdict, float]:
        """The verdict on a failure, and how long to wait before it is carried out."""
        if healthy:
            self.watch_lived()
        failure = (phase, error_kind(error))
        self._repeated = self._repeated + 1 if failure == self._last else 1
        self._last = failure
        facts = Facts(
            versioned=versioned,
            healthy=healthy,
            moved=self._vitals.moved,
            repeated=self._repeated,
        )
        verdict = judge(phase, error, facts)
        delay = self._delay(verdict, error)
        self._vitals.failed(error)
        self._metrics.failed(self._name, phase.value, error_kind(error))
        self._log(phase, error, delay)
        self._tell(phase, error, delay)
        return verdict, delay

    def synced(self) -> None:
        """A list is complete. That is no health yet: the backoff stays where it is."""
        self._last = None

    def watch_lived(self) -> None:
        """A watch lived long enough to be called healthy: what was before it is over."""
        self._backoff.reset()
        self._last = None
        self._early_closes = 0

    def watch_was_short(self) -> float:
        """A watch with something to say was closed early; how long to wait before the next.

        Once is a server that goes away; more is one that would have us ask all day.
        """
        self._last = None
        self._early_closes += 1
        return self._backoff.next() if self._early_closes > 1 else 0.0

    def _delay(self, verdict: Verdict, error: KinformError) -> float:
        if not verdict.wait:
            return 0.0
        asked = error.retry_after if isinstance(error, ApiError) else None
        return self._backoff.next(
            patience=verdict.patience, at_least=min(asked or 0.0, _LONGEST_RETRY_AFTER)
        )

    def _log(self, phase: Phase, error: KinformError, delay: float) -> None:
        attempts = self._vitals.attempts
        ordinary = isinstance(error, ExpiredError | WatchSilenceError)
        refused = isinstance(error, ApiError) and error.code in (401, 403, 404, 405)
        lasting = not ordinary and attempts % _LOUD_EVERY == _LOUD_FROM
        logger.log(
            logging.WARNING if lasting or (refused and attempts == 1) else logging.DEBUG,
            "%s: %s failed (attempt %d, at version %s): %s; again in %.1f s",
            self._name,
            phase.value,
            attempts,
            self._vitals.resource_version or "none",
            error,
            delay,
        )

    def _tell(self, phase: Phase, error: KinformError, delay: float) -> None:
        if self.on_error is None:
            return
        vitals = self._vitals
        failure = WatchFailure(
            self._name, phase, vitals.resource_version, error, vitals.attempts, delay
        )
        try:
            self.on_error(failure)
        except Exception:  # the user's code
            logger.exception("%s: the watch error handler failed", self._name)
