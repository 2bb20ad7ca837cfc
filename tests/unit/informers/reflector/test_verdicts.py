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
    SourceError,
    TooManyRequestsError,
    TransportError,
    TruncatedResponseError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
    VersionRegressionError,
    VeryShortWatchError,
    WatchError,
    WatchReplayError,
    WatchSilenceError,
)
from kinform.informers.reflector._state import Phase
from kinform.informers.reflector._verdicts import (
    Facts,
    Pause,
    Verdict,
    is_lost_connection,
    judge,
)

STREAMING, LISTING, WATCHING = Phase.STREAMING, Phase.LISTING, Phase.WATCHING
NEW, POLLING = Phase.NEW, Phase.POLLING
NONE, RESUME, RECONNECT, BACK_OFF = Pause.NONE, Pause.RESUME, Pause.RECONNECT, Pause.BACK_OFF
LOST = [TransportError, TruncatedResponseError]

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


@pytest.mark.parametrize(
    ("kind", "is_lost"),
    [
        (TransportError, True),
        (TruncatedResponseError, True),
        (ResponseTooLargeError, False),
        (SourceError, False),
        (ServiceUnavailableError, False),
        (WatchError, False),
    ],
)
def test_only_a_connection_without_a_whole_answer_counts_as_lost(
    kind: type[KinformError], is_lost: bool
) -> None:
    assert is_lost_connection(example(kind)) is is_lost


# -- while streaming ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ExpiredError, ResourceVersionTooLargeError])
def test_a_stream_whose_version_is_unusable_asks_for_the_newest_at_once(
    kind: type[KinformError],
) -> None:
    assert verdict(STREAMING, kind, versioned=True) == Verdict(STREAMING, NONE, forget_version=True)


@pytest.mark.parametrize("kind", [ExpiredError, ResourceVersionTooLargeError])
def test_a_stream_of_the_newest_that_is_called_too_old_waits(kind: type[KinformError]) -> None:
    assert verdict(STREAMING, kind) == Verdict(STREAMING, BACK_OFF, forget_version=True)


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
def test_a_server_that_cannot_stream_is_listed_and_this_is_remembered(
    kind: type[KinformError],
) -> None:
    assert verdict(STREAMING, kind) == Verdict(LISTING, NONE, downgrade=True)


@pytest.mark.parametrize(("progressed", "pause"), [(True, RESUME), (False, RECONNECT)])
def test_a_stream_that_is_closed_early_is_tried_twice(progressed: bool, pause: Pause) -> None:
    cut = int(progressed)
    once = verdict(
        STREAMING, IncompleteStreamError, repeated=1, progressed=progressed, cut_streams=cut
    )
    twice = verdict(
        STREAMING, IncompleteStreamError, repeated=2, progressed=progressed, cut_streams=2 * cut
    )
    assert once == Verdict(STREAMING, pause)
    assert twice == Verdict(LISTING, NONE, downgrade=True)


@pytest.mark.parametrize("kind", LOST)
def test_a_stream_cut_after_objects_is_streamed_once_more_and_then_listed(
    kind: type[KinformError],
) -> None:
    once = verdict(STREAMING, kind, progressed=True, cut_streams=1)
    twice = verdict(STREAMING, kind, progressed=True, cut_streams=2, repeated=2)
    assert once == Verdict(STREAMING, RESUME)
    assert twice == Verdict(LISTING, RESUME)


@pytest.mark.parametrize("kind", LOST)
def test_a_stream_lost_before_any_object_is_listed_after_three(kind: type[KinformError]) -> None:
    assert verdict(STREAMING, kind, repeated=1) == Verdict(STREAMING, RECONNECT)
    assert verdict(STREAMING, kind, repeated=2) == Verdict(STREAMING, RECONNECT)
    assert verdict(STREAMING, kind, repeated=3) == Verdict(LISTING, RECONNECT)


def test_a_forbidden_stream_lists_and_is_not_remembered() -> None:
    assert verdict(STREAMING, ForbiddenError) == Verdict(LISTING, NONE)


@pytest.mark.parametrize("kind", [NotFoundError, NoMatchError, UnauthorizedError])
@pytest.mark.parametrize("repeated", [1, 9])
def test_a_stream_of_what_is_absent_or_of_a_stranger_waits_long(
    kind: type[KinformError], repeated: int
) -> None:
    assert verdict(STREAMING, kind, repeated=repeated) == Verdict(STREAMING, patience=2.0)


