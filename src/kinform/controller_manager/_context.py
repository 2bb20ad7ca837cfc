"""What a controller is built with: its own client, and the informers that all share."""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from kinform._runtime import Latch
from kinform.cache import Cache, CachedClient
from kinform.client import ClusterClient, Discovery, ResourceLike
from kinform.controllers import Cluster, EventRecorder
from kinform.informers import SharedIndexInformer, SharedInformerFactory


class SharedParts:
    """What the contexts of all controllers have in common.

    Args:
        informers: The informers.
        informers_started: Set when they were started.
        discovery: The resources of the server.
        min_resync_period: Seconds between two resyncs of a handler, at least.

    Attributes:
        uses_discovery: Whether a controller has asked for the resources of the server.
    """

    def __init__(
        self,
        informers: SharedInformerFactory,
        informers_started: Latch,
        discovery: Discovery,
        min_resync_period: float,
    ) -> None:
        self.informers = informers
        self.informers_started = informers_started
        self.discovery = discovery
        self.min_resync_period = min_resync_period
        self.uses_discovery = False

    def resync_period(self) -> float:
        """Return a period between the shortest one and twice as much, drawn for each call."""
        return self.min_resync_period * random.uniform(1.0, 2.0)


class ControllerContext:
    """The argument of functions that build controllers.

    Functions only declare what the controllers need. When all are built, the informers start, then
    ``informers_started`` is set, and then the controllers run.

    Args:
        name: The name of the controller.
        cluster: The cluster with the identity of the controller.
        recorder: The recorder of the controller.
        shared: What all controllers share.
        options: The options of the controller.

    Attributes:
        name: The name of the controller that is built.
        cluster: The cache that all controllers share, and clients with the identity of this one.
        recorder: Records events with the name of the controller. It runs while the controller does.
        options: The options of this controller, such as ``{"workers": 5}``.
    """

    def __init__(
        self,
        name: str,
        cluster: Cluster,
        recorder: EventRecorder,
        shared: SharedParts,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.cluster = cluster
        self.recorder = recorder
        self.options: Mapping[str, Any] = MappingProxyType(dict(options or {}))
        self._shared = shared

    @property
    def client(self) -> CachedClient:
        """Reads from the shared cache, sees its own writes, and writes to the server."""
        return self.cluster.client

    @property
    def live(self) -> ClusterClient:
        """Reads from the server."""
        return self.cluster.live

    @property
    def cache(self) -> Cache:
        """The cache that all controllers share."""
        return self.cluster.cache

    @property
    def informers(self) -> SharedInformerFactory:
        """Typed informers, shared by all controllers and the cache. Managed fields are stripped.

        They are started after all controllers are built. If you request one later, wait for
        ``informers_started`` and call ``informers.start()``.
        """
        return self._shared.informers

    @property
    def informers_started(self) -> Latch:
        """Set when the informers of all controllers were started; they may not have synced yet."""
        return self._shared.informers_started

    @property
    def discovery(self) -> Discovery:
        """The resources of the server, read again every half a minute if a controller uses it."""
        self._shared.uses_discovery = True
        return self._shared.discovery

    def object_or_metadata(self, resource: ResourceLike) -> SharedIndexInformer[Any]:
        """Return the informer of a kind: typed objects if it has a model, else metadata only.

        For controllers that handle any kind: those that other controllers watch as a whole are not
        watched a second time.
        """
        return self.informers.object_or_metadata(resource).informer

    def resync_period(self) -> float:
        """Return seconds between resyncs, 12 h to 24 h by default, drawn anew for each call."""
        return self._shared.resync_period()

    def __repr__(self) -> str:
        return f"<ControllerContext of {self.name}>"
