"""The controller manager: a manager whose controllers come from a registry."""

from __future__ import annotations

import asyncio
import inspect
import logging
import random
from collections.abc import Iterable, Mapping
from typing import Any

from kinform._checks import check_plain, expect
from kinform._runtime import Latch
from kinform.cache import Cache
from kinform.client import Client, ClusterClient
from kinform.controller_manager._context import ControllerContext, SharedParts
from kinform.controller_manager._identity import ClientBuilder, ControllerClients
from kinform.controller_manager._registry import (
    ControllerDescriptor,
    ControllerRegistry,
    default_registry,
)
from kinform.controller_manager._selection import ControllerSelection
from kinform.controller_manager._start import StaggeredController, staggered
from kinform.controllers import (
    Cluster,
    Controller,
    EventRecorder,
    ManagedController,
    ManagedElector,
    Manager,
    RunnableObject,
)
from kinform.errors import ConfigError, KinformError
from kinform.informers import InformerMap, Namespaces, SharedInformerFactory, strip_managed_fields
from kinform.metrics import Metrics

logger = logging.getLogger("kinform.controller_manager")

# Seconds between two resyncs of a handler at least, as in kube-controller-manager.
_RESYNC = 12 * 3600.0
# Seconds between two looks at the resources of the server.
_DISCOVERY = 30.0


