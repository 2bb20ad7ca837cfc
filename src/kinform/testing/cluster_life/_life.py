"""A server in, a server with a little cluster living on it out."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kinform.errors import ConfigError
from kinform.testing.cluster_life._bodies import (
    APPLICATIONS,
    Application,
    deployment_body,
    namespace_body,
    node_body,
)
from kinform.testing.cluster_life._chaos import Chaos
from kinform.testing.cluster_life._controllers import Controllers
from kinform.testing.cluster_life._kubelet import Kubelet
from kinform.testing.cluster_life._world import (
    DEPLOYMENTS,
    NODES,
    ClusterApi,
    World,
    has_condition,
)

_TICK = 0.25
_SETTLES_WITHIN = 400


class ClusterLife:
    """Nodes, deployments, and pods that come, change and go, until you stop stepping.

    The same seed and the same steps give the same story. It lives with what others do to
    the same server: delete a pod and it is replaced, scale a deployment and it follows.

    Args:
        server: An ``ApiServer``; a ``BlockingApiServer`` will do for ``step``.
        seed: Which story.
        nodes: How many nodes.
        applications: What runs on them.
        speed: How many simulated seconds ``run`` lives in a real one.

    Raises:
        ConfigError: There would be no node, or time would stand still.
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
        self._world = World(server, seed=seed)
        self._nodes = nodes
        self._applications = tuple(applications)
        self._pause = _TICK / speed
        self._controllers = Controllers(self._world)
        self._kubelet = Kubelet(self._world)
        self._whims: Chaos | None = None

    def populate(self) -> None:
        """Make the nodes, the namespaces and the deployments; pods follow step by step."""
        world = self._world
        for index in range(self._nodes):
            world.create(node_body(index, now=world.now))
        for namespace in sorted({app.namespace for app in self._applications}):
            world.create(namespace_body(namespace))
        for app in self._applications:
            world.create(deployment_body(app, tag="1.0"))
        # A status that comes with a new object is ignored, for nodes too.
        for index, node in enumerate(world.all(NODES)):
            world.update_status(node, node_body(index, now=world.now)["status"])

    def settle(self) -> None:
        """Live, in no real time, until every deployment is available.

        Raises:
            ConfigError: It never is, because someone else is in the way.
        """
        for _ in range(_SETTLES_WITHIN):
            if all(has_condition(body, "Available") for body in self._world.all(DEPLOYMENTS)):
                return
            self.settle_step()
        raise ConfigError("the cluster did not settle; does something else delete its pods?")

    def settle_step(self) -> None:
        """A quarter of a simulated second, in which nothing happens that nobody asked for."""
        self._world.elapsed += _TICK
        self._controllers.step()
        self._kubelet.step()

    def step(self) -> None:
        """A quarter of a simulated second, in which things may also go wrong."""
        if self._whims is None:
            self._whims = Chaos(self._world, self._kubelet)
        self._whims.step()
        self.settle_step()

    async def run(self) -> None:
        """Live until cancelled."""
        while True:
            self.step()
            await asyncio.sleep(self._pause)
