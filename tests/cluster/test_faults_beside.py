"""client-go and kinform beside each other behind one faulty network; the short form of a benchmark.

``make bench BENCH_OPTIONS="--only faults"`` runs more scenarios, for longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest

from benchmarks.faults.cluster import AuditedCluster, audited_cluster
from benchmarks.faults.experiment import Load, Observation, Run, run_scenario
from benchmarks.faults.histories import believed, contradictions, without_repeats
from benchmarks.faults.report import Row, rows
from benchmarks.faults.scenarios import Scenario
from benchmarks.faults.schedule import compactions, condition, resets
from benchmarks.faults.watchers import NAMESPACES, WATCHERS
from benchmarks.peer_programs import CLIENT_GO, Peers
from tests.support.built import built_or_skip
from tools import go_programs

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(600),  # three tries
]

WATCHED = [
    WATCHERS[name]
    for name in ("client-go typed", "client-go dynamic", "kinform typed", "kinform dynamic")
]
SCENARIOS = (
    Scenario("resets", "all connections reset every second", 10, resets(1)),
    Scenario("cuts", "each connection cut after 64 kB", 10, condition(cut_after=64_000)),
    Scenario(
        "refusal",
        "refused for 3 s; etcd compacted meanwhile",
        10,
        compactions(6, 3),
        resource="events",
    ),
)

TRIES = 3
LAG_RATIO, ADDED_LAG = 3, 0.1
REQUEST_RATIO, ADDED_REQUESTS = 1.5, 5


@pytest.fixture(scope="module")
def client_go() -> Peers:
    return {CLIENT_GO: built_or_skip(go_programs.CLIENT_GO.built)}


@pytest.fixture(scope="module")
def cluster(client_go: Peers) -> Iterator[AuditedCluster]:
    with audited_cluster(NAMESPACES) as cluster:
        yield cluster


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_kinform_keeps_up_with_client_go(
    scenario: Scenario, cluster: AuditedCluster, client_go: Peers
) -> None:
    problems: list[str] = []
    for seed in range(1, TRIES + 1):
        run = run_scenario(scenario, cluster, client_go, WATCHED, seed=seed, load=Load(rate=100))
        assert_same_objects(run)
        problems = disadvantages(rows(run))
        if not problems:
            return
    pytest.fail(f"{scenario.title}, seed {TRIES}: {'; '.join(problems)}")


def assert_same_objects(run: Run) -> None:
    """Every handler got a possible history, every cache ends as the server's objects."""
    complete: list[Mapping[str, list[tuple[str, int]]]] = []
    for name, observed in run.observations.items():
        assert observed.is_current, f"{name} did not become current"
        assert contradictions(observed.calls, run.writes) == [], name
        assert observed.cache == run.truth, name
        assert believed(observed.calls) == run.truth, name
        if observed.requests.lists == 1:
            complete.append(history(observed))
    assert all(each == complete[0] for each in complete)


def history(observed: Observation) -> Mapping[str, list[tuple[str, int]]]:
    """The events of each key, in order."""
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for call in without_repeats(observed.calls):
        found[call.key].append((call.kind, call.version))
    return found


def disadvantages(measured: list[Row]) -> list[str]:
    """Where a watcher of kinform is later or asks more than the one of client-go beside it."""
    by_name = {row.name: row for row in measured}
    found = []
    for watcher in WATCHED:
        if watcher.beside is None:
            continue
        ours, theirs = by_name[watcher.name], by_name[watcher.beside]
        if ours.lag.p99 > LAG_RATIO * theirs.lag.p99 + ADDED_LAG:
            found.append(
                f"{ours.name} lags {ours.lag.p99:.3f} s (p99), {theirs.name} {theirs.lag.p99:.3f} s"
            )
        asked, allowed = ours.requests.total, theirs.requests.total
        if asked > REQUEST_RATIO * allowed + ADDED_REQUESTS:
            found.append(f"{ours.name} sent {asked} requests, {theirs.name} {allowed}")
    return found
