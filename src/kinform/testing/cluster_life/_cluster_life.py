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
    deployment_body,
    namespace_body,
    node_body,
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
            raise ConfigError(f"nodes={nodes}: a living cluster needs at least one")
        if speed <= 0:
            raise ConfigError(f"speed={speed}: it must be above 0")
        self._world = Simulation(server, seed=seed)
        self._nodes = nodes
        self._applications = tuple(applications)
        self._pause = _TICK / speed
        self._controllers = Controllers(self._world)
        self._kubelet = Kubelet(self._world)
        self._whims: Chaos | None = None

    def populate(self) -> None:
        """Create the nodes, namespaces and deployments; pods follow with the steps."""
        world = self._world
        for index in range(self._nodes):
            world.create(node_body(index, now=world.now))
        for namespace in sorted({app.namespace for app in self._applications}):
            world.create(namespace_body(namespace))
        for app in self._applications:
            world.create(deployment_body(app, tag="1.0"))
        # Nodes that already existed were not created above and get their status here.
        for index, node in enumerate(world.all(NODES)):
            world.update_status(node, node_body(index, now=world.now)["status"])

    def settle(self) -> None:
        """Run, without waiting in real time, until all deployments are available.

        Raises:
            ConfigError: They do not become available, because another client interferes.
        """
        for _ in range(_SETTLES_WITHIN):
            if all(has_condition(body, "Available") for body in self._world.all(DEPLOYMENTS)):
                return
            self.settle_step()
        raise ConfigError("the cluster did not settle; does something else delete its pods?")

    def settle_step(self) -> None:
        """Advance by a quarter of a simulated second, without random incidents."""
        self._world.elapsed += _TICK
        self._controllers.step()
        self._kubelet.step()

    def step(self) -> None:
        """Advance by a quarter of a simulated second, with random incidents."""
        if self._whims is None:
            self._whims = Chaos(self._world, self._kubelet)
        self._whims.step()
        self.settle_step()

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            self.step()
            await asyncio.sleep(self._pause)
