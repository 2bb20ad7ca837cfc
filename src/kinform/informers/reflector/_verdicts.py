"""What went wrong and where in; what a reflector does next out. The whole policy, without I/O."""

from __future__ import annotations

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
    ServerError,
    ServiceUnavailableError,
    TooManyRequestsError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
    VeryShortWatchError,
    WatchReplayError,
    WatchSilenceError,
)
from kinform.informers.reflector._vitals import Phase

_VERSION_UNUSABLE = (ExpiredError, ResourceVersionTooLargeError)
_ABSENT = (NotFoundError, NoMatchError)
_NOT_UNDERSTOOD = (
    BadRequestError,
    InvalidError,
    MethodNotAllowedError,
    NotAcceptableError,
    UnsupportedMediaTypeError,
)
# The server is busy: that is no answer to what was asked.
_LATER = (TooManyRequestsError, ServiceUnavailableError)

# How often something may happen in a row before it counts for something else.
_CLEAN_CLOSES_OF_A_STREAM = 2
_FAILURES_OF_A_STREAM = 3
_VERY_SHORT_WATCHES = 3
_INTERNAL_ERRORS = 3
_TOO_LARGE_VERSIONS = 2

# Somebody has to change a role, a token or a CRD: hurrying does not help.
_LONG = 2.0


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What a verdict depends on beside the error. Counts include the failure at hand.

    Attributes:
        versioned: The request asked for a resource version, so it can be asked without.
        healthy: The watch that ended had lived long enough to be called one.
        moved: An event or bookmark came since the last complete list.
        repeated: How many times in a row this very kind of failure happened in this phase.
    """

    versioned: bool = False
    healthy: bool = False
    moved: bool = True
    repeated: int = 1


class Verdict(msgspec.Struct, frozen=True):
    """What to do.

    Attributes:
        next: Where to go; NEW is the start of a cycle, which streams or lists.
        wait: Back off before.
        patience: How much longer than usual.
        forget_version: Ask for the newest state there, not for "at least what I know".
        downgrade: Remember that this resource cannot do what was tried.
        reason: Why the state has to be fetched again, if it has to.
    """

    next: Phase
    wait: bool = True
    patience: float = 1.0
    forget_version: bool = False
    downgrade: bool = False
    reason: str = ""


def judge(phase: Phase, error: KinformError, facts: Facts) -> Verdict:
    """The verdict on a failure in ``phase``."""
    if phase is Phase.STREAMING:
        return _judge_stream(error, facts)
    if phase is Phase.WATCHING:
        return _judge_watch(error, facts)
    return _judge_list(error, facts)


def _judge_stream(error: KinformError, facts: Facts) -> Verdict:
    if isinstance(error, _VERSION_UNUSABLE):
        return Verdict(Phase.STREAMING, wait=not facts.versioned, forget_version=True)
    if isinstance(error, (*_NOT_UNDERSTOOD, WatchSilenceError)):
        return Verdict(Phase.LISTING, wait=False, downgrade=True)
    if isinstance(error, IncompleteStreamError):
        if facts.repeated >= _CLEAN_CLOSES_OF_A_STREAM:
            return Verdict(Phase.LISTING, wait=False, downgrade=True)
        return Verdict(Phase.STREAMING)
    if isinstance(error, ForbiddenError):
        # To stream is to watch; who may only list shall at least have a list.
        return Verdict(Phase.LISTING, wait=False)
    if isinstance(error, (*_ABSENT, UnauthorizedError)):
        return Verdict(Phase.STREAMING, patience=_LONG)
    if not isinstance(error, _LATER) and facts.repeated >= _FAILURES_OF_A_STREAM:
        return Verdict(Phase.LISTING, wait=False)
    return Verdict(Phase.STREAMING)


def _judge_list(error: KinformError, facts: Facts) -> Verdict:
    if isinstance(error, _VERSION_UNUSABLE):
        # Asked for the newest there is, such an answer makes no sense: then wait.
        return Verdict(Phase.LISTING, wait=not facts.versioned, forget_version=True)
    if isinstance(error, (*_ABSENT, UnauthorizedError, ForbiddenError)):
        return Verdict(Phase.NEW, patience=_LONG)
    return Verdict(Phase.NEW)


def _judge_watch(error: KinformError, facts: Facts) -> Verdict:
    if isinstance(error, ExpiredError):
        # 410 again, right after a list at that version: asking for it once more leads nowhere.
        return Verdict(
            Phase.NEW, wait=not facts.healthy, forget_version=not facts.moved, reason="expired"
        )
    if isinstance(error, WatchSilenceError):
        return Verdict(Phase.WATCHING, wait=False)
    if isinstance(error, VeryShortWatchError):
        return _after(facts, _VERY_SHORT_WATCHES, reason="closed at once")
    if isinstance(error, WatchReplayError):
        return Verdict(Phase.NEW, wait=not facts.healthy, reason="replayed")
    if isinstance(error, CacheError):
        return Verdict(Phase.NEW, reason="store failed")
    if isinstance(error, ApiError | NoMatchError):
        return _judge_refused_watch(error, facts)
    return Verdict(Phase.WATCHING)


def _judge_refused_watch(error: ApiError | NoMatchError, facts: Facts) -> Verdict:
    if isinstance(error, _LATER):
        return Verdict(Phase.WATCHING)
    if isinstance(error, UnauthorizedError | ForbiddenError):
        return Verdict(Phase.WATCHING, patience=_LONG)
    if isinstance(error, _ABSENT):
        return Verdict(Phase.NEW, patience=_LONG, reason="absent")
    if isinstance(error, MethodNotAllowedError):
        return Verdict(Phase.POLLING, wait=False, downgrade=True)
    if isinstance(error, ResourceVersionTooLargeError):
        # The server will catch up, or it was restored from a backup and never will.
        return _after(facts, _TOO_LARGE_VERSIONS, reason="version too large", forget_version=True)
    if isinstance(error, ServerError):
        if error.reason == "StorageReadError":
            return Verdict(Phase.NEW, reason="storage read error")
        return _after(facts, _INTERNAL_ERRORS, reason="internal errors")
    return Verdict(Phase.NEW, forget_version=True, reason="refused")


def _after(facts: Facts, limit: int, *, reason: str, forget_version: bool = False) -> Verdict:
    """Resume the watch so many times; then fetch everything again."""
    if facts.repeated >= limit:
        return Verdict(Phase.NEW, forget_version=forget_version, reason=reason)
    return Verdict(Phase.WATCHING)
