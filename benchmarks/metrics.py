"""The columns that scenarios choose from; each reads one figure from the record of a contender."""

from __future__ import annotations

from benchmarks.contest import Metric
from benchmarks.conversation import Record


def _per_object(record: Record) -> float:
    """Microseconds of CPU for one object, without interpreter and imports."""
    return float(record["work_cpu"] / record["objects"] * 1e6)


def _per_event(record: Record) -> float:
    """Microseconds of CPU for one change, with all that goes on meanwhile."""
    return float(record["window_cpu"] / record["events"] * 1e6)


CPU = Metric("CPU s", lambda record: float(record["cpu"]), 2)
SERVER_CPU = Metric("server CPU s", lambda record: float(record["server_cpu"]), 2)
PEAK = Metric("peak MB", lambda record: float(record["peak"] / 1e6))
BASELINE = Metric("import MB", lambda record: float(record["baseline"] / 1e6))
WALL = Metric("wall s", lambda record: float(record["work_wall"]), 2)

RATE = Metric("objects/s of CPU", lambda record: float(record["objects"] / record["work_cpu"]))
EVENT_COST = Metric("CPU µs/event", _per_object, 1)
EVENT_RATE = Metric("events/s", lambda record: float(record["objects"] / record["work_wall"]))

IMPORT_WALL = Metric("wall s", lambda record: float(record["work_wall"]), 3)
IMPORT_CPU = Metric("CPU s", lambda record: float(record["work_cpu"]), 3)
MODULES = Metric("modules", lambda record: float(record["modules"]))

REST = Metric("at rest MB", lambda record: float(record["rest"] / 1e6))
STEADY_COST = Metric("CPU µs/event", _per_event)
SEEN = Metric("events", lambda record: float(record["events"]))
DELAY = Metric("p50 ms", lambda record: record["p50"] / 1e3, 2)
LATE = Metric("p99 ms", lambda record: record["p99"] / 1e3, 2)

RELIST_PEAK = Metric("relist peak MB", lambda record: float(record["relist_peak"] / 1e6))
RELIST_GROWTH = Metric(
    "peak/rest", lambda record: float(record["relist_peak"] / record["before_relist"]), 2
)

SHARE = Metric("% of a core", lambda record: float(record["share"] * 100), 2)
THREADS = Metric("threads", lambda record: float(record["threads"]))
