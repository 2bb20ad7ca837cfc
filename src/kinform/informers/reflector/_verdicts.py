"""The retry policy of a reflector, without I/O: the next phase and delay after each failure."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from kinform.errors import (
    ApiError,
    BadRequestError,
    CacheError,
    ExpiredError,
    ForbiddenError,
    IncompleteStreamError,
    InvalidError,
    KinformError,
    MethodNotAllowedError,
    NoMatchError,
    NotAcceptableError,
    NotFoundError,
    ResourceVersionTooLargeError,
    ResponseTooLargeError,
    ServerError,
    ServiceUnavailableError,
    SourceError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
    VersionRegressionError,
    VeryShortWatchError,
    WatchReplayError,
    WatchSilenceError,
)
from kinform.informers.reflector._state import Phase
from kinform.informers.reflector._version_regression import VERSIONS_WENT_BACK

_VERSION_UNUSABLE = (ExpiredError, ResourceVersionTooLargeError)
UNUSABLE_WATCH = (ExpiredError, WatchReplayError, VersionRegressionError)
"""Errors that show that a watch cannot continue from this version."""

_ABSENT = (NotFoundError, NoMatchError)
_NOT_UNDERSTOOD = (
    BadRequestError,
    InvalidError,
    MethodNotAllowedError,
    NotAcceptableError,
    UnsupportedMediaTypeError,
)
# The server is overloaded, which says nothing about the request itself.
_LATER = (TooManyRequestsError, ServiceUnavailableError)

# How often a failure may be repeated before the reflector reacts differently.
_CLEAN_CLOSES_OF_A_STREAM = 2
CUT_STREAMS = 2
_FAILURES_OF_A_STREAM = 3
_QUICK_LISTS = 3
_VERY_SHORT_WATCHES = 3
_INTERNAL_ERRORS = 3
_TOO_LARGE_VERSIONS = 2

# Someone has to change a role, a token or a CRD, so quick retries do not help.
_LONG = 2.0


class Pause(StrEnum):
    """The kind of delay before the next attempt."""

    NONE = "none"
    """No delay."""
    RESUME = "resume"
    """Some milliseconds: the connection was healthy until it ended."""
    RECONNECT = "reconnect"
    """Short backoff: the server did not respond, so an attempt costs it almost nothing."""
    BACK_OFF = "back off"
    """Long backoff, and at least Retry-After: the server refused the request."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts a verdict depends on besides the error. Counts include the current failure.

    Attributes:
        versioned: The request had a resource version, so it can be retried without one.
        progressed: The attempt received something new before it failed: an event, a bookmark with
            a new version, objects of a streamed list, a page; or it was a watch of some duration.
        resumable: A paged list can be resumed.
        unconfirmed: The target was filled elsewhere, and it is unknown whether the server continues
            from its version.
        quick_lists: How many times in a row a watch led to a list within a second of the last.
        moved: An event or bookmark was received since the last complete list.
        cut_streams: The number of streamed lists cut off since the last complete list.
        unusable: How many times in a row a watch was refused with 410 or replayed old events,
            without progress in between.
        repeated: How many times in a row this kind of failure happened in this phase.
    """

    versioned: bool = False
    progressed: bool = False
    resumable: bool = False
    unconfirmed: bool = False
    quick_lists: int = 0
    moved: bool = True
    cut_streams: int = 0
    unusable: int = 1
    repeated: int = 1


class Verdict(msgspec.Struct, frozen=True):
    """The reaction to a failure.

    Attributes:
        next: The next phase; NEW starts a cycle, which streams or lists.
        pause: The kind of delay before it.
        patience: A factor for the backoff.
        forget_version: Request the newest state instead of "not older than" the known version.
        went_back: The known versions are of another history: also do not keep known objects.
        downgrade: Remember that this resource does not support the attempted request.
        reason: The reason for a relist, if there is one.
    """

    next: Phase
    pause: Pause = Pause.BACK_OFF
    patience: float = 1.0
    forget_version: bool = False
    went_back: bool = False
    downgrade: bool = False
    reason: str = ""


def judge(phase: Phase, error: KinformError, facts: Facts) -> Verdict:
    """Return the verdict on a failure in ``phase``."""
    if phase is Phase.STREAMING:
        return _judge_stream(error, facts)
    if phase is Phase.WATCHING:
        return _judge_watch(error, facts)
    return _judge_list(error, facts)


def is_lost_connection(error: KinformError) -> bool:
    """Whether the response is missing or incomplete: refused, reset or timed out."""
    return isinstance(error, TransportError) and not isinstance(
        error, SourceError | ResponseTooLargeError
    )


def _judge_stream(error: KinformError, facts: Facts) -> Verdict:
    if isinstance(error, VersionRegressionError):
        return Verdict(Phase.STREAMING, Pause.NONE, forget_version=True, went_back=True)
    if isinstance(error, _VERSION_UNUSABLE):
        return Verdict(Phase.STREAMING, _unless(facts.versioned), forget_version=True)
    if isinstance(error, (*_NOT_UNDERSTOOD, WatchSilenceError)):
        return Verdict(Phase.LISTING, Pause.NONE, downgrade=True)
    if isinstance(error, IncompleteStreamError):
        if facts.repeated >= _CLEAN_CLOSES_OF_A_STREAM:
            return Verdict(Phase.LISTING, Pause.NONE, downgrade=True)
        return _judge_lost_stream(facts)
    if is_lost_connection(error):
        return _judge_lost_stream(facts)
    if isinstance(error, ForbiddenError):
        # Streaming requires the verb watch; listing may be allowed without it.
        return Verdict(Phase.LISTING, Pause.NONE)
    if isinstance(error, (*_ABSENT, UnauthorizedError)):
        return Verdict(Phase.STREAMING, patience=_LONG)
    if not isinstance(error, _LATER) and facts.repeated >= _FAILURES_OF_A_STREAM:
        return Verdict(Phase.LISTING, Pause.NONE)
    return Verdict(Phase.STREAMING)


def _judge_lost_stream(facts: Facts) -> Verdict:
    is_over = facts.cut_streams >= CUT_STREAMS or facts.repeated >= _FAILURES_OF_A_STREAM
    return Verdict(Phase.LISTING if is_over else Phase.STREAMING, _reconnect(facts))


def _judge_list(error: KinformError, facts: Facts) -> Verdict:
    if isinstance(error, VersionRegressionError):
        return Verdict(Phase.LISTING, Pause.NONE, forget_version=True, went_back=True)
    if isinstance(error, _VERSION_UNUSABLE):
        # If the newest version was requested already, the response makes no sense: back off.
        return Verdict(Phase.LISTING, _unless(facts.versioned), forget_version=True)
    if is_lost_connection(error):
        # Received pages are kept.
        return Verdict(Phase.LISTING if facts.resumable else Phase.NEW, _reconnect(facts))
    if isinstance(error, (*_ABSENT, UnauthorizedError, ForbiddenError)):
        return Verdict(Phase.NEW, patience=_LONG)
    return Verdict(Phase.NEW)


def _judge_watch(error: KinformError, facts: Facts) -> Verdict:
    if facts.unconfirmed and isinstance(error, ForbiddenError | MethodNotAllowedError):
        # Listing may be allowed without watching, and the objects in the target may be old.
        return Verdict(Phase.NEW, Pause.NONE, downgrade=isinstance(error, MethodNotAllowedError))
    if isinstance(error, ExpiredError):
        # 410 directly after a list: the version is unusable, so do not request it again.
        return Verdict(
            Phase.NEW, _before_list(facts), forget_version=not facts.moved, reason="expired"
        )
    if isinstance(error, WatchSilenceError):
        return Verdict(Phase.WATCHING, Pause.NONE)
    if isinstance(error, VeryShortWatchError):
        if facts.repeated == 1:
            # A server closes watches while it shuts down; the next attempt reaches another one.
            return Verdict(Phase.WATCHING, Pause.RECONNECT)
        return _after(facts, _VERY_SHORT_WATCHES, reason="closed at once")
    if isinstance(error, WatchReplayError):
        return Verdict(Phase.NEW, _before_list(facts), reason="replayed")
    if isinstance(error, VersionRegressionError):
        pause = _before_list(facts)
        return Verdict(
            Phase.NEW, pause, forget_version=True, went_back=True, reason=VERSIONS_WENT_BACK
        )
    if isinstance(error, CacheError):
        return Verdict(Phase.NEW, reason="store failed")
    if isinstance(error, ApiError | NoMatchError):
        return _judge_refused_watch(error, facts)
    if facts.progressed or is_lost_connection(error):
        return Verdict(Phase.WATCHING, _reconnect(facts))
    return Verdict(Phase.WATCHING)


def _judge_refused_watch(error: ApiError | NoMatchError, facts: Facts) -> Verdict:
    if isinstance(error, _LATER):
        return Verdict(Phase.WATCHING)
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return Verdict(Phase.WATCHING, patience=_LONG)
    if isinstance(error, _ABSENT):
        return Verdict(Phase.NEW, patience=_LONG, reason="absent")
    if isinstance(error, MethodNotAllowedError):
        return Verdict(Phase.POLLING, Pause.NONE, downgrade=True)
    if isinstance(error, ResourceVersionTooLargeError):
        # The server will catch up, or it was restored from a backup and never will.
        return _after(facts, _TOO_LARGE_VERSIONS, reason="version too large", forget_version=True)
    if isinstance(error, ServerError):
        if error.reason == "StorageReadError":
            return Verdict(Phase.NEW, reason="storage read error")
        return _after(facts, _INTERNAL_ERRORS, reason="internal errors")
    return Verdict(Phase.NEW, forget_version=True, reason="refused")


def _reconnect(facts: Facts) -> Pause:
    return Pause.RESUME if facts.progressed else Pause.RECONNECT


def _before_list(facts: Facts) -> Pause:
    """Return the delay before a relist after an unusable watch: none at first, then backoff."""
    if facts.unusable > 1:
        return Pause.BACK_OFF
    return Pause.RECONNECT if facts.quick_lists > _QUICK_LISTS else Pause.NONE


def _unless(condition: bool) -> Pause:
    """Back off unless the condition holds."""
    return Pause.NONE if condition else Pause.BACK_OFF


def _after(facts: Facts, limit: int, *, reason: str, forget_version: bool = False) -> Verdict:
    """Resume the watch up to ``limit`` times, then relist."""
    if facts.repeated >= limit:
        return Verdict(Phase.NEW, forget_version=forget_version, reason=reason)
    return Verdict(Phase.WATCHING)
