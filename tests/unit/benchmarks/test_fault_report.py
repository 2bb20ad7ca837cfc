"""The report of a run: rows from logs, goals beside client-go, medians of rounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.faults.bench import median_row
from benchmarks.faults.experiment import Observation, Run
from benchmarks.faults.lag import SECOND
from benchmarks.faults.logs import (
    Call,
    Requests,
    Write,
    count_requests,
    read_calls,
    read_writes,
)
from benchmarks.faults.report import document, goals, rows, table
from benchmarks.faults.scenarios import FAULT_SCENARIOS
from benchmarks.faults.watchers import WATCHERS

KEY = "faults-00/object-0000"
THEIRS, OURS = "client-go typed", "kinform typed"


def observed(at: float, *, version: int = 10) -> Observation:
    """A watcher that got the only object at that second."""
    return Observation(
        calls=[Call(int(at * SECOND), "A", KEY, version)],
        cache={KEY: version},
        cpu=1.0,
        is_current=True,
        requests=Requests(lists=1, watches=2),
        network={"connections": 3, "to_client": 2_000_000, "to_server": 100},
    )


def a_run(*, ours: Observation, outages: Sequence[int] = ()) -> Run:
    return Run(
        scenario=FAULT_SCENARIOS["refusals"],
        seed=1,
        seconds=10,
        watchers=[WATCHERS[THEIRS], WATCHERS[OURS]],
        writes=[Write(2 * SECOND, 2 * SECOND, "A", KEY, 10)],
        observations={THEIRS: observed(3), OURS: ours},
        start=SECOND,
        end=20 * SECOND,
        outages=outages,
        truth={KEY: 10},
    )


def test_goals_hold_for_a_watcher_that_keeps_up() -> None:
    run = a_run(ours=observed(3.04), outages=[2 * SECOND])
    assert [goal.holds for goal in goals(run, rows(run))] == [True, True]


def test_late_watcher_misses_its_goals_with_the_figures_named() -> None:
    run = a_run(ours=observed(8), outages=[2 * SECOND])
    measured = rows(run)
    lag, recovery = goals(run, measured)
    assert not lag.holds
    assert "p99 5.000 s beside 0.000 s" in lag.text
    assert not recovery.holds
    assert "current 6.0 s after" in recovery.text
    assert table(run, measured, [lag, recovery]).count("NOT MET") == 2


def test_recovery_is_no_goal_without_an_outage() -> None:
    run = a_run(ours=observed(8))
    assert len(goals(run, rows(run))) == 1


def test_wrong_cache_and_impossible_version_are_reported() -> None:
    run = a_run(ours=observed(3, version=11))
    measured = rows(run)
    assert [row.wrong_cache for row in measured] == [0, 1]
    printed = table(run, measured, [])
    assert "1 wrong in cache, 1 impossible" in printed


def test_document_can_be_kept_as_json() -> None:
    run = a_run(ours=observed(3), outages=[2 * SECOND])
    measured = rows(run)
    kept = json.loads(json.dumps(document(run, measured, goals(run, measured))))
    assert kept["outages_ended"] == [1.0]
    assert kept["watchers"][1]["recovered"]
    assert kept["watchers"][1]["requests"] == {"lists": 1, "watches": 2, "others": 0}


def test_watcher_that_never_recovers_is_kept_as_such() -> None:
    run = a_run(ours=replace(observed(3), calls=[]), outages=[2 * SECOND])
    measured = rows(run)
    assert "current inf s" in table(run, measured, goals(run, measured))
    kept = document(run, measured, [])["watchers"][1]
    assert (kept["recovered"], kept["current_after"]) == (False, None)


def test_median_of_rounds_keeps_what_went_wrong_in_one() -> None:
    runs = [a_run(ours=observed(at), outages=[2 * SECOND]) for at in (3, 4, 19)]
    rounds = [rows(run)[1] for run in runs]
    median = median_row(rounds)
    assert (median.lag.max, median.current_after) == (1.0, 2.0)
    wrong = rows(a_run(ours=observed(3, version=11)))[1]
    assert median_row([*rounds, wrong]).wrong_cache == 1


def audit_line(verb: str, agent: str, query: str = "") -> str:
    uri = f"/api/v1/configmaps?{query}"
    return json.dumps({"verb": verb, "userAgent": agent, "requestURI": uri})


def test_requests_are_counted_by_agent_and_streamed_lists_are_lists() -> None:
    lines = [
        audit_line("list", "one"),
        audit_line("watch", "one", "watch=true&sendInitialEvents=true"),
        audit_line("watch", "one", "watch=true&resourceVersion=5"),
        audit_line("get", "other"),
    ]
    counted = count_requests(lines)
    assert counted == {"one": Requests(2, 1, 0), "other": Requests(0, 0, 1)}
    assert counted["one"].total == 3


@pytest.mark.parametrize("version", ["10", "-"])
def test_logs_are_read_as_they_are_written(tmp_path: Path, version: str) -> None:
    writes, calls = tmp_path / "writes", tmp_path / "calls"
    writes.write_text(f"1 2 A {KEY} {version}\n")
    calls.write_text(f"3 A {KEY} 10\n4 A kube-system/other 11\n")
    number = None if version == "-" else 10
    assert read_writes(writes) == [Write(1, 2, "A", KEY, number)]
    assert read_calls(calls, prefix="faults-") == [Call(3, "A", KEY, 10)]
