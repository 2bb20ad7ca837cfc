"""When which fault happens: steps that are computed from a seed before a run begins."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

Plan = Callable[[random.Random, float], "list[Step]"]
"""Makes the steps of a run, given the source of its randomness and its length in seconds."""

_JITTER = 0.1
_LARGEST_SEED = 2**32


class Step(NamedTuple):
    """One action: a command of the proxy, or ``restart``, ``kill`` or ``compact`` of the server.

    Attributes:
        at: Seconds after the start.
        ends_outage: The server can be reached again from then on.
    """

    at: float
    do: str
    arguments: dict[str, Any] = {}  # noqa: RUF012 - never changed
    ends_outage: bool = False


def steps(plan: Plan, *, seed: int, seconds: float) -> list[Step]:
    """The steps of a run in order; the same for the same seed and length."""
    return sorted(plan(random.Random(seed), seconds), key=lambda step: step.at)


def moments(rng: random.Random, seconds: float, period: float) -> Iterator[float]:
    """One moment per period, each a little early or late, so that it meets no timer twice."""
    at = period
    while at < seconds:
        yield at + rng.uniform(-_JITTER, _JITTER) * period
        at += period


def nothing(rng: random.Random, seconds: float) -> list[Step]:
    return []


def condition(**settings: float) -> Plan:
    """Conditions of the network that hold from the start to the end."""
    return lambda rng, seconds: [Step(0.0, "set", settings)]


def resets(period: float, *, share: float = 1.0) -> Plan:
    """RST to that share of the connections, once per period."""

    def plan(rng: random.Random, seconds: float) -> list[Step]:
        return [
            Step(at, "reset", {"share": share, "seed": rng.randrange(_LARGEST_SEED)})
            for at in moments(rng, seconds, period)
        ]

    return plan


def half_open(at: float) -> Plan:
    """The connections of one moment fall silent; new ones work, so the server is never away."""
    return lambda rng, seconds: [Step(at, "half_open", ends_outage=True)]


def outages(period: float, length: float, *, begin: str, end: str) -> Plan:
    """Once per period the server cannot be reached for ``length`` seconds.

    An outage that would last beyond the end of the run is left out.
    """

    def plan(rng: random.Random, seconds: float) -> list[Step]:
        return [
            step
            for at in moments(rng, seconds, period)
            if at + length < seconds
            for step in (Step(at, begin), Step(at + length, end, ends_outage=True))
        ]

    return plan


def slow_phases(period: float, length: float, bytes_per_second: float) -> Plan:
    def plan(rng: random.Random, seconds: float) -> list[Step]:
        return [
            step
            for at in moments(rng, seconds, period)
            if at + length < seconds
            for step in (
                Step(at, "set", {"bytes_per_second": bytes_per_second}),
                Step(at + length, "set", {"bytes_per_second": 0}),
            )
        ]

    return plan


def restarts(at: float, do: str) -> Plan:
    """The API server ends once, by SIGTERM (``restart``) or SIGKILL (``kill``), and is started."""
    return lambda rng, seconds: [Step(at, do, ends_outage=True)]


def compactions(period: float, length: float) -> Plan:
    """Outages at whose middle etcd is compacted: each watcher that was away has to list again."""
    refusals = outages(period, length, begin="refuse", end="accept")

    def plan(rng: random.Random, seconds: float) -> list[Step]:
        refused = refusals(rng, seconds)
        halfway = [Step(each.at + length / 2, "compact") for each in refused if each.do == "refuse"]
        return [*refused, *halfway]

    return plan


def cuts_and_compactions(cut_after: int, period: float) -> Plan:
    """Connections are cut after so many bytes; etcd is compacted once per period."""

    def plan(rng: random.Random, seconds: float) -> list[Step]:
        compacted = [Step(at, "compact") for at in moments(rng, seconds, period)]
        return [Step(0.0, "set", {"cut_after": cut_after}), *compacted]

    return plan


def mixture(period: float) -> Plan:
    """Once per period one of: a reset of all or of half, a stall, a refusal, slowness."""

    def plan(rng: random.Random, seconds: float) -> list[Step]:
        made: list[Step] = []
        for at in moments(rng, seconds, period):
            made += rng.choice(_MIXED)(rng, at)
        return [step for step in made if step.at < seconds]

    return plan


def _reset_at(share: float) -> Callable[[random.Random, float], list[Step]]:
    return lambda rng, at: [
        Step(at, "reset", {"share": share, "seed": rng.randrange(_LARGEST_SEED)})
    ]


_MIXED: tuple[Callable[[random.Random, float], list[Step]], ...] = (
    _reset_at(1.0),
    _reset_at(0.5),
    lambda rng, at: [Step(at, "stall"), Step(at + 1, "resume", ends_outage=True)],
    lambda rng, at: [Step(at, "refuse"), Step(at + 1, "accept", ends_outage=True)],
    lambda rng, at: [
        Step(at, "set", {"bytes_per_second": 100_000}),
        Step(at + 1, "set", {"bytes_per_second": 0}),
    ],
)