@pytest.mark.parametrize("kind", [TooManyRequestsError, ServiceUnavailableError])
@pytest.mark.parametrize("repeated", [1, 3, 9])
def test_a_busy_server_does_not_lead_to_a_list(kind: type[KinformError], repeated: int) -> None:
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
        SourceError,
        WatchError,
    ],
)
def test_a_stream_that_fails_otherwise_is_tried_three_times(kind: type[KinformError]) -> None:
    assert verdict(STREAMING, kind, repeated=1) == Verdict(STREAMING)
    assert verdict(STREAMING, kind, repeated=2) == Verdict(STREAMING)
    assert verdict(STREAMING, kind, repeated=3) == Verdict(LISTING, NONE)


# -- while listing -----------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [LISTING, POLLING, NEW])
@pytest.mark.parametrize("kind", [ExpiredError, ResourceVersionTooLargeError])
def test_a_list_whose_version_is_unusable_asks_for_the_newest_at_once(
    phase: Phase, kind: type[KinformError]
) -> None:
    assert verdict(phase, kind, versioned=True) == Verdict(LISTING, NONE, forget_version=True)
    assert verdict(phase, kind) == Verdict(LISTING, BACK_OFF, forget_version=True)


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
        SourceError,
        TooManyRequestsError,
        WatchError,
    ],
)
@pytest.mark.parametrize("progressed", [False, True])
@pytest.mark.parametrize("repeated", [1, 9])
def test_a_list_that_fails_otherwise_backs_off_and_begins_anew(
    kind: type[KinformError], repeated: int, progressed: bool
) -> None:
    found = verdict(LISTING, kind, repeated=repeated, progressed=progressed)
    assert found == Verdict(NEW, BACK_OFF)


@pytest.mark.parametrize(
    ("resumable", "progressed", "expected"),
    [
        (False, False, Verdict(NEW, RECONNECT)),
        (True, False, Verdict(LISTING, RECONNECT)),
        (True, True, Verdict(LISTING, RESUME)),
    ],
)
@pytest.mark.parametrize("kind", [TransportError, TruncatedResponseError])
@pytest.mark.parametrize("repeated", [1, 9])
def test_a_list_whose_connection_is_lost_goes_on_where_it_can(
    kind: type[KinformError],
    resumable: bool,
    progressed: bool,
    expected: Verdict,
    repeated: int,
) -> None:
    facts = {"resumable": resumable, "progressed": progressed, "repeated": repeated}
    assert verdict(LISTING, kind, **facts) == expected


# -- while watching ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unusable", "moved", "expected"),
    [
        (1, True, Verdict(NEW, NONE, reason="expired")),
        (1, False, Verdict(NEW, NONE, forget_version=True, reason="expired")),
        (2, True, Verdict(NEW, BACK_OFF, reason="expired")),
        (2, False, Verdict(NEW, BACK_OFF, forget_version=True, reason="expired")),
        (9, False, Verdict(NEW, BACK_OFF, forget_version=True, reason="expired")),
    ],
)
def test_an_expired_watch_fetches_again_at_once_and_the_second_in_a_row_backs_off(
    unusable: int, moved: bool, expected: Verdict
) -> None:
    assert verdict(WATCHING, ExpiredError, unusable=unusable, moved=moved) == expected


@pytest.mark.parametrize("kind", [ExpiredError, WatchReplayError, VersionRegressionError])
def test_lists_within_a_second_of_each_other_are_slowed_down_from_the_fourth_on(
    kind: type[KinformError],
) -> None:
    pauses = [verdict(WATCHING, kind, quick_lists=count).pause for count in (0, 1, 3, 4)]
    assert pauses == [NONE, NONE, NONE, RECONNECT]


@pytest.mark.parametrize("repeated", [1, 9])
def test_a_silent_watch_is_resumed_at_once(repeated: int) -> None:
    assert verdict(WATCHING, WatchSilenceError, repeated=repeated) == Verdict(WATCHING, NONE)


