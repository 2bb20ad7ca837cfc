"""Lags and recoveries are computed from handler calls and writes as the faults benchmark says."""

from __future__ import annotations

from benchmarks.faults.lag import (
    SECOND,
    SETTLE,
    Target,
    Timeline,
    current_after,
    lags,
    percentile,
    targets,
)
from benchmarks.faults.logs import Call, Write

KEY = "faults-00/object-0000"


def call(at: float, kind: str, version: int, key: str = KEY) -> Call:
    return Call(int(at * SECOND), kind, key, version)


def write(at: float, kind: str, version: int | None, key: str = KEY) -> Write:
    return Write(int(at * SECOND), int(at * SECOND), kind, key, version)


def seconds(at: int | None) -> float | None:
    return None if at is None else at / SECOND


def test_deletion_is_half_a_step_above_the_last_version() -> None:
    made = targets([write(1, "A", 10), write(2, "U", 12), write(3, "D", None)])
    assert [target.version for target in made] == [10, 12, 12.5]
    assert [target.gone for target in made] == [12.5, 12.5, 12.5]


def test_deletion_after_an_unanswered_write_is_left_out() -> None:
    made = targets([write(1, "A", 10), write(2, "?", None), write(3, "D", None), write(4, "A", 20)])
    assert [(target.version, target.gone) for target in made] == [(10, 20), (20, None)]


def test_newer_version_counts_for_every_older_write() -> None:
    written = targets([write(1, "A", 10), write(2, "U", 12), write(3, "U", 14)])
    timeline = Timeline([call(1.5, "A", 10), call(9, "U", 14)], written)
    assert [seconds(timeline.first_had(target)) for target in written] == [1.5, 9, 9]


def test_repeated_older_call_does_not_change_when_a_version_was_had() -> None:
    written = targets([write(1, "A", 10), write(2, "U", 12)])
    timeline = Timeline([call(2, "A", 10), call(3, "U", 12), call(8, "U", 12)], written)
    assert [seconds(timeline.first_had(target)) for target in written] == [2, 3]


def test_deletion_seen_by_the_watch_counts_with_its_own_version() -> None:
    written = targets([write(1, "A", 10), write(2, "D", None)])
    timeline = Timeline([call(1, "A", 10), call(3, "D", 11)], written)
    assert seconds(timeline.first_had(written[1])) == 3


def test_deletion_noticed_by_a_list_covers_the_updates_before_it() -> None:
    written = targets([write(1, "A", 10), write(2, "U", 12), write(3, "D", None)])
    timeline = Timeline([call(1, "A", 10), call(5, "X", 10)], written)
    assert [seconds(timeline.first_had(target)) for target in written] == [1, 5, 5]


def test_deletion_noticed_by_a_list_does_not_cover_later_deletions() -> None:
    written = targets(
        [write(1, "A", 10), write(2, "D", None), write(6, "A", 20), write(7, "D", None)]
    )
    calls = [call(1, "A", 10), call(5, "X", 10), call(6.5, "A", 20), call(8, "D", 21)]
    timeline = Timeline(calls, written)
    assert [seconds(timeline.first_had(target)) for target in written] == [1, 5, 6.5, 8]


def test_object_that_came_and_went_between_two_lists_is_folded() -> None:
    written = targets([write(1, "A", 10), write(2, "D", None), write(9, "A", 20)])
    away = Timeline([call(9.5, "A", 20)], written)
    assert [away.folded(target) for target in written] == [True, True, False]
    never = Timeline([], written[:2])
    assert [never.folded(target) for target in written[:2]] == [True, True]


def test_object_replaced_while_the_watcher_knew_it_is_not_folded() -> None:
    written = targets([write(1, "A", 10), write(2, "D", None), write(3, "A", 20)])
    timeline = Timeline([call(1, "A", 10), call(5, "U", 20)], written)
    assert not any(timeline.folded(target) for target in written)
    assert [seconds(timeline.first_had(target)) for target in written] == [1, 5, 5]


def test_object_that_still_exists_is_missing_and_not_folded() -> None:
    [target] = targets([write(1, "A", 10)])
    assert not Timeline([]).folded(target)
    assert Timeline([]).first_had(target) is None


def test_missed_deletion_is_missing_and_not_folded() -> None:
    written = targets([write(1, "A", 10), write(2, "D", None)])
    timeline = Timeline([call(1, "A", 10)], written)
    assert not timeline.folded(written[1])
    assert timeline.first_had(written[1]) is None


def test_lag_is_measured_behind_the_first_watcher() -> None:
    written = [Target(SECOND, SECOND, f"k{number}", 1) for number in range(100)]
    first = [call(2, "A", 1, target.key) for target in written]
    later = [call(2 + number / 100, "A", 1, f"k{number}") for number in range(100)]
    measured = lags(
        {"first": Timeline(first), "later": Timeline(later)}, written, start=0, end=10 * SECOND
    )
    assert measured["first"].max == 0
    late = measured["later"]
    assert (late.writes, late.folded, late.missing) == (100, 0, 0)
    assert (late.p50, late.p90, late.p99, late.max) == (0.5, 0.9, 0.99, 0.99)


def test_missing_write_is_late_until_the_end() -> None:
    [target] = targets([write(1, "A", 10)])
    measured = lags(
        {"has": Timeline([call(2, "A", 10)]), "lacks": Timeline([])},
        [target],
        start=0,
        end=7 * SECOND,
    )
    assert (measured["lacks"].missing, measured["lacks"].max) == (1, 5)


def test_writes_before_the_start_have_no_lag() -> None:
    measured = lags(
        {"one": Timeline([])}, targets([write(1, "A", 10)]), start=2 * SECOND, end=7 * SECOND
    )
    assert measured["one"].writes == 0


def test_recovery_lasts_until_every_write_up_to_the_settle_time_was_had() -> None:
    back = 10
    written = targets(
        [
            write(5, "A", 1, "during"),
            write(back + SETTLE / 2, "A", 2, "after"),
            write(back + SETTLE * 2, "A", 3, "later"),
        ]
    )
    calls = [call(12, "A", 1, "during"), call(13, "A", 2, "after"), call(30, "A", 3, "later")]
    timeline = Timeline(calls, written)
    assert current_after(timeline, written, back=back * SECOND, start=0) == 3
    assert current_after(Timeline(calls[:1]), written, back=back * SECOND, start=0) is None


def test_percentile_of_nothing_is_zero() -> None:
    assert percentile([], 99) == 0
    assert percentile([4.0], 50) == 4.0
