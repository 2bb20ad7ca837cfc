"""Runs scenarios with our controllers and with the real kube-controller-manager's."""

from __future__ import annotations

import asyncio
import re
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from kinform import Client
from kinform.controllers import Controller, Manager
from tests.cluster.workload_scenarios import Scenario
from tests.support.built import built_or_skip
from tests.support.cluster import RealCluster
from tests.support.kube_controller_manager import kube_controller_manager
from tests.support.simulated_kubelet import SimulatedKubelet
from tools import cluster_binaries

Side = Callable[[RealCluster], AbstractAsyncContextManager[None]]
Scenarios = Mapping[str, Callable[[Any], Awaitable[None]]]
Build = Callable[[], Controller[Any]]


class Outcome:
    """What a controller manager made of all scenarios.

    Attributes:
        states: The final state by scenario, or the error.
        writes: The writes to workloads that the server has seen, those of the scenarios included.
    """

    def __init__(self, states: dict[str, Any], writes: int) -> None:
        self.states = states
        self.writes = writes


class Beside:
    """The outcomes of both, for the same scenarios.

    Args:
        controllers: The names of the controllers of kube-controller-manager.
        builds: Makes ours.
        scenarios: The scenarios by name; they run at the same time, each in a namespace.
        resources: The resources whose writes count.
        scenario_class: Has the steps of a scenario, and its state.
    """

    def __init__(
        self,
        controllers: Sequence[str],
        builds: Sequence[Build],
        scenarios: Scenarios,
        *,
        resources: Sequence[str] = ("deployments", "replicasets", "pods"),
        scenario_class: type[Scenario] = Scenario,
    ) -> None:
        built_or_skip(cluster_binaries.built)
        built_or_skip(cluster_binaries.controller_manager)
        self._controllers = controllers
        self._builds = builds
        self._scenarios = scenarios
        self._resources = resources
        self._scenario_class = scenario_class
        self.ours = asyncio.run(self._run(self._our_side, scenarios))
        self.theirs = asyncio.run(self._run(self._their_side, scenarios))

    def check(self, scenario: str) -> None:
        """Check that both have come to the same end.

        A difference is looked at once more, with this scenario alone: on a busy machine, a state
        may be read before either side has acted.
        """
        ours, expected = self.ours.states[scenario], self.theirs.states[scenario]
        if isinstance(expected, str) or ours != expected:
            alone = {scenario: self._scenarios[scenario]}
            ours = asyncio.run(self._run(self._our_side, alone)).states[scenario]
            expected = asyncio.run(self._run(self._their_side, alone)).states[scenario]
        assert not isinstance(expected, str), expected
        assert ours == expected

    @asynccontextmanager
    async def _their_side(self, cluster: RealCluster) -> AsyncIterator[None]:
        with kube_controller_manager(cluster, self._controllers):
            yield

    @asynccontextmanager
    async def _our_side(self, cluster: RealCluster) -> AsyncIterator[None]:
        async with Client.from_kubeconfig(cluster.kubeconfig) as client:
            manager = Manager(client)
            for build in self._builds:
                manager.add(build())
            async with manager:
                await manager.ready
                yield

    async def _run(self, side: Side, scenarios: Scenarios) -> Outcome:
        states: dict[str, Any] = {}

        async def play(client: Client, name: str) -> None:
            namespace = name.replace("_", "-")
            metadata = {"name": namespace}
            await client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
            scenario = self._scenario_class(client, namespace)
            try:
                await scenarios[name](scenario)
                states[name] = await scenario.settled()
            except Exception as error:
                states[name] = f"{type(error).__name__}: {error}"

        with RealCluster() as cluster:
            async with side(cluster), Client.from_kubeconfig(cluster.kubeconfig) as client:
                async with SimulatedKubelet(client).running():
                    await asyncio.gather(*(play(client, name) for name in scenarios))
                return Outcome(states, self._writes(cluster))

    def _writes(self, cluster: RealCluster) -> int:
        request = urllib.request.Request(
            f"{cluster.url}/metrics", headers={"Authorization": f"Bearer {cluster.admin_token}"}
        )
        with urllib.request.urlopen(request, context=cluster.ssl_context()) as answer:
            text = answer.read().decode()
        total = 0
        for labels, count in re.findall(r"^apiserver_request_total\{([^}]*)\} (\d+)", text, re.M):
            found = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            is_write = found["verb"] in ("POST", "PUT", "PATCH", "DELETE", "APPLY")
            if is_write and found["resource"] in self._resources:
                total += int(count)
        return total
