"""How long a watch may be silent, as learned from its bookmarks and events."""

from __future__ import annotations

import pytest

from kinform.informers.reflector._silence_limit import SilenceLimit


def limit_after_events(gap: float, events: int = 50) -> SilenceLimit:
    limit = SilenceLimit()
    limit.watch_opened()
    for _ in range(events):
        limit.received(gap, 100)
    return limit


def test_nothing_is_known_before_two_bookmarks_or_ten_events() -> None:
    assert SilenceLimit().seconds is None
    assert limit_after_events(1, 9).seconds is None
    assert limit_after_events(1, 10).seconds is not None


def test_thrice_the_longest_bookmark_gap_is_too_long_but_never_less_than_fifteen_seconds() -> None:
    limit = SilenceLimit()
    limit.received_bookmark(1)
    assert limit.seconds == 15
    limit.received_bookmark(60)
    limit.received_bookmark(20)
    assert limit.seconds == 180


def test_each_false_alarm_doubles_the_limit_until_a_bookmark_comes() -> None:
    limit = SilenceLimit()
    limit.received_bookmark(60)
    limit.exceeded()
    limit.exceeded()
    assert limit.seconds == 720
    limit.received_bookmark(60)
    assert limit.seconds == 180


@pytest.mark.parametrize(("gap", "expected"), [(0.1, 15), (4, 15), (20, 60)])
def test_thrice_the_longest_gap_between_events_is_too_long(gap: float, expected: float) -> None:
    limit = limit_after_events(gap)
    limit.received(gap / 2, 100)
    assert limit.seconds == expected


def test_the_shorter_limit_of_bookmarks_and_events_holds() -> None:
    limit = limit_after_events(10)
    limit.received_bookmark(60)
    assert limit.seconds == 30
    limit = limit_after_events(30)
    limit.received_bookmark(10)
    assert limit.seconds == 30


def test_each_busy_connection_halves_what_earlier_ones_taught_about_events() -> None:
    limit = limit_after_events(40)
    limit.watch_opened()
    assert limit.seconds == 60
    for _ in range(10):
        limit.received(1, 100)
    limit.watch_opened()
    assert limit.seconds == 30
    limit.received(40, 100)
    assert limit.seconds == 120


def test_a_quiet_connection_does_not_make_the_limit_shorter() -> None:
    limit = limit_after_events(40)
    for _ in range(5):
        limit.watch_opened()
    assert limit.seconds == 60


def test_an_alarm_that_was_right_does_not_raise_the_limit() -> None:
    limit = limit_after_events(5)
    limit.exceeded()
    limit.watch_opened()
    limit.received(0.5, 0.5)
    limit.received(5, 5.5)
    assert limit.seconds == 15


def test_a_silence_that_was_normal_raises_the_limit() -> None:
    limit = limit_after_events(5)
    limit.exceeded()
    limit.watch_opened()
    limit.received(2, 2)
    assert limit.seconds == 45


def test_an_alarm_is_judged_once() -> None:
    limit = limit_after_events(5)
    limit.exceeded()
    limit.watch_opened()
    limit.received(0.5, 0.5)
    limit.received(2, 2.5)
    assert limit.seconds == 15


def test_a_quiet_server_is_doubted_ever_less() -> None:
    limit = limit_after_events(5)
    limits = []
    for _ in range(6):
        limits.append(limit.seconds or 0)
        limit.exceeded()
        limit.watch_opened()
    assert limits == sorted(limits)
    assert limits[0] == 15
    assert limits[-1] > 300
