"""Schedules of faults follow from their seed and stay inside the run."""

from __future__ import annotations

import pytest

from benchmarks.faults.scenarios import FAULT_SCENARIOS, Scenario
from benchmarks.faults.schedule import compactions, mixture, outages, resets, steps

ALL = pytest.mark.parametrize("scenario", FAULT_SCENARIOS.values(), ids=lambda each: each.name)


@ALL
def test_same_seed_gives_the_same_steps(scenario: Scenario) -> None:
    one, same = (steps(scenario.plan, seed=7, seconds=scenario.seconds) for _ in range(2))
    assert one == same


def test_other_seed_gives_other_steps() -> None:
    one, other = (steps(mixture(3), seed=seed, seconds=60) for seed in (1, 2))
    assert one != other


@ALL
def test_steps_are_in_order_and_end_before_the_run_does(scenario: Scenario) -> None:
    made = steps(scenario.plan, seed=3, seconds=scenario.seconds)
    times = [step.at for step in made]
    assert times == sorted(times)
    assert all(0 <= at < scenario.seconds for at in times)


def test_resets_happen_once_per_period_with_seeds_of_their_own() -> None:
    made = steps(resets(3), seed=1, seconds=31)
    assert len(made) == 10
    assert all(abs(step.at - 3 * number) <= 0.3 for number, step in enumerate(made, start=1))
    assert len({step.arguments["seed"] for step in made}) == len(made)


def test_outage_that_would_outlast_the_run_is_left_out() -> None:
    made = steps(outages(10, 8, begin="refuse", end="accept"), seed=1, seconds=25)
    assert [(step.do, step.ends_outage) for step in made] == [("refuse", False), ("accept", True)]


def test_compaction_falls_into_each_refusal() -> None:
    made = steps(compactions(6, 1), seed=1, seconds=20)
    assert [step.do for step in made] == ["refuse", "compact", "accept"] * 3
