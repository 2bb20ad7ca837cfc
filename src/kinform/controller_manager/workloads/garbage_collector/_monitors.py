"""Follows the metadata of every kind that can be deleted, also of kinds that come and go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from kinform._runtime import Backoff, wait_for
from kinform.api import GVR, ApiResource
from kinform.cache import Cache
from kinform.controller_manager.workloads.garbage_collector._absent_owners import AbsentOwners
from kinform.controller_manager.workloads.garbage_collector._graph import Graph, Node, Work
from kinform.controllers import Cluster, OpenSource, Source
from kinform.errors import CacheSyncError, KinformError
from kinform.informers import ChangeSource, ChangeType, InformerEvent, Registration
from kinform.objects import PartialObjectMetadata
from kinform.workqueue import WorkQueue

_log = logging.getLogger("kinform.controller_manager")

# Without owners and dependents, and too many to be looked at.
_IGNORED = {("", "events"), ("events.k8s.io", "events")}
# A change of these changes what the server has.
_KINDS_OF_KINDS = {
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
}
_VERBS = frozenset({"delete", "list", "watch"})
# Seconds that the informers of all kinds may take at the start. One kind that cannot be listed must
# not prevent the collection of the others.
_START = 30.0
# Seconds to wait for one informer to be created.
_OPENING = 5.0


def collectable(resources: Iterable[ApiResource]) -> dict[GVR, ApiResource]:
    """Return the resources to follow: each in one version, the one that the server prefers."""
    found: dict[tuple[str, str], ApiResource] = {}
    for each in resources:
        name = (each.gvr.group, each.gvr.resource)
        if each.verbs >= _VERBS and name not in _IGNORED:
            found.setdefault(name, each)
    return {each.gvr: each for each in found.values()}


class Monitors(Source[Work]):
    """Keeps the graph up to date, and queues the work that each change causes.

    The informers are those of the cache: a kind that is cached as whole objects already is not
    watched a second time. Which kinds there are is asked about every half minute, and soon after a
    CustomResourceDefinition or an APIService has changed.

    Attributes:
        graph: The graph of all objects.
        absent: The owners that are gone.
    """

    def __init__(self) -> None:
        self.name = "objects of all kinds"
        self.graph = Graph()
        self.absent = AbsentOwners()
        self._queue: WorkQueue[Work] | None = None

    def open(self, queue: WorkQueue[Work], cluster: Cluster) -> OpenSource:
        self.graph = Graph()
        self._queue = queue
        source = _OpenMonitors(self, cluster)
        source.run(source.follow())
        return source

    def add(self, work: Iterable[Work], *, priority: int = 0) -> None:
        """Queue work."""
        if self._queue is not None:
            for each in work:
                self._queue.add(each, priority=priority)


class _OpenMonitors(OpenSource):
    def __init__(self, monitors: Monitors, cluster: Cluster) -> None:
        super().__init__(monitors.name)
        self._monitors = monitors
        self._cluster = cluster
        self._registrations: dict[GVR, Registration[Any]] = {}
        self._kinds_changed = asyncio.Event()

    async def follow(self) -> None:
        """Follow all kinds of the server, until cancelled."""
        discovery = self._cluster.live.discovery
        # The server learns of a new kind a little later than it tells of the definition.
        pauses = Backoff(0.2, cap=15.0)
        while True:
            try:
                await discovery.refresh()
                await self._adjust(collectable(await discovery.resources()))
                if not self.has_synced:
                    await self._wait_for_initial_objects()
            except KinformError as error:
                self.problem = str(error)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._kinds_changed.wait(), pauses.next())
                self._kinds_changed.clear()
                pauses.reset()

    async def close(self) -> None:
        await super().close()
        registrations, self._registrations = self._registrations, {}
        for each in registrations.values():
            each.remove()
        for each in registrations.values():
            await each.stopped

    async def _adjust(self, wanted: dict[GVR, ApiResource]) -> None:
        cache = self._cluster.cache
        for gvr in self._registrations.keys() - wanted.keys():
            self._registrations.pop(gvr).remove()
            if str(gvr) not in cache.informers:  # nobody follows whole objects
                await cache.remove_informer(gvr, form=PartialObjectMetadata)
        for gvr in wanted.keys() - self._registrations.keys():
            try:
                self._registrations[gvr] = await self._monitor(cache, wanted[gvr])
            except CacheSyncError as error:
                _log.warning("garbage collector: %s is not followed yet: %s", gvr, error)

    async def _monitor(self, cache: Cache, resource: ApiResource) -> Registration[Any]:
        informer = await cache.get_informer(
            resource.gvr, form=PartialObjectMetadata, wait=False, timeout=_OPENING
        )
        tells_of_kinds = (resource.gvr.group, resource.gvr.resource) in _KINDS_OF_KINDS

        def receive(event: InformerEvent[PartialObjectMetadata]) -> None:
            self._receive(resource, event)
            if tells_of_kinds and not event.is_in_initial_list:
                self._kinds_changed.set()

        return informer.add_event_handler(on_event=receive, run_on="loop", name="garbage collector")

    def _receive(self, resource: ApiResource, event: InformerEvent[PartialObjectMetadata]) -> None:
        graph, obj, old = self._monitors.graph, event.object, event.old
        work: list[Work] = []
        if event.type is ChangeType.DELETED:
            if obj is not None:
                self._note_deletion(event, obj.uid)
                work = graph.remove(obj.uid)
        elif obj is not None:
            if old is not None and old.uid != obj.uid:  # created again under its name
                work = graph.remove(old.uid)
            work += graph.put(Node.of(resource, obj))
        self._monitors.add(work)

    def _note_deletion(self, event: InformerEvent[PartialObjectMetadata], uid: str) -> None:
        """Remember an owner that was seen to go, and not only found missing."""
        node = self._monitors.graph.get(uid)
        is_certain = event.source is ChangeSource.WATCH and not event.final_state_unknown
        if node is not None and is_certain and self._monitors.graph.dependents(uid):
            self._monitors.absent.add_deleted(node)

    async def _wait_for_initial_objects(self) -> None:
        late: dict[GVR, Registration[Any]] = self._registrations
        try:
            await wait_for(
                *(each.has_synced for each in late.values()), what=self.name, timeout=_START
            )
        except CacheSyncError:
            names = ", ".join(str(gvr) for gvr, each in late.items() if not each.has_synced)
            _log.warning("garbage collector: starts without all objects of %s", names)
        self.problem = ""
        self.has_synced.set()
