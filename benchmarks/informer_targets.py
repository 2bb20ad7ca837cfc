"""The goals of informers relative to the peers, and the names of the contenders."""

from __future__ import annotations

from benchmarks.contest import Target
from benchmarks.metrics import CPU, REST, SERVER_CPU, STEADY_COST, WALL

KINFORM = "kinform"
TYPED = "kinform, typed"
UNHURRIED = "kinform, typed, latency of 4 ms"
STRIPPED = "kinform, managedFields stripped"
GO = "client-go, protobuf"
GO_JSON = "client-go, JSON"
RUST = "kube-rs, streaming"
PYTHON = "official Python informer"
BARE = "bare reader, no informer"
TYPED_JSON = "kinform, typed, JSON"
TWO_FIELDS = "kinform, typed, two fields read"
EVERYTHING = "kinform, typed, every field read"

SYNC_TARGETS = (
    Target("CPU at most 1.0 of client-go with protobuf", CPU, 1.0, of=GO),
    Target("CPU at most 0.17 of client-go with JSON", CPU, 0.17, of=GO_JSON),
    Target("CPU at most 0.5 of kube-rs", CPU, 0.5, of=RUST),
    Target("wall time at most 0.8 of kube-rs", WALL, 0.8, of=RUST),
    Target("memory at rest at most 0.6 of client-go with protobuf", REST, 0.6, of=GO),
    Target("memory at rest at most 0.6 of client-go with JSON", REST, 0.6, of=GO_JSON),
    Target("memory at rest at most 0.18 of kube-rs", REST, 0.18, of=RUST),
    Target("CPU at most 1/12 of the official informer", CPU, 1 / 12, of=PYTHON),
    Target("memory at rest at most 1/8 of the official informer", REST, 1 / 8, of=PYTHON),
)
TYPED_TARGETS = (
    Target("typed: CPU at most 0.4 of client-go with protobuf", CPU, 0.4, of=GO, whose=TYPED),
    Target("typed: CPU at most 0.07 of client-go with JSON", CPU, 0.07, of=GO_JSON, whose=TYPED),
    Target("typed: CPU at most 0.2 of kube-rs", CPU, 0.2, of=RUST, whose=TYPED),
    Target("typed: wall at most 0.8 of client-go with protobuf", WALL, 0.8, of=GO, whose=TYPED),
    Target("typed: wall at most 0.15 of client-go with JSON", WALL, 0.15, of=GO_JSON, whose=TYPED),
    Target("typed: wall at most 0.35 of kube-rs", WALL, 0.35, of=RUST, whose=TYPED),
    Target("typed: memory at most 0.45 of client-go, protobuf", REST, 0.45, of=GO, whose=TYPED),
    Target("typed: memory at most 0.45 of client-go, JSON", REST, 0.45, of=GO_JSON, whose=TYPED),
    Target("typed: memory at most 0.13 of kube-rs", REST, 0.13, of=RUST, whose=TYPED),
    Target("stripped: memory at most 0.35 of client-go", REST, 0.35, of=GO, whose=STRIPPED),
    Target("two fields read: CPU at most 0.6 of client-go", CPU, 0.6, of=GO, whose=TWO_FIELDS),
    Target("every field read: CPU at most 1.8 of client-go", CPU, 1.8, of=GO, whose=EVERYTHING),
    # It is one second or nearly two, as a collection of garbage falls into it or not; and the
    # server does not know what we do with what it sends.
    Target(
        "the server's CPU at most 0.35 of a sync in JSON",
        SERVER_CPU,
        0.35,
        of=(KINFORM, TYPED_JSON),
        whose=(TYPED, STRIPPED, TWO_FIELDS, EVERYTHING),
    ),
    Target("typed in JSON: CPU at most 1.05 of dynamic", CPU, 1.05, of=KINFORM, whose=TYPED_JSON),
    Target(
        "typed in JSON: memory at most 1.05 of dynamic", REST, 1.05, of=KINFORM, whose=TYPED_JSON
    ),
)
STEADY_TARGETS = (
    Target("CPU per event at most 0.6 of client-go with protobuf", STEADY_COST, 0.6, of=GO),
    Target("CPU per event at most 0.8 of kube-rs", STEADY_COST, 0.8, of=RUST),
    Target(
        "typed: CPU per event at most 0.5 of client-go with protobuf",
        STEADY_COST,
        0.5,
        of=GO,
        whose=TYPED,
    ),
    Target(
        "latency of 4 ms: CPU per event at most 0.5 of client-go with protobuf",
        STEADY_COST,
        0.5,
        of=GO,
        whose=UNHURRIED,
    ),
    Target(
        "typed: CPU per event at most 0.25 of client-go with JSON",
        STEADY_COST,
        0.25,
        of=GO_JSON,
        whose=TYPED,
    ),
    Target("typed: CPU per event at most 0.65 of kube-rs", STEADY_COST, 0.65, of=RUST, whose=TYPED),
)
