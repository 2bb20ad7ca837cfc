"""The watchers that run beside each other, and how each is started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.faults.processes import LineProcess, script
from benchmarks.peer_programs import CLIENT_GO, Peers
from tests.support.cluster import RealCluster

NAMESPACES = tuple(f"faults-{number:02}" for number in range(20))
"""Where the objects are; a watcher of 20 informers has one informer for each."""

KEY_PREFIX = "faults-"


@dataclass(frozen=True, slots=True)
class Watcher:
    """One process.

    Attributes:
        program: ``kinform`` or ``client-go``.
        informers: 1 for all namespaces, or one for each of them.
        beside: The name of the watcher of client-go that it is judged by.
    """

    name: str
    program: str
    form: str
    informers: int = 1
    beside: str | None = None

    def command(self, peers: Peers, parameters: Mapping[str, Any]) -> list[str]:
        given = {
            **parameters,
            "mode": "faults",
            "form": self.form,
            "namespaces": [] if self.informers == 1 else list(NAMESPACES),
        }
        argument = json.dumps(given)
        if self.program == CLIENT_GO:
            return [str(peers[CLIENT_GO]), argument]
        return script("kinform_watcher", argument)

    @property
    def slug(self) -> str:
        return self.name.replace(" ", "-")


WATCHERS = {
    watcher.name: watcher
    for watcher in (
        Watcher("client-go typed", CLIENT_GO, "typed"),
        Watcher("client-go dynamic", CLIENT_GO, "dynamic"),
        Watcher("kinform typed", "kinform", "typed", beside="client-go typed"),
        Watcher("kinform dynamic", "kinform", "dynamic", beside="client-go dynamic"),
        Watcher("kinform metadata", "kinform", "metadata", beside="client-go dynamic"),
        Watcher("client-go typed x20", CLIENT_GO, "typed", len(NAMESPACES)),
        Watcher("kinform typed x20", "kinform", "typed", len(NAMESPACES), "client-go typed x20"),
    )
}


@dataclass(frozen=True, slots=True)
class RunningWatcher:
    """A watcher, its process and where it logs."""

    watcher: Watcher
    process: LineProcess
    log: Path
    user_agent: str


def prepare(
    watcher: Watcher,
    cluster: RealCluster,
    peers: Peers,
    *,
    port: int,
    folder: Path,
    run: str,
    resource: str,
    sentinel: str,
) -> RunningWatcher:
    """A process that is not started yet, with a kubeconfig that leads through ``port``."""
    kubeconfig = folder / f"{watcher.slug}.kubeconfig"
    kubeconfig.write_text(json.dumps(_kubeconfig(cluster, port)))
    log = folder / f"{watcher.slug}.log"
    user_agent = f"{watcher.slug}/{run}"
    parameters = {
        "kubeconfig": str(kubeconfig),
        "resource": resource,
        "user_agent": user_agent,
        "log": str(log),
        "sentinel": sentinel,
        "sentinels": len(NAMESPACES),
    }
    process = LineProcess(watcher.name, watcher.command(peers, parameters))
    return RunningWatcher(watcher, process, log, user_agent)


def _kubeconfig(cluster: RealCluster, port: int) -> dict[str, Any]:
    """As admin, whom the server's priority and fairness exempts: watchers delay no other."""
    server = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority": str(cluster.ca_file),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "real", "cluster": server}],
        "users": [{"name": "admin", "user": {"token": cluster.admin_token}}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
        "current-context": "real",
    }
