"""Delays: ever longer, never in step, never beyond the cap."""

from __future__ import annotations

import pytest

from kinform.errors import ConfigError
from kinform.informers import Backoff


def test_each_delay_lies_between_the_exponential_and_twice_that() -> None:
    backoff = Backoff(1, factor=3, cap=20)
    for least in (1, 3, 9, 20, 20):
        assert least <= backoff.next() < 2 * least


def test_delays_are_not_the_same_for_everybody() -> None:
    assert len({Backoff().next() for _ in range(20)}) > 10


def test_patience_stretches_one_delay_and_not_the_next() -> None:
    backoff = Backoff(1, factor=1, cap=1)
    assert 5 <= backoff.next(patience=5) < 10
    assert 1 <= backoff.next() < 2


def test_a_delay_is_never_below_what_was_asked_for() -> None:
    assert Backoff(1).next(at_least=100) == 100
    assert Backoff(1).next(at_least=0.1) >= 1


def test_reset_starts_anew() -> None:
    backoff = Backoff(1, cap=100)
    for _ in range(5):
        backoff.next()
    backoff.reset()
    assert 1 <= backoff.next() < 2


@pytest.mark.parametrize(
    "options",
    [{"base": 0}, {"base": -1}, {"factor": 0.5}, {"base": 9, "cap": 3}, {"base": float("nan")}],
)
def test_what_is_no_backoff_is_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="backoff"):
        Backoff(**options)
