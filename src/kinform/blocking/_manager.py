"""The blocking manager: controllers run on the loop thread, ``def`` reconcilers on their own."""

from __future__ import annotations

from functools import partial
from typing import Any, TypedDict, Unpack

from kinform._checks import expect
from kinform.blocking._cache import Cache
from kinform.blocking._cached_client import CachedClient
from kinform.blocking._client import Client, inner_client
from kinform.blocking._facade import ForwardedAttribute, blocking_method, direct_method, loop_method
from kinform.blocking._leader_elector import LeaderElector
from kinform.blocking._owner import Owner
from kinform.blocking._recorder import EventRecorder
from kinform.blocking._runnable import RunnableFacade, stop_and_wait
from kinform.controllers import Cluster, Leadership, ManagedRecorder
from kinform.controllers import Manager as AsyncManager
from kinform.controllers.manager import stop_on_signals
from kinform.errors import ConfigError
from kinform.informers import Latch
from kinform.metrics import Metrics


class ManagerOptions(TypedDict, total=False):
    """The options of ``kinform.controllers.Manager``, documented there."""

    address: str | None
    grace: float | None
    sync_timeout: float
    exit_on_lost_lease: bool
    max_staleness: float | None
    debug: bool
    metrics: Metrics | None
    name: str


class Manager(RunnableFacade):
    """Runs controllers in a program without an event loop.

        manager = blocking.Manager(client, address="127.0.0.1:8080")
        manager.add(Controller("web", reconcile, for_=Web))     # def reconcile(request, context)
        manager.run_until_signal()

    Controllers work on the loop thread of the client, and call ``def`` reconcilers on threads of
    their own. Everything behaves as in ``kinform.controllers.Manager``. Its latches are waited for
    with ``manager.ready.wait()``. Keep a reference to the manager: without one, it stops.

    Args:
        client: The client of the cluster.
        cache: The cache of the controllers; by default one of all namespaces.
        election: Elects one of several replicas. Only the manager may run it.
        recorder: Records events about objects; by default one of the manager's name.
        options: The options of ``kinform.controllers.Manager``.

    Raises:
        ConfigError: ``client`` is not a blocking client, or an option is invalid.
    """

    _inner: AsyncManager

    def __init__(
        self,
        client: Client,
        *,
        cache: Cache | None = None,
        election: LeaderElector | None = None,
        recorder: EventRecorder | None = None,
        **options: Unpack[ManagerOptions],
    ) -> None:
        live = inner_client(client, receiver="Manager")
        _check_optional("cache=", Cache, cache)
        _check_optional("election=", LeaderElector, election)
        _check_optional("recorder=", EventRecorder, recorder)
        inner = AsyncManager(
            live,
            cache=None if cache is None else cache._inner,
            election=None if election is None else election._inner,
            recorder=None if recorder is None else recorder._inner,
            **options,
        )
        owner = Owner(
            partial(stop_and_wait, inner),
            name=f"the blocking {inner.name} of {client.config.server}",
            instead="kinform.controllers.Manager",
            loop=client._owner.loop,
            needs=[each._owner for each in (client, cache, election, recorder) if each is not None],
        )
        super().__init__(inner, owner)
        self.client = CachedClient(inner.client, owner, client)
        """Reads from the cache, sees its own writes, and writes to the server."""

    ready = ForwardedAttribute[Latch]()
    elected = ForwardedAttribute[Latch]()
    is_leader = ForwardedAttribute[bool]()
    leadership = ForwardedAttribute[Leadership | None]()
    address = ForwardedAttribute[str]()
    failure = ForwardedAttribute[Exception | None]()
    recorder = ForwardedAttribute[ManagedRecorder]()

    add = loop_method(AsyncManager.add)
    remove = blocking_method(AsyncManager.remove)
    add_health_check = direct_method(AsyncManager.add_health_check)
    add_ready_check = direct_method(AsyncManager.add_ready_check)
    status = loop_method(AsyncManager.status)
    # On the loop thread: if that is blocked or has ended, the manager does not work either.
    health = loop_method(AsyncManager.health)

    def add_cluster(
        self, name: str, client: Client, *, cache: Cache | None = None, essential: bool = True
    ) -> Cluster:
        """Add another cluster, for controllers and sources, at any time.

        Args:
            name: Its name, which becomes part of the requests of its objects.
            client: Its client, on the same loop thread as that of the manager.
            cache: Its cache; by default one of all namespaces.
            essential: Whether the start waits for its cache, and readiness depends on it.

        Raises:
            ConfigError: The name is empty or taken, or this is not a blocking client.
            AlreadyStoppedError: The manager is stopping or has stopped.
        """
        live = inner_client(client, receiver="Manager.add_cluster")
        _check_optional("cache=", Cache, cache)
        if client._owner.loop is not self._owner.loop:
            raise ConfigError(
                f"the client of cluster {name!r} has another loop thread; create both clients with "
                "loop=LoopThread()"
            )
        inner_cache = None if cache is None else cache._inner
        return self._owner.call(
            lambda: self._inner.add_cluster(name, live, cache=inner_cache, essential=essential)
        )

    remove_cluster = blocking_method(AsyncManager.remove_cluster)

    def run_until_signal(self) -> None:
        """Run until SIGTERM or SIGINT. The first one stops it gracefully, the second one at once.

        Raises:
            StateError: This is not the main thread, or it was started before.
            Exception: As for ``run``.
        """
        requested = False

        async def stop() -> None:
            self._inner.stop()

        def request_stop() -> None:
            nonlocal requested
            requested = True
            self._owner.loop.spawn(stop)

        async def run() -> None:
            async with self._inner as manager:
                if requested:  # before there was anything to stop
                    manager.stop()
                await manager.stopped

        with stop_on_signals(request_stop, receiver="run_until_signal()"):
            self._owner.run(run())

    def __repr__(self) -> str:
        return f"<blocking {self._inner!r}>"


def _check_optional(option: str, wanted: type[Any], given: object) -> None:
    if given is not None:
        expected = f"a kinform.blocking.{wanted.__name__}"
        expect(given, wanted, receiver=option, expected=expected)
