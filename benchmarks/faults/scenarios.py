"""The scenarios of the faults benchmark, as data."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.faults.schedule import (
    Plan,
    compactions,
    condition,
    cuts_and_compactions,
    half_open,
    mixture,
    nothing,
    outages,
    resets,
    restarts,
    slow_phases,
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One run of all watchers beside each other.

    Attributes:
        resource: What they watch. kube-apiserver keeps no watch cache of ``events``: only their
            watches expire as soon as etcd is compacted.
        judges_recovery: Whether to be current soon after the end of an outage is a goal; with
            half-open connections a client has to notice the outage first.
    """

    name: str
    title: str
    seconds: float
    plan: Plan
    resource: str = "configmaps"
    judges_recovery: bool = True


_ALL = (
    Scenario("calm", "no faults", 20, nothing),
    *(
        Scenario(
            f"{prefix}resets-{period}s",
            f"{what} reset every {period} s",
            seconds,
            resets(period, share=share),
        )
        for prefix, what, share in (
            ("", "all connections", 1.0),
            ("half-", "half of the connections", 0.5),
        )
        for period, seconds in ((1, 20), (3, 30), (10, 45))
    ),
    Scenario("cut-64kB", "each connection cut after 64 kB", 20, condition(cut_after=64_000)),
    Scenario("cut-2MB", "each connection cut after 2 MB", 40, condition(cut_after=2_000_000)),
    Scenario(
        "stalls",
        "nothing forwarded for 2 s, every 8 s",
        32,
        outages(8, 2, begin="stall", end="resume"),
    ),
    Scenario("slow", "100 kB/s for 3 s, every 8 s", 32, slow_phases(8, 3, 100_000)),
    Scenario(
        "half-open",
        "existing connections fall silent for ever; new ones work",
        75,
        half_open(5),
        judges_recovery=False,
    ),
    Scenario(
        "refusals",
        "connections reset, and refused for 10 s",
        50,
        outages(20, 10, begin="refuse", end="accept"),
    ),
    Scenario(
        "load-balancer-30s",
        "each connection closed 30 s after it was opened",
        75,
        condition(lifetime=30.0),
    ),
    Scenario("restart", "the API server restarted with SIGTERM", 30, restarts(5, "restart")),
    Scenario("kill", "the API server killed and started again", 30, restarts(5, "kill")),
    Scenario(
        "compaction",
        "refused for 1 s every 6 s; etcd compacted meanwhile",
        36,
        compactions(6, 1),
        resource="events",
    ),
    Scenario(
        "cut-compaction",
        "each connection cut after 2 MB; etcd compacted every 7 s",
        40,
        cuts_and_compactions(2_000_000, 7),
        resource="events",
    ),
    Scenario("mixed-3s", "every 3 s another fault", 45, mixture(3)),
)

FAULT_SCENARIOS = {scenario.name: scenario for scenario in _ALL}
