"""The policy of a reflector, row by row: what happened and where, and what is done about it."""

from __future__ import annotations

import pytest

from kinform.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    CacheError,
    ConfigError,
    ConflictError,
    DecodeError,
    DiscoveryError,
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
    ServerTimeoutError,
    ServiceUnavailableError,
    TooManyRequestsError,
    TransportError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
    VeryShortWatchError,
    WatchError,
    WatchReplayError,
    WatchSilenceError,
)
from kinform.informers.reflector._verdicts import Facts, Verdict, judge
from kinform.informers.reflector._vitals import Phase

STREAMING, LISTING, WATCHING = Phase.STREAMING, Phase.LISTING, Phase.WATCHING
NEW, POLLING = Phase.NEW, Phase.POLLING

_CODES: dict[type[ApiError], int] = {
    BadRequestError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    MethodNotAllowedError: 405,
    NotAcceptableError: 406,
    ConflictError: 409,
    AlreadyExistsError: 409,
    ExpiredError: 410,
    UnsupportedMediaTypeError: 415,
    InvalidError: 422,
    TooManyRequestsError: 429,
    ServerError: 500,
    ServiceUnavailableError: 503,
    ServerTimeoutError: 504,
    ResourceVersionTooLargeError: 504,
}


def example(kind: type[KinformError]) -> KinformError:
    if issubclass(kind, ApiError):
        return kind("no", code=_CODES[kind])
    return kind("no")


def verdict(phase: Phase, kind: type[KinformError], **facts: object) -> Verdict:
    return judge(phase, example(kind), Facts(**facts))  # type: ignore[arg-type]  # told by name


# -- while streaming ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ExpiredError, ResourceVersionTooLargeError])
def test_a_stream_whose_version_is_unusable_asks_for_the_newest_at_once(
    kind: type[KinformError],
) -> None:
    assert verdict(STREAMING, kind, versioned=True) == Verdict(
        STREAMING, wait=False, forget_version=True
    )


@pytest.mark.parametrize("kind", [ExpiredError, ResourceVersionTooLargeError])
def test_a_stream_of_the_newest_that_is_called_too_old_waits(kind: type[KinformError]) -> None:
    assert verdict(STREAMING, kind) == Verdict(STREAMING, forget_version=True)


@pytest.mark.parametrize(
    "kind",
    [
        BadRequestError,
        InvalidError,
        MethodNotAllowedError,
        NotAcceptableError,
        UnsupportedMediaTypeError,
        WatchSilenceError,
    ],
)
def test_who_cannot_stream_is_listed_and_that_is_remembered(kind: type[KinformError]) -> None:
    assert verdict(STREAMING, kind) == Verdict(LISTING, wait=False, downgrade=True)


def test_a_stream_that_is_closed_early_is_tried_twice() -> None:
    once = verdict(STREAMING, IncompleteStreamError, repeated=1)
    twice = verdict(STREAMING, IncompleteStreamError, repeated=2)
    assert once == Verdict(STREAMING)
    assert twice == Verdict(LISTING, wait=False, downgrade=True)


def test_who_may_not_watch_lists_and_may_stream_another_day() -> None:
    assert verdict(STREAMING, ForbiddenError) == Verdict(LISTING, wait=False)


@pytest.mark.parametrize("kind", [NotFoundError, NoMatchError, UnauthorizedError])
@pytest.mark.parametrize("repeated", [1, 9])
def test_a_stream_of_what_is_absent_or_of_a_stranger_waits_long(
    kind: type[KinformError], repeated: int
) -> None:
    assert verdict(STREAMING, kind, repeated=repeated) == Verdict(STREAMING, patience=2.0)


@pytest.mark.parametrize("kind", [TooManyRequestsError, ServiceUnavailableError])
@pytest.mark.parametrize("repeated", [1, 3, 9])
def test_a_busy_server_is_no_reason_to_list_instead(
    kind: type[KinformError], repeated: int
) -> None:
    assert verdict(STREAMING, kind, repeated=repeated) == Verdict(STREAMING)


@pytest.mark.parametrize(
    "kind",
    [
        CacheError,
        ConfigError,
        ConflictError,
        DecodeError,
        DiscoveryError,
        ResponseTooLargeError,
        ServerError,
        ServerTimeoutError,
        TransportError,
        WatchError,
    ],
)
def test_a_stream_that_fails_otherwise_is_tried_three_times(kind: type[KinformError]) -> None:
    assert verdict(STREAMING, kind, repeated=1) == Verdict(STREAMING)
    assert verdict(STREAMING, kind, repeated=2) == Verdict(STREAMING)
    assert verdict(STREAMING, kind, repeated=3) == Verdict(LISTING, wait=False)


# -- while listing -----------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [LISTING, POLLING, NEW])
@pytest.mark.parametrize("kind", [ExpiredError, ResourceVersionTooLargeError])
def test_a_list_whose_version_is_unusable_asks_for_the_newest_at_once(
    phase: Phase, kind: type[KinformError]
) -> None:
    assert verdict(phase, kind, versioned=True) == Verdict(LISTING, wait=False, forget_version=True)
    assert verdict(phase, kind) == Verdict(LISTING, wait=True, forget_version=True)


