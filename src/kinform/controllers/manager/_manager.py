"""The manager: runs controllers, with their caches, clients, election and HTTP server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any

from kinform._runtime import Latch, Runnable
from kinform.cache import Cache, CachedClient
from kinform.client import ClusterClient
from kinform.controllers._cluster import Cluster
from kinform.controllers.manager._built_in_checks import BuiltInChecks
from kinform.controllers.manager._clusters import ClusterSet
from kinform.controllers.manager._component import component_of
from kinform.controllers.manager._debug_pages import debug_pages
from kinform.controllers.manager._engine import Engine
from kinform.controllers.manager._grace_period import GracePeriod
from kinform.controllers.manager._health_checks import HealthCheck, HealthChecks
from kinform.controllers.manager._http_server import HttpServer
from kinform.controllers.manager._metrics_page import default_metrics
from kinform.controllers.manager._protocols import (
    ManagedController,
    ManagedElector,
    ManagedRecorder,
    RunnableObject,
)
from kinform.controllers.manager._signals import stop_on_signals
from kinform.controllers.manager._status import ManagerStatus
from kinform.controllers.manager._write_guard import LeaderWriteGuard
from kinform.controllers.recorder import EventRecorder
from kinform.errors import AlreadyStoppedError, ConfigError
from kinform.informers import Health
from kinform.metrics import NO_METRICS, Metrics


class Manager(Runnable):
    """Runs controllers and other components, with what they share.

        manager = Manager(client, address="127.0.0.1:8080", election=elector)
        manager.add(controller)
        await manager.run_until_signal()

    It starts in this order: the HTTP server; the caches, until they have synced; the controllers'
    sources and queues; components without leadership; the election; leader-only components. If the
    lease is lost, leader-only work is cancelled at once, and the manager campaigns again when it
    has ended. On a stop, controllers finish their current keys, everything else is cancelled, and
    then caches, server, lease and events follow. It runs once.

    Args:
        client: The client of the cluster. The manager does not close it.
        cache: The cache of the controllers; by default one of all namespaces.
        election: Elects one of several replicas; without it, this process is the leader.
        address: Where to serve probes, metrics and debug pages: ``host:port``, or ``:port`` for
            loopback only. ``None`` serves nothing.
        recorder: Records events about objects; by default one of the manager's name. It is started
            and stopped with the manager, unless it runs already.
        grace: Seconds that the whole shutdown may take. Controllers may use 80 % of it to finish
            their current keys. 0 cancels them at once, ``None`` waits for ever.
        sync_timeout: Seconds that the caches may take to sync at the start.
        exit_on_lost_lease: Whether a lost lease stops the manager, with LeadershipLostError.
        max_staleness: Not ready if a cache was last known to be current more than this many
            seconds ago; by default, stale caches are ready.
        debug: Whether to serve ``/debug/``: pages that show names of objects, and errors.
        metrics: Receives the metrics of caches and controllers. By default those of Prometheus, if
            there is an address and prometheus_client is installed.
        name: The name used in logs, errors and events.

    Raises:
        ConfigError: An argument is invalid.
    """

    def __init__(
        self,
        client: ClusterClient,
        *,
        cache: Cache | None = None,
        election: ManagedElector | None = None,
        address: str | None = None,
        recorder: ManagedRecorder | None = None,
        grace: float | None = 30.0,
        sync_timeout: float = 120.0,
        exit_on_lost_lease: bool = False,
        max_staleness: float | None = None,
        debug: bool = True,
        metrics: Metrics | None = None,
        name: str = "manager",
    ) -> None:
        _check_duration("grace", grace, optional=True)
        _check_duration("sync_timeout", sync_timeout)
        _check_duration("max_staleness", max_staleness, optional=True)
        if election is not None and not hasattr(election, "problems"):
            raise ConfigError(f"election must be a LeaderElector, not {election!r}")
        if metrics is None:
            metrics = NO_METRICS if address is None else default_metrics()
        self._metrics = metrics
        self._recorder: ManagedRecorder = (
            EventRecorder(client, name, metrics=metrics) if recorder is None else recorder
        )
        self._liveness = HealthChecks("healthz")
        self._readiness = HealthChecks("readyz")
        self._clusters = ClusterSet(None if election is None else LeaderWriteGuard())
        self._own = self._new_cluster("", client, cache)
        self._clusters.add(self._own, essential=True)
        self._election = election
        # Filled below: the pages show the engine, which serves them.
        pages: dict[str, Any] = {}
        self._server = None
        if address is not None:
            self._server = HttpServer(
                address,
                probes={each.page: each for each in (self._liveness, self._readiness)},
                metrics=metrics,
                debug=pages,
            )
        self._engine = Engine(
            name,
            clusters=self._clusters,
            server=self._server,
            election=election,
            exit_on_lost_lease=exit_on_lost_lease,
            recorder=self._recorder,
            grace=grace,
            sync_timeout=sync_timeout,
        )
        if debug:
            pages.update(debug_pages(self._engine, self._clusters, self.status))
        self._checks = BuiltInChecks(self._engine, self._clusters, election, max_staleness)
        self._checks.add_to(self._liveness, self._readiness)
        self._grace = grace
        super().__init__(self._engine.lifecycle)

    # -- what components use -----------------------------------------------------------------

    @property
    def cluster(self) -> Cluster:
        """The manager's own cluster: its clients and its cache."""
        return self._own

    @property
    def client(self) -> CachedClient:
        """Reads from the cache, sees its own writes, and writes to the server."""
        return self._own.client

    @property
    def cache(self) -> Cache:
        return self._own.cache

    @property
    def recorder(self) -> ManagedRecorder:
        """Records events about objects."""
        return self._recorder

    # -- components --------------------------------------------------------------------------

    def add(
        self,
        component: ManagedController | RunnableObject | Callable[[], Awaitable[object]],
        *,
        name: str | None = None,
        cluster: str = "",
        needs_leader: bool | None = None,
        essential: bool = True,
    ) -> None:
        """Add a controller, an async function, or an object with ``async run()``.

        Callable before the start on any thread, and after it on the manager's event loop. A
        function ends when it returns or is cancelled. A leader-only function is called again each
        time the election is won.

        Args:
            component: The controller, function or object.
            name: Its name; by default that of the controller, function, object or class.
            cluster: The name of its cluster, if it is not the manager's own.
            needs_leader: Whether it runs only on the leader. By default the ``needs_leader`` of the
                component, or else true.
            essential: Whether an error of it stops the manager, with that error. Otherwise, the
                error is logged, and it is restarted after 1 s to 60 s; probes warn about it.

        Raises:
            ConfigError: It is none of these, there is a component of the same name, or no such
                cluster.
            AlreadyStoppedError: The manager is stopping or has stopped.
        """
        self._engine.add(
            component_of(
                component,
                self._clusters.get(cluster),
                self._recorder,
                self._metrics,
                name=name,
                needs_leader=needs_leader,
                essential=essential,
            )
        )

    async def remove(self, name: str) -> None:
        """Stop a component as on shutdown, and remove it.

        Raises:
            ConfigError: There is no component of this name.
            ShutdownTimeoutError: It did not stop within the grace period.
        """
        await self._engine.remove(self._engine.find(name))

    def add_cluster(
        self,
        name: str,
        client: ClusterClient,
        *,
        cache: Cache | None = None,
        essential: bool = True,
    ) -> Cluster:
        """Add another cluster, for controllers and sources. Callable like ``add``.

        Args:
            name: Its name, which becomes part of the requests of its objects.
            client: Its client.
            cache: Its cache; by default one of all namespaces.
            essential: Whether the start waits for its cache, and readiness depends on it.

        Raises:
            ConfigError: The name is empty or taken, or this is not a client.
            AlreadyStoppedError: The manager is stopping or has stopped.
        """
        given: object = name  # callers may be untyped
        if not isinstance(given, str) or not given:
            raise ConfigError(f"a cluster needs a name, not {name!r}")
        self._engine.require_open("add a cluster to it")
        cluster = self._new_cluster(name, client, cache)
        self._clusters.add(cluster, essential=essential)
        return cluster

    async def remove_cluster(self, name: str) -> None:
        """Stop the components that were added with a cluster, then its cache, and remove all.

        Raises:
            ConfigError: There is no such cluster, or it is the manager's own.
            ShutdownTimeoutError: A component did not stop within the grace period.
        """
        if not name:
            raise ConfigError("the manager's own cluster cannot be removed")
        self._clusters.get(name)
        members = [each for each in self._engine.members if each.component.cluster == name]
        await self._engine.remove(*members)
        grace = GracePeriod(self._grace)
        await self._clusters.remove(name, grace)
        self._engine.raise_if_late(grace)

    # -- state -------------------------------------------------------------------------------

    @property
    def ready(self) -> Latch:
        """Set when caches have synced, controllers are warm, and the others were started."""
        return self._engine.ready

    @property
    def elected(self) -> Latch:
        """Set when this process first was the leader, and leader-only components were started."""
        return self._engine.elected

    @property
    def is_leader(self) -> bool:
        """Whether leader-only components run here now."""
        return self._engine.is_leader

    @property
    def leadership(self) -> Any:
        """The ``Leadership`` of the current term; ``None`` on standby and without election."""
        return self._engine.leadership

    @property
    def address(self) -> str:
        """Where pages are served, with the real port after the start; empty without a server."""
        return "" if self._server is None else self._server.address

    @property
    def failure(self) -> Exception | None:
        """The error that stopped the manager; ``run`` raises it."""
        return self._engine.failure

    def status(self) -> ManagerStatus:
        """Return the state of the manager and of each component. Thread-safe."""
        engine = self._engine
        return ManagerStatus(
            name=engine.name,
            state=engine.state,
            address=self.address,
            is_leader=engine.is_leader,
            leader="" if self._election is None else self._election.leader,
            clusters=self._clusters.names,
            components=tuple(each.status() for each in engine.members),
        )

    def health(self) -> Health:
        """Return whether the manager works: caches, components and election. Thread-safe.

        The checks of ``add_health_check`` and ``add_ready_check`` are not called.
        """
        return self._checks.health()

    def add_health_check(self, name: str, check: HealthCheck) -> None:
        """Add a check to ``/healthz``. If it fails, Kubernetes restarts the process.

        It should not depend on other programs, because a restart does not repair them.

        Args:
            name: Its name, also of its page ``/healthz/<name>``.
            check: A function, ``def`` or ``async def``. It passes if it returns ``None`` or
                ``True``, and fails if it raises or returns ``False`` or a reason. It runs on the
                event loop, and may take five seconds.

        Raises:
            ConfigError: The name is invalid or taken, or this is not a function.
        """
        self._liveness.add(name, check)

    def add_ready_check(self, name: str, check: HealthCheck) -> None:
        """Add a check to ``/readyz``; see ``add_health_check``.

        Raises:
            ConfigError: The name is invalid or taken, or this is not a function.
        """
        self._readiness.add(name, check)

    # -- lifecycle ---------------------------------------------------------------------------

    async def run(self) -> None:
        """Start, and return when it has been stopped. Cancelling this call stops it gracefully.

        Raises:
            StateError: It was started before.
            ShutdownTimeoutError: Some components did not stop in time; the message names them.
            Exception: The error of the component, cache or server that stopped it.
        """
        await super().run()
        self._raise_failure()

    async def run_until_signal(self) -> None:
        """Run until SIGTERM or SIGINT. The first one stops it gracefully, the second one at once.

        The second signal ends the process without cleanup, with exit code 128 plus its number.

        Raises:
            StateError: This is not the main thread, or it was started before.
            Exception: As for ``run``.
        """
        stop = partial(asyncio.get_running_loop().call_soon_threadsafe, self.stop)
        with stop_on_signals(stop, receiver="run_until_signal()"):
            await self.run()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await super().__aexit__(exc_type, exc, traceback)
        # A wait for ``ready`` fails if the manager does; its reason says more.
        if exc is None or isinstance(exc, AlreadyStoppedError):
            self._raise_failure()

    def _raise_failure(self) -> None:
        if self._engine.failure is not None:
            raise self._engine.failure

    def _new_cluster(self, name: str, client: ClusterClient, cache: Cache | None) -> Cluster:
        if cache is None:
            title = f"cache of {name}" if name else "cache"
            cache = Cache(client, metrics=self._metrics, name=title)
        return Cluster(client, cache=cache, name=name)

    def __repr__(self) -> str:
        return f"<Manager {self._engine.name!r}, {self._engine.state}>"


def _check_duration(option: str, seconds: Any, *, optional: bool = False) -> None:
    if optional and seconds is None:
        return
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not seconds >= 0:
        expected = "seconds, at least 0" + (", or None" if optional else "")
        raise ConfigError(f"{option} must be {expected}, not {seconds!r}")
