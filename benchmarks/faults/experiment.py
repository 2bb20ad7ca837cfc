"""One scenario on a real cluster: start the watchers, write, apply the faults, collect the logs."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.faults.cluster import AuditedCluster
from benchmarks.faults.logs import Call, Requests, Write, read_calls, read_writes
from benchmarks.faults.processes import LineProcess, ProxyProcess, script
from benchmarks.faults.scenarios import Scenario
from benchmarks.faults.schedule import Step, steps
from benchmarks.faults.watchers import KEY_PREFIX, NAMESPACES, RunningWatcher, Watcher, prepare
from benchmarks.peer_programs import Peers

SENTINEL = "sentinel"

_SYNC_TIMEOUT = 60.0
# The faults begin when each watcher has had some events.
_LEAD = 1.0
_RECORD_TIMEOUT = 20.0


@dataclass(frozen=True, slots=True)
class Load:
    """What is written meanwhile.

    Attributes:
        rate: Writes per second.
        objects: How many there are in each of the 20 namespaces.
        size: Bytes of each.
    """

    rate: float = 150.0
    objects: int = 20
    size: int = 1000


@dataclass(frozen=True, slots=True)
class Observation:
    """What one watcher saw and used.

    Attributes:
        cpu: Seconds, after the initial sync.
        is_current: It had everything when the run ended.
        network: Connections and bytes, as the proxy counted them.
    """

    calls: Sequence[Call]
    cache: Mapping[str, int]
    cpu: float
    is_current: bool
    requests: Requests
    network: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario that is over.

    Attributes:
        start: When the writing began (CLOCK_MONOTONIC ns, as all times here).
        end: When every watcher was current, or the time for that was up.
        outages: When each outage was over.
        truth: What the server holds at the end: keys and versions.
    """

    scenario: Scenario
    seed: int
    seconds: float
    watchers: Sequence[Watcher]
    writes: Sequence[Write]
    observations: Mapping[str, Observation]
    start: int
    end: int
    outages: Sequence[int]
    truth: Mapping[str, int]


class FaultInjector:
    """Applies the steps of a schedule to the proxy and the cluster.

    Attributes:
        outages: When each outage so far was over.
    """

    def __init__(self, cluster: AuditedCluster, proxy: ProxyProcess) -> None:
        self._cluster = cluster
        self._proxy = proxy
        self.outages: list[int] = []

    def play(self, schedule: Sequence[Step], seconds: float) -> None:
        """Apply each step at its time; return when the time is up and the network is whole."""
        begin = time.monotonic()
        for step in schedule:
            time.sleep(max(0.0, begin + step.at - time.monotonic()))
            at = self._apply(step)
            if step.ends_outage:
                self.outages.append(at)
        time.sleep(max(0.0, begin + seconds - time.monotonic()))
        self._proxy.send("set", cut_after=0, lifetime=0, bytes_per_second=0, stalled=False)
        self._proxy.send("accept")

    def _apply(self, step: Step) -> int:
        """Returns when it took effect, in ns."""
        real = self._cluster.real
        if step.do == "compact":
            real.compact()
        elif step.do in ("restart", "kill"):
            if step.do == "restart":
                real.stop_apiserver()
            else:
                real.kill_apiserver()
            real.start_apiserver()
        else:
            return int(self._proxy.send(step.do, **step.arguments)["at"])
        return time.monotonic_ns()


def run_scenario(
    scenario: Scenario,
    cluster: AuditedCluster,
    peers: Peers,
    watchers: Sequence[Watcher],
    *,
    seed: int,
    seconds: float | None = None,
    load: Load | None = None,
    patience: float = 60.0,
) -> Run:
    """Run all watchers beside each other.

    Args:
        seconds: How long to write, instead of what the scenario says.
        patience: How many seconds after the faults a watcher may take to become current.

    Raises:
        ContenderFailedError: A process failed.
    """
    load, seconds = load or Load(), seconds or scenario.seconds
    run = f"{scenario.name}-{seed}-{time.monotonic_ns()}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        writes_log = folder / "writes.log"
        writer = stack.enter_context(
            LineProcess("writer", _writer_command(scenario, cluster, load, seed, writes_log))
        )
        proxy = stack.enter_context(ProxyProcess(cluster.port, len(watchers)))
        writer.expect("ready", _SYNC_TIMEOUT)
        running = [
            prepare(
                watcher,
                cluster.real,
                peers,
                port=port,
                folder=folder,
                run=run,
                resource=scenario.resource,
                sentinel=SENTINEL,
            )
            for watcher, port in zip(watchers, proxy.ports, strict=True)
        ]
        for each in running:
            stack.enter_context(each.process)
        for each in running:
            each.process.expect("synced", _SYNC_TIMEOUT)
        injector = FaultInjector(cluster, proxy)
        start = time.monotonic_ns()
        writer.say("go")
        time.sleep(_LEAD)
        injector.play(steps(scenario.plan, seed=seed, seconds=seconds), seconds)
        writer.say("stop")
        writer.read_json(_SYNC_TIMEOUT)
        current = _wait_until_current(running, patience)
        end = time.monotonic_ns()
        network = proxy.send("stats")["ports"]
        records = [_stop(each) for each in running]
        requests = cluster.requests()
        truth = cluster.versions(scenario.resource, NAMESPACES)
        observations = {
            each.watcher.name: Observation(
                calls=read_calls(each.log, prefix=KEY_PREFIX),
                cache=_own_objects(record["cache"]),
                cpu=record["cpu"],
                is_current=each.watcher.name in current,
                requests=requests.get(each.user_agent, Requests()),
                network=used,
            )
            for each, record, used in zip(running, records, network, strict=True)
        }
        writes = read_writes(writes_log)
    cluster.delete_all(scenario.resource, NAMESPACES)
    return Run(
        scenario=scenario,
        seed=seed,
        seconds=seconds,
        watchers=watchers,
        writes=writes,
        observations=observations,
        start=start,
        end=end,
        outages=injector.outages,
        truth=truth,
    )


def _writer_command(
    scenario: Scenario, cluster: AuditedCluster, load: Load, seed: int, log: Path
) -> list[str]:
    given = {
        "address": f"127.0.0.1:{cluster.port}",
        "ca_file": str(cluster.real.ca_file),
        "token": cluster.real.admin_token,
        "resource": scenario.resource,
        "namespaces": NAMESPACES,
        "objects": load.objects,
        "size": load.size,
        "rate": load.rate,
        "seed": seed,
        "sentinel": SENTINEL,
        "log": str(log),
    }
    return script("writes", json.dumps(given))


def _wait_until_current(running: Sequence[RunningWatcher], patience: float) -> set[str]:
    """The names of those that have everything within that time."""
    deadline = time.monotonic() + patience
    return {
        each.watcher.name
        for each in running
        if each.process.next_line(deadline - time.monotonic()) == "current"
    }


def _stop(running: RunningWatcher) -> dict[str, Any]:
    running.process.say("stop")
    record: dict[str, Any] = running.process.read_json(_RECORD_TIMEOUT)
    return record


def _own_objects(cache: Mapping[str, str]) -> dict[str, int]:
    return {key: int(value) for key, value in cache.items() if key.startswith(KEY_PREFIX)}
