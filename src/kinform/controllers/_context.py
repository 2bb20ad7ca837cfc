"""What a reconciler may use: clients, the recorder, and the circumstances of the call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from typing import Any, Generic, TypeVar

from kinform._runtime import running_loop
from kinform.cache import Cache, CachedClient
from kinform.client import ClusterClient
from kinform.controllers._cluster import Cluster
from kinform.controllers._recording import Recorder
from kinform.controllers._request import Request
from kinform.controllers.election import Leadership
from kinform.errors import ConfigError, StateError

K = TypeVar("K")
T = TypeVar("T")

_log = logging.getLogger("kinform.controllers")


class Environment:
    """What all reconciles of a controller share.

    Args:
        name: The name of the controller.
        cluster: The cluster of the controller.
        clusters: All clusters of its sources by name.
        recorder: Records events.
        leadership: The leadership that the workers hold.
        loop: The event loop of the workers.
    """

    __slots__ = ("cluster", "clusters", "leadership", "log", "loop", "name", "recorder")

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        clusters: Mapping[str, Cluster],
        *,
        recorder: Recorder | None,
        leadership: Leadership | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.name = name
        self.cluster = cluster
        self.clusters = clusters
        self.recorder = recorder
        self.leadership = leadership
        self.loop = loop
        self.log = _log.getChild(name)


class Context(Generic[K]):
    """The second argument of a reconciler.

    Attributes:
        request: The key to reconcile.
        attempt: 1 at first, and one more for each failure in a row.
        priority: The priority with which the key was queued.
    """

    __slots__ = ("_environment", "attempt", "priority", "request")

    def __init__(self, environment: Environment, request: K, attempt: int, priority: int) -> None:
        self._environment = environment
        self.request = request
        self.attempt = attempt
        self.priority = priority

    @property
    def controller(self) -> str:
        """The name of the controller."""
        return self._environment.name

    @property
    def cluster(self) -> Cluster:
        """The cluster of the request; that of the controller if the request does not name one."""
        request, environment = self.request, self._environment
        if isinstance(request, Request) and request.cluster:
            return environment.clusters.get(request.cluster, environment.cluster)
        return environment.cluster

    @property
    def client(self) -> CachedClient:
        """Reads from the cache, sees its own writes, and writes to the server."""
        return self.cluster.client

    @property
    def live(self) -> ClusterClient:
        """The client that reads from the server."""
        return self.cluster.live

    @property
    def cache(self) -> Cache:
        """The cache, such as for ``peek``, which never waits."""
        return self.cluster.cache

    @property
    def recorder(self) -> Recorder:
        """Records events about objects.

        Raises:
            ConfigError: The controller runs without a recorder.
        """
        recorder = self._environment.recorder
        if recorder is None:
            raise ConfigError(
                f"{self.controller} has no event recorder; pass recorder= to warm_up or run, or "
                "let a Manager run the controller"
            )
        return recorder

    @property
    def leadership(self) -> Leadership | None:
        """The leadership under which the reconcile runs; ``None`` without leader election."""
        return self._environment.leadership

    @property
    def fencing_token(self) -> int | None:
        """A number that grows with each change of the leader; ``None`` without leader election.

        Systems outside the cluster can refuse writes with a smaller token than the last one.
        """
        leadership = self._environment.leadership
        return None if leadership is None else leadership.token

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger that puts the key and the attempt in front of each message."""
        return _RequestLogger(
            self._environment.log, {"request": str(self.request), "attempt": self.attempt}
        )

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the controller's event loop, and wait for it. For ``def`` reconcilers.

            web = context.wait(context.client.get(Web, request.name, namespace=request.namespace))

        Raises:
            StateError: The thread runs the event loop: await the coroutine instead.
        """
        if running_loop() is not None:
            work.close()
            raise StateError("this reconciler runs on the event loop: await the coroutine instead")
        return asyncio.run_coroutine_threadsafe(work, self._environment.loop).result()

    def __repr__(self) -> str:
        return f"<Context {self.controller} {self.request} attempt {self.attempt}>"


class _RequestLogger(logging.LoggerAdapter[logging.Logger]):
    def process(self, msg: Any, kwargs: Any) -> tuple[Any, Any]:
        extra = self.extra or {}
        attempt = extra["attempt"]
        suffix = f" (attempt {attempt})" if attempt != 1 else ""
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **extra}
        return f"{extra['request']}{suffix}: {msg}", kwargs
