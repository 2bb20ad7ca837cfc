"""Runs a small simulated cluster on a server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kinform.errors import ConfigError
from kinform.testing.cluster_life._chaos import Chaos
from kinform.testing.cluster_life._controllers import Controllers
from kinform.testing.cluster_life._kubelet import Kubelet
from kinform.testing.cluster_life._manifests import (
    APPLICATIONS,
    Application,
    deployment_manifest,
    namespace_manifest,
    node_manifest,
)
from kinform.testing.cluster_life._simulation import (
    DEPLOYMENTS,
    NODES,
    ClusterApi,
    Simulation,
    has_condition,
)

_TICK = 0.25
_SETTLES_WITHIN = 400


class ClusterLife:
    """A simulated cluster: nodes, deployments and pods that change with every step.

    The same seed and steps produce the same events. The simulation reacts to other clients of
    the server: it replaces deleted pods and follows the scale of deployments.

    Args:
        server: An ``ApiServer``; for ``step``, also a ``BlockingApiServer``.
        seed: The seed of all random events.
        nodes: The number of nodes.
        applications: The applications to deploy.
        speed: The number of simulated seconds per real second in ``run``.

    Raises:
        ConfigError: The number of nodes or the speed is invalid.
    """

    def __init__(
        self,
        server: ClusterApi,
        *,
        seed: int = 0,
        nodes: int = 4,
        applications: Sequence[Application] = APPLICATIONS,
        speed: float = 1.0,
    ) -> None:
        if nodes < 1:
            raise ConfigError(f"nodes={nodes}: a simulated cluster needs at least one node")
        if speed <= 0:
            raise ConfigError(f"speed={speed}: the speed must be above 0")
        self._simulation = Simulation(server, seed=seed)
        self._nodes = nodes
        self._applications = tuple(applications)
        self._pause = _TICK / speed
        self._controllers = Controllers(self._simulation)
        self._kubelet = Kubelet(self._simulation)
        self._chaos: Chaos | None = None

    def populate(self) -> None:
        """Create the nodes, namespaces and deployments; pods follow with the steps."""
        simulation = self._simulation
        for index in range(self._nodes):
            simulation.create(node_manifest(index, now=simulation.now))
        for namespace in sorted({app.namespace for app in self._applications}):
            simulation.create(namespace_manifest(namespace))
        for app in self._applications:
            simulation.create(deployment_manifest(app, tag="1.0"))
        # Nodes that already existed were not created above and get their status here.
        for index, node in enumerate(simulation.all(NODES)):
            simulation.update_status(node, node_manifest(index, now=simulation.now)["status"])

    def settle(self) -> None:
        """Run, without waiting in real time, until all deployments are available.

        Raises:
            ConfigError: They do not become available, because another client interferes.
        """
        for _ in range(_SETTLES_WITHIN):
            if all(
                has_condition(manifest, "Available")
                for manifest in self._simulation.all(DEPLOYMENTS)
            ):
                return
            self.settle_step()
        raise ConfigError(
            "the simulated cluster did not settle; does another client delete its pods?"
        )

    def settle_step(self) -> None:
        """Advance by a quarter of a simulated second, without random incidents."""
        self._simulation.elapsed += _TICK
        self._controllers.step()
        self._kubelet.step()

    def step(self) -> None:
        """Advance by a quarter of a simulated second, with random incidents."""
        if self._chaos is None:
            self._chaos = Chaos(self._simulation, self._kubelet)
        self._chaos.step()
        self.settle_step()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            self.step()
            await asyncio.sleep(self._pause)
