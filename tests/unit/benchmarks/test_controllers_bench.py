"""The benchmark of controllers: its own program, and the tables it prints."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from benchmarks.bench_controllers import (
    KINFORM,
    Run,
    backoff_table,
    delays_record,
    delays_table,
    kinform_program,
    reconcile_table,
)
from benchmarks.peer_programs import CONTROLLER_RUNTIME
from benchmarks.servers import Server, embedded_server
from benchmarks.writer import STAMP
from kinform import Client
from kinform.models.core.v1 import Pod

OBJECTS = 12


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with embedded_server(objects=OBJECTS) as server:
        yield server


def run(server: Server, programs: dict[str, list[str]] | None = None) -> Run:
    return Run(server, programs or kinform_program(), objects=OBJECTS, workers=4, rounds=3)


async def change_all(server: Server) -> None:
    async with Client.from_kubeconfig(str(server.kubeconfig)) as client:
        for pod in await client.list(Pod):
            stamp = {"metadata": {"labels": {STAMP: str(time.monotonic_ns())}}}
            await client.patch(Pod, pod.name, stamp, namespace=pod.namespace)


def test_the_program_answers_when_each_pod_has_been_reconciled(server: Server) -> None:
    with ExitStack() as stack:
        _, record = run(server).start(stack, KINFORM, reads="fields")
    assert record["cpu"] > 0
    assert record["wall"] > 0
    assert record["peak"] > 0


def test_failed_keys_wait_while_the_program_is_idle(server: Server) -> None:
    with ExitStack() as stack:
        program, _ = run(server).start(stack, KINFORM, fails=OBJECTS)
        record = program.ask("idle", seconds=0.1)
    assert record["cpu"] >= 0
    assert record["rest"] > 0


def test_each_change_of_the_window_is_measured(server: Server) -> None:
    with ExitStack() as stack:
        program, _ = run(server).start(stack, KINFORM, stamps=True)
        program.ask("open")
        asyncio.run(change_all(server))
        closed = program.ask("close", changes=OBJECTS)
    record = delays_record(closed)
    assert record["changes"] == OBJECTS
    assert 0 <= record["event_p50"] <= record["event_p99"]
    assert record["event_p50"] < record["written_p50"] <= record["written_p99"]


def test_the_order_of_the_programs_is_reversed_from_round_to_round(server: Server) -> None:
    programs = {"one": [sys.executable], "other": [sys.executable]}
    orders = [order for _, order in run(server, programs).rounds()]
    assert orders == [["one", "other"], ["other", "one"], ["one", "other"]]


def test_delays_are_summed_up_as_percentiles_in_milliseconds() -> None:
    delays = list(range(1000, 101_000, 1000))
    record = delays_record({"written": delays, "event": delays[::-1], "cpu": 0.5})
    assert record == {
        "changes": 100,
        "cpu": 0.5,
        "written_p50": 51.0,
        "written_p99": 100.0,
        "event_p50": 51.0,
        "event_p99": 100.0,
    }


def test_tables_have_medians_and_the_median_of_the_ratios() -> None:
    ours = [{"cpu": cpu, "wall": 1.0, "peak": 100e6} for cpu in (1.0, 3.0, 2.0)]
    theirs = [{"cpu": cpu, "wall": 2.0, "peak": 400e6} for cpu in (2.0, 4.0, 8.0)]
    rows = reconcile_table({"nothing": {KINFORM: ours, CONTROLLER_RUNTIME: theirs}}).splitlines()
    assert rows[2:] == [
        "| nothing: CPU | 2.00 s | 4.00 s | 0.50 |",
        "| nothing: wall time | 1.00 s | 2.00 s | 0.50 |",
        "| nothing: peak memory | 100 MB | 400 MB | 0.25 |",
    ]


def test_a_table_without_the_peer_has_the_figures_of_kinform() -> None:
    idle = {KINFORM: [{"cpu": 0.004, "rest": 50e6}]}
    assert "| 10 failed keys: CPU | 4 ms | - | - |" in backoff_table({"10": idle})


def test_a_window_without_changes_has_no_delays() -> None:
    record = delays_record({"written": [], "event": [], "cpu": 0.1})
    assert "| after the event, p99 | nan ms | - | - |" in delays_table({KINFORM: [record]})