class ControllerManager(Manager):
    """Runs the selected controllers of a registry on one set of informers.

        manager = ControllerManager(client, registry=registry, controllers="*,-job-controller")
        await manager.run_until_signal()

    All controllers are built at once, when the manager is created; they only declare the informers
    they need. After the start come, in this order: the informers of all controllers, the signal
    ``informers_started``, and, when the informers have synced, and with an election when it is won,
    the controllers. Everything else is as in a ``Manager``.

    Args:
        client: The client of the cluster; all informers read with it. The manager does not close
            it.
        registry: The controllers that there are; by default those that are shipped with kinform.
        controllers: Those to run, such as ``"*,-job-controller"``; see ``ControllerSelection``.
        gates: The enabled feature gates. A selected controller whose gates are not all enabled
            does not run.
        clients: Returns the client of each controller, which the manager closes; by default
            ``ControllerClients(client)``. A client that is not a ``kinform.Client`` is shared.
        options: The options of controllers by name, for ``ControllerContext.options``.
        namespace: The namespaces that all informers cover; by default all.
        start_interval: Seconds before a controller starts to work; each waits once to twice as
            long.
        resync_period: Seconds between resyncs of a handler, at least; at most twice as many.
        election: Elects one of several replicas; without it, this process is the leader.
        address: Where to serve probes, metrics and debug pages; see ``Manager``.
        grace: Seconds that the whole shutdown may take; see ``Manager``.
        sync_timeout: Seconds that the informers may take to sync at the start.
        exit_on_lost_lease: Whether a lost lease stops the manager, with LeadershipLostError.
        max_staleness: Not ready if a cache may be older than this many seconds.
        debug: Whether to serve debug pages.
        metrics: Receives the metrics of informers and controllers; see ``Manager``.
        name: The name used in logs, errors and events.

    Raises:
        ConfigError: An argument is invalid, a controller does not exist, none is left to run, or
            one was built with the wrong name.
        Exception: That of a function that builds a controller, with a note.
    """

    def __init__(
        self,
        client: ClusterClient,
        *,
        registry: ControllerRegistry | None = None,
        controllers: str | Iterable[str] = "*",
        gates: Iterable[str] = (),
        clients: ClientBuilder | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        namespace: Namespaces = None,
        start_interval: float = 0.0,
        resync_period: float = _RESYNC,
        election: ManagedElector | None = None,
        address: str | None = None,
        grace: float | None = 10.0,
        sync_timeout: float = 120.0,
        exit_on_lost_lease: bool = False,
        max_staleness: float | None = None,
        debug: bool = True,
        metrics: Metrics | None = None,
        name: str = "kinform-controller-manager",
    ) -> None:
        _check_seconds("start_interval", start_interval)
        _check_seconds("resync_period", resync_period)
        check_plain("clients", clients)
        registry = default_registry() if registry is None else registry
        expect(registry, ControllerRegistry, receiver="registry=", expected="a ControllerRegistry")
        chosen = _enabled(registry, controllers, gates)
        own_options = _options_by_name(registry, options)
        self._informer_map = InformerMap(f"informers of {name}")
        self._namespace = namespace
        # One period for the cache and the factory, so that they share informers.
        self._resync_period = resync_period * random.uniform(1.0, 2.0)
        super().__init__(
            client,
            election=election,
            address=address,
            grace=grace,
            sync_timeout=sync_timeout,
            exit_on_lost_lease=exit_on_lost_lease,
            max_staleness=max_staleness,
            debug=debug,
            metrics=metrics,
            name=name,
        )
        informers = SharedInformerFactory(
            client,
            self._resync_period,
            namespace=namespace,
            transform=strip_managed_fields,
            metrics=self._metrics,
            name=f"informers of {name}",
            informer_map=self._informer_map,
        )
        self._clusters.add_factory(informers)
        self._shared = SharedParts(
            informers, self._clusters.started, client.discovery, resync_period
        )
        self._start_interval = start_interval
        if clients is None and isinstance(client, Client):
            clients = ControllerClients(client)
        self._running = tuple(
            each.name
            for each in chosen
            if self._build(each, self._context(each.name, clients, own_options.get(each.name)))
        )
        if not self._running:
            raise ConfigError(f"{name} has no controllers to run")
        self.add_ready_check("informers", self._informers_problem)
        if self._shared.uses_discovery:
            self.add(self._refresh_discovery, name="discovery", needs_leader=False, essential=False)

    @property
    def controllers(self) -> tuple[str, ...]:
        """The names of the controllers that run, or will run after the start."""
        return self._running

    @property
    def informers(self) -> SharedInformerFactory:
        """The typed informers, which the controllers share with each other and with the cache."""
        return self._shared.informers

    @property
    def informers_started(self) -> Latch:
        """Set when the informers of all controllers were started; they may not have synced yet."""
        return self._shared.informers_started

    # -- building ----------------------------------------------------------------------------

    def _new_cluster(self, name: str, client: ClusterClient, cache: Cache | None) -> Cluster:
        """Let the manager's own cache share its informers with the factory."""
        if not name and cache is None:
            cache = Cache(
                client,
                namespace=self._namespace,
                transform=strip_managed_fields,
                default_resync=self._resync_period,
                metrics=self._metrics,
                informer_map=self._informer_map,
            )
        return super()._new_cluster(name, client, cache)

    def _context(
        self, name: str, clients: ClientBuilder | None, options: Mapping[str, Any] | None
    ) -> ControllerContext:
        root = self.cluster
        cluster = root
        if clients is not None:
            client: Any = clients(name)
            cluster = Cluster(client, cache=root.cache)
            if client is not root.live:
                self._clusters.add_client(client)
        recorder = EventRecorder(cluster.live, name, metrics=self._metrics)
        return ControllerContext(name, cluster, recorder, self._shared, options)

    def _build(self, descriptor: ControllerDescriptor, context: ControllerContext) -> bool:
        """Build a controller and add it; ``False`` if there is nothing to run."""
        name = descriptor.name
        try:
            built: Any = descriptor.build(context)  # a function may be untyped
            if inspect.iscoroutine(built):
                built.close()
                raise ConfigError(f"build of controller {name!r} must not be async")
            if built is None:
                logger.info("%s: nothing to run", name)
                return False
            self._add(name, built, context)
        except Exception as error:
            error.add_note(f"This happened when controller {name} was built.")
            raise
        return True

    def _add(self, name: str, built: Any, context: ControllerContext) -> None:
        if isinstance(built, ManagedController) and not isinstance(built, type):
            if built.name != name:
                raise ConfigError(
                    f"controller {name!r} was built with the name {built.name!r}; pass context.name"
                )
            if isinstance(built, Controller):
                built.declare(self.cache)
            self.add(StaggeredController(built, context, self._delay))
        else:
            function = built.run if isinstance(built, RunnableObject) else built
            if not callable(function) or isinstance(built, type):
                raise ConfigError(
                    f"build of controller {name!r} must return a Controller, an async function, an "
                    f"object with async run(), or None, not {built!r}"
                )
            wanted = getattr(built, "needs_leader", True)
            self.add(staggered(function, context, self._delay), name=name, needs_leader=wanted)
        self.add_ready_check(name, lambda: self._engine.find(name).problem() or None)

    # -- running -----------------------------------------------------------------------------

    def _delay(self) -> float:
        return self._start_interval * random.uniform(1.0, 2.0)

    def _informers_problem(self) -> str | None:
        health = self._shared.informers.health()
        return str(health) if self._shared.informers.informers and not health.ready else None

    async def _refresh_discovery(self) -> None:
        while True:
            await asyncio.sleep(_DISCOVERY)
            try:
                await self._shared.discovery.refresh()
            except KinformError as error:
                logger.debug("the resources of the server could not be read: %s", error)


def _enabled(
    registry: ControllerRegistry, controllers: str | Iterable[str], gates: Iterable[str]
) -> list[ControllerDescriptor]:
    """Return the selected controllers whose gates are enabled."""
    if isinstance(gates, str):
        raise ConfigError(f"gates takes a list of names, such as [{gates!r}]")
    enabled = frozenset(gates)
    found = []
    for each in ControllerSelection(controllers, registry).choose(registry):
        if missing := each.missing_gates(enabled):
            logger.warning("%s does not run: it needs the gates %s", each.name, ", ".join(missing))
        else:
            found.append(each)
    return found


def _options_by_name(
    registry: ControllerRegistry, options: Mapping[str, Mapping[str, Any]] | None
) -> dict[str, dict[str, Any]]:
    """Return the options by the names of controllers, whichever aliases were used."""
    found: dict[str, dict[str, Any]] = {}
    for name, given in (options or {}).items():
        expect(given, Mapping, receiver=f"options[{name!r}]", expected="a dict")
        found.setdefault(registry.find(name).name, {}).update(given)
    return found


def _check_seconds(option: str, given: object) -> None:
    if not isinstance(given, int | float) or isinstance(given, bool) or not given >= 0:
        raise ConfigError(f"{option} must be seconds, at least 0, not {given!r}")