@pytest.mark.parametrize("kind", [NotFoundError, NoMatchError, UnauthorizedError, ForbiddenError])
def test_a_list_that_somebody_has_to_allow_first_waits_long(kind: type[KinformError]) -> None:
    assert verdict(LISTING, kind) == Verdict(NEW, patience=2.0)


@pytest.mark.parametrize(
    "kind",
    [
        BadRequestError,
        CacheError,
        ConfigError,
        DecodeError,
        InvalidError,
        MethodNotAllowedError,
        NotAcceptableError,
        ResponseTooLargeError,
        ServerError,
        ServerTimeoutError,
        ServiceUnavailableError,
        TooManyRequestsError,
        TransportError,
        WatchError,
    ],
)
@pytest.mark.parametrize("repeated", [1, 9])
def test_a_list_that_fails_otherwise_waits_and_begins_anew(
    kind: type[KinformError], repeated: int
) -> None:
    assert verdict(LISTING, kind, repeated=repeated) == Verdict(NEW)


# -- while watching ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("healthy", "moved", "expected"),
    [
        (True, True, Verdict(NEW, wait=False, reason="expired")),
        (True, False, Verdict(NEW, wait=False, forget_version=True, reason="expired")),
        (False, True, Verdict(NEW, reason="expired")),
        (False, False, Verdict(NEW, forget_version=True, reason="expired")),
    ],
)
def test_an_expired_watch_fetches_again_and_never_twice_the_same_dead_version(
    healthy: bool, moved: bool, expected: Verdict
) -> None:
    assert verdict(WATCHING, ExpiredError, healthy=healthy, moved=moved) == expected


@pytest.mark.parametrize("repeated", [1, 9])
def test_a_silent_watch_is_resumed_at_once(repeated: int) -> None:
    assert verdict(WATCHING, WatchSilenceError, repeated=repeated) == Verdict(WATCHING, wait=False)


@pytest.mark.parametrize(
    ("kind", "limit", "last"),
    [
        (VeryShortWatchError, 3, Verdict(NEW, reason="closed at once")),
        (ServerError, 3, Verdict(NEW, reason="internal errors")),
        (ServerTimeoutError, 3, Verdict(NEW, reason="internal errors")),
        (
            ResourceVersionTooLargeError,
            2,
            Verdict(NEW, forget_version=True, reason="version too large"),
        ),
    ],
)
def test_some_failures_of_a_watch_are_borne_a_few_times(
    kind: type[KinformError], limit: int, last: Verdict
) -> None:
    for repeated in range(1, limit):
        assert verdict(WATCHING, kind, repeated=repeated) == Verdict(WATCHING)
    assert verdict(WATCHING, kind, repeated=limit) == last
    assert verdict(WATCHING, kind, repeated=limit + 1) == last


@pytest.mark.parametrize("healthy", [True, False])
def test_a_replaying_server_is_listed_and_if_it_replays_at_once_later(healthy: bool) -> None:
    assert verdict(WATCHING, WatchReplayError, healthy=healthy) == Verdict(
        NEW, wait=not healthy, reason="replayed"
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CacheError, Verdict(NEW, reason="store failed")),
        (UnauthorizedError, Verdict(WATCHING, patience=2.0)),
        (ForbiddenError, Verdict(WATCHING, patience=2.0)),
        (NotFoundError, Verdict(NEW, patience=2.0, reason="absent")),
        (NoMatchError, Verdict(NEW, patience=2.0, reason="absent")),
        (MethodNotAllowedError, Verdict(POLLING, wait=False, downgrade=True)),
        (TooManyRequestsError, Verdict(WATCHING)),
        (ServiceUnavailableError, Verdict(WATCHING)),
        (BadRequestError, Verdict(NEW, forget_version=True, reason="refused")),
        (ConflictError, Verdict(NEW, forget_version=True, reason="refused")),
        (InvalidError, Verdict(NEW, forget_version=True, reason="refused")),
        (NotAcceptableError, Verdict(NEW, forget_version=True, reason="refused")),
        (UnsupportedMediaTypeError, Verdict(NEW, forget_version=True, reason="refused")),
        (ConfigError, Verdict(WATCHING)),
        (DecodeError, Verdict(WATCHING)),
        (DiscoveryError, Verdict(WATCHING)),
        (ResponseTooLargeError, Verdict(WATCHING)),
        (TransportError, Verdict(WATCHING)),
        (WatchError, Verdict(WATCHING)),
    ],
)
@pytest.mark.parametrize("repeated", [1, 9])
def test_each_other_failure_of_a_watch_has_one_answer_however_often(
    kind: type[KinformError], expected: Verdict, repeated: int
) -> None:
    assert verdict(WATCHING, kind, repeated=repeated) == expected


def test_an_object_that_the_storage_cannot_read_is_a_reason_to_list() -> None:
    error = ServerError("undecodable", code=500, reason="StorageReadError")
    assert judge(WATCHING, error, Facts()) == Verdict(NEW, reason="storage read error")


@pytest.mark.parametrize("kind", _CODES)
def test_only_a_watch_that_can_go_on_from_its_version_does(kind: type[KinformError]) -> None:
    """Whoever goes back to the start says why; the others resume."""
    found = verdict(WATCHING, kind, repeated=9)
    assert bool(found.reason) == (found.next is NEW)