@pytest.mark.parametrize(
    ("kind", "limit", "last"),
    [
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


def test_a_watch_closed_at_once_reconnects_then_backs_off_then_lists() -> None:
    found = [verdict(WATCHING, VeryShortWatchError, repeated=number) for number in (1, 2, 3, 4)]
    assert found == [
        Verdict(WATCHING, RECONNECT),
        Verdict(WATCHING, BACK_OFF),
        Verdict(NEW, BACK_OFF, reason="closed at once"),
        Verdict(NEW, BACK_OFF, reason="closed at once"),
    ]


@pytest.mark.parametrize(("unusable", "pause"), [(1, NONE), (2, BACK_OFF)])
def test_a_replaying_server_is_listed_at_once_and_the_second_time_in_a_row_later(
    unusable: int, pause: Pause
) -> None:
    assert verdict(WATCHING, WatchReplayError, unusable=unusable) == Verdict(
        NEW, pause, reason="replayed"
    )


@pytest.mark.parametrize(("unusable", "pause"), [(1, NONE), (2, BACK_OFF)])
def test_a_server_whose_versions_went_back_is_listed_without_them(
    unusable: int, pause: Pause
) -> None:
    """18.8: At once, and the second time in a row later."""
    assert verdict(WATCHING, VersionRegressionError, unusable=unusable) == Verdict(
        NEW, pause, forget_version=True, went_back=True, reason="versions went back"
    )


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("phase", [STREAMING, LISTING])
def test_a_list_older_than_the_store_is_requested_again_at_once(
    phase: Phase, versioned: bool
) -> None:
    """18.8: The next one is applied, however old it is."""
    assert verdict(phase, VersionRegressionError, versioned=versioned) == Verdict(
        phase, NONE, forget_version=True, went_back=True
    )


@pytest.mark.parametrize(
    ("kind", "without"),
    [
        (TransportError, RECONNECT),
        (TruncatedResponseError, RECONNECT),
        (ConfigError, BACK_OFF),
        (DecodeError, BACK_OFF),
        (DiscoveryError, BACK_OFF),
        (ResponseTooLargeError, BACK_OFF),
        (SourceError, BACK_OFF),
        (WatchError, BACK_OFF),
    ],
)
@pytest.mark.parametrize("repeated", [1, 9])
def test_a_watch_that_broke_resumes_at_once_after_progress_and_waits_without(
    kind: type[KinformError], without: Pause, repeated: int
) -> None:
    progressed = verdict(WATCHING, kind, repeated=repeated, progressed=True)
    assert progressed == Verdict(WATCHING, RESUME)
    assert verdict(WATCHING, kind, repeated=repeated) == Verdict(WATCHING, without)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (CacheError, Verdict(NEW, reason="store failed")),
        (UnauthorizedError, Verdict(WATCHING, patience=2.0)),
        (ForbiddenError, Verdict(WATCHING, patience=2.0)),
        (NotFoundError, Verdict(NEW, patience=2.0, reason="absent")),
        (NoMatchError, Verdict(NEW, patience=2.0, reason="absent")),
        (MethodNotAllowedError, Verdict(POLLING, NONE, downgrade=True)),
        (TooManyRequestsError, Verdict(WATCHING)),
        (ServiceUnavailableError, Verdict(WATCHING)),
        (BadRequestError, Verdict(NEW, forget_version=True, reason="refused")),
        (ConflictError, Verdict(NEW, forget_version=True, reason="refused")),
        (InvalidError, Verdict(NEW, forget_version=True, reason="refused")),
        (NotAcceptableError, Verdict(NEW, forget_version=True, reason="refused")),
        (UnsupportedMediaTypeError, Verdict(NEW, forget_version=True, reason="refused")),
    ],
)
@pytest.mark.parametrize("progressed", [False, True])
@pytest.mark.parametrize("repeated", [1, 9])
def test_each_other_failure_of_a_watch_has_one_answer_however_often(
    kind: type[KinformError], expected: Verdict, repeated: int, progressed: bool
) -> None:
    assert verdict(WATCHING, kind, repeated=repeated, progressed=progressed) == expected


def test_an_object_that_the_storage_cannot_read_is_a_reason_to_list() -> None:
    error = ServerError("undecodable", code=500, reason="StorageReadError")
    assert judge(WATCHING, error, Facts()) == Verdict(NEW, reason="storage read error")


@pytest.mark.parametrize("kind", _CODES)
def test_only_a_watch_that_can_go_on_from_its_version_does(kind: type[KinformError]) -> None:
    """Whoever goes back to the start says why; the others resume."""
    found = verdict(WATCHING, kind, repeated=9)
    assert bool(found.reason) == (found.next is NEW)


# -- before the version of a target is confirmed -------------------------------------------------


def test_an_unconfirmed_target_is_listed_at_once_if_it_may_not_be_watched() -> None:
    assert verdict(WATCHING, ForbiddenError, unconfirmed=True) == Verdict(NEW, NONE)
    assert verdict(WATCHING, MethodNotAllowedError, unconfirmed=True) == Verdict(
        NEW, NONE, downgrade=True
    )


@pytest.mark.parametrize("kind", [*_CODES, TransportError, WatchSilenceError, WatchReplayError])
def test_other_failures_of_an_unconfirmed_watch_are_judged_as_usual(
    kind: type[KinformError],
) -> None:
    if kind not in (ForbiddenError, MethodNotAllowedError):
        assert verdict(WATCHING, kind, unconfirmed=True) == verdict(WATCHING, kind)
